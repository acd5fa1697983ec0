"""The strategies, and those of them that are replayed by default and with ``--all``.

A strategy of the package has two lines here: its class in ``BUILT_IN``, and its row of
``ALL_STRATEGIES``. The default, and so the README's figures, only change when a whole agent is
added.
"""

from __future__ import annotations

from importlib import import_module

if __name__ != "compactlab.strategies":
    raise ImportError(
        "strategies/ at the top of a checkout is a link: import compactlab.strategies"
    )

# The classes, loaded on request: a run of one strategy need not import the others.
BUILT_IN = {
    "agentic_compaction": "cline:AgenticCompaction",
    "amortized_forgetting": "openhands:AmortizedForgetting",
    "as_recorded": "controls:AsRecorded",
    "auto_compact": "pi.compaction:AutoCompact",
    "background_compaction": "background_compaction:BackgroundCompaction",
    "claude_code": "claude_code:ClaudeCode",
    "clear_thinking": "providers.clearing:ClearThinking",
    "clear_tool_results": "providers.clearing:ClearToolResults",
    "cliff_compaction": "cliff_compaction:CliffCompaction",
    "cline": "cline:Cline",
    "codex": "codex:Codex",
    "context_guard": "openclaw.guards:ContextGuard",
    "context_recovery": "openclaw.recovery:ContextRecovery",
    "context_windows": "context_windows:ContextWindows",
    "copilot_cli": "background_compaction:CopilotCli",
    "described_results": "described_results:DescribedResults",
    "distilled_summary": "openclaw.compaction:DistilledSummary",
    "endpoint_compaction": "codex:EndpointCompaction",
    "event_ranges": "adk:EventRanges",
    "fraction_split": "gemini_cli:FractionSplit",
    "full_summary": "claude_code:FullSummary",
    "gemini_cli": "gemini_cli:GeminiCli",
    "half_truncation": "cline:HalfTruncation",
    "hermes": "hermes:Hermes",
    "history_summary": "qwen_code:HistorySummary",
    "idle_compaction": "idle_compaction:IdleCompaction",
    "inspect_compaction": "inspect_ai:InspectCompaction",
    "keep_all": "controls:KeepAll",
    "keep_none": "controls:KeepNone",
    "keep_warm": "keep_warm:KeepWarm",
    "log_retrieval": "log_retrieval:LogRetrieval",
    "memory_flush": "openclaw.flush:MemoryFlush",
    "memory_recall": "openclaw.recovery:MemoryRecall",
    "micro_compaction": "qwen_code:MicroCompaction",
    "middle_summary": "hermes:MiddleSummary",
    "observation_masking": "openhands:ObservationMasking",
    "offload_outputs": "openclaw.outputs:OffloadOutputs",
    "openclaw": "openclaw.openclaw:Openclaw",
    "opencode": "opencode:Opencode",
    "oracle": "controls:Oracle",
    "overflow_truncation": "openclaw.guards:OverflowTruncation",
    "pair_repair": "openclaw.pairs:PairRepair",
    "pair_safe_window": "windows:PairSafeWindow",
    "pi": "pi.compaction:Pi",
    "preserve_turns": "openclaw.kept:PreserveTurns",
    "prune_then_summarize": "opencode:PruneThenSummarize",
    "qwen_code": "qwen_code:QwenCode",
    "random_keep": "controls:RandomKeep",
    "recency_buffer": "openclaw.kept:RecencyBuffer",
    "recent_events": "openhands:RecentEvents",
    "rolling_summary": "langchain:RollingSummary",
    "scored_pruning": "scored_pruning:ScoredPruning",
    "server_compaction": "providers.compaction:ServerCompaction",
    "sliding_window": "windows:SlidingWindow",
    "summary_behind": "summary_behind:SummaryBehind",
    "summary_sidecar": "openclaw.sidecar:SummarySidecar",
    "task_end": "controls:TaskEnd",
    "token_budget": "openclaw.planner:TokenBudget",
    "tool_groups": "agent_framework:ToolGroups",
    "trim_messages": "langchain:TrimMessages",
    "ttl_prune": "openclaw.pruning:TtlPrune",
    "turn_checkpoints": "complexity_trap:TurnCheckpoints",
    "turn_slice": "openclaw.openclaw:TurnSlice",
    "user_rules": "user_rules:UserRules",
    "user_words": "codex:UserWords",
    "write_guard": "openclaw.guards:WriteGuard",
}

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


def __getattr__(name: str) -> type:
    """Import a strategy's class on request."""
    for place in BUILT_IN.values():
        module, _, cls = place.partition(":")
        if cls == name:
            found: type = getattr(import_module(f"compactlab.strategies.{module}"), cls)
            return found
    raise AttributeError(f"module 'compactlab.strategies' has no attribute {name!r}")
