"""Rates of forgetting, read back from a trace. A library for ``validate_planted``; no script."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

from planted_session import GROUPS, Group, Planted, Rates

from compactlab.sim.facts.ledger import numbers
from compactlab.sim.metrics import RunData, figures
from compactlab.sim.metrics.fact_timeline import fact_timeline
from compactlab.sim.metrics.survival import Curve, curves_by_rounds, lives, survival_at

LIMIT = 5  # rounds: as survival_5
Z = 1.959964
ORDER = ("first", "second", "third")


class Estimate(NamedTuple):
    """What a run says of something that was planted.

    Parameters
    ----------
    truth, found
        What was planted, and what was read back.
    low, high
        The interval.
    weight
        From how many facts.
    """

    truth: float
    found: float
    low: float
    high: float
    weight: int = 1

    @property
    def held(self) -> bool:
        """Whether the interval holds the truth."""
        return self.low <= self.truth <= self.high


def wilson(hits: int, of: int) -> tuple[float, float]:
    """Wilson's interval of 95 % for a rate (E. Wilson, J. Am. Stat. Assoc. 22, 1927).

    >>> [round(end, 3) for end in wilson(5, 10)]
    [0.237, 0.763]
    """
    share, square = hits / of, Z * Z / of
    middle = (share + square / 2) / (1 + square)
    half = Z * math.sqrt(share * (1 - share) / of + square / of / 4) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)


@dataclass
class Tally:
    """What became of the facts of one group.

    Parameters
    ----------
    tried, kept
        By round: how often facts were summarised for the so-many-th time, and stayed what they
        were.
    gone, gone_at_once
        How many facts are no longer what they were; and those of them the first time.
    damaged, outdated
        How many of the former were damaged, and how many of the latter have their older value.
    """

    tried: Counter[int] = field(default_factory=Counter)
    kept: Counter[int] = field(default_factory=Counter)
    gone: int = 0
    gone_at_once: int = 0
    damaged: int = 0
    outdated: int = 0

    def estimates(self, rates: Rates, revised: bool) -> Iterator[tuple[str, Estimate | None]]:
        """Each rate, read back; None if it was never put to the test."""
        planted = (rates.first, rates.later, rates.later)
        for round, (which, rate) in enumerate(zip(ORDER, planted, strict=True), 1):
            yield f"kept {which}", estimate(rate, self.kept[round], self.tried[round])
        yield "mutated", estimate(rates.mutated, self.damaged, self.gone)
        if revised:
            yield "stale", estimate(rates.stale, self.outdated, self.gone_at_once)

    def later(self, rates: Rates) -> Estimate | None:
        """The second time and all that follow, together."""
        kept, tried = (each.total() - each[1] for each in (self.kept, self.tried))
        return estimate(rates.later, kept, tried)


def estimate(truth: float, hits: int, of: int) -> Estimate | None:
    """A rate, read back; None without trials."""
    return Estimate(truth, hits / of, *wilson(hits, of), of) if of else None


def tallies(reading: RunData) -> dict[Group, Tally]:
    """Count the fates of facts in a trace."""
    found = fact_timeline(reading)
    facts = found.ledger.facts
    told = {group: Tally() for group in GROUPS}
    of = {(g.kind, g.polarity): tally for g, tally in told.items()}
    for number, life in lives(found, "rounds"):
        tally = of[facts[number].kind, facts[number].polarity]
        for round in range(1, life.time + 1):
            tally.tried[round] += 1
            tally.kept[round] += not (life.died and round == life.time)
    for number, first, state in _ends(reading):
        tally = of[facts[number].kind, facts[number].polarity]
        tally.gone += 1
        tally.gone_at_once += first
        tally.damaged += state == "mutated"
        tally.outdated += first and state == "stale"
    return told


def _ends(reading: RunData) -> Iterator[tuple[int, bool, str]]:
    """Of each fact when it is no longer kept: if this was its first summary, and its state."""
    found = fact_timeline(reading)
    seen = alive = before = 0
    for due, states in zip(found.due, found.states, strict=True):
        alive |= due & ~seen
        fresh = (before | ~seen) & alive
        seen |= due
        for number in numbers(alive & due & ~states.kept):
            yield number, bool(fresh >> number & 1), states.of(number)
        alive &= due & states.kept
        before = states.verbatim


def restricted(curve: Curve) -> tuple[float, float]:
    """Mean rounds that are survived of the first five, and its variance by Greenwood's formula."""

    def area(start: float) -> float:
        cuts = sorted({start, LIMIT, *(p.time for p in curve if start < p.time < LIMIT)})
        return sum(survival_at(curve, a) * (b - a) for a, b in pairwise(cuts))

    variance = sum(
        area(p.time) ** 2 * p.deaths / (p.at_risk * (p.at_risk - p.deaths))
        for p in curve
        if p.time < LIMIT and p.deaths < p.at_risk
    )
    return area(0), variance


def survived(rates: Rates) -> float:
    """Mean rounds of the first five that a fact survives: 1 + p + pq + pqq + pqqq."""
    return 1 + rates.first * sum(rates.later**n for n in range(LIMIT - 1))


def mean_survival(reading: RunData, rates: Planted) -> Estimate:
    """The metric ``survival_5``, with an interval."""
    curves = curves_by_rounds(reading)
    truth = fmean(
        fmean(survived(rates[group]) for group in GROUPS if group.kind == kind) for kind in curves
    )
    found = figures(reading, ["survival_5"])["survival_5"]
    assert found is not None
    error = math.sqrt(sum(restricted(curve)[1] for curve in curves.values())) / len(curves)
    return Estimate(truth, found, found - Z * error, found + Z * error)


def needs_met(reading: RunData, rates: Planted) -> Estimate | None:
    """One less the metric ``amnesia_need``: the last call needs everything."""
    found = fact_timeline(reading)
    of = {(group.kind, group.polarity): rates[group] for group in GROUPS}
    chances, seen, rounds = [], 0, 0
    stated: dict[int, int] = {}
    for due, made in zip(found.due, found.rounds_made, strict=True):
        stated |= dict.fromkeys(numbers(due & ~seen), rounds)
        seen |= due
        rounds += made
    for number in numbers(found.needed[-1]):
        fact, times = found.ledger.facts[number], rounds - stated[number]
        each = of[fact.kind, fact.polarity]
        chances.append(each.first * each.later ** (times - 1) if times else 1.0)
    lacking = figures(reading, ["amnesia_need"])["amnesia_need"]
    assert lacking is not None
    met = round((1 - lacking) * len(chances))
    return estimate(fmean(chances), met, len(chances))
