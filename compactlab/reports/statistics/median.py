"""The median of paired differences, with an interval that needs no draws."""

from __future__ import annotations

from math import comb

import numpy as np

from compactlab.reports.statistics.sample import Floats

METHOD = "order"


def median(values: Floats) -> float:
    """The middle value, or the mean of the two middle ones; they may be infinite.

    Examples
    --------
    >>> median(np.array([3.0, 1.0, np.inf]))
    3.0
    """
    ordered = np.sort(values)
    # Floats of Python: between two infinite ones of unlike sign lies NaN, and no warning.
    left, right = float(ordered[(len(ordered) - 1) // 2]), float(ordered[len(ordered) // 2])
    return left if left == right else (left + right) / 2


def ends(values: Floats, level: float = 0.95) -> tuple[float, float]:
    """The two order statistics between which the median lies in at least 95 of 100 samples.

    Every value is above the median with a chance of a half, whatever their distribution (Conover
    1999, Practical Nonparametric Statistics, section 3.2). At least 6 values are needed.

    Examples
    --------
    >>> ends(np.arange(1.0, 13.0))
    (3.0, 10.0)
    """
    ordered = np.sort(values)
    count, cut, tail = len(ordered), 0, 1
    # So many may be cut off at either end that a coin would do it in 2.5 % of throws at the most.
    while 2 * tail <= (1 - level) * 2**count:
        cut += 1
        tail += comb(count, cut)
    if not cut:
        return -np.inf, np.inf
    return float(ordered[cut - 1]), float(ordered[count - cut])
