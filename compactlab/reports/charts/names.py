"""Names of strategies: short ones that differ, and names beside dots that do not overlap."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from compactlab.reports.charts.drawing import Box, Point, in_points, width_of
from compactlab.reports.charts.palette import light
from compactlab.reports.render.text import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Short names of strategies that differ where the names do.

_CUT = "…"
# A name, an argument, or what stands between them.
_PIECE = re.compile(r"[(,+] ?|[^(,+]+")
_PUNCTUATION = "(,+) "


def distinct_labels(names: Sequence[str], size: int) -> list[str]:
    """Names cut to so many characters, at least 12, first of what they have in common.

    Names that differ stay different; what had room is as it was.

    Examples
    --------
    >>> distinct_labels(["window(keep=20, turns=5)", "window(keep=9, turns=5)"], 20)
    ['window(keep=20, …)', 'window(keep=9, …)']
    >>> distinct_labels(["sliding_window", "a_strategy_with_a_very_long_name"], 20)
    ['sliding_window', 'a_strategy…long_name']
    """
    families: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        if len(name) > size:
            families.setdefault(name.partition("(")[0], []).append(name)
    cut = {name: name for name in names}
    for family in families.values():
        cut.update({name: shorten(_without_overlap(name, family), size) for name in family})
    labels = _numbered(cut, size)
    return [labels[name] for name in names]


def _without_overlap(name: str, family: Sequence[str]) -> str:
    """A name without the arguments that all of a family have."""
    if len(family) == 1:
        return name
    common = set.intersection(*(set(_PIECE.findall(each)) for each in family))
    first, *rest = _PIECE.findall(name)
    own = (p if p not in common or not p.strip(_PUNCTUATION) else _CUT for p in rest)
    text = re.sub(rf"{_CUT}(?:[,+] ?{_CUT})*", _CUT, first + "".join(own))
    return text if text.endswith(")") or not name.endswith(")") else f"{text})"


def _numbered(cut: Mapping[str, str], size: int) -> dict[str, str]:
    """Names that have become alike, with a number behind them."""
    times = Counter(cut.values())
    taken = {text for text, number in times.items() if number == 1}
    labels: dict[str, str] = {}
    for name, text in cut.items():
        label, number = text, 1
        while times[text] > 1 and (label := _with_number(text, number, size)) in taken:
            number += 1
        taken.add(label)
        labels[name] = label
    return labels


def _with_number(text: str, number: int, size: int) -> str:
    mark = f" #{number}"
    return shorten(text, size - len(mark)) + mark


# Where the names of dots are put, so that none covers another.

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
    """The lower left corner of the name of every dot: all in points, one after the other.

    Names stay within the frame and keep off what is drawn besides. Where lines go through the
    dots, from left to right and upright, names stand between these first. A place that is nearer
    to another dot comes last. Without a free place with a free line to the dot, it is the one that
    covers least, and of these the one whose line crosses least.

    Examples
    --------
    >>> place([(50, 50)], [(30, 10)], (0, 0, 200, 100))
    [(57.0, 45.0)]
    """
    angles = sorted(_ANGLES, key=lambda angle: angle % 90 == 0) if crossed else _ANGLES
    taken = [_square(dot, _DOT) for dot in dots]
    obstacles = [_square(point, 1) for point in drawn]
    places: list[Point] = []
    for dot, size in zip(dots, sizes, strict=True):
        boxes = [box for box in _around(dot, size, angles) if _within(box, frame)]
        clear = [box for box in boxes if not any(_touch(box, each) for each in obstacles)]
        own = [box for box in clear if _far(box, dot) < _CLEAR and not strayed(box, dot, dots)]
        free = (box for box in (*own, *clear, *boxes) if _free(box, dot, taken))
        box = next(free, None) or _least(boxes, dot, taken) or _beside(dot)
        with_gap = (box[0] - _GAP, box[1], box[2] + _GAP, box[3])
        taken += [with_gap, *_line(dot, box)]
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
    covered = [round(sum(_overlap(box, other) for other in taken), 9) for box in boxes]
    best = [box for box, area in zip(boxes, covered, strict=True) if area == min(covered)]
    return min(best, key=lambda box: _crossings(box, dot, taken), default=None)


def _crossings(box: Box, dot: Point, taken: Sequence[Box]) -> int:
    line = _line(dot, box)
    return sum(any(_touch(step, other) for step in line) for other in taken)


def _beside(dot: Point) -> Box:
    return dot[0] + _NEAR, dot[1], dot[0] + _NEAR, dot[1]


def _overlap(a: Box, b: Box) -> float:
    """The area that two boxes share."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return width * height if width > 0 and height > 0 else 0.0


def _free(box: Box, dot: Point, taken: Sequence[Box]) -> bool:
    """Whether a place covers nothing, and neither does the line from it to its dot."""
    if any(_touch(box, other) for other in taken):
        return False
    return not any(_touch(step, other) for step in _line(dot, box) for other in taken)


