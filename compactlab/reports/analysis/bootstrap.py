"""The paired cluster bootstrap: intervals from resamples of whole conversations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache
from math import comb, floor, isfinite, log10, sqrt
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from compactlab.reports.analysis import betting
from compactlab.reports.analysis.aggregate import EXTREMES, POOLED
from compactlab.reports.analysis.comparison import Row
from compactlab.reports.analysis.sample import (
    RESAMPLES,
    SAME,
    Floats,
    Pairs,
    Quotient,
    Sample,
    Statistic,
    mean_of,
)
from compactlab.sim.metrics import METRICS
from compactlab.sim.metrics.metric import Aggregation

_NORMAL = NormalDist()


def normal_share(points: Floats) -> Floats:
    """The share of a standard normal distribution that lies below each point.

    Examples
    --------
    >>> normal_share(np.array([-1.96, 0.0])).round(3).tolist()
    [0.025, 0.5]
    """
    shares: Floats = np.vectorize(_NORMAL.cdf, otypes=[float])(points)
    return shares


def normal_quantile(share: float) -> float:
    """The quantile of the standard normal distribution.

    Examples
    --------
    >>> round(normal_quantile(0.975), 3)
    1.96
    """
    return _NORMAL.inv_cdf(share)


def student_quantiles(freedom: Floats, share: float) -> Floats:
    """Quantiles above the median of Student's t, for several degrees of freedom.

    Examples
    --------
    >>> student_quantiles(np.array([1.0, 9.0, 1e6]), 0.975).round(3).tolist()
    [12.706, 2.262, 1.96]
    """
    return np.array([_student_quantile(float(each), share) for each in freedom])


# Student's t is computed in decimals of this many digits, then rounded to the nearest float.

_PRECISION = 30
_PI = Decimal("3.14159265358979323846264338327950288")
_SMALLEST = Decimal(10) ** -_PRECISION


@cache
def _student_quantile(freedom: float, share: float) -> float:
    """The float nearest to t, found by Newton's method on P(-t < T < t) = 2 share - 1.

    It starts at the normal quantile, which is too small, and P is concave, so no step is too long.
    The error after a step is about its square: the last one is below a float's precision.
    """
    with localcontext() as context:
        context.prec = _PRECISION
        free, beyond = Decimal(freedom), 2 * (1 - Decimal(share))
        peak = _peak(free)
        point = step = Decimal(normal_quantile(share))
        while step > point * _SMALLEST.sqrt():
            # P or 1 - P, by the series (DLMF 8.17.8) that converges faster.
            square = point * point
            inside = square / (free + square)
            density = peak * (1 - inside) ** ((free + 1) / 2)
            if 2 * inside < 1:
                step = (1 - beyond) / (2 * density) - point * _series(free + 1, 3, inside)
            else:
                outside = point / free * _series(free + 1, free + 2, 1 - inside)
                step = outside - beyond / (2 * density)
            point += step
        return float(point)


def _series(above: Decimal, below: Decimal | int, power: Decimal) -> Decimal:
    """1 + above/below x + above (above + 2) / (below (below + 2)) x^2 + ..."""
    total = term = Decimal(1)
    while term > total * _SMALLEST:
        term *= above / below * power
        total += term
        above, below = above + 2, below + 2
    return total


def _peak(free: Decimal) -> Decimal:
    """The density of Student's t at 0: gamma(v/2 + 1/2) / gamma(v/2) / sqrt(pi v).

    The square of that ratio is Brouncker's continued fraction, which 20 terms give to 36 digits
    from v = 30 on; below, gamma(z + 1) = z gamma(z) leads there.
    """
    ratio, half = Decimal(1), free / 2
    while half < 15:
        ratio *= half / (half + Decimal("0.5"))
        half += 1
    scale, tail = 4 * half - 1, Decimal(0)
    for odd in range(39, 0, -2):
        tail = odd * odd / (2 * scale + tail)
    return ratio * ((scale + tail) / (4 * free * _PI)).sqrt()


LEVEL = 0.95
PERCENTILE = "percentile"  # the method's name in results

# Fewer conversations than this have no interval.
FEWEST = 10
_FARTHEST = 4.0


def interval_ends(statistic: Statistic, tails: Floats | None = None) -> tuple[Floats, Floats]:
    """The two ends of the 95 % interval of each strategy's figure.

    They are percentiles of the resampled figures (Efron 1979, Annals of Statistics 7:1), at the
    shares of :func:`widened`. A resample without a value counts as the figure itself.
    """
    values, draws = statistic.value, statistic.resampled()
    np.copyto(draws, values[:, None], where=~np.isfinite(draws))
    draws.sort(axis=1)
    ends = _quantiles(draws, widened(statistic.effective()) if tails is None else tails)
    return ends[:, 0], ends[:, 1]


def widened(conversations: Floats) -> Floats:
    """The quantiles of resamples at the two ends; farther out than 2.5 % for few conversations.

    The expanded percentile interval of Hesterberg (2015, The American Statistician 69:371): the
    quantiles of Student's t with n - 1 degrees of freedom, times sqrt(n / (n - 1)), because
    resamples vary less than samples. With weights, n is the effective number of conversations.

    Examples
    --------
    >>> widened(np.array([10.0, 100.0, 1e6])).round(4).tolist()
    [[0.0086, 0.9914], [0.0231, 0.9769], [0.025, 0.975]]
    """
    free = np.maximum(conversations - 1, 1.0)
    place = np.sqrt(1 + 1 / free) * student_quantiles(free, (1 + LEVEL) / 2)
    # No draw is farther out.
    place = np.minimum(place, _FARTHEST)
    return np.stack([normal_share(-place), normal_share(place)], axis=1)


def _quantiles(draws: Floats, shares: Floats) -> Floats:
    """Quantiles of sorted rows, by linear interpolation."""
    place = shares * (RESAMPLES - 1)
    lower: NDArray[np.intp] = np.floor(place).astype(np.intp)
    upper = np.minimum(lower + 1, RESAMPLES - 1)
    left, right = (np.take_along_axis(draws, at, axis=1) for at in (lower, upper))
    values: Floats = left + (right - left) * (place - lower)
    return values


# The median of paired differences, with an interval that needs no draws.

MEDIAN_METHOD = "order"


def median(values: Floats) -> float:
    """The middle value, or the mean of the two middle ones; they may be infinite.

    Examples
    --------
    >>> median(np.array([3.0, 1.0, np.inf]))
    3.0
    """
    ordered = np.sort(values)
    # Python floats: the mean of two opposite infinities is NaN, without a warning.
    left, right = float(ordered[(len(ordered) - 1) // 2]), float(ordered[len(ordered) // 2])
    return left if left == right else (left + right) / 2


def median_ends(values: Floats, level: float = 0.95) -> tuple[float, float]:
    """The two order statistics that enclose the median in at least 95 of 100 samples.

    Each value is above the median with probability 1/2, for any distribution (Conover 1999,
    Practical Nonparametric Statistics, section 3.2). At least 6 values are needed.

    Examples
    --------
    >>> median_ends(np.arange(1.0, 13.0))
    (3.0, 10.0)
    """
    ordered = np.sort(values)
    count, cut, tail = len(ordered), 0, 1
    # At each end, cut off as many as a fair coin exceeds in at most 2.5 % of trials.
    while 2 * tail <= (1 - level) * 2**count:
        cut += 1
        tail += comb(count, cut)
    if not cut:
        return -np.inf, np.inf
    return float(ordered[cut - 1]), float(ordered[count - cut])


# The mean of paired differences of shares, with an interval that needs no draws.

STUDENT = "student"


def student_ends(values: Floats) -> tuple[float, float]:
    """The two ends of the 95 % interval of a mean by Student's t (1908, Biometrika 6:1).

    Examples
    --------
    >>> low, high = student_ends(np.array([-0.1, 0.1] * 8))
    >>> round(low, 3), round(high, 3)
    (-0.055, 0.055)
    """
    free = np.array([len(values) - 1.0])
    reach = float(student_quantiles(free, (1 + LEVEL) / 2)[0])
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    half = reach * spread / sqrt(len(values)) if spread > SAME else 0.0
    return mean - half, mean + half


# The smallest difference that this number of conversations can detect.

POWER = 0.8
ALPHA = 0.05

# With fewer pairs, no data can reach 5 %: the smallest p of 5 is 2 / 2**5.
FEWEST_PAIRS = 6


def smallest_difference(influence: Floats, conversations: NDArray[np.intp], size: Floats) -> Floats:
    """The smallest difference seen in 80 of 100 samples like this one, at 5 % two-sided.

    (t(0.975) + t(0.8)) s / sqrt(n), with quantiles of Student's t with n - 1 degrees of freedom and
    s the standard deviation of the differences (Cohen 1988, Statistical Power Analysis, chapter 2).
    It is not corrected for multiple comparisons.

    Examples
    --------
    >>> pull = np.array([[-1.0, 1.0] * 8])
    >>> smallest_difference(pull, np.array([16]), np.ones(1)).round(3).tolist()
    [0.774]
    """
    differences = np.full(len(influence), np.nan)
    spread = np.sqrt((influence**2).sum(axis=1) / np.maximum(conversations - 1, 1))
    enough = (conversations >= FEWEST_PAIRS) & (spread > SAME * size)
    if not enough.any():
        return differences  # before quantiles are computed: most runs have few conversations
    free = conversations[enough] - 1.0
    quantiles = student_quantiles(free, 1 - ALPHA / 2) + student_quantiles(free, POWER)
    differences[enough] = quantiles * spread[enough] / np.sqrt(conversations[enough])
    return differences


def as_wide(width: Floats, conversations: NDArray[np.intp]) -> Floats:
    """The smallest difference from the width of a 95 % interval: 2 t(0.975) standard errors."""
    free: Floats = np.asarray(conversations, np.float64) - 1
    power, reach = (student_quantiles(free, share) for share in (POWER, 1 - ALPHA / 2))
    smallest: Floats = width / 2 * (1 + power / reach)
    return smallest


def smallest_share(pairs: float, discordance: float) -> float | None:
    """The smallest difference of two shares that this number of binary pairs can detect.

    The n of McNemar's test by Connor (1987, Biometrics 43:207), solved for the difference.

    Examples
    --------
    >>> round(smallest_share(100, 0.2), 3)
    0.124
    >>> smallest_share(20, 0.1)
    """
    if discordance <= 0:
        return None
    outer, inner = normal_quantile(1 - ALPHA / 2), normal_quantile(POWER)
    # sqrt(n) d = outer sqrt(p) + inner sqrt(p - d²), squared, is quadratic in d.
    a, b = pairs + inner**2, outer * sqrt(discordance * pairs)
    c = (outer**2 - inner**2) * discordance
    if b * b < a * c:
        return None
    difference = (b + sqrt(b * b - a * c)) / a
    return difference if difference <= discordance else None


def effective(pairs: float, conversations: int, correlation: float) -> float:
    """The effective number of independent pairs, when pairs are clustered in conversations.

    n / (1 + (m - 1) r), with m pairs per conversation and the intraclass correlation r (Kish 1965,
    Survey Sampling, chapter 5).

    Examples
    --------
    >>> effective(1_000, 100, 0.0), effective(1_000, 100, 1.0)
    (1000.0, 100.0)
    """
    return pairs / (1 + (pairs / conversations - 1) * correlation)


# A figure with its interval, rounded so that it is equal on every machine.

Kind = Literal["ratio", "difference"]

# Digits of figures: further ones differ between processors.
_DIGITS = 9


@dataclass(frozen=True)
class Estimation:
    """A difference or ratio with its interval; :class:`Contrast` explains the fields."""

    kind: Kind
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    method: str = ""
    detectable: float | None = None
    geometric: float | None = None
    geometric_low: float | None = None
    geometric_high: float | None = None


def settled(value: float, size: float) -> float | None:
    """Round to nine digits relative to ``size``; None if not finite.

    Examples
    --------
    >>> settled(0.1 + 0.2 - 0.3, 0.3), settled(1_234.567_890_123, 1_234.0)
    (0.0, 1234.56789)
    """
    if not isfinite(value):
        return None
    if not size or not isfinite(size):
        return value
    # Adding zero turns -0.0 into 0.0.
    return round(value, _DIGITS - 1 - floor(log10(size))) + 0.0


def assessed(
    kind: Kind, statistic: Statistic, pairs: Pairs, sizes: Floats, *, resampled: bool = True
) -> list[Estimation]:
    """Add to figures their intervals and the smallest detectable differences.

    An interval needs 10 conversations in which the two differ: fewer do not show how often they
    differ elsewhere. If they are equal in all, the figure is exactly 0, or 1 for a ratio. Without
    ``resampled`` there is no interval.
    """
    counts = pairs.both.sum(axis=1)
    differing = (pairs.differences != 0).sum(axis=1)
    drawn = np.flatnonzero(differing >= FEWEST) if resampled else np.zeros(0, np.intp)
    low, high = (np.full(len(counts), np.nan) for _ in range(2))
    if len(drawn):
        low[drawn], high[drawn] = interval_ends(statistic.rows(drawn))
    values = np.where(differing > 0, statistic.value, 1.0 if kind == "ratio" else 0.0)
    least = smallest_difference(statistic.influence(counts), counts, sizes)
    # Derived from the width of the interval, so that the two cannot contradict each other.
    wide = drawn[high[drawn] > low[drawn]]
    least[wide] = as_wide(high[wide] - low[wide], counts[wide])
    return [
        Estimation(
            kind,
            settled(float(value), size),
            settled(float(low[row]), size),
            settled(float(high[row]), size),
            PERCENTILE if row in drawn else "",
            settled(float(least[row]), size),
        )
        for row, (value, size) in enumerate(zip(values, sizes, strict=True))
    ]


# The interval of one strategy's own figure, over its conversations.


@dataclass(frozen=True)
class Interval:
    """The 95 % interval of a figure over other conversations of this kind; None without one."""

    low: float | None = None
    high: float | None = None
    method: str = ""  # percentile, betting or order


def interval_of(
    values: Sequence[float | None], how: Aggregation, *, share: bool = False
) -> Interval:
    """The 95 % interval of a figure that is aggregated from values of conversations.

    Intervals of shares hold for any distribution (:mod:`.betting`). If one conversation in ten
    loses all, 20 contain none with a probability of 12 %, and the bootstrap misses it.

    Examples
    --------
    >>> interval_of([2.5] * 12, "mean")
    Interval(low=2.5, high=2.5, method='percentile')
    >>> interval_of([0.0] * 12, "mean", share=True)
    Interval(low=0.0, high=0.33591913, method='betting')
    >>> interval_of([0.1, 0.9], "mean")
    Interval(low=None, high=None, method='')
    """
    known = np.array(sorted(value for value in values if value is not None), np.float64)
    known = known[~np.isnan(known)]
    count = len(known)
    if how in EXTREMES or count < FEWEST:
        return Interval()
    if how == "median":
        size = float(np.abs(known[np.isfinite(known)]).max(initial=0.0))
        return _interval(*median_ends(known), MEDIAN_METHOD, size)
    if not np.isfinite(known).all():
        return Interval()
    if share and 0 <= known[0] <= known[-1] <= 1:
        return _interval(*betting.interval(known), betting.METHOD, 1.0)
    low, high = interval_ends(mean_of(known[None, :], np.ones((1, count), np.bool_)))
    times = count if how == "sum" else 1
    size = float(np.abs(known).max()) * times
    return _interval(low[0] * times, high[0] * times, PERCENTILE, size)


def row_interval(row: Row, metric: str, *, fixed: bool = False) -> Interval:
    """The 95 % interval of a row's figure, aggregated like the figure itself.

    ``fixed``: the conversations are the whole population, not a sample.
    """
    sample = Sample([row], [metric])
    if metric not in POOLED:
        values, share = sample.values(metric)[0].tolist(), METRICS[metric].unit == "share"
        return interval_of(values, METRICS[metric].aggregation, share=share and not fixed)
    pooled = Quotient(*sample.parts(metric))
    if (pooled.below > 0).sum() < FEWEST:
        return Interval()
    low, high = interval_ends(pooled)
    return _interval(low[0], high[0], PERCENTILE, 1.0)


def _interval(low: float, high: float, method: str, size: float) -> Interval:
    ends = settled(float(low), size), settled(float(high), size)
    return Interval() if None in ends else Interval(*ends, method)
