"""The paired cluster bootstrap: intervals from resamples of whole conversations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from compactlab.reports.statistics.quotient import RESAMPLES, Statistic
from compactlab.reports.statistics.sample import SAME, Flags, Floats

LEVEL = 0.95

# Fewer conversations than this have no interval, and from so many on it is corrected.
FEWEST = 10
CORRECTED = 30

_FARTHEST = 4.0


def method(conversations: int) -> str:
    """By which method so many conversations have an interval: "" if they have none."""
    if conversations < FEWEST:
        return ""
    return "BCa" if conversations >= CORRECTED else "percentile"


def ends(
    statistic: Statistic, known: Flags, tails: Floats | None = None
) -> tuple[Floats, Floats, list[str]]:
    """The two ends of the 95 % interval of each strategy's figure.

    Percentiles of the resampled figures (Efron 1979, Annals of Statistics 7:1); from 30
    conversations on, those that correct for bias and skewness are taken, BCa (Efron 1987, Journal
    of the ASA 82:171). Resamples of few conversations lie too close together, so the percentiles
    are those of :func:`widened`. A resample without a value counts as the figure itself.

    Parameters
    ----------
    statistic
        The figures, each over at least :data:`FEWEST` conversations.
    known
        Which conversations have a value; strategies by conversations.
    tails
        The shares that are to lie below each end, instead of the widened ones; strategies by two.

    Returns
    -------
    tuple
        The lower ends, the upper ends, and the methods: percentile also where a single conversation
        outweighs all others so much that there is nothing to correct by.
    """
    values, draws = statistic.value, statistic.resampled()
    np.copyto(draws, values[:, None], where=~np.isfinite(draws))
    draws.sort(axis=1)
    tails = widened(statistic.effective()) if tails is None else tails.copy()
    methods = ["percentile"] * len(values)
    chosen = np.flatnonzero(known.sum(axis=1) >= CORRECTED)
    if len(chosen):
        speeds = acceleration(statistic.left_out()[chosen], known[chosen])
        for row, speed in zip(chosen.tolist(), speeds, strict=True):
            if (shifted := _corrected(tails[row], draws[row], values[row], speed)) is not None:
                tails[row], methods[row] = shifted, "BCa"
    found = _quantiles(draws, tails)
    return found[:, 0], found[:, 1], methods


def widened(conversations: Floats) -> Floats:
    """The shares of resamples to leave out below each end: fewer than 2.5 % of few conversations.

    The expanded percentile interval of Hesterberg (2015, The American Statistician 69:371): as far
    out as Student's t is with n - 1 degrees of freedom, and by sqrt(n / (n - 1)) more, as resamples
    spread less than samples. With weights, n is the effective number of conversations.

    Parameters
    ----------
    conversations
        How many there are, or are worth, by strategy.

    Returns
    -------
    numpy.ndarray
        Strategies by two.

    Examples
    --------
    >>> widened(np.array([10.0, 100.0, 1e6])).round(4).tolist()
    [[0.0086, 0.9914], [0.0231, 0.9769], [0.025, 0.975]]
    """
    from scipy.special import ndtr, stdtrit

    free = np.maximum(conversations - 1, 1.0)
    place = np.sqrt(1 + 1 / free) * stdtrit(free, (1 + LEVEL) / 2)
    # Beyond this is no draw.
    place = np.minimum(place, _FARTHEST)
    return np.stack([ndtr(-place), ndtr(place)], axis=1)


def acceleration(left_out: Floats, known: Flags) -> Floats:
    """How fast the spread of a figure grows with it: a sixth of the jackknife's skewness.

    Examples
    --------
    >>> acceleration(np.array([[1.0, 2.0, 3.0]]), np.ones((1, 3), bool)).tolist()
    [0.0]
    """
    middle = np.where(known, left_out, 0.0).sum(axis=1) / known.sum(axis=1)
    pull = np.where(known, middle[:, None] - left_out, 0.0)
    spread = (pull**2).sum(axis=1)
    # Where only rounding differs, there is no spread.
    spread[np.abs(pull).max(axis=1) <= SAME * np.abs(middle)] = 0.0
    found: Floats = np.divide(
        (pull**3).sum(axis=1), 6 * spread**1.5, out=np.zeros_like(middle), where=spread > 0
    )
    return found


def _corrected(tails: Floats, draws: Floats, value: float, speed: float) -> Floats | None:
    """The shares at which BCa reads the sorted draws; None where bias cannot be reckoned."""
    from scipy.special import ndtr, ndtri

    # What differs by rounding alone is the figure itself, and half of that lies below it.
    margin = SAME * max(abs(draws[0]), abs(draws[-1]))
    below, upto = np.searchsorted(draws, [value - margin, value + margin])
    share = (below + upto) / 2 / len(draws)
    if not 0 < share < 1:
        return None
    bias = ndtri(share)
    normal = bias + ndtri(tails)
    if (slowing := 1 - speed * normal).min() <= 0:
        return None
    found: Floats = ndtr(bias + normal / slowing)
    return found


def _quantiles(draws: Floats, shares: Floats) -> Floats:
    """Quantiles of sorted rows, between neighbours in proportion."""
    place = shares * (RESAMPLES - 1)
    lower: NDArray[np.intp] = np.floor(place).astype(np.intp)
    upper = np.minimum(lower + 1, RESAMPLES - 1)
    left, right = (np.take_along_axis(draws, at, axis=1) for at in (lower, upper))
    found: Floats = left + (right - left) * (place - lower)
    return found
