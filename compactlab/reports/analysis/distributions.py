"""The standard normal distribution and Student's t: shares below a point, and quantiles."""

from __future__ import annotations

from functools import cache
from statistics import NormalDist

import numpy as np

from compactlab.reports.analysis.sample import Floats

_NORMAL = NormalDist()
_DIGITS = 25  # of what is computed, so that a float's 16 are right


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
    """The point below which such a share of a standard normal distribution lies.

    Examples
    --------
    >>> round(normal_quantile(0.975), 3)
    1.96
    """
    return _NORMAL.inv_cdf(share)


def student_quantiles(freedom: Floats, share: float) -> Floats:
    """Points below which a share of over a half lies, of Student's t with so many degrees each.

    Examples
    --------
    >>> student_quantiles(np.array([1.0, 9.0, 1e6]), 0.975).round(3).tolist()
    [12.706, 2.262, 1.96]
    """
    return np.array([_student_quantile(float(each), share) for each in freedom])


@cache
def _student_quantile(freedom: float, share: float) -> float:
    """Solve for t what lies beyond -t and t (Abramowitz and Stegun 1964, 26.7.1 and 26.5.27)."""
    import mpmath

    def too_much(point: mpmath.mpf) -> mpmath.mpf:
        within = freedom / (freedom + point**2)
        return mpmath.betainc(freedom / 2, 0.5, 0, within, regularized=True) - 2 * (1 - share)

    with mpmath.workdps(_DIGITS):
        return float(mpmath.findroot(too_much, normal_quantile(share) * (1 + 1 / freedom)))
