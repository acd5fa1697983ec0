"""How a metric of several strategies is compared with a reference's, by the kind of metric."""

from __future__ import annotations

from dataclasses import replace
from math import exp, isfinite

import numpy as np
from numpy.typing import NDArray

from compactlab.reports.aggregate import POOLED, rule_of
from compactlab.reports.statistics import bootstrap, median
from compactlab.reports.statistics.estimation import Estimation, assessed, settled
from compactlab.reports.statistics.quotient import Gap, Quotient, mean_of
from compactlab.reports.statistics.sample import SAME, Flags, Floats, Pairs, Sample
from compactlab.reports.statistics.sign_flip import signed_ranks
from compactlab.sim.metrics import METRICS

Indices = NDArray[np.intp]


def proportional(metric: str) -> bool:
    """Whether a metric is compared by ratio where it can be: money and tokens that add up."""
    return rule_of(metric) == "sum" and METRICS[metric].unit in ("USD", "tokens")


def estimations(metric: str, sample: Sample) -> tuple[list[Estimation], Pairs, Floats]:
    """Estimate a metric of all rows of a sample against its first one.

    Returns
    -------
    tuple
        An estimation for each row but the first; their values by conversation; and what is flipped
        to test them, rows by conversations.
    """
    if metric in POOLED:
        return _pooled(*sample.parts(metric))
    values = sample.values(metric)
    pairs = Pairs(values[1:], values[0])
    found = [Estimation("difference")] * len(pairs.ours)
    told = pairs.both.any(axis=1)
    flips = pairs.differences
    # What is infinite cannot be added up, but it can be ranked; and no sum tells of the largest.
    ranked = np.isinf(flips).any(axis=1) | (rule_of(metric) in ("median", "maximum"))
    flips[ranked] = signed_ranks(flips[ranked])
    if rule_of(metric) == "median":
        _put(found, np.flatnonzero(told), _medians(pairs.rows(np.flatnonzero(told))))
    elif rule_of(metric) == "maximum":
        _put(found, np.flatnonzero(told), _maxima(pairs.rows(np.flatnonzero(told))))
    else:
        plain = np.flatnonzero(told & ~ranked)
        by_ratio = plain[_has_ratio(pairs.rows(plain))] if proportional(metric) else plain[:0]
        money = METRICS[metric].unit == "USD"
        _put(found, by_ratio, _ratios(pairs.rows(by_ratio), money))
        rest = np.setdiff1d(plain, by_ratio)
        _put(found, rest, _differences(pairs.rows(rest)))
    return found, pairs, flips


def _put(found: list[Estimation], rows: Indices, own: list[Estimation]) -> None:
    for row, estimation in zip(rows, own, strict=True):
        found[row] = estimation


def _has_ratio(pairs: Pairs) -> Flags:
    """Of which rows a ratio can be told: nothing is negative, and below there always is something.

    That is, in every resample of the conversations.
    """
    both = pairs.both
    ours, theirs = (np.where(both, values, 0.0) for values in (pairs.ours, pairs.theirs))
    sound = ((ours >= 0) & (theirs >= 0)).all(axis=1) & (theirs.sum(axis=1) > 0)
    sound &= np.isfinite(ours).all(axis=1) & np.isfinite(theirs).all(axis=1)
    drawn = np.flatnonzero(sound & (both.sum(axis=1) >= bootstrap.FEWEST))
    if len(drawn):
        sums = Quotient(theirs[drawn], theirs[drawn]).below_resampled()
        sound[drawn] = np.broadcast_to((sums > 0).all(axis=1), len(drawn))
    found: Flags = sound
    return found


def _ratios(pairs: Pairs, money: bool) -> list[Estimation]:
    """Ratios of sums; of money also the geometric mean of each conversation's, if none is zero."""
    both, same = pairs.both, pairs.differences == 0
    theirs = np.where(both, pairs.theirs, 0.0)
    ours = np.where(same, theirs, np.where(both, pairs.ours, 0.0))
    quotient = Quotient(ours, theirs)
    found = assessed("ratio", quotient, pairs, quotient.value)
    chosen = np.flatnonzero(money & ((ours > 0) & (theirs > 0) | ~both).all(axis=1))
    shares = np.divide(ours, theirs, out=np.ones_like(ours), where=~same & (theirs > 0))[chosen]
    logs = mean_of(np.log(shares), both[chosen])
    middles = assessed("difference", logs, pairs.rows(chosen), np.ones(len(chosen)))
    for row, own in zip(chosen, middles, strict=True):
        middle, low, high = (
            None if end is None else settled(exp(end), exp(end))
            for end in (own.estimate, own.low, own.high)
        )
        found[row] = replace(found[row], geometric=middle, geometric_low=low, geometric_high=high)
    return found


def _differences(pairs: Pairs) -> list[Estimation]:
    """Means of the differences."""
    sizes = np.maximum(np.abs(pairs.ours), np.abs(pairs.theirs))
    largest = np.where(pairs.both, sizes, 0.0).max(axis=1, initial=0.0)
    means = mean_of(pairs.differences, pairs.both)
    # Infinite in both is no difference, and no size.
    return assessed("difference", means, pairs, np.where(np.isinf(largest), 1.0, largest))


def _pooled(part: Floats, whole: Floats) -> tuple[list[Estimation], Pairs, Floats]:
    """Differences of shares of sums, such as tokens read over all tokens."""
    shares = np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 0)
    pairs = Pairs(shares[1:], shares[0])
    ours, theirs = (
        Quotient(np.where(pairs.both, above, 0.0), np.where(pairs.both, below, 0.0))
        for above, below in ((part[1:], whole[1:]), (part[:1], whole[:1]))
    )
    found = [Estimation("difference")] * len(pairs.ours)
    told = np.flatnonzero(pairs.both.any(axis=1))
    gap = Gap(ours.rows(told), theirs.rows(told))
    flips = _pulls(ours, theirs)
    chosen = pairs.rows(told)
    _put(found, told, assessed("difference", gap, chosen, np.ones(len(told))))
    return found, pairs, flips


def _pulls(ours: Quotient, theirs: Quotient) -> Floats:
    """What swapping the names of a pair turns round: each less the share of the two together."""
    both = Quotient(ours.above + theirs.above, ours.below + theirs.below)
    share = np.nan_to_num(both.value)[:, None]
    pull = (ours.above - share * ours.below) - (theirs.above - share * theirs.below)
    found: Floats = np.where(np.abs(pull) <= SAME * both.below, 0.0, pull)
    return found


def _medians(pairs: Pairs) -> list[Estimation]:
    """Medians of the differences."""
    found = []
    for own, both in zip(pairs.differences, pairs.both, strict=True):
        values = own[both]
        size = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
        middle = settled(median.median(values), size)
        low, high = median.ends(values) if len(values) >= bootstrap.FEWEST else (np.nan, np.nan)
        if middle is None or not (isfinite(low) and isfinite(high)):
            found.append(Estimation("difference", middle))
        else:
            ends = settled(low, size), settled(high, size)
            found.append(Estimation("difference", middle, *ends, median.METHOD))
    return found


def _maxima(pairs: Pairs) -> list[Estimation]:
    """Differences of the largest values: no resample holds one that is larger than those seen."""
    found = []
    for ours, both in zip(pairs.ours, pairs.both, strict=True):
        own, other = float(ours[both].max()), float(pairs.theirs[both].max())
        gap = 0.0 if own == other else own - other
        found.append(Estimation("difference", settled(gap, max(abs(own), abs(other)))))
    return found
