"""Contrasts: differences of strategies from a reference, and their significance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, isfinite
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from compactlab.reports.analysis import bootstrap
from compactlab.reports.analysis.aggregate import EXTREMES, POOLED
from compactlab.reports.analysis.bootstrap import Estimation, Kind, assessed, settled
from compactlab.reports.analysis.comparison import ENOUGH, RECALL, Comparison, Row
from compactlab.reports.analysis.sample import (
    SAME,
    Flags,
    Floats,
    Gap,
    Pairs,
    Quotient,
    Sample,
    mean_of,
)
from compactlab.reports.analysis.significance import (
    benjamini_hochberg,
    holm,
    no_less,
    no_worse,
    rank_biserial,
    signed_ranks,
    two_sided,
)
from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.metrics import METRICS

# How several strategies are compared with a reference, by the kind of metric.

Indices = NDArray[np.intp]


def proportional(metric: str) -> bool:
    """Whether a metric is compared by ratio if possible: money and amounts of tokens."""
    return METRICS[metric].aggregation == "sum" and METRICS[metric].unit in ("USD", "tokens")


def estimations(metric: str, sample: Sample) -> tuple[list[Estimation], Pairs, Floats]:
    """Estimate a metric of all rows of a sample against its first one."""
    if metric in POOLED:
        return _pooled(*sample.parts(metric))
    values = sample.values(metric)
    pairs = Pairs(values[1:], values[0])
    estimates = [Estimation("difference")] * len(pairs.ours)
    paired = pairs.both.any(axis=1)
    flips = pairs.differences
    # Infinite values cannot be added but can be ranked; sums say nothing about extremes.
    ranked = np.isinf(flips).any(axis=1) | (METRICS[metric].aggregation in ("median", *EXTREMES))
    flips[ranked] = signed_ranks(flips[ranked])
    if METRICS[metric].aggregation == "median":
        _put(estimates, np.flatnonzero(paired), _medians(pairs.rows(np.flatnonzero(paired))))
    elif METRICS[metric].aggregation in EXTREMES:
        rows = np.flatnonzero(paired)
        _put(estimates, rows, _extremes(pairs.rows(rows), METRICS[metric].aggregation == "maximum"))
    else:
        plain = np.flatnonzero(paired & ~ranked)
        by_ratio = plain[_has_ratio(pairs.rows(plain))] if proportional(metric) else plain[:0]
        money = METRICS[metric].unit == "USD"
        _put(estimates, by_ratio, _ratios(pairs.rows(by_ratio), money))
        rest = np.setdiff1d(plain, by_ratio)
        shares = METRICS[metric].unit == "share" and not sample.fixed
        _put(estimates, rest, _differences(pairs.rows(rest), shares))
    return estimates, pairs, flips


def _put(estimates: list[Estimation], rows: Indices, own: list[Estimation]) -> None:
    for row, estimation in zip(rows, own, strict=True):
        estimates[row] = estimation


def _has_ratio(pairs: Pairs) -> Flags:
    """Which rows can have a ratio: values are never negative, and denominators always positive.

    This holds in every resample of the conversations.
    """
    both = pairs.both
    ours, theirs = (np.where(both, values, 0.0) for values in (pairs.ours, pairs.theirs))
    sound = ((ours >= 0) & (theirs >= 0)).all(axis=1) & (theirs.sum(axis=1) > 0)
    sound &= np.isfinite(ours).all(axis=1) & np.isfinite(theirs).all(axis=1)
    drawn = np.flatnonzero(sound & (both.sum(axis=1) >= bootstrap.FEWEST))
    if len(drawn):
        sums = Quotient(theirs[drawn], theirs[drawn]).below_resampled()
        sound[drawn] = np.broadcast_to((sums > 0).all(axis=1), len(drawn))
    flags: Flags = sound
    return flags


def _ratios(pairs: Pairs, money: bool) -> list[Estimation]:
    """Ratios of sums; for money also the geometric mean of ratios if all are positive."""
    both, same = pairs.both, pairs.differences == 0
    theirs = np.where(both, pairs.theirs, 0.0)
    ours = np.where(same, theirs, np.where(both, pairs.ours, 0.0))
    quotient = Quotient(ours, theirs)
    estimates = assessed("ratio", quotient, pairs, quotient.value)
    chosen = np.flatnonzero(money & ((ours > 0) & (theirs > 0) | ~both).all(axis=1))
    shares = np.divide(ours, theirs, out=np.ones_like(ours), where=~same & (theirs > 0))[chosen]
    logs = mean_of(np.log(shares), both[chosen])
    middles = assessed("difference", logs, pairs.rows(chosen), np.ones(len(chosen)))
    for row, own in zip(chosen, middles, strict=True):
        middle, low, high = (
            None if end is None else settled(exp(end), exp(end))
            for end in (own.estimate, own.low, own.high)
        )
        estimates[row] = replace(
            estimates[row], geometric=middle, geometric_low=low, geometric_high=high
        )
    return estimates


def _differences(pairs: Pairs, shares: bool) -> list[Estimation]:
    """Means of the differences; for shares with intervals that hold for any distribution."""
    sizes = np.maximum(np.abs(pairs.ours), np.abs(pairs.theirs))
    largest = np.where(pairs.both, sizes, 0.0).max(axis=1, initial=0.0)
    means = mean_of(pairs.differences, pairs.both)
    # Two infinite values have no difference, and no size.
    sizes = np.where(np.isinf(largest), 1.0, largest)
    estimates = assessed("difference", means, pairs, sizes, resampled=not shares)
    return [*map(_student, estimates, pairs.differences, pairs.both)] if shares else estimates


def _student(own: Estimation, differences: Floats, both: Flags) -> Estimation:
    """A difference of shares, with the interval of Student's t over the pairs.

    None if all pairs differ by the same. It describes these conversations. The recommendation is
    tested by :mod:`.betting`, which allows for unlike conversations.
    """
    known = differences[both]
    if len(known) < bootstrap.FEWEST or np.abs(known).max() > 1:
        return own  # too few pairs, or not shares
    low, high = bootstrap.student_ends(known)
    if low == high:
        return own
    width, count = np.array([high - low]), np.array([len(known)])
    least = float(bootstrap.as_wide(width, count)[0])
    return replace(
        own,
        low=settled(max(low, -1.0), 1.0),
        high=settled(min(high, 1.0), 1.0),
        method=bootstrap.STUDENT,
        detectable=settled(least, 1.0),
    )


def _pooled(part: Floats, whole: Floats) -> tuple[list[Estimation], Pairs, Floats]:
    """Differences of pooled shares, such as tokens read over all tokens."""
    shares = np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 0)
    pairs = Pairs(shares[1:], shares[0])
    ours, theirs = (
        Quotient(np.where(pairs.both, above, 0.0), np.where(pairs.both, below, 0.0))
        for above, below in ((part[1:], whole[1:]), (part[:1], whole[:1]))
    )
    estimates = [Estimation("difference")] * len(pairs.ours)
    places = np.flatnonzero(pairs.both.any(axis=1))
    gap = Gap(ours.rows(places), theirs.rows(places))
    flips = _pulls(ours, theirs)
    chosen = pairs.rows(places)
    _put(estimates, places, assessed("difference", gap, chosen, np.ones(len(places))))
    return estimates, pairs, flips


def _pulls(ours: Quotient, theirs: Quotient) -> Floats:
    """The change of each pair when its names are swapped: its value less the share of both."""
    both = Quotient(ours.above + theirs.above, ours.below + theirs.below)
    share = np.nan_to_num(both.value)[:, None]
    pull = (ours.above - share * ours.below) - (theirs.above - share * theirs.below)
    pulls: Floats = np.where(np.abs(pull) <= SAME * both.below, 0.0, pull)
    return pulls


def _medians(pairs: Pairs) -> list[Estimation]:
    estimates = []
    for own, both in zip(pairs.differences, pairs.both, strict=True):
        values = own[both]
        size = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
        middle = settled(bootstrap.median(values), size)
        low, high = (
            bootstrap.median_ends(values) if len(values) >= bootstrap.FEWEST else (np.nan, np.nan)
        )
        if middle is None or not (isfinite(low) and isfinite(high)):
            estimates.append(Estimation("difference", middle))
        else:
            ends = settled(low, size), settled(high, size)
            estimates.append(Estimation("difference", middle, *ends, bootstrap.MEDIAN_METHOD))
    return estimates


def _extremes(pairs: Pairs, largest: bool) -> list[Estimation]:
    """Differences of largest or smallest values: resamples cannot go beyond the observed ones."""
    estimates = []
    extreme = np.max if largest else np.min
    for ours, both in zip(pairs.ours, pairs.both, strict=True):
        own, other = float(extreme(ours[both])), float(extreme(pairs.theirs[both]))
        gap = 0.0 if own == other else own - other
        estimates.append(Estimation("difference", settled(gap, max(abs(own), abs(other)))))
    return estimates


# By how much a strategy may be worse and still count as no worse: points, or a share of the cost.
MARGINS: Mapping[str, float] = MappingProxyType(
    {"cost_usd": 0.02, **dict.fromkeys(RECALL.values(), 1 - ENOUGH)}
)

ALPHA = 0.05


@dataclass(frozen=True)
class Contrast:
    """The contrast of a strategy with a reference in one metric; fields without a value are None.

    A ``ratio`` is the sum of the subject's values over the sum of the reference's. A ``difference``
    is the subject's value less the reference's. For means and amounts it is the mean over
    conversations, for medians the median of the differences, for pooled shares and maxima the
    difference of the two figures. Lower counts as better if the metric has no direction.
    """

    metric: str
    subject: str  # a spec, as the reference
    reference: str
    conversations: int  # that have a value under both strategies
    kind: Kind
    estimate: float | None  # None also if infinite
    # The 95 % interval. None with fewer than 10 conversations, if too few differ, and for maxima.
    low: float | None
    high: float | None
    method: str  # of the interval: percentile, student, order (of medians); "" without one
    p: float | None  # of the two-sided sign-flip test
    adjusted: float | None  # p adjusted for many comparisons
    correction: Literal["Holm", "BH", ""]  # Holm over strategies for a primary metric
    wins: int  # conversations in which the subject is better
    ties: int
    losses: int
    effect: float  # matched-pairs rank-biserial correlation, 1 if the subject is always better
    detectable: float | None  # smallest difference at 80 % power, 5 %, uncorrected
    margin: float | None  # by how much the subject may be worse
    no_worse: bool | None  # non-inferior by the margin; None with too few conversations
    # The geometric mean of the conversations' ratios, which weighs conversations equally.
    geometric: float | None = None
    geometric_low: float | None = None
    geometric_high: float | None = None
    # The replay's relative error against the recorded bill; smaller differences do not count.
    deviation: float = 0.0

    @property
    def same(self) -> float:
        """The estimate without a difference: 1 for a ratio, 0 for a difference."""
        return 1.0 if self.kind == "ratio" else 0.0

    @property
    def within(self) -> bool:
        """Whether the difference is within the replay's error against the recorded bill."""
        ratio = self.kind == "ratio" and self.estimate is not None and self.estimate != self.same
        return ratio and abs((self.estimate or 0.0) - self.same) <= self.deviation

    @property
    def determined(self) -> bool:
        """Whether the difference is significant by both the test and the interval."""
        if self.adjusted is None or self.estimate is None or self.estimate == self.same:
            return False
        if self.within:
            return False
        told = self.low is not None and self.high is not None
        if told and (self.low or 0.0) <= self.same <= (self.high or 0.0):
            return False
        if METRICS[self.metric].aggregation in EXTREMES and self._direction() * self.effect <= 0:
            return False  # One conversation has the extreme value; the others show the opposite.
        return round(self.adjusted, 9) < ALPHA

    @property
    def better(self) -> bool:
        """Whether the subject is significantly better."""
        return self.determined and self._direction() > 0

    @property
    def worse(self) -> bool:
        """Whether the subject is significantly worse."""
        return self.determined and self._direction() < 0

    def _direction(self) -> int:
        sign = {"lower": -1, "higher": 1, "neither": 0}[METRICS[self.metric].better]
        above = self.estimate is not None and self.estimate > self.same
        return sign if above else -sign