def _line(dot: Point, box: Box) -> list[Box]:
    """Small squares on the line between a dot and its name, from where the dot ends."""
    x, y = nearest(box, dot)
    length = math.hypot(x - dot[0], y - dot[1])
    first = _DOT + 1.5
    shares = [(first + 2 * step) / length for step in range(math.ceil((length - first) / 2))]
    return [
        _square((dot[0] + (x - dot[0]) * share, dot[1] + (y - dot[1]) * share), 1)
        for share in shares
    ]


def _square(middle: Point, half: float) -> Box:
    return middle[0] - half, middle[1] - half, middle[0] + half, middle[1] + half


def _within(box: Box, frame: Box) -> bool:
    return box[0] >= frame[0] and box[1] >= frame[1] and box[2] <= frame[2] and box[3] <= frame[3]


def _touch(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


# Names beside dots, with a line to the dot where there is no room right beside it.

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
# So many names of dots that lie on each other are written; then how many more there are.
_MOST = 4
# Characters that there is room for in a name.
_LETTERS = 44


class _Labels:
    """The names of a dot, in lines, and the colour of the first loud one; "" if none is loud."""

    def __init__(self, dot: Point, labels: Sequence[str], loud: Mapping[str, str]) -> None:
        self.dot = dot
        most = len(labels) if len(labels) <= _MOST + 1 else _MOST
        self.lines = [(label, _LOUD if label in loud else _QUIET) for label in labels[:most]]
        self.colour = next((loud[label] for label, _ in self.lines if label in loud), "")
        if most < len(labels):
            self.lines.append((f"and {len(labels) - most} more", _QUIET))
        width = max(width_of(text, size) for text, size in self.lines)
        self.size = width, sum(size * _LINE for _, size in self.lines)


def write_names(
    axes: Axes,
    named: Mapping[str, Point],
    loud: Mapping[str, str],
    drawn: Sequence[Point],
    *,
    crossed: bool,
) -> None:
    """Write names beside dots, in axes of a figure of which a point is a pixel.

    The loud ones are placed first, and written larger and darker; a line in the colour of such a
    dot goes to it where another dot is nearer. Names keep off the points that are drawn, which are
    those of the figure. Lines go through the dots, if they are crossed.
    """
    first = [*(n for n in named if n in loud), *(n for n in named if n not in loud)]
    dots = [(float(x), float(y)) for x, y in axes.transData.transform([named[n] for n in first])]
    labels = distinct_labels(first, _LETTERS)
    colours = {label: loud[name] for label, name in zip(labels, first, strict=True) if name in loud}
    blocks = [_Labels(dot, each, colours) for dot, each in _by_dot(dots, labels).items()]
    (left, low), (right, high) = axes.transAxes.transform([(0, 0), (1, 1)])
    frame, of_names = (left + 2, low + 2, right, high), [block.dot for block in blocks]
    places = place(of_names, [block.size for block in blocks], frame, drawn, crossed=crossed)
    for block, (x, y) in zip(blocks, places, strict=True):
        box = (x, y, x + block.size[0], y + block.size[1])
        _lead(axes, block, box, strayed=strayed(box, block.dot, of_names, _DOUBT))
        _write(axes, block, box)


def _by_dot(dots: Sequence[Point], labels: Sequence[str]) -> dict[Point, list[str]]:
    """Names by dot; strategies whose dots lie on each other share one."""
    groups: dict[Point, list[str]] = {}
    for dot, label in zip(dots, labels, strict=True):
        same = next((other for other in groups if math.dist(dot, other) < _SAME), dot)
        groups.setdefault(same, []).append(label)
    return groups


def _lead(axes: Axes, block: _Labels, box: Box, *, strayed: bool) -> None:
    """A line from a dot to its name, where one might take the name for another dot's."""
    left, low, right, high = box
    end = nearest((left, low + 1, right, high - 1), block.dot)
    if math.dist(block.dot, end) <= _LEAD and not (strayed and block.colour):
        return
    share = 1 - _SHORT / max(math.dist(block.dot, end), _SHORT)
    xs, ys = ([a, a + (b - a) * share] for a, b in zip(block.dot, end, strict=True))
    # Over quiet dots, so that it is seen where there are many.
    look: dict[str, Any] = (
        {"linewidth": 1.1, "zorder": 3.2} if block.colour else {"linewidth": 0.5, "zorder": 2}
    )
    whole = in_points(axes.figure.get_figure(root=True))
    axes.plot(xs, ys, transform=whole, color=light(block.colour or "grey"), **look)


def _write(axes: Axes, block: _Labels, box: Box) -> None:
    whole = in_points(axes.figure.get_figure(root=True))
    # Anchored where it is next to its dot, because the page's font may be narrower than ours.
    share, anchor = _anchor(block.dot[0], box[0], block.size[0])
    x, y = box[0] + block.size[0] * share, box[1]
    for text, size in reversed(block.lines):
        axes.text(
            x, y + 0.25 * size, text, transform=whole, ha=anchor, va="baseline", fontsize=size,
            color=light("ink" if size == _LOUD else "muted"), zorder=4,
        )  # fmt: skip
        y += size * _LINE


def _anchor(
    dot: float, left: float, width: float
) -> tuple[float, Literal["left", "center", "right"]]:
    if left + width < dot:
        return 1.0, "right"
    return (0.5, "center") if abs(left + width / 2 - dot) < 1 else (0.0, "left")
