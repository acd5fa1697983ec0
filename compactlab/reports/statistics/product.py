"""Sums over many resamples at once: products of matrices, small enough for one core."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from compactlab.reports.statistics.sample import Floats

# Libraries of linear algebra spread a larger product over all cores, and if another process has
# one of these, they wait for it: 30 times as long was seen. So is the order of additions settled.
_WAYS, _PAIRS, _ROWS = 50, 100, 40

# So many ways are made floats at once.
_BLOCK = 20 * _WAYS


def products(values: Floats, ways: NDArray[np.generic]) -> Iterator[tuple[slice, Floats]]:
    """Sum the values up in many ways.

    Parameters
    ----------
    values
        Strategies by conversations.
    ways
        How often, or with which sign, each conversation is in a sum; ways by conversations.

    Yields
    ------
    tuple
        Which ways these are, and the sums; strategies by ways.

    Examples
    --------
    >>> [(_, sums)] = products(np.array([[1.0, 2.0]]), np.array([[2, 0], [1, 1], [1, -1]]))
    >>> sums.tolist()
    [[2.0, 3.0, -1.0]]
    """
    for start in range(0, len(ways), _BLOCK):
        block = slice(start, start + _BLOCK)
        some = ways[block].astype(np.float64)
        whole = len(some) - len(some) % _WAYS
        sums = np.zeros((len(values), len(some)))
        for row in range(0, len(values), _ROWS):
            for pair in range(0, values.shape[1], _PAIRS):
                rows, pairs = slice(row, row + _ROWS), slice(pair, pair + _PAIRS)
                part = values[rows, pairs].T
                stacked = some[:whole, pairs].reshape(whole // _WAYS, _WAYS, len(part)) @ part
                sums[rows, :whole] += stacked.reshape(whole, part.shape[1]).T
                sums[rows, whole:] += (some[whole:, pairs] @ part).T
        yield block, sums
