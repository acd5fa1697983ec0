"""The strategies, one a file, and how they are found by name."""

from __future__ import annotations

from compactlab.strategies.amortized_forgetting import AmortizedForgetting
from compactlab.strategies.as_recorded import AsRecorded
from compactlab.strategies.auto_compact import AutoCompact
from compactlab.strategies.clear_tool_results import ClearToolResults
from compactlab.strategies.context_recovery import ContextRecovery
from compactlab.strategies.described_results import DescribedResults
from compactlab.strategies.fraction_split import FractionSplit
from compactlab.strategies.full_summary import FullSummary
from compactlab.strategies.keep_all import KeepAll
from compactlab.strategies.keep_none import KeepNone
from compactlab.strategies.memory_flush import MemoryFlush
from compactlab.strategies.memory_recall import MemoryRecall
from compactlab.strategies.observation_masking import ObservationMasking
from compactlab.strategies.offload_outputs import OffloadOutputs
from compactlab.strategies.oracle import Oracle
from compactlab.strategies.pair_repair import PairRepair
from compactlab.strategies.pair_safe_window import PairSafeWindow
from compactlab.strategies.preserve_turns import PreserveTurns
from compactlab.strategies.prune_then_summarize import PruneThenSummarize
from compactlab.strategies.random_keep import RandomKeep
from compactlab.strategies.recency_buffer import RecencyBuffer
from compactlab.strategies.recent_events import RecentEvents
from compactlab.strategies.rolling_summary import RollingSummary
from compactlab.strategies.server_compaction import ServerCompaction
from compactlab.strategies.sliding_window import SlidingWindow
from compactlab.strategies.summary_sidecar import SummarySidecar
from compactlab.strategies.token_budget import TokenBudget
from compactlab.strategies.tool_groups import ToolGroups
from compactlab.strategies.trim_messages import TrimMessages
from compactlab.strategies.ttl_prune import TtlPrune
from compactlab.strategies.turn_checkpoints import TurnCheckpoints
from compactlab.strategies.turn_slice import TurnSlice
from compactlab.strategies.user_words import UserWords

__all__ = [
    "AmortizedForgetting",
    "AsRecorded",
    "AutoCompact",
    "ClearToolResults",
    "ContextRecovery",
    "DescribedResults",
    "FractionSplit",
    "FullSummary",
    "KeepAll",
    "KeepNone",
    "MemoryFlush",
    "MemoryRecall",
    "ObservationMasking",
    "OffloadOutputs",
    "Oracle",
    "PairRepair",
    "PairSafeWindow",
    "PreserveTurns",
    "PruneThenSummarize",
    "RandomKeep",
    "RecencyBuffer",
    "RecentEvents",
    "RollingSummary",
    "ServerCompaction",
    "SlidingWindow",
    "SummarySidecar",
    "TokenBudget",
    "ToolGroups",
    "TrimMessages",
    "TtlPrune",
    "TurnCheckpoints",
    "TurnSlice",
    "UserWords",
]
