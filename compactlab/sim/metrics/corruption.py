"""What a prompt gets wrong: old values, changed ones, and what should be gone."""

from __future__ import annotations

from collections import defaultdict

from compactlab.sim.facts.ledger import Ledger, numbers
from compactlab.sim.metrics.course import course, share
from compactlab.sim.metrics.metric import Metric
from compactlab.sim.metrics.reading import Reading

# Project's notes on metrics, sections 0.4 and 4: a damaged rule did more harm than a missing one.
MUTATED, LOST = 1.5, 1.0


def stale(reading: Reading) -> float | None:
    """Share of revised facts of which the prompt holds only an older value.

    A revised fact is one that is due and supersedes others, at each call of the script; those
    whose state is unknown are left out.
    """
    found = course(reading)
    revised = found.ledger.revised
    due = [facts & revised for facts in found.known]
    return share((states.stale for states in found.states), due)


def conflict(reading: Reading) -> float | None:
    """Share of revised facts whose new and old value are both said, and no word tells the newer.

    Only in words that are not the log's own: what stands there as it was said stands in its order.
    """
    found = course(reading)
    revised = found.ledger.revised
    due = [facts & revised for facts in found.known]
    return share((states.conflict for states in found.states), due)


def cascade(reading: Reading) -> float | None:
    """Share of what follows from a changed fact that is held as it was, without the change.

    A dependent is a fact that is due and follows, directly or through others, from a fact that has
    been superseded; its value is that of before the change. It counts as an error if it is
    verbatim or intact while none of the facts that supersede the changed one is: the agent then
    relies on what it cannot know to be out of date. Where the change is in the prompt as well, it
    can. A dependent that has been superseded itself is no longer due, and its successor may be
    stale. All dependents at all calls of the script, without those whose state is unknown.
    """
    found = course(reading)
    chains = _Chains(found.ledger)
    count = wrong = 0
    for moment, known, kept in zip(found.moments, found.known, found.kept, strict=True):
        changed = moment.replaced & chains.premises
        if changed:
            dependents, errors = chains.of(changed, kept)
            count += (dependents & known).bit_count()
            wrong += (errors & known & kept).bit_count()
    return wrong / count if count else None


class _Chains:
    """What follows from which facts, and what supersedes those."""

    def __init__(self, ledger: Ledger) -> None:
        self._following: dict[int, int] = defaultdict(int)
        self._newer: dict[int, int] = defaultdict(int)
        for number in range(len(ledger.facts)):
            for premise in _premises(ledger, number):
                self._following[premise] |= 1 << number
        for number, older in ledger.older.items():
            for each in numbers(older):
                self._newer[each] |= 1 << number
        self.premises = ledger.mask(self._following)

    def of(self, changed: int, kept: int) -> tuple[int, int]:
        """What follows from changed facts, and that of it whose change is not told."""
        dependents = untold = 0
        for premise in numbers(changed):
            dependents |= self._following[premise]
            if not self._newer[premise] & kept:
                untold |= self._following[premise]
        return dependents, untold


def _premises(ledger: Ledger, number: int) -> set[int]:
    """The facts that one follows from, directly or through others."""
    waiting, seen = [*ledger.facts[number].depends_on], set()
    while waiting:
        each = ledger.number[waiting.pop()]
        if each not in seen:
            seen.add(each)
            waiting += ledger.facts[each].depends_on
    return seen - {number}


def deletion_leak(reading: Reading) -> float | None:
    """Share of deleted facts that are still verbatim or intact.

    All pairs of a call of the script and a fact that had been taken back before it, without those
    whose state is unknown. What takes it back may stand in the prompt as well, so a strategy that
    keeps everything has a leak of 1: the figure is about what must be gone, not about what an agent
    would believe.
    """
    found = course(reading)
    both = zip(found.moments, found.states, strict=True)
    return share(found.kept, [moment.deleted & ~states.unknown for moment, states in both])


def mutation(reading: Reading) -> float | None:
    """Share of due facts that are mutated: the key is there, the value or the polarity is not.

    All pairs of a call of the script and a due fact, without those whose state is unknown.
    """
    found = course(reading)
    return share((states.mutated for states in found.states), found.known)


def severity(reading: Reading) -> float | None:
    """Mutated facts times 1.5 and lost ones times 1.0, over due facts.

    All pairs of a call of the script and a due fact, without those whose state is unknown. What is
    stale, in conflict or retrievable has no weight; a damaged rule weighs more than a missing one,
    as agents followed it less. The weights are a choice, and no result.
    """
    mutated = mutation(reading)
    found = course(reading)
    lost = share((states.lost for states in found.states), found.known)
    return None if mutated is None or lost is None else MUTATED * mutated + LOST * lost


_NOTES = "errors as the project's notes on metrics define them, section 4"
_REVISED = "sum of such facts over sum of revised facts, of all calls"
_DUE = "sum of such facts over sum of due facts, of all calls"

METRICS = (
    Metric("share", "lower", "revised facts of which only an older value is there",
           _REVISED, _NOTES, stale),
    Metric("share", "lower", "revised facts whose old and new value are both said, unordered",
           _REVISED, _NOTES, conflict),
    Metric("share", "lower", "facts held as they were though what they follow from has changed",
           "sum of such facts over sum of what follows from changed facts, of all calls",
           "own, after the cascades of MEME, arXiv 2605.12477", cascade),
    Metric("share", "lower", "deleted facts that are still there",
           "sum of such facts over sum of deleted facts, of all calls", _NOTES, deletion_leak),
    Metric("share", "lower", "due facts whose value or polarity was changed", _DUE, _NOTES,
           mutation),
    Metric("ratio", "lower", "changed facts times 1.5 and lost ones times 1.0, over due facts",
           "sum of weighted facts over sum of due facts, of all calls", _NOTES, severity),
)  # fmt: skip
