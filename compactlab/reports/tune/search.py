"""Which values of a setting to try: a coarse row, then between the neighbours of the best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

# The smaller part of a golden section: of what it has seen, a search keeps 0.618 with each value
# that it tries, the least that can be promised of an unknown function with one valley (Kiefer 1953,
# Proceedings of the American Mathematical Society 4:502).
_SECTION = (3 - 5**0.5) / 2
# Values nearer to each other than this ratio are not told apart: a compaction moves by a call.
FINEST = 1.08
_DIGITS = 2  # of values that are tried first; later ones have one more
_LEAST = 5  # the largest value that is tried is so many times the smallest, if nothing hinders


def rounded(value: float, digits: int = _DIGITS + 1) -> int:
    """A number of tokens that people would write.

    Examples
    --------
    >>> rounded(123_456), rounded(98_765, 2), rounded(7)
    (123000, 99000, 7)
    """
    size = int(10 ** max(0, math.floor(math.log10(value)) + 1 - digits))
    return round(value / size) * size


def coarse(low: float, high: float, count: int) -> list[int]:
    """Values in a geometric row, the first and the last at the ends.

    Examples
    --------
    >>> coarse(30_000, 160_000, 4)
    [30000, 52000, 92000, 160000]
    >>> coarse(50_000, 50_000, 4)
    [50000]
    """
    if high <= low or count < 2:
        return [rounded(high, _DIGITS)]
    step = (high / low) ** (1 / (count - 1))
    return sorted({rounded(low * step**place, _DIGITS) for place in range(count)})


def span(first_prompt: float, highest: float) -> tuple[float, float]:
    """Between which triggers to look: from well above what a session begins with, to the highest.

    Below half as much again as the first prompt there is next to nothing to compact.

    Examples
    --------
    >>> span(22_000, 167_000), span(60_000, 167_000), span(90_000, 100_000)
    ((33400.0, 167000), (90000.0, 167000), (100000, 100000))
    """
    return min(max(highest / _LEAST, 1.5 * first_prompt), highest), highest


def around(value: float) -> list[int] | list[float]:
    """Values around a default, for a field of which no values were named.

    Examples
    --------
    >>> around(5), around(0.3)
    ([1, 2, 5, 10, 20], [0.075, 0.15, 0.3, 0.6, 1.2])
    """
    every = [value / 4, value / 2, value, value * 2, value * 4]
    if isinstance(value, int):
        return sorted({max(1, math.floor(each)) for each in every})
    return [round(each, 6) for each in every]


def next_value(costs: Mapping[float, float], margin: float) -> int | None:
    """The value to try next between the neighbours of the best one; None if that is fine enough.

    Parameters
    ----------
    costs
        What is known: a cost by value, infinite for what is not allowed.
    margin
        Where both neighbours cost less than this share more than the best, the valley is flat and
        nothing is gained by a finer look.

    Returns
    -------
    int or None
        The golden section of the wider side, in powers.

    Examples
    --------
    >>> next_value({50_000: 9.0, 100_000: 7.0, 160_000: 8.0}, 0.02)
    76700
    >>> next_value({50_000: 7.1, 100_000: 7.0, 160_000: 7.1}, 0.02) is None
    True
    """
    values = sorted(costs)
    finite = [value for value in values if math.isfinite(costs[value])]
    if not finite:
        return None
    best = min(finite, key=lambda value: (costs[value], -value))
    place = values.index(best)
    sides = [values[at] for at in (place - 1, place + 1) if 0 <= at < len(values)]
    if all(costs[side] <= costs[best] * (1 + margin) for side in sides):
        return None
    return _between(best, sides, set(values))


def _between(best: float, sides: Sequence[float], known: set[float]) -> int | None:
    """The golden section of the wider of two sides that is new and no finer than it may be."""
    for side in sorted(sides, key=lambda side: -abs(math.log(side / best))):
        value = rounded(best * (side / best) ** _SECTION)
        apart = min(max(value, each) / min(value, each) for each in (best, side))
        if value not in known and apart >= FINEST:
            return value
    return None
