"""The trade-off between money and what is missed: the Pareto front and its knee."""

from __future__ import annotations

from collections.abc import Sequence

# Less than this below the line is on it.
_ON = 1e-9


def front(costs: Sequence[float], missed: Sequence[float]) -> list[int]:
    """The places of those that no other one beats in both, the cheapest first.

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
    """The place of the one on the front that lies farthest below the line between its two ends.

    Both axes go from 0 to 1 on the front (Das 1999, Structural Optimization 18:107; Satopaa and
    others 2011, "Finding a Kneedle in a Haystack"). None if none lies below the line.

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
