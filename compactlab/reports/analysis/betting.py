"""Tests and intervals for the mean of bounded values that hold for any distribution.

They bet against a claimed mean: a gambler starts with 1 and bets the same fraction on each value.
If the claim is true, the expected capital never grows, so it exceeds 1 / p with a probability of at
most p (Markov). The capital is averaged over many fractions, with weights that lose little against
the best of them (Orabona and Jun 2024, IEEE Transactions on Information Theory 70:436; Waudby-Smith
and Ramdas 2024, Journal of the Royal Statistical Society B 86:1). The only assumption is that
values are independent and bounded: the error rates also hold for ten conversations, and where
losses are rare.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compactlab.reports.analysis.sample import Floats

LEVEL = 0.95
METHOD = "betting"  # as results name it

# Fractions of the largest bet, dense at both ends: the quantiles of the arcsine distribution.
_BETS = 48
_FRACTIONS: Floats = (1 - np.cos(np.pi * (np.arange(_BETS) + 0.5) / _BETS)) / 2
_STEPS = 40  # of a bisection: more digits than are shown


def p_at_least(values: Floats, mean: float, most: float = 1.0) -> float:
    """The p value of the claim that the mean of values is ``mean`` or larger.

    Parameters
    ----------
    values
        Independent values, one per conversation, none above ``most``.
    mean
        The claimed lower bound of the true mean.
    most
        The largest possible value.

    Returns
    -------
    float
        At most 1. If the claim is true, at most a share p of samples gives p or less.

    Examples
    --------
    Nothing was lost in 40 conversations: is the mean loss below a fifth? And in 10?

    >>> round(p_at_least(np.zeros(40), 0.2), 4), round(p_at_least(np.zeros(10), 0.2), 4)
    (0.0006, 0.2387)
    """
    if mean >= most:  # no value is larger, so all must equal it
        return float(mean == most and not (np.asarray(values) < most).any())
    gains = mean - np.asarray(values, np.float64)
    with np.errstate(divide="ignore"):
        logs = np.log1p(np.outer(_FRACTIONS / (most - mean), gains)).sum(axis=1)
    largest = float(logs.max(initial=0.0))
    capital = float(np.exp(logs - largest).mean())
    return float(min(1.0, np.exp(-largest) / capital)) if capital > 0 else 1.0


def interval(values: Floats, least: float = 0.0, most: float = 1.0) -> tuple[float, float]:
    """The 95 % interval of a mean: all means that neither one-sided test rejects at 2.5 %.

    Examples
    --------
    >>> low, high = interval(np.array([0.1] * 30))
    >>> round(low, 2), round(high, 2)
    (0.08, 0.24)
    """
    return (
        -_end(-np.asarray(values, np.float64), -most, -least),
        _end(np.asarray(values, np.float64), least, most),
    )


def _end(values: Floats, least: float, most: float) -> float:
    """The largest mean that is not rejected."""
    return bisected(lambda mean: p_at_least(values, mean, most), least, most)


def bisected(p: Callable[[float], float], low: float, high: float) -> float:
    """The largest claim that is not rejected at 2.5 %; p decreases as claims grow."""
    tail = (1 - LEVEL) / 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if p(middle) > tail:
            low = middle
        else:
            high = middle
    return high
