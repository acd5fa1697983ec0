"""The strategies: simple ones by family, real systems in a file or folder each, and controls."""

from __future__ import annotations

if __name__ != "compactlab.strategies":
    raise ImportError(
        "strategies/ at the top of a checkout is a link: import compactlab.strategies"
    )

from compactlab.strategies.adk import EventRanges
from compactlab.strategies.agent_framework import ToolGroups
from compactlab.strategies.background_compaction import BackgroundCompaction
from compactlab.strategies.claude_code import ClaudeCode, FullSummary
from compactlab.strategies.cliff_compaction import CliffCompaction
from compactlab.strategies.cline import AgenticCompaction, Cline, HalfTruncation
from compactlab.strategies.codex import Codex, EndpointCompaction, UserWords
from compactlab.strategies.complexity_trap import TurnCheckpoints
from compactlab.strategies.context_windows import ContextWindows
from compactlab.strategies.controls import (
    AsRecorded,
    KeepAll,
    KeepNone,
    Oracle,
    RandomKeep,
    TaskEnd,
)
from compactlab.strategies.copilot_cli import CopilotCli
from compactlab.strategies.described_results import DescribedResults
from compactlab.strategies.gemini_cli import FractionSplit, GeminiCli
from compactlab.strategies.hermes import Hermes, MiddleSummary
from compactlab.strategies.idle_compaction import IdleCompaction
from compactlab.strategies.inspect_ai import InspectCompaction
from compactlab.strategies.keep_warm import KeepWarm
from compactlab.strategies.langchain import RollingSummary, TrimMessages
from compactlab.strategies.log_retrieval import LogRetrieval
from compactlab.strategies.openclaw.compaction import DistilledSummary
from compactlab.strategies.openclaw.flush import MemoryFlush
from compactlab.strategies.openclaw.guards import ContextGuard, OverflowTruncation, WriteGuard
from compactlab.strategies.openclaw.kept import PreserveTurns, RecencyBuffer
from compactlab.strategies.openclaw.openclaw import Openclaw, TurnSlice
from compactlab.strategies.openclaw.outputs import OffloadOutputs
from compactlab.strategies.openclaw.pairs import PairRepair
from compactlab.strategies.openclaw.planner import TokenBudget
from compactlab.strategies.openclaw.pruning import TtlPrune
from compactlab.strategies.openclaw.recall import MemoryRecall
from compactlab.strategies.openclaw.recovery import ContextRecovery
from compactlab.strategies.openclaw.sidecar import SummarySidecar
from compactlab.strategies.opencode import Opencode, PruneThenSummarize
from compactlab.strategies.openhands import AmortizedForgetting, ObservationMasking, RecentEvents
from compactlab.strategies.pi.compaction import AutoCompact, Pi
from compactlab.strategies.providers.clearing import ClearThinking, ClearToolResults
from compactlab.strategies.providers.compaction import ServerCompaction
from compactlab.strategies.qwen_code import HistorySummary, MicroCompaction, QwenCode
from compactlab.strategies.scored_pruning import ScoredPruning
from compactlab.strategies.summary_behind import SummaryBehind
from compactlab.strategies.user_rules import UserRules
from compactlab.strategies.windows import PairSafeWindow, SlidingWindow

__all__ = [
    "AgenticCompaction",
    "AmortizedForgetting",
    "AsRecorded",
    "AutoCompact",
    "BackgroundCompaction",
    "ClaudeCode",
    "ClearThinking",
    "ClearToolResults",
    "CliffCompaction",
    "Cline",
    "Codex",
    "ContextGuard",
    "ContextRecovery",
    "ContextWindows",
    "CopilotCli",
    "DescribedResults",
    "DistilledSummary",
    "EndpointCompaction",
    "EventRanges",
    "FractionSplit",
    "FullSummary",
    "GeminiCli",
    "HalfTruncation",
    "Hermes",
    "HistorySummary",
    "IdleCompaction",
    "InspectCompaction",
    "KeepAll",
    "KeepNone",
    "KeepWarm",
    "LogRetrieval",
    "MemoryFlush",
    "MemoryRecall",
    "MicroCompaction",
    "MiddleSummary",
    "ObservationMasking",
    "OffloadOutputs",
    "Openclaw",
    "Opencode",
    "Oracle",
    "OverflowTruncation",
    "PairRepair",
    "PairSafeWindow",
    "Pi",
    "PreserveTurns",
    "PruneThenSummarize",
    "QwenCode",
    "RandomKeep",
    "RecencyBuffer",
    "RecentEvents",
    "RollingSummary",
    "ScoredPruning",
    "ServerCompaction",
    "SlidingWindow",
    "SummaryBehind",
    "SummarySidecar",
    "TaskEnd",
    "TokenBudget",
    "ToolGroups",
    "TrimMessages",
    "TtlPrune",
    "TurnCheckpoints",
    "TurnSlice",
    "UserRules",
    "UserWords",
    "WriteGuard",
]
