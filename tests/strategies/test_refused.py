"""Fields that make no sense are refused, each by its name."""

import pytest

from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.spec import parse_spec
from compactlab.strategies.catalogue import find_strategy

# The last of the arguments is the one that is wrong.
# fmt: off
WRONG = {
    "agentic_compaction": ["trigger=0", "strategy='none'", "preserve_recent_tokens=-1"],
    "amortized_forgetting": ["max_size=0", "max_size=8, keep_first=4"],
    "auto_compact": [
        "rides='sideways'", "version='0.1'", "reserve_tokens=-1", "reserve_tokens_floor=-1",
    ],
    "clear_tool_results": [
        "trigger=-1", "keep=-1", "clear_at_least=-1", "exclude_tools='read'", "gate='other'",
        "gate='langchain', trigger_type='tool_uses'",
    ],
    "clear_thinking": ["keep=0"],
    "cliff_compaction": ["trigger=0", "keep_recent=-1", "result_chars=-1"],
    "cline": ["trigger=0", "strategy='none'", "preserve_recent_tokens=-1"],
    "codex": ["route='server'"],
    "context_recovery": ["messages=-1", "messages=51", "chars=0"],
    "context_windows": [
        "reminder_tokens=-1", "max_notes_tokens=-1", "passage_chars=5", "trigger=-2",
    ],
    "copilot_cli": ["trigger=0", "blocking=-1"],
    "described_results": [
        "threshold=1.5", "tail_ratio=-0.1", "target=2", "protect_last_n=-1", "answers=-1",
    ],
    "endpoint_compaction": ["item_tokens=0"],
    "event_ranges": [
        "compaction_interval=-1", "overlap_size=-1", "trigger=0", "event_retention_size=-1",
    ],
    "fraction_split": ["trigger=1.5", "preserve=0", "preserve=1", "output_budget=-1"],
    "full_summary": [
        "buffer_tokens=-1", "files=-1", "file_tokens=-1", "keep_outputs=-1", "summary_tokens=0",
    ],
    "hermes": ["threshold=1.5", "target_ratio=0.05", "protect_first_n=-1", "trigger=0"],
    "inspect_compaction": ["kind='native'", "preserve=2", "keep_tool_uses=-1", "trigger=0"],
    "keep_warm": ["probability=2", "min_saving=-1", "max_idle=0", "mode='off'"],
    "scored_pruning": ["threshold=2", "recent=-1", "max_state_tokens=0", "min_gain=-1"],
    "task_end": ["gain=2"],
    "idle_compaction": ["margin=0", "trigger=-1"],
    "log_retrieval": ["keep_tokens=-1", "max_tokens=0", "passage_chars=5", "trigger=0"],
    "memory_flush": [
        "soft_threshold_tokens=-1", "reserve_tokens_floor=-1", "force_flush_transcript_bytes=-1",
        "max_notes_tokens=-1",
    ],
    "memory_recall": ["max_results=0", "max_injected_chars=-1"],
    "middle_summary": ["threshold=1.5", "target_ratio=0.05", "protect_first_n=-1", "trigger=0"],
    "observation_masking": [
        "n=0", "polling=0", "keep_tools='read'", "system='openhands', n=-1",
        "system='openhands', polling=2",
    ],
    "offload_outputs": ["preview_chars=0", "max_text_chars=10", "hard_max_chars=-1"],
    "pair_repair": ["version='2025.1.1'"],
    "pair_safe_window": ["window_size=-1", "pin_first=-1", "per_turn=-1", "trigger=1.5"],
    "preserve_turns": [
        "recent_turns_preserve=13", "recent_turns_preserve=-1", "max_history_share=0",
        "reserve_tokens=-1",
    ],
    "prune_then_summarize": [
        "protect_tokens=-1", "minimum_tokens=-1", "preserve_recent_tokens=-1",
        "protected_tools=(1,)", "rides='sideways'",
    ],
    "qwen_code": [
        "threshold=1.5", "files=-1", "minutes=-2", "keep=0", "total_chars=-2", "trigger=0",
    ],
    "random_keep": ["share=-0.1", "share=1.1"],
    "recency_buffer": [
        "keep_messages=-1", "keep_tokens=-1", "max_history_share=0.95", "reserve_tokens=-1",
    ],
    "recent_events": ["keep_first=-1", "keep_first=3, max_events=3"],
    "rolling_summary": [
        "trigger=('messages', 0)", "trigger=('turns', 3)", "trigger=(('tokens', 5), ())",
        "keep=('fraction', 1.5)", "keep=('tokens', True)", "keep=20", "summary_input=-1",
        "rides='sideways'",
    ],
    "sliding_window": ["keep=0", "keep=-3"],
    "summary_sidecar": ["max_items=0", "item_chars=0", "max_chars=0", "threshold=-0.1"],
    "token_budget": [
        "max_history_share=7.0", "max_history_share=0.05", "dynamic_reserve_ratio=0.9",
        "dynamic_reserve_ratio=-1.0", "reserve_tokens_floor=-1", "min_dynamic_reserve_tokens=-1",
        "history_limit=-1",
    ],
    "tool_groups": [
        "keep_last_tool_call_groups=-1", "max_output_tokens=-1", "max_n=0", "compact_to=200",
        "keep_last_groups=0", "tool_eviction_threshold=0.9", "strategy='other'",
    ],
    "trim_messages": [
        "max_tokens=0", "start_on=('robot',)", "end_on=3", "strategy='first', start_on=('human',)",
        "strategy='first', include_system=True",
    ],
    "ttl_prune": [
        "ttl='soon'", "ttl='0'", "soft_trim_ratio=1.5", "hard_clear_ratio=-0.1",
        "keep_last_assistants=-1", "soft_trim_head_chars=-1", "tools_allow='exec'",
        "tools_deny=(1,)", "hard_clear_placeholder=' '", "version='2026.2.17'",
    ],
    "turn_checkpoints": ["every=0", "keep=-1"],
    "turn_slice": ["history_limit=0", "history_limit=-1"],
}
# fmt: on


@pytest.mark.parametrize("spec", [f"{name}({each})" for name, all in WRONG.items() for each in all])
def test_what_makes_no_sense_is_refused(spec):
    *_, field = parse_spec(spec)[1]
    with pytest.raises(UsageError, match=rf"\b{field}\b"):
        find_strategy(spec)