def contrasts(
    comparison: Comparison,
    reference: Row,
    metrics: Sequence[str] = (),
    margins: Mapping[str, float] = MARGINS,
    *,
    fixed: bool = False,
) -> dict[tuple[str, str], Contrast]:
    """Compare every strategy with a reference, conversation by conversation.

    Without metrics, use the primary ones of the comparison: recall and cost. ``fixed``: the
    conversations are the whole population, not a sample.
    """
    metrics = metrics or comparison.primary
    for metric in metrics:
        if metric not in METRICS:
            raise UsageError(unknown("metric", metric, METRICS))
    rows = [row for row in comparison.rows if row is not reference]
    if not rows:
        return {}
    sample = Sample([reference, *rows], metrics, fixed=fixed)
    by_metric = {metric: _contrasts(metric, sample, margins.get(metric)) for metric in metrics}
    others = [own for metric, all_of_it in by_metric.items() if metric not in comparison.primary
              for own in all_of_it]  # fmt: skip
    explored = iter(_adjusted(others, "BH"))
    for metric, own in by_metric.items():
        primary = metric in comparison.primary
        by_metric[metric] = _adjusted(own, "Holm") if primary else [next(explored) for _ in rows]
        if METRICS[metric].unit == "USD":
            off = comparison.deviation
            by_metric[metric] = [replace(each, deviation=off) for each in by_metric[metric]]
    return {
        (row.spec, metric): by_metric[metric][index]
        for index, row in enumerate(rows)
        for metric in by_metric
    }


