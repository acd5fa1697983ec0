"""Stripes and dots, drawn as lines.

What SVG calls a pattern becomes an image in each place where it is used, once a browser prints the
page; lines stay lines.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compactlab.reports.charts.drawing import in_points
from compactlab.reports.charts.palette import light

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Point = tuple[float, float]
Box = tuple[float, float, float, float]

_APART, _STRIPE = 5.0, 1.4
_DOT, _LINES = 1.5, 3.6


def draw_pattern(drawn: Figure, boxes: Sequence[Box], pattern: str, order: float = 2.0) -> None:
    """Draw a pattern over boxes that are filled already.

    Parameters
    ----------
    drawn
        The figure.
    boxes
        Left, bottom, right and top of each, in points from the figure's lower left corner.
    pattern
        ``striped``, ``dotted`` or "" for none.
    order
        Where among the other things in the figure.
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    ways = {"striped": stripes, "dotted": rows_of_dots}
    lines = [line for box in boxes for line in ways[pattern](box)] if pattern else []
    if not lines:
        return
    path = Path(
        [point for line in lines for point in line], [Path.MOVETO, Path.LINETO] * len(lines)
    )
    path.should_simplify = False
    shape = PathPatch(path, transform=in_points(drawn), facecolor="none", edgecolor=light("paper"))
    shape.set(linewidth=_STRIPE if pattern == "striped" else _DOT, zorder=order)
    if pattern == "dotted":
        shape.set_linestyle((0, (1, _APART / _DOT - 1)))
    drawn.add_artist(shape)


def stripes(box: Box) -> Iterator[tuple[Point, Point]]:
    """Lines that rise to the right through a box, cut off at its edges.

    Examples
    --------
    >>> list(stripes((0, 0, 10, 4)))
    [((0.0, 0.0), (4.0, 4.0)), ((5.0, 0.0), (9.0, 4.0))]
    """
    left, low, right, high = box
    first = math.ceil((left - (high - low)) / _APART)
    for number in range(first, math.ceil(right / _APART)):
        foot = number * _APART
        start, end = max(foot, left), min(foot + high - low, right)
        if end - start > 1e-6:
            yield (start, low + start - foot), (end, low + end - foot)


def rows_of_dots(box: Box) -> Iterator[tuple[Point, Point]]:
    """Lines across a box, each of which is to be drawn as a row of dots.

    Examples
    --------
    >>> list(rows_of_dots((0, 0, 10, 4)))
    [((1.5, 2.0), (8.5, 2.0))]
    """
    left, low, right, high = box
    count = int((high - low) // _LINES) or 1
    if right - left < 3 * _DOT:
        return
    for number in range(count):
        y = low + (high - low) * (number + 0.5) / count
        shift = _APART / 2 * (number % 2)
        if left + _DOT + shift < right - _DOT:
            yield (left + _DOT + shift, y), (right - _DOT, y)
