"""The trade-off between cost and misses: the Pareto front and its knee."""

from __future__ import annotations

from collections.abc import Sequence

# Points nearer to the line than this are on it.
_ON = 1e-9


def front(costs: Sequence[float], missed: Sequence[float]) -> list[int]:
    """The indices of the Pareto front, the cheapest first.

    Examples
    --------
    >>> front([3.0, 1.0, 2.0, 4.0], [0.1, 0.5, 0.2, 0.3])
    [1, 2, 0]
    """
    order = sorted(range(len(costs)), key=lambda row: (costs[row], missed[row]))
    kept: list[int] = []
    for row in order:
        if not kept or missed[row] < missed[kept[-1]]:
            kept.append(row)
    return kept


def knee(costs: Sequence[float], missed: Sequence[float]) -> int | None:
    """The index of the front's point farthest below the line between its two ends.

    Both axes are scaled from 0 to 1 on the front (Das 1999, Structural Optimization 18:107; Satopaa
    and others 2011, "Finding a Kneedle in a Haystack"). None if no point lies below the line.

    Examples
    --------
    >>> knee([1.0, 1.2, 3.0], [0.9, 0.2, 0.1]), knee([1.0, 2.0, 3.0], [0.9, 0.5, 0.1])
    (1, None)
    """
    kept = front(costs, missed)
    first, last = kept[0], kept[-1]
    if len(kept) < 3:
        return None
    wide, high = costs[last] - costs[first], missed[first] - missed[last]
    below = {
        row: 1 - (costs[row] - costs[first]) / wide - (missed[row] - missed[last]) / high
        for row in kept[1:-1]
    }
    farthest = max(below, key=lambda row: below[row])
    return farthest if below[farthest] > _ON else None
