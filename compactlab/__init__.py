"""Replay context-compaction strategies of LLM agents, and measure what they cost and forget.

The engine is in :mod:`compactlab.sim`; the four families that plug into it are in
:mod:`compactlab.strategies`, its :mod:`~compactlab.strategies.summarizers`,
:mod:`compactlab.scenarios` and :mod:`compactlab.reports`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compactlab.api import Results, replay, run, score, tune
    from compactlab.scenarios.readers.transcript import read
    from compactlab.sim.core.conversation import Conversation
    from compactlab.sim.core.errors import CompactlabError
    from compactlab.sim.core.message import Message, Part
    from compactlab.sim.core.notes import Folder
    from compactlab.sim.core.view import Phase, View
    from compactlab.sim.replay.host import Host
    from compactlab.sim.replay.strategy import Lifetime, Pipeline, Strategy
    from compactlab.sim.replay.summarize import Summarizer, SummaryRequest
    from compactlab.strategies.catalogue import find_strategy
    from compactlab.testing.contract import check_strategy
    from compactlab.testing.summaries import check_summarizer

__version__ = "0.2.0"

__all__ = [
    "CompactlabError",
    "Conversation",
    "Folder",
    "Host",
    "Lifetime",
    "Message",
    "Part",
    "Phase",
    "Pipeline",
    "Results",
    "Strategy",
    "Summarizer",
    "SummaryRequest",
    "View",
    "__version__",
    "check_strategy",
    "check_summarizer",
    "find_strategy",
    "read",
    "replay",
    "run",
    "score",
    "tune",
]

# Loaded when they are asked for: the command line's help need not wait for the engine.
_WHERE = {
    "CompactlabError": "sim.core.errors",
    "Conversation": "sim.core.conversation",
    "Folder": "sim.core.notes",
    "Host": "sim.replay.host",
    "Lifetime": "sim.replay.strategy",
    "Message": "sim.core.message",
    "Part": "sim.core.message",
    "Phase": "sim.core.view",
    "Pipeline": "sim.replay.strategy",
    "Results": "api",
    "Strategy": "sim.replay.strategy",
    "Summarizer": "sim.replay.summarize",
    "SummaryRequest": "sim.replay.summarize",
    "View": "sim.core.view",
    "check_strategy": "testing.contract",
    "check_summarizer": "testing.summaries",
    "find_strategy": "strategies.catalogue",
    "read": "api",
    "replay": "api",
    "run": "api",
    "score": "api",
    "tune": "api",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'compactlab' has no attribute {name!r}")
    return getattr(importlib.import_module(f"compactlab.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