def _contrasts(metric: str, sample: Sample, margin: float | None) -> list[Contrast]:
    reference, *rows = sample.rows
    estimated, pairs, flips = estimations(metric, sample)
    better = METRICS[metric].better
    counts, chances = pairs.both.sum(axis=1), two_sided(flips)
    margins = [_margin(metric, own.kind, margin) for own in estimated]
    verdicts: list[bool | None] = [None] * len(rows)
    if margin is not None and METRICS[metric].unit == "share":
        verdicts = no_less(better, margin, pairs)
    elif margin is not None:
        verdicts = no_worse(better, margin, estimated)
    gains = pairs.differences if better == "higher" else -pairs.differences
    wins, losses = (gains > 0).sum(axis=1), (gains < 0).sum(axis=1)
    effects = rank_biserial(signed_ranks(gains))
    return [
        Contrast(
            metric, row.spec, reference.spec, int(counts[n]), own.kind,
            own.estimate, own.low, own.high, own.method,
            float(chances[n]) if counts[n] else None, None, "",
            int(wins[n]), int(counts[n] - wins[n] - losses[n]), int(losses[n]),
            float(round(effects[n], 9)), own.detectable,
            margins[n], verdicts[n] if margins[n] is not None else None,
            own.geometric, own.geometric_low, own.geometric_high,
        )
        for n, (row, own) in enumerate(zip(rows, estimated, strict=True))
    ]  # fmt: skip


def _margin(metric: str, kind: Kind, margin: float | None) -> float | None:
    """The margin; None if it is a share but the estimate is not a ratio."""
    return None if proportional(metric) and kind == "difference" else margin


def _adjusted(contrasts: Sequence[Contrast], correction: Literal["Holm", "BH"]) -> list[Contrast]:
    adjust = holm if correction == "Holm" else benjamini_hochberg
    chances = adjust([own.p for own in contrasts])
    return [
        replace(own, adjusted=p, correction=correction)
        for own, p in zip(contrasts, chances, strict=True)
    ]
