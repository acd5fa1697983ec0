"""The strategies, and those of them that are replayed by default and with ``--all``.

A strategy of the package has two lines here: its import, and its row of ``ALL_STRATEGIES``. The
default, and so the README's figures, only change when a whole agent is added.
"""

from __future__ import annotations

if __name__ != "compactlab.strategies":
    raise ImportError(
        "strategies/ at the top of a checkout is a link: import compactlab.strategies"
    )

from compactlab.strategies.adk import EventRanges as EventRanges
from compactlab.strategies.agent_framework import ToolGroups as ToolGroups
from compactlab.strategies.background_compaction import BackgroundCompaction as BackgroundCompaction
from compactlab.strategies.background_compaction import CopilotCli as CopilotCli
from compactlab.strategies.claude_code import ClaudeCode as ClaudeCode
from compactlab.strategies.claude_code import FullSummary as FullSummary
from compactlab.strategies.cliff_compaction import CliffCompaction as CliffCompaction
from compactlab.strategies.cline import AgenticCompaction as AgenticCompaction
from compactlab.strategies.cline import Cline as Cline
from compactlab.strategies.cline import HalfTruncation as HalfTruncation
from compactlab.strategies.codex import Codex as Codex
from compactlab.strategies.codex import EndpointCompaction as EndpointCompaction
from compactlab.strategies.codex import UserWords as UserWords
from compactlab.strategies.complexity_trap import TurnCheckpoints as TurnCheckpoints
from compactlab.strategies.context_windows import ContextWindows as ContextWindows
from compactlab.strategies.controls import AsRecorded as AsRecorded
from compactlab.strategies.controls import KeepAll as KeepAll
from compactlab.strategies.controls import KeepNone as KeepNone
from compactlab.strategies.controls import Oracle as Oracle
from compactlab.strategies.controls import RandomKeep as RandomKeep
from compactlab.strategies.controls import TaskEnd as TaskEnd
from compactlab.strategies.described_results import DescribedResults as DescribedResults
from compactlab.strategies.gemini_cli import FractionSplit as FractionSplit
from compactlab.strategies.gemini_cli import GeminiCli as GeminiCli
from compactlab.strategies.hermes import Hermes as Hermes
from compactlab.strategies.hermes import MiddleSummary as MiddleSummary
from compactlab.strategies.idle_compaction import IdleCompaction as IdleCompaction
from compactlab.strategies.inspect_ai import InspectCompaction as InspectCompaction
from compactlab.strategies.keep_warm import KeepWarm as KeepWarm
from compactlab.strategies.langchain import RollingSummary as RollingSummary
from compactlab.strategies.langchain import TrimMessages as TrimMessages
from compactlab.strategies.log_retrieval import LogRetrieval as LogRetrieval
from compactlab.strategies.openclaw.compaction import DistilledSummary as DistilledSummary
from compactlab.strategies.openclaw.flush import MemoryFlush as MemoryFlush
from compactlab.strategies.openclaw.guards import ContextGuard as ContextGuard
from compactlab.strategies.openclaw.guards import OverflowTruncation as OverflowTruncation
from compactlab.strategies.openclaw.guards import WriteGuard as WriteGuard
from compactlab.strategies.openclaw.kept import PreserveTurns as PreserveTurns
from compactlab.strategies.openclaw.kept import RecencyBuffer as RecencyBuffer
from compactlab.strategies.openclaw.openclaw import Openclaw as Openclaw
from compactlab.strategies.openclaw.openclaw import TurnSlice as TurnSlice
from compactlab.strategies.openclaw.outputs import OffloadOutputs as OffloadOutputs
from compactlab.strategies.openclaw.pairs import PairRepair as PairRepair
from compactlab.strategies.openclaw.planner import TokenBudget as TokenBudget
from compactlab.strategies.openclaw.pruning import TtlPrune as TtlPrune
from compactlab.strategies.openclaw.recovery import ContextRecovery as ContextRecovery
from compactlab.strategies.openclaw.recovery import MemoryRecall as MemoryRecall
from compactlab.strategies.openclaw.sidecar import SummarySidecar as SummarySidecar
from compactlab.strategies.opencode import Opencode as Opencode
from compactlab.strategies.opencode import PruneThenSummarize as PruneThenSummarize
from compactlab.strategies.openhands import AmortizedForgetting as AmortizedForgetting
from compactlab.strategies.openhands import ObservationMasking as ObservationMasking
from compactlab.strategies.openhands import RecentEvents as RecentEvents
from compactlab.strategies.pi.compaction import AutoCompact as AutoCompact
from compactlab.strategies.pi.compaction import Pi as Pi
from compactlab.strategies.providers.clearing import ClearThinking as ClearThinking
from compactlab.strategies.providers.clearing import ClearToolResults as ClearToolResults
from compactlab.strategies.providers.compaction import ServerCompaction as ServerCompaction
from compactlab.strategies.qwen_code import HistorySummary as HistorySummary
from compactlab.strategies.qwen_code import MicroCompaction as MicroCompaction
from compactlab.strategies.qwen_code import QwenCode as QwenCode
from compactlab.strategies.scored_pruning import ScoredPruning as ScoredPruning
from compactlab.strategies.summary_behind import SummaryBehind as SummaryBehind
from compactlab.strategies.user_rules import UserRules as UserRules
from compactlab.strategies.windows import PairSafeWindow as PairSafeWindow
from compactlab.strategies.windows import SlidingWindow as SlidingWindow

