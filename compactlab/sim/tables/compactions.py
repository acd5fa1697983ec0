"""The table of compactions: what each took away, what it cost and what it saved."""

from __future__ import annotations

from compactlab.sim.metrics import Reading
from compactlab.sim.metrics.reading import BASE_CALLS
from compactlab.sim.tables.messages import name_of, script_of, written
from compactlab.sim.tables.table import Column, Columns, Table


def _of(reading: Reading) -> Columns:
    paybacks, prompts = reading.paybacks, reading.prompts
    if not paybacks:
        return {}
    script = script_of(reading)
    changes = [reading.changes[each.call] for each in paybacks]
    return {
        "call": [each.call + 1 for each in paybacks],
        "tokens_before": [prompts[each.call - 1] for each in paybacks],
        "tokens_after": [prompts[each.call] for each in paybacks],
        "tokens_removed": [each.removed for each in paybacks],
        "fresh": [fresh for fresh, _ in reading.spikes],
        "fresh_before": [base for _, base in reading.spikes],
        "messages_gone": [len(change.gone) for change in changes],
        "messages_come": [len(change.come) for change in changes],
        "written": [
            [name_of(m, script) for m in change.come if written(m, script)] for change in changes
        ],
        "premium_usd": [each.premium for each in paybacks],
        "summary_usd": [each.summary for each in paybacks],
        "saved_usd": [each.saved for each in paybacks],
        "calls_to_next": [each.calls for each in paybacks],
        "break_even_calls": [each.break_even for each in paybacks],
    }


COMPACTIONS = Table(
    "compactions",
    "a compaction, in the open loop",
    {
        "call": Column("count", "number of the call before which it happened"),
        "tokens_before": Column("count", "tokens of the prompt before"),
        "tokens_after": Column("count", "tokens of the prompt after, with what was new"),
        "tokens_removed": Column("count", "tokens by which it made the prompt smaller"),
        "fresh": Column("count", "fresh tokens of its call"),
        "fresh_before": Column("number", f"median of those of the {BASE_CALLS} calls before"),
        "messages_gone": Column("count", "messages that left the prompt"),
        "messages_come": Column("count", "messages that came, new ones of the log among them"),
        "written": Column("texts", "those of them that the strategy wrote, see table messages"),
        "premium_usd": Column("number", "dollars that what it made fresh cost above reading"),
        "summary_usd": Column("number", "dollars of the summaries asked for since the last one"),
        "saved_usd": Column("number", "dollars saved until the next one, or the end"),
        "calls_to_next": Column("count", "calls until the next one, or the end"),
        "break_even_calls": Column("number", "calls after which it had paid; inf for never"),
    },
    _of,
)
