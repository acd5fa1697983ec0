"""How long facts survive: survival curves, lifetimes of facts, and their figures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from operator import attrgetter
from statistics import fmean
from typing import Literal, NamedTuple

from compactlab.sim.core.conversation import FactType
from compactlab.sim.facts import STATES
from compactlab.sim.facts.ledger import numbers
from compactlab.sim.metrics.fact_timeline import Age, FactTimeline, fact_timeline, share
from compactlab.sim.metrics.metric import OWN, Member, metric
from compactlab.sim.metrics.run_data import RunData, shared

_KAPLAN = "E. Kaplan and P. Meier, J. Am. Stat. Assoc. 53, 1958"

# Survival curves, with censored observations.


class Life(NamedTuple):
    """An observed lifetime, and whether it ended with death."""

    time: int
    died: bool  # false if the lifetime is censored


class Point(NamedTuple):
    """A time at which a curve falls."""

    time: int
    at_risk: int  # number observed up to it
    deaths: int  # number of deaths at it
    survival: float  # the surviving share


Curve = Sequence[Point]


def kaplan_meier(lives: Iterable[Life]) -> list[Point]:
    """Estimate a survival curve; censored lives count as alive at their last time.

    The product-limit estimate of Kaplan and Meier (J. Am. Stat. Assoc. 53, 1958).

    Examples
    --------
    The remissions of 21 children under 6-mercaptopurine, in weeks (Freireich and others, Blood 21,
    1963), of whom 9 relapsed: the curve ends at 0.448.

    >>> relapsed, well = [6, 6, 6, 7, 10, 13, 16, 22, 23], [6, 9, 10, 11, 17, 19, 20, 25, 32, 32]
    >>> lives = [Life(week, True) for week in relapsed] + [Life(week, False) for week in well]
    >>> curve = kaplan_meier([*lives, Life(34, False), Life(35, False)])
    >>> [(point.time, point.at_risk, round(point.survival, 3)) for point in curve]
    [(6, 21, 0.857), (7, 17, 0.807), (10, 15, 0.753), (13, 12, 0.69), (16, 11, 0.627), \
(22, 7, 0.538), (23, 6, 0.448)]
    """
    ended: Counter[int] = Counter()
    deaths: Counter[int] = Counter()
    for life in lives:
        ended[life.time] += 1
        deaths[life.time] += life.died
    points: list[Point] = []
    at_risk, survival = ended.total(), 1.0
    for time in sorted(ended):
        died = deaths[time]
        if died:
            survival *= 1 - died / at_risk
            points.append(Point(time, at_risk, died, survival))
        at_risk -= ended[time]
    return points


def survival_at(curve: Curve, time: float) -> float:
    """The surviving share after a time.

    After the last death the curve stays flat, even beyond the last observation.
    """
    alive = 1.0
    for point in curve:
        if point.time > time:
            break
        alive = point.survival
    return alive


def restricted_mean(curve: Curve, limit: float) -> float:
    """The restricted mean survival time: the area below the curve.

    Examples
    --------
    Half die at 1, the others live on.

    >>> restricted_mean(kaplan_meier([Life(1, True), Life(9, False)]), 5)
    3.0
    """
    area, alive, before = 0.0, 1.0, 0.0
    for point in curve:
        if point.time >= limit:
            break
        area += alive * (point.time - before)
        alive, before = point.survival, point.time
    return area + alive * (limit - before)


# The life of a fact: from its first statement to the first prompt without it.

Clock = Literal["rounds", "tokens"]


@shared
def curves_by_rounds(data: RunData) -> dict[FactType, Curve]:
    """The survival of each type of facts, in compactions since they were stated."""
    return _curves(fact_timeline(data), "rounds")


@shared
def curves_by_tokens(data: RunData) -> dict[FactType, Curve]:
    """The survival of each type of facts, in tokens of the log since they were stated."""
    return _curves(fact_timeline(data), "tokens")


def _curves(timeline: FactTimeline, clock: Clock) -> dict[FactType, Curve]:
    lived: dict[FactType, list[Life]] = defaultdict(list)
    for number, life in lives(timeline, clock):
        lived[timeline.ledger.facts[number].kind].append(life)
    return {kind: kaplan_meier(each) for kind, each in lived.items()}


def lives(timeline: FactTimeline, clock: Clock) -> list[tuple[int, Life]]:
    """The number and the life of each fact that was due at a call of the script.

    A life begins with the first statement; later statements do not restart it. It ends at the first
    call at which the fact is due and neither verbatim nor intact, even if the fact returns later.
    It is censored at the previous call if the fact is superseded, deleted or expired, if a rewind
    removes it, if its state is unknown, and at the end.
    """
    ended: list[tuple[int, Life]] = []
    created: dict[int, int] = {}
    alive, now = 0, 0
    at: list[Age] = [*getattr(timeline, clock).at]
    for age, known, retained in zip(at, timeline.known, timeline.kept, strict=True):
        new = timeline.ledger.mask(number for number, _ in age.began)
        created |= dict(age.began)
        # A fact with an unknown state from the start is not observed.
        alive |= new & known
        gone = alive & ~(known & retained)
        for number in numbers(gone):
            died = bool(known >> number & 1)
            ended.append((number, _life(created[number], age.now if died else now, died=died)))
        alive &= ~gone
        now = age.now
    return ended + [(number, _life(created[number], now, died=False)) for number in numbers(alive)]


def _life(created: int, seen: int, *, died: bool) -> Life:
    # A rewind may go back to before its statement, and the fact may then be stated again.
    return Life(max(0, seen - created), died)


# How many compactions and tokens facts survive.

LIMIT_ROUNDS, LIMIT_TOKENS = 5, 64_000  # compactions and tokens
ROUNDING = 1e-9  # 2/3 of 3/4 is a half


@metric(
    "rounds", "higher", "mean over types of the area below the curve", _KAPLAN, label="survival"
)
def survival_5(data: RunData) -> float | None:
    """Compactions that a fact survives, of the first five.

    A fact's life begins when it is stated, and ends at the first call of the script at which it is
    due and neither verbatim nor intact. Time is the number of compactions since it was stated. A
    life is right-censored if the fact is superseded, deleted or expired, if a rewind removes it, if
    its state is unknown, and at the session's end. The curve of each type is the Kaplan-Meier
    estimate, flat after the last observation, so nothing is lost without compactions. The figure is
    the area below the curve from 0 to 5, as the mean over types: 5 if nothing was lost before the
    fifth compaction, 1 if everything was lost at the first.
    """
    return _mean(curves_by_rounds(data).values(), LIMIT_ROUNDS)


@metric("share", "higher", "mean over types of the area below the curve", _KAPLAN)
def survival_64k(data: RunData) -> float | None:
    """Share of the 64,000 tokens of log after a fact that the fact survives.

    As ``survival_5``, with time in tokens of the log since the statement, counted by the first
    call's model: the area below the curve from 0 to 64,000, divided by 64,000, as the mean over
    types.
    """
    mean = _mean(curves_by_tokens(data).values(), LIMIT_TOKENS)
    return None if mean is None else mean / LIMIT_TOKENS


@metric(
    "rounds",
    "higher",
    "mean over types of the curves: the first compaction at or below 0.5",
    _KAPLAN,
)
def survival_half_life(data: RunData) -> int | None:
    """Compactions after which half of the facts are lost.

    From the mean of the types' curves, see ``survival_5``: the first compaction at which it is at
    0.5 or below; None if more than half are left at the end.
    """
    curve = _mean_curve(curves_by_rounds(data).values())
    return next((rounds for rounds, alive in curve if alive <= 0.5 + ROUNDING), None)


@metric("share", "lower", "maximum fall of the mean over types of the curves", _KAPLAN)
def survival_cliff(data: RunData) -> float | None:
    """Largest share of the facts that is lost with one more compaction.

    The largest fall of the mean of the types' curves, see ``survival_5``, from one number of
    compactions to the next.
    """
    curve = _mean_curve(curves_by_rounds(data).values())
    falls = (before - after for (_, before), (_, after) in pairwise(curve))
    return max(falls, default=0.0) if curve else None


def _mean(curves: Iterable[Curve], limit: int) -> float | None:
    means = [restricted_mean(curve, limit) for curve in curves]
    return fmean(means) if means else None


def _mean_curve(curves: Collection[Curve]) -> list[tuple[int, float]]:
    """The mean of curves at the start, and at each time at which any falls."""
    times = sorted({0}.union(point.time for curve in curves for point in curve))
    return [(t, fmean(survival_at(curve, t) for curve in curves)) for t in times if curves]


@metric(
    "share",
    "neither",
    "sum of such facts over sum of due facts, of all calls",
    OWN,
    members=[Member(f"occupancy_{state}", state) for state in STATES],
)
def _occupancy(data: RunData, state: str) -> float | None:
    """Share of due facts that are in the state {}.

    All pairs of a call of the script and a due fact. The shares of all states add up to 1.
    """
    timeline = fact_timeline(data)
    return share(map(attrgetter(state), timeline.states), timeline.due)
