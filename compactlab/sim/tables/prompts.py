"""The table of prompts: the trace, by which every prompt of a run can be put together again."""

from __future__ import annotations

from compactlab.sim.metrics import Reading
from compactlab.sim.tables.messages import loops, name_of, script_of
from compactlab.sim.tables.table import Column, Columns, Table


def _of(reading: Reading) -> Columns:
    script = script_of(reading)
    made = [(loop, n, s) for loop, r in loops(reading) for n, s in enumerate(r.trace.steps, 1)]
    return {
        "loop": [loop for loop, _, _ in made],
        "request": [number for _, number, _ in made],
        "answer": [step.answer for _, _, step in made],
        "rework": [step.rework for _, _, step in made],
        "unmet": [list(step.unmet) for _, _, step in made],
        "shared": [step.shared for _, _, step in made],
        "added": [[name_of(m, script) for m in step.added] for _, _, step in made],
        "prompt": [step.usage.prompt for _, _, step in made],
        "cache_read": [step.usage.cache_read for _, _, step in made],
        "output": [step.usage.output for _, _, step in made],
    }


PROMPTS = Table(
    "prompts",
    "a call of a replay, the closed loop's among them: what it shared with the one before",
    {
        "loop": Column("text", "open, best or worst; closed loops equal to another are left out"),
        "request": Column("count", "number of the call in its replay, from 1 on"),
        "answer": Column("text", "id of the message that answers it"),
        "rework": Column("text", "why it is no call of the script; empty for one that is"),
        "unmet": Column("texts", "ids of the facts that it had to do without"),
        "shared": Column("count", "leading messages that it shares with the prompt before"),
        "added": Column("texts", "the messages behind those: ids, or # and a digest"),
        "prompt": Column("count", "tokens of the prompt"),
        "cache_read": Column("count", "of those, tokens read from the cache"),
        "output": Column("count", "tokens of the answer"),
    },
    _of,
)
