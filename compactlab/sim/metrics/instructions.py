"""What is still to be done and to be kept to: open loops and standing instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from compactlab.sim.metrics.course import course, share
from compactlab.sim.metrics.metric import Metric
from compactlab.sim.metrics.reading import Reading


def open_loops(reading: Reading) -> float | None:
    """Share of open loops that are verbatim or intact.

    All pairs of a call of the script and an open loop that has not been closed, without those
    whose state is unknown.
    """
    found = course(reading)
    loops = found.ledger.of_kind.get("open_loop", 0)
    return share(found.kept, [due & loops for due in found.known])


def _instruction(
    polarity: Literal["must", "must_not"], words: str
) -> Callable[[Reading], float | None]:
    def instruction(reading: Reading) -> float | None:
        found = course(reading)
        asked = found.ledger.mask(
            number
            for number, fact in enumerate(found.ledger.facts)
            if fact.polarity == polarity and fact.scope == "session"
        )
        return share(found.kept, [due & asked for due in found.known])

    instruction.__name__ = instruction.__qualname__ = f"instruction_{polarity}"
    instruction.__doc__ = (
        f"Share of standing instructions that {words} which are verbatim or intact.\n\n"
        f"All pairs of a call of the script and a due fact of polarity {polarity} whose scope is "
        "the rest of the session, without those whose state is unknown."
    )
    return instruction


_NOTES = "{} as the project's notes on metrics define it, section 4"
_LOOPS, _KEPT = _NOTES.format("open loops kept"), _NOTES.format("instruction persistence")
_SUM = "sum of facts kept over sum of facts due, of all calls"

METRICS = (
    Metric("share", "higher", "open loops that the prompt still states", _SUM, _LOOPS, open_loops),
    Metric("share", "higher", "standing instructions to do something that the prompt holds",
           _SUM, _KEPT, _instruction("must", "demand something")),
    Metric("share", "higher", "standing instructions not to do something that the prompt holds",
           _SUM, _KEPT, _instruction("must_not", "forbid something")),
)  # fmt: skip
