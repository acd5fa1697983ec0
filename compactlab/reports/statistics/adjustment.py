"""Many comparisons: what of them would look like a difference by chance alone."""

from __future__ import annotations

from collections.abc import Sequence


def holm(chances: Sequence[float | None]) -> list[float | None]:
    """Adjust p values so that all that stay below 5 % are right together, 95 times in 100.

    The smallest is multiplied by their number, the next by one less, and so on; none may come out
    smaller than one before it (Holm 1979, Scandinavian Journal of Statistics 6:65).

    Parameters
    ----------
    chances
        The p values of a family; None where nothing was tested, which counts for nothing.

    Examples
    --------
    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    order = _ascending(chances)
    found: list[float | None] = [None] * len(chances)
    largest = 0.0
    for rank, (p, place) in enumerate(order):
        largest = max(largest, min(1.0, p * (len(order) - rank)))
        found[place] = largest
    return found


def benjamini_hochberg(chances: Sequence[float | None]) -> list[float | None]:
    """Adjust p values so that of all that stay below 5 %, one in twenty is wrong on the average.

    Each is multiplied by their number over its rank; none may come out larger than one after it
    (Benjamini and Hochberg 1995, Journal of the Royal Statistical Society B 57:289).

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, None, 0.03])
    [0.03, 0.04, None, 0.04]
    """
    order = _ascending(chances)
    found: list[float | None] = [None] * len(chances)
    smallest = 1.0
    for rank in range(len(order), 0, -1):
        p, place = order[rank - 1]
        smallest = min(smallest, p * (len(order) / rank))
        found[place] = smallest
    return found


def _ascending(chances: Sequence[float | None]) -> list[tuple[float, int]]:
    return sorted((p, place) for place, p in enumerate(chances) if p is not None)
