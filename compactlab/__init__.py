"""Replay context-compaction strategies of LLM agents, and measure what they cost and forget.

The engine is in :mod:`compactlab.sim`; the four families that plug into it are in
:mod:`compactlab.strategies`, :mod:`compactlab.summarizers`, :mod:`compactlab.scenarios` and
:mod:`compactlab.reports`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compactlab.api import read, replay, run
    from compactlab.scoring import score
    from compactlab.sim.contract import check_strategy
    from compactlab.sim.conversation import Conversation
    from compactlab.sim.errors import CompactlabError
    from compactlab.sim.host import Host
    from compactlab.sim.message import Message, Part
    from compactlab.sim.phase import Phase
    from compactlab.sim.results import Results
    from compactlab.sim.strategy import Lifetime, Pipeline, Strategy
    from compactlab.sim.view import View
    from compactlab.strategies.catalogue import find_strategy

__version__ = "0.1.0"

__all__ = [
    "CompactlabError",
    "Conversation",
    "Host",
    "Lifetime",
    "Message",
    "Part",
    "Phase",
    "Pipeline",
    "Results",
    "Strategy",
    "View",
    "__version__",
    "check_strategy",
    "find_strategy",
    "read",
    "replay",
    "run",
    "score",
]

# Loaded when they are asked for: the command line's help need not wait for the engine.
_WHERE = {
    "CompactlabError": "sim.errors",
    "Conversation": "sim.conversation",
    "Host": "sim.host",
    "Lifetime": "sim.strategy",
    "Message": "sim.message",
    "Part": "sim.message",
    "Phase": "sim.phase",
    "Pipeline": "sim.strategy",
    "Results": "sim.results",
    "Strategy": "sim.strategy",
    "View": "sim.view",
    "check_strategy": "sim.contract",
    "find_strategy": "strategies.catalogue",
    "read": "api",
    "replay": "api",
    "run": "api",
    "score": "scoring",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'compactlab' has no attribute {name!r}")
    return getattr(importlib.import_module(f"compactlab.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