# Whole agents as their users run them, and the compactions that providers offer.
AGENTS = (
    "claude_code",
    "codex",
    "opencode",
    "openclaw",
    "pi",
    "gemini_cli",
    "copilot_cli",
    "cline",
    "hermes",
    "qwen_code",
    "server_compaction",
    "endpoint_compaction",
)
# The subjects of this project's comparison, each in the pipeline that it was written for.
REQUESTED = (
    "turn_slice",
    "auto_compact + token_budget",
    "recency_buffer",
    "auto_compact + context_recovery",
    "auto_compact + token_budget + summary_sidecar",
    "memory_flush + auto_compact + memory_recall",
    "offload_outputs + auto_compact",
)
DEFAULT_STRATEGIES = AGENTS + REQUESTED

# Bounds and rules. A rule that depends on others' changes comes after one of them.
_OTHERS = (
    "keep_all",
    "as_recorded",
    "keep_none",
    "random_keep",
    "oracle",
    "sliding_window",
    "pair_safe_window",
    "recent_events",
    "amortized_forgetting",
    "trim_messages",
    "tool_groups",
    "token_budget",
    "token_budget + pair_repair",
    "observation_masking",
    "observation_masking(polling=10)",
    "clear_tool_results",
    "clear_tool_results(clear_at_least=20000)",
    "described_results",
    "ttl_prune",
    "write_guard",
    "context_guard",
    "offload_outputs",
    "summary_sidecar(hardened=False)",
    "auto_compact",
    "preserve_turns",
    "distilled_summary",
    "auto_compact + overflow_truncation",
    "full_summary",
    "rolling_summary",
    "turn_checkpoints",
    "event_ranges",
    "event_ranges(compaction_interval=0, trigger=0.8)",
    "user_words",
    "context_windows",
    "log_retrieval",
    "prune_then_summarize",
    "fraction_split",
    "middle_summary",
    "agentic_compaction",
    "half_truncation",
    "micro_compaction",
    "history_summary",
    "idle_compaction + full_summary",
    "background_compaction",
    "summary_behind",
    "scored_pruning + full_summary",
    "cliff_compaction",
    "full_summary + user_rules",
    "keep_warm + full_summary",
    "clear_thinking + clear_tool_results",
    "task_end",
    "inspect_compaction",
    "inspect_compaction(kind='edit')",
    "inspect_compaction(kind='trim')",
)
ALL_STRATEGIES = DEFAULT_STRATEGIES + _OTHERS
