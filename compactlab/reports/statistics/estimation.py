"""A figure with its interval, rounded so that every machine tells the same."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, isfinite, log10
from typing import Literal

import numpy as np

from compactlab.reports.statistics import bootstrap
from compactlab.reports.statistics.detectable import smallest_difference
from compactlab.reports.statistics.quotient import Statistic
from compactlab.reports.statistics.sample import Floats, Pairs

Kind = Literal["ratio", "difference"]

# Figures are told to so many digits: what stands behind them differs between processors.
_DIGITS = 9


@dataclass(frozen=True)
class Estimation:
    """A difference or ratio with its interval; for the fields see ``Contrast``."""

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
    """Round to nine digits of what a value was reckoned from; None for what is not finite.

    Parameters
    ----------
    value
        Any figure.
    size
        The largest number that it is a sum or difference of.

    Examples
    --------
    >>> settled(0.1 + 0.2 - 0.3, 0.3), settled(1_234.567_890_123, 1_234.0)
    (0.0, 1234.56789)
    """
    if not isfinite(value):
        return None
    if not size or not isfinite(size):
        return value
    # Adding zero makes a negative zero a plain one.
    return round(value, _DIGITS - 1 - floor(log10(size))) + 0.0


def assessed(kind: Kind, statistic: Statistic, pairs: Pairs, sizes: Floats) -> list[Estimation]:
    """Give figures their intervals, and the smallest difference that could have been seen.

    Where the two are the same in every conversation, the figure is exactly 0, or 1 of a ratio, and
    so are the ends of its interval.

    Parameters
    ----------
    kind, statistic, pairs
        What is reckoned, and from what; every row has a value somewhere.
    sizes
        The largest value of each row.
    """
    counts = pairs.both.sum(axis=1)
    same = 1.0 if kind == "ratio" else 0.0
    low, high = (np.full(len(counts), same) for _ in range(2))
    methods = [bootstrap.method(int(count)) for count in counts]
    differ = (pairs.differences != 0).any(axis=1)
    drawn = np.flatnonzero(differ & (counts >= bootstrap.FEWEST))
    if len(drawn):
        ends = bootstrap.ends(statistic.rows(drawn), pairs.both[drawn])
        low[drawn], high[drawn] = ends[:2]
        for row, own in zip(drawn.tolist(), ends[2], strict=True):
            methods[row] = own
    values = np.where(differ, statistic.value, same)
    least = smallest_difference(statistic.influence(counts), counts, sizes)
    found = []
    for row, (value, size) in enumerate(zip(values, sizes, strict=True)):
        told = [settled(float(each), size) for each in (value, low[row], high[row], least[row])]
        if methods[row]:
            found.append(Estimation(kind, told[0], told[1], told[2], methods[row], told[3]))
        else:
            found.append(Estimation(kind, told[0], detectable=told[3]))
    return found
