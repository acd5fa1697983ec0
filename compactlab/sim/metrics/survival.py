"""How many compactions facts survive, and how much talk."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import pairwise
from statistics import fmean

from compactlab.sim.metrics.kaplan_meier import Curve, restricted_mean, survival_at
from compactlab.sim.metrics.lives import curves_by_rounds, curves_by_tokens
from compactlab.sim.metrics.metric import Metric
from compactlab.sim.metrics.reading import Reading

LIMIT_ROUNDS, LIMIT_TOKENS = 5, 64_000  # project's notes on metrics, section 4, survival
ROUNDING = 1e-9  # 2/3 of 3/4 is a half


def survival_5(reading: Reading) -> float | None:
    """Mean number of compactions that facts survive, of the first five.

    A fact's life begins when it is stated, and ends at the first call of the script at which it is
    due and neither verbatim nor intact; time is the compactions since it was stated. Where it is
    superseded, deleted or over, where a rewind takes it back, where its state is unknown, and at
    the session's end it is lost from sight (right-censored). The curve of each type is estimated
    after Kaplan and Meier, and goes on flat where nothing has been followed any further, so that
    nothing is lost where nothing is compacted. The figure is the area below the curve from 0 to 5,
    the mean over types: 5 if nothing was lost before the fifth compaction, 1 if all was at the
    first.
    """
    return _mean(curves_by_rounds(reading).values(), LIMIT_ROUNDS)


def survival_64k(reading: Reading) -> float | None:
    """Share of the first 64,000 tokens of the log behind it that a fact survives.

    As ``survival_5``, with time in tokens of the log behind the message that stated the fact, as
    the model of the first call counts them: the area below the curve from 0 to 64,000, over
    64,000, the mean over types.
    """
    mean = _mean(curves_by_tokens(reading).values(), LIMIT_TOKENS)
    return None if mean is None else mean / LIMIT_TOKENS


def survival_half_life(reading: Reading) -> int | None:
    """Compactions after which no more than half of the facts are left; none if more are left.

    Of the mean of the types' curves, see ``survival_5``: the first compaction at which it stands
    at 0.5 or below.
    """
    curve = _mean_curve(curves_by_rounds(reading).values())
    return next((rounds for rounds, alive in curve if alive <= 0.5 + ROUNDING), None)


def survival_cliff(reading: Reading) -> float | None:
    """Largest share of the facts that is lost with one more compaction.

    The largest fall of the mean of the types' curves, see ``survival_5``, from one number of
    compactions to the next.
    """
    curve = _mean_curve(curves_by_rounds(reading).values())
    falls = (before - after for (_, before), (_, after) in pairwise(curve))
    return max(falls, default=0.0) if curve else None


def _mean(curves: Iterable[Curve], limit: int) -> float | None:
    found = [restricted_mean(curve, limit) for curve in curves]
    return fmean(found) if found else None


def _mean_curve(curves: Collection[Curve]) -> list[tuple[int, float]]:
    """The mean of curves: how much is left at the start, and at each time at which any falls."""
    times = sorted({0}.union(point.time for curve in curves for point in curve))
    return [(t, fmean(survival_at(curve, t) for curve in curves)) for t in times if curves]


_KAPLAN = "E. Kaplan and P. Meier, J. Am. Stat. Assoc. 53, 1958"

METRICS = (
    Metric("rounds", "higher", "compactions that a fact survives, of the first five",
           "mean over types of the area below the curve", _KAPLAN, survival_5),
    Metric("share", "higher", "of the 64,000 tokens behind a fact, those that it survives",
           "mean over types of the area below the curve", _KAPLAN, survival_64k),
    Metric("rounds", "higher", "compactions after which half of the facts are gone",
           "mean over types of the curves, where it comes to 0.5", _KAPLAN, survival_half_life),
    Metric("share", "lower", "facts that the worst compaction in their life takes",
           "maximum fall of the mean over types of the curves", _KAPLAN, survival_cliff),
)  # fmt: skip
