"""Sizes of effects that need no unit: who wins how often, and by how much in rank."""

from __future__ import annotations

from sys import float_info

import numpy as np

from compactlab.reports.statistics.sample import Floats


def rank_biserial(ranks: Floats) -> Floats:
    """Ranks of the positive differences less those of the negative ones, over all ranks.

    1 if all are positive, -1 if all are negative, 0 without any (Kerby 2014, Comprehensive
    Psychology 3:1, for matched pairs).

    Parameters
    ----------
    ranks
        Signed ranks, strategies by conversations.

    Examples
    --------
    >>> rank_biserial(np.array([[3.0, -1.0, 2.0, 0.0]])).round(3).tolist()
    [0.667]
    """
    total = np.abs(ranks).sum(axis=1)
    found: Floats = np.divide(ranks.sum(axis=1), total, out=np.zeros(len(ranks)), where=total > 0)
    return found


def mcnemar(only_ours: int, only_theirs: int) -> float:
    """The exact two-sided p of McNemar's test, on pairs of yes and no.

    Pairs are taken for independent of each other, which facts of one conversation are not: a check
    beside the sign-flip, never instead of it (McNemar 1947, Psychometrika 12:153).

    Parameters
    ----------
    only_ours, only_theirs
        Pairs that are yes under the one strategy alone, and under the other alone.

    Examples
    --------
    >>> mcnemar(1, 5), mcnemar(3, 3)
    (0.21875, 1.0)
    """
    pairs = only_ours + only_theirs
    ways, tail = 1, 0
    for heads in range(min(only_ours, only_theirs) + 1):
        tail += ways
        ways = ways * (pairs - heads) // (heads + 1)
    # Of whole numbers: a float holds less than 2**1024. What is too small for one is not told as 0.
    return min(1.0, max(float_info.min, 2 * tail / (1 << pairs)))
