"""How much of what is kept may be chance: decoys, which nobody stated and which are found."""

from __future__ import annotations

from compactlab.sim.metrics.course import course, share
from compactlab.sim.metrics.decoys import decoys_said
from compactlab.sim.metrics.memory import amnesia
from compactlab.sim.metrics.metric import Metric
from compactlab.sim.metrics.reading import Reading

# Project's notes on metrics, section 4: from where on chance is corrected for, and from where on a
# run is invalid because values are too easy to guess.
CORRECTED, INVALID = 0.005, 0.05


def decoys_found(reading: Reading) -> float | None:
    """Share of the decoys that are found intact, all calls of the script together.

    A decoy is made as the facts are and never stated. It counts as found if any part of the prompt
    that is not verbatim says it as an intact fact is said. Verbatim parts are not asked: what
    stands there as it was said is known by where it comes from, not by its words.
    """
    decoys, calls = reading.ledger.decoys, len(course(reading).steps)
    said = (
        facts
        for facts, step in zip(decoys_said(reading), reading.trace.steps, strict=True)
        if not step.rework
    )
    return share(said, [decoys] * calls)


def amnesia_corrected(reading: Reading) -> float | None:
    """Amnesia less what chance keeps: ``amnesia / (1 - decoys_found)``, at most 1.

    That is 1 - R* with R* = (R - c) / (1 - c), where R is 1 - ``amnesia`` and c ``decoys_found``.
    It has a value where c is above 0.5 %; below, there is nothing to correct.
    """
    chance, found = decoys_found(reading), amnesia(reading)
    if chance is None or found is None or not CORRECTED < chance < 1:
        return None
    return min(1.0, found / (1 - chance))


def guessable(reading: Reading) -> float | None:
    """1 if more than 5 % of the decoys are found, else 0: then the run says nothing of memory."""
    chance = decoys_found(reading)
    return None if chance is None else float(chance > INVALID)


_NOTES = "chance correction as the project's notes on metrics define it, section 4"

METRICS = (
    Metric("share", "lower", "facts never stated that are found all the same, by chance",
           "sum of decoys found over sum of decoys, of all calls", _NOTES, decoys_found),
    Metric("share", "lower", "amnesia (mean over types) less what chance keeps",
           "one less recall above chance over what is above chance", _NOTES, amnesia_corrected),
    Metric("share", "lower", "runs whose values are too easy to guess, so that they are invalid",
           "count: 1 if it is so, else 0", _NOTES, guessable),
)  # fmt: skip
