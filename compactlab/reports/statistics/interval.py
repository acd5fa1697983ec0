"""The interval of one strategy's own figure, over the conversations that it was replayed on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compactlab.reports.aggregate import POOLED, Rule, rule_of
from compactlab.reports.comparison import Row
from compactlab.reports.statistics import bootstrap, median
from compactlab.reports.statistics.estimation import settled
from compactlab.reports.statistics.quotient import Quotient, mean_of
from compactlab.reports.statistics.sample import Flags, Sample


@dataclass(frozen=True)
class Interval:
    """Where a figure of other conversations of this kind may lie.

    Parameters
    ----------
    low, high
        The ends, at 95 %; None without one.
    method
        ``BCa``, ``percentile`` or ``order``; "" without one.
    """

    low: float | None = None
    high: float | None = None
    method: str = ""


def interval_of(values: Sequence[float | None], how: Rule) -> Interval:
    """The 95 % interval of a figure that is put together from values of conversations.

    Parameters
    ----------
    values
        One a conversation; None where it has none. Their order does not matter.
    how
        How they are put together. A sum is of as many conversations as there are, so its interval
        is that of the mean times their number; a maximum has none.

    Examples
    --------
    >>> interval_of([0.5] * 12, "mean")
    Interval(low=0.5, high=0.5, method='percentile')
    >>> interval_of([0.1, 0.9], "mean")
    Interval(low=None, high=None, method='')
    """
    known = np.array(sorted(value for value in values if value is not None), np.float64)
    known = known[~np.isnan(known)]
    count = len(known)
    if how == "maximum" or count < bootstrap.FEWEST:
        return Interval()
    if how == "median":
        size = float(np.abs(known[np.isfinite(known)]).max(initial=0.0))
        return _interval(*median.ends(known), median.METHOD, size)
    if not np.isfinite(known).all():
        return Interval()
    some = np.ones((1, count), np.bool_)
    low, high, methods = bootstrap.ends(mean_of(known[None, :], some), some)
    times = count if how == "sum" else 1
    size = float(np.abs(known).max()) * times
    return _interval(low[0] * times, high[0] * times, methods[0], size)


def row_interval(row: Row, metric: str) -> Interval:
    """The 95 % interval of a figure of a row, put together as the row's own is.

    Parameters
    ----------
    row
        A strategy.
    metric
        Any metric; pooled shares are resampled above and below together.
    """
    sample = Sample([row], [metric])
    if metric not in POOLED:
        return interval_of(sample.values(metric)[0].tolist(), rule_of(metric))
    above, below = sample.parts(metric)
    some: Flags = below > 0
    if some.sum() < bootstrap.FEWEST:
        return Interval()
    low, high, methods = bootstrap.ends(Quotient(above, below), some)
    return _interval(low[0], high[0], methods[0], 1.0)


def _interval(low: float, high: float, method: str, size: float) -> Interval:
    ends = settled(float(low), size), settled(float(high), size)
    return Interval() if None in ends else Interval(*ends, method)
