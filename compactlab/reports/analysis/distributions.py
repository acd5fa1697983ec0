"""The standard normal distribution and Student's t: shares below a point, and quantiles."""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import cache
from statistics import NormalDist

import numpy as np

from compactlab.reports.analysis.sample import Floats

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

_DIGITS = 30
_PI = Decimal("3.14159265358979323846264338327950288")
_SMALLEST = Decimal(10) ** -_DIGITS


@cache
def _student_quantile(freedom: float, share: float) -> float:
    """The float nearest to t, found by Newton's method on P(-t < T < t) = 2 share - 1.

    It starts at the normal quantile, which is too small, and P is concave, so no step is too long.
    The error after a step is about its square: the last one is below a float's precision.
    """
    with localcontext() as context:
        context.prec = _DIGITS
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
