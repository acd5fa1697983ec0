"""The strategies replayed by default, and those replayed with ``--all``.

A strategy that is added to the package joins ``ALL_STRATEGIES``. The default, and so the README's
figures, only change when a whole agent is added.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")

ALL = "all"
"""Stands for all strategies among the names of some."""

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


def line_up_of(strategies: Iterable[object]) -> str:
    """Return the word that names all these strategies; "" if there is none.

    Examples
    --------
    >>> line_up_of(DEFAULT_STRATEGIES), line_up_of(["all"]), line_up_of(["codex"])
    ('default', 'all', '')
    """
    given = tuple(strategies)
    return "default" if given == DEFAULT_STRATEGIES else ALL if given == (ALL,) else ""


def written_out(strategies: Iterable[T | str]) -> list[T | str]:
    """Return strategies, with ``all`` replaced by all of them.

    Examples
    --------
    >>> written_out(["codex", "pi"])
    ['codex', 'pi']
    >>> len(written_out(["all"])) == len(ALL_STRATEGIES)
    True
    """
    return [each for given in strategies for each in (ALL_STRATEGIES if given == ALL else (given,))]
