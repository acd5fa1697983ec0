"""The strategies, one a file, and how they are found by name."""

from __future__ import annotations

from compactlab.strategies.as_recorded import AsRecorded
from compactlab.strategies.auto_compact import AutoCompact
from compactlab.strategies.context_recovery import ContextRecovery
from compactlab.strategies.keep_all import KeepAll
from compactlab.strategies.keep_none import KeepNone
from compactlab.strategies.random_keep import RandomKeep
from compactlab.strategies.recency_buffer import RecencyBuffer
from compactlab.strategies.sliding_window import SlidingWindow
from compactlab.strategies.summary_sidecar import SummarySidecar
from compactlab.strategies.token_budget import TokenBudget
from compactlab.strategies.turn_slice import TurnSlice

__all__ = [
    "AsRecorded",
    "AutoCompact",
    "ContextRecovery",
    "KeepAll",
    "KeepNone",
    "RandomKeep",
    "RecencyBuffer",
    "SlidingWindow",
    "SummarySidecar",
    "TokenBudget",
    "TurnSlice",
]
