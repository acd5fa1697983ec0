"""Immediate amnesia: what a compaction has taken of what was said just before it."""

from __future__ import annotations

from collections.abc import Callable
from operator import and_

from compactlab.sim.metrics.course import course, lack
from compactlab.sim.metrics.metric import Metric
from compactlab.sim.metrics.reading import Reading

LAST = (1, 2, 5, 10)  # turns of the user: project's notes on metrics, section 4, IA@k


def _in_turns(count: int) -> Callable[[Reading], float | None]:
    def immediate(reading: Reading) -> float | None:
        found = course(reading)
        due = [
            facts if compacted else 0
            for facts, compacted in zip(found.known, found.rounds_made, strict=True)
        ]
        return lack(found.kept, [*map(and_, due, found.turns.within(count))])

    immediate.__name__ = immediate.__qualname__ = f"immediate_amnesia_{count}"
    immediate.__doc__ = (
        f"Immediate amnesia, IA@{count}: of what was stated in the last {_words(count)} of the "
        "user, the share that the first prompt after a compaction holds no more.\n\n"
        "Facts due at the first call of the script after each compaction and stated in those "
        "turns, the one that the call belongs to being the first of them; the share that is "
        "neither verbatim nor intact. All compactions together, so that one before which much was "
        "said weighs more."
    )
    return immediate


def _words(count: int) -> str:
    return "turn" if count == 1 else f"{count} turns"


_NOTES = "immediate amnesia as the project's notes on metrics define it, section 4"

METRICS = tuple(
    Metric("share", "lower",
           f"facts of the last {_words(count)} that a compaction has taken (IA@{count})",
           "one less facts kept over facts due, each summed over compactions", _NOTES,
           _in_turns(count))
    for count in LAST
)  # fmt: skip
