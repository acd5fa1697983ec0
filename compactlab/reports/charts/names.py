"""Names beside dots, so placed that none covers another, with a line where there is no room."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from compactlab.reports.charts.bars import told_apart
from compactlab.reports.charts.drawing import in_points, light, width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Where the names of dots are put, so that none covers another.

Point = tuple[float, float]
Box = tuple[float, float, float, float]

_NEAR = 7.0
_DOT = 5.0
_GAP = 4.0
# Up to here, a place that is nearest to its own dot is better than one that is nearer to it.
_CLEAR = 50.0
_DISTANCES = (_NEAR, 12, 18, 26, 36, 48, 62, 78, 96, 116, 140)
# Right, left, above, below, and what is between.
_ANGLES = (0, 180, 90, 270, 30, -30, 150, 210, 60, -60, 120, 240, 75, 105, -75, 255)


def place(
    dots: Sequence[Point],
    sizes: Sequence[Point],
    frame: Box,
    drawn: Sequence[Point] = (),
    *,
    crossed: bool = False,
) -> list[Point]:
    """Find a place for the name of every dot, one after the other.

    Parameters
    ----------
    dots
        Where the dots are, in points.
    sizes
        How wide and how high each name is.
    frame
        Left, bottom, right, top: names stay within.
    drawn
        Points of what is drawn besides, which names should not cover.
    crossed
        Whether lines go through the dots, from left to right and upright: then names stand between
        these first.

    Returns
    -------
    list of (x, y)
        The lower left corner of each name. Places that are nearer to another dot come last. A name
        for which there is no free place with a free line to its dot gets a free place whose line
        crosses least, and if there is none, the one that covers least.

    Examples
    --------
    >>> place([(50, 50)], [(30, 10)], (0, 0, 200, 100))
    [(57.0, 45.0)]
    """
    angles = sorted(_ANGLES, key=lambda angle: angle % 90 == 0) if crossed else _ANGLES
    taken = [_square(dot, _DOT) for dot in dots]
    besides = [_square(point, 1) for point in drawn]
    places: list[Point] = []
    for dot, size in zip(dots, sizes, strict=True):
        boxes = [box for box in _around(dot, size, angles) if _within(box, frame)]
        clear = [box for box in boxes if not any(_touch(box, each) for each in besides)]
        own = [box for box in clear if _far(box, dot) < _CLEAR and not strayed(box, dot, dots)]
        free = (box for box in (*own, *clear, *boxes) if _free(box, dot, taken))
        box = next(free, None) or _least(boxes, dot, taken) or _beside(dot)
        beside = (box[0] - _GAP, box[1], box[2] + _GAP, box[3])
        taken += [beside, *(_square(point, 1) for point in _line(dot, box))]
        places.append((box[0], box[1]))
    return places


def nearest(box: Box, dot: Point) -> Point:
    """The point of a name that is nearest to its dot: there a line between them ends."""
    return max(box[0], min(dot[0], box[2])), max(box[1], min(dot[1], box[3]))


def strayed(box: Box, dot: Point, dots: Sequence[Point], slack: float = 0.0) -> bool:
    """Whether a name stands nearer to another dot than to its own, or nearly so by some slack."""
    limit = _far(box, dot) + slack - 1e-9
    return any(_far(box, other) < limit for other in dots if other != dot)


def _far(box: Box, dot: Point) -> float:
    return math.dist(nearest(box, dot), dot)


def _around(dot: Point, size: Point, angles: Sequence[int]) -> Iterator[Box]:
    """Places around a dot, the nearest first."""
    width, height = size
    for distance in _DISTANCES:
        for angle in angles:
            x = dot[0] + distance * math.cos(math.radians(angle))
            y = dot[1] + distance * math.sin(math.radians(angle))
            left = x - width / 2 if angle in (90, 270) else x - width if 90 < angle < 270 else x
            low = y - height / 2 if angle in (0, 180) else y if angle % 360 < 180 else y - height
            yield left, low, left + width, low + height


def _least(boxes: Sequence[Box], dot: Point, taken: Sequence[Box]) -> Box | None:
    """Of those that cover least the first whose line to the dot crosses least."""
    covered = [round(sum(_common(box, other) for other in taken), 9) for box in boxes]
    best = [box for box, area in zip(boxes, covered, strict=True) if area == min(covered)]
    return min(best, key=lambda box: _crossings(box, dot, taken), default=None)


def _crossings(box: Box, dot: Point, taken: Sequence[Box]) -> int:
    line = [_square(point, 1) for point in _line(dot, box)]
    near = [other for other in taken if any(_touch(point, other) for point in line)]
    return len(near)


def _beside(dot: Point) -> Box:
    return dot[0] + _NEAR, dot[1], dot[0] + _NEAR, dot[1]


def _common(a: Box, b: Box) -> float:
    """The area that two boxes share."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return width * height if width > 0 and height > 0 else 0.0


def _free(box: Box, dot: Point, taken: Sequence[Box]) -> bool:
    """Whether a place covers nothing, and neither does the line from it to its dot."""
    if any(_touch(box, other) for other in taken):
        return False
    line = [_square(point, 1) for point in _line(dot, box)]
    return not any(_touch(point, other) for point in line for other in taken)


def _line(dot: Point, box: Box) -> list[Point]:
    """Points on the line between a dot and its name, from where the dot ends."""
    x, y = nearest(box, dot)
    length = math.hypot(x - dot[0], y - dot[1])
    first = _DOT + 1.5
    shares = [(first + 2 * step) / length for step in range(math.ceil((length - first) / 2))]
    return [(dot[0] + (x - dot[0]) * share, dot[1] + (y - dot[1]) * share) for share in shares]


