"""Where the names of dots are put, so that none covers another."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

Point = tuple[float, float]
Box = tuple[float, float, float, float]

_NEAR = 7.0
_DOT = 5.0


def place(dots: Sequence[Point], widths: Sequence[float], height: float, frame: Box) -> list[Point]:
    """Find a place for the name of every dot, one after the other.

    Parameters
    ----------
    dots
        Where the dots are, in points.
    widths
        How wide each name is.
    height
        How high all names are.
    frame
        Left, bottom, right, top: names stay within.

    Returns
    -------
    list of (x, y)
        The lower left corner of each name. A name for which there is no free place gets the
        nearest one within the frame.

    Examples
    --------
    >>> place([(50, 50)], [30], 10, (0, 0, 200, 100))
    [(57.0, 45.0)]
    """
    taken = [(x - _DOT, y - _DOT, x + _DOT, y + _DOT) for x, y in dots]
    places: list[Point] = []
    for dot, width in zip(dots, widths, strict=True):
        boxes = [box for box in _around(dot, width, height) if _within(box, frame)]
        free = (box for box in boxes if _free(box, dot, taken))
        fallback = boxes[0] if boxes else (dot[0] + _NEAR, dot[1], 0.0, 0.0)
        box = next(free, fallback)
        taken.append(box)
        places.append((box[0], box[1]))
    return places


def _around(dot: Point, width: float, height: float) -> Iterator[Box]:
    """Places around a dot, the nearest first: right, left, above, below, and then farther out."""
    for distance in (_NEAR, 12, 20, 30, 42, 56, 72, 90, 110, 135):
        for angle in (0, 180, 90, 270, 30, -30, 150, 210, 60, -60, 120, 240):
            x = dot[0] + distance * math.cos(math.radians(angle))
            y = dot[1] + distance * math.sin(math.radians(angle))
            left = x - width / 2 if angle in (90, 270) else x - width if 90 < angle < 270 else x
            low = y - height / 2 if angle in (0, 180) else y if angle % 360 < 180 else y - height
            yield left, low, left + width, low + height


def _within(box: Box, frame: Box) -> bool:
    return box[0] >= frame[0] and box[1] >= frame[1] and box[2] <= frame[2] and box[3] <= frame[3]


def _free(box: Box, dot: Point, taken: Sequence[Box]) -> bool:
    """Whether a place covers nothing, and neither does the line from it to its dot."""
    end = max(box[0], min(dot[0], box[2])), max(box[1], min(dot[1], box[3]))
    others = [other for other in taken if not _touch(other, (*dot, *dot))]
    along = [
        (dot[0] + (end[0] - dot[0]) * k / 8, dot[1] + (end[1] - dot[1]) * k / 8) for k in range(9)
    ]
    crossed = any(_touch(other, (*point, *point)) for other in others for point in along)
    return not crossed and not any(_touch(box, other) for other in taken)


def _touch(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
