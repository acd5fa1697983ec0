"""Amnesia by age: of what was stated long ago, and of what was stated just now."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from operator import and_
from typing import Literal

from compactlab.sim.metrics.course import ROUNDS, TOKENS, Course, course
from compactlab.sim.metrics.metric import Metric
from compactlab.sim.metrics.reading import Reading

Clock = Literal["tokens", "turns", "rounds"]

_MEASURED = {
    "tokens": "measured in tokens of the log behind the message that stated it last, as the model "
    "of the first call counts them",
    "turns": "measured in turns of the user, the one in which it was stated last being the first",
    "rounds": "measured in compactions since it was stated last",
}


def _aged(
    name: str, words: str, clock: Clock, low: int, high: int | None
) -> Callable[[Reading], float | None]:
    def aged(reading: Reading) -> float | None:
        found: Course = course(reading)
        among = getattr(found, clock).between(low, high)
        return found.amnesia(found.kept, [*map(and_, found.known, among)])

    aged.__name__ = aged.__qualname__ = f"amnesia_{name}"
    aged.__doc__ = (
        f"Amnesia of facts at the age of {words}, as the mean over types.\n\n"
        f"A fact's age at a call is {_MEASURED[clock]}."
    )
    return aged


def _metric(name: str, words: str, clock: Clock, low: int, high: int | None) -> Metric:
    return Metric(
        "share",
        "lower",
        f"facts due that the prompt does not hold, stated {words} ago",
        _TYPES,
        _NOTES,
        _aged(name, words, clock, low, high),
    )


_NOTES = "age curve as the project's notes on metrics define it, section 4"
_TYPES = "mean over types of one less facts kept over facts due, each summed over calls"
_TURNS = (1, 5, 20, 100)

METRICS = (
    *(
        _metric(f"age_{high // 1000}k", f"{low // 1000} to {high // 1000}k tokens",
                "tokens", low, high)
        for low, high in pairwise((0, *TOKENS))
    ),
    _metric("age_more", f"{TOKENS[-1] // 1000}k tokens or more", "tokens", TOKENS[-1], None),
    *(
        _metric(f"turns_{high}", f"{low + 1} to {high} turns" if low else "1 turn",
                "turns", low, high)
        for low, high in pairwise((0, *_TURNS))
    ),
    _metric("turns_more", f"more than {_TURNS[-1]} turns", "turns", _TURNS[-1], None),
    *(
        _metric(f"round_{low}", f"{low} compactions", "rounds", low, high)
        for low, high in pairwise((0, *ROUNDS))
    ),
)  # fmt: skip