def _square(middle: Point, half: float) -> Box:
    return middle[0] - half, middle[1] - half, middle[0] + half, middle[1] + half


def _within(box: Box, frame: Box) -> bool:
    return box[0] >= frame[0] and box[1] >= frame[1] and box[2] <= frame[2] and box[3] <= frame[3]


def _touch(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


# Names beside dots, with a line to the dot where there is no room right beside it.

Names = dict[Point, list[str]]

_LOUD, _QUIET = 9.0, 7.5
_LINE = 1.2
# A name farther away than this gets a line to its dot.
_LEAD = 9.0
# Another dot that is farther from a name than its own by less than this could be taken for its.
_DOUBT = 5.0
# A line ends so far from the letters.
_SHORT = 1.5
# Dots nearer than this lie on each other.
_SAME = 2.0
# So many names of dots that lie on each other are told; then how many more there are.
_MOST = 4
# Characters that there is room for in a name.
_LETTERS = 44


def write_names(
    axes: Axes,
    named: Mapping[str, Point],
    loud: Mapping[str, str],
    drawn: Sequence[Point],
    *,
    crossed: bool,
) -> None:
    """Write names beside dots.

    Parameters
    ----------
    axes
        Where the dots are. A point of its figure is a pixel.
    named
        Where the dot of each name is, in what the axes measure.
    loud
        Names that are placed first, and written larger and darker, with the names of the colours
        of their dots. A line in that colour goes to the dot where another dot is nearer.
    drawn
        Points that names keep off, in points of the figure.
    crossed
        Whether lines go through the dots.
    """
    first = [*(n for n in named if n in loud), *(n for n in named if n not in loud)]
    dots = [(float(x), float(y)) for x, y in axes.transData.transform([named[n] for n in first])]
    short = told_apart(first, _LETTERS)
    groups = _together(dots, short)
    worn = {text: loud[name] for text, name in zip(short, first, strict=True) if name in loud}
    lines = [_told(names, worn) for names in groups.values()]
    sizes = [_size(each) for each in lines]
    (left, low), (right, high) = axes.transAxes.transform([(0, 0), (1, 1)])
    places = place(list(groups), sizes, (left + 2, low + 2, right, high), drawn, crossed=crossed)
    colours = [next((worn[text] for text in each if text in worn), "") for each in groups.values()]
    for dot, each, size, at, colour in zip(groups, lines, sizes, places, colours, strict=True):
        box = (at[0], at[1], at[0] + size[0], at[1] + size[1])
        _lead(axes, dot, box, colour, strayed=strayed(box, dot, list(groups), _DOUBT))
        _write(axes, dot, each, size, at)


def _lead(axes: Axes, dot: Point, box: Box, colour: str, *, strayed: bool) -> None:
    """A line from a dot to its name, where one might take the name for another dot's."""
    left, low, right, high = box
    end = nearest((left, low + 1, right, high - 1), dot)
    if math.dist(dot, end) <= _LEAD and not (strayed and colour):
        return
    share = 1 - _SHORT / max(math.dist(dot, end), _SHORT)
    xs, ys = ([from_, from_ + (to - from_) * share] for from_, to in zip(dot, end, strict=True))
    # Over quiet dots, so that it is seen where there are many.
    look: dict[str, Any] = (
        {"linewidth": 1.1, "zorder": 3.2} if colour else {"linewidth": 0.5, "zorder": 2}
    )
    whole = in_points(axes.figure.get_figure(root=True))
    axes.plot(xs, ys, transform=whole, color=light(colour or "grey"), **look)


def _write(
    axes: Axes, dot: Point, lines: Sequence[tuple[str, bool]], size: Point, at: Point
) -> None:
    (x, y), (width, _) = at, size
    whole = in_points(axes.figure.get_figure(root=True))
    # Anchored where it is next to its dot, because the page's font may be narrower than ours.
    share, anchor = _anchor(dot[0], x, width)
    for text, is_loud in reversed(lines):
        letter = _LOUD if is_loud else _QUIET
        axes.text(
            x + width * share,
            y + 0.25 * letter,
            text,
            transform=whole,
            ha=anchor,
            va="baseline",
            fontsize=letter,
            color=light("ink" if is_loud else "muted"),
            zorder=4,
        )
        y += letter * _LINE


def _together(dots: Sequence[Point], names: Sequence[str]) -> Names:
    """Names by dot; strategies that cannot be told apart share one, in as many lines."""
    found: Names = {}
    for dot, name in zip(dots, names, strict=True):
        same = next((other for other in found if math.dist(dot, other) < _SAME), dot)
        found.setdefault(same, []).append(name)
    return found


def _told(names: Sequence[str], large: Collection[str]) -> list[tuple[str, bool]]:
    shown = list(names) if len(names) <= _MOST + 1 else list(names[:_MOST])
    lines = [(name, name in large) for name in shown]
    if len(shown) < len(names):
        lines.append((f"and {len(names) - len(shown)} more", False))
    return lines


def _size(lines: Sequence[tuple[str, bool]]) -> Point:
    letters = [_LOUD if is_loud else _QUIET for _, is_loud in lines]
    widths = [width_of(text, size) for (text, _), size in zip(lines, letters, strict=True)]
    return max(widths), sum(size * _LINE for size in letters)


def _anchor(
    dot: float, left: float, width: float
) -> tuple[float, Literal["left", "center", "right"]]:
    if left + width < dot:
        return 1.0, "right"
    return (0.5, "center") if abs(left + width / 2 - dot) < 1 else (0.0, "left")
