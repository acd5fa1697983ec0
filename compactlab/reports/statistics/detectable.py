"""The smallest difference that so many conversations could have shown."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from compactlab.reports.statistics.sample import SAME, Floats

POWER = 0.8
ALPHA = 0.05

# With fewer pairs, no data can reach 5 %: the smallest p of 5 is 2 / 2**5.
FEWEST_PAIRS = 6


def smallest_difference(influence: Floats, conversations: NDArray[np.intp], size: Floats) -> Floats:
    """The smallest difference seen in 80 of 100 samples like this one, at 5 % two-sided.

    (t(0.975) + t(0.8)) s / sqrt(n), with quantiles of Student's t with n - 1 degrees of freedom
    and s the standard deviation of the differences (Cohen 1988, Statistical Power Analysis,
    chapter 2). No correction for many comparisons is in it.

    Parameters
    ----------
    influence
        How far each conversation pulls the figure, around 0; 0 where one has no value.
    conversations
        How many have a value, by strategy.
    size
        What the figure is reckoned from, by strategy: what is smaller by 1e-9 is rounding.

    Returns
    -------
    numpy.ndarray
        In the figure's unit; NaN with fewer than 6 conversations, and where nothing differs.

    Examples
    --------
    >>> pull = np.array([[-1.0, 1.0] * 8])
    >>> smallest_difference(pull, np.array([16]), np.ones(1)).round(3).tolist()
    [0.774]
    """
    found = np.full(len(influence), np.nan)
    spread = np.sqrt((influence**2).sum(axis=1) / np.maximum(conversations - 1, 1))
    told = (conversations >= FEWEST_PAIRS) & (spread > SAME * size)
    if not told.any():
        return found  # Before anything is loaded: most runs are of a few conversations.
    from scipy.special import stdtrit

    free = conversations[told] - 1
    quantiles = stdtrit(free, 1 - ALPHA / 2) + stdtrit(free, POWER)
    found[told] = quantiles * spread[told] / np.sqrt(conversations[told])
    return found


def smallest_share(pairs: float, discordance: float) -> float | None:
    """The smallest difference of two shares that so many pairs of yes and no could have shown.

    The n of McNemar's test by Connor (1987, Biometrics 43:207), solved for the difference.

    Parameters
    ----------
    pairs
        How many independent ones: see :func:`effective`.
    discordance
        The share of pairs of which one is yes and the other no.

    Returns
    -------
    float or None
        The difference at 80 % power and 5 % two-sided; None where there is no discordant pair, or
        too few even if all were on one side.

    Examples
    --------
    >>> round(smallest_share(100, 0.2), 3)
    0.124
    >>> smallest_share(20, 0.1)
    """
    from scipy.special import ndtri

    if discordance <= 0:
        return None
    outer, inner = float(ndtri(1 - ALPHA / 2)), float(ndtri(POWER))
    # sqrt(n) d = outer sqrt(p) + inner sqrt(p - d²), squared, is quadratic in d.
    a, b = pairs + inner**2, outer * sqrt(discordance * pairs)
    c = (outer**2 - inner**2) * discordance
    if b * b < a * c:
        return None
    difference = (b + sqrt(b * b - a * c)) / a
    return difference if difference <= discordance else None


def effective(pairs: float, conversations: int, correlation: float) -> float:
    """How many independent pairs so many are worth that come in conversations.

    n / (1 + (m - 1) r), with m pairs a conversation that resemble each other by the intraclass
    correlation r (Kish 1965, Survey Sampling, chapter 5).

    Examples
    --------
    >>> effective(1_000, 100, 0.0), effective(1_000, 100, 1.0)
    (1000.0, 100.0)
    """
    return pairs / (1 + (pairs / conversations - 1) * correlation)
