"""Names of strategies: short distinct labels, next to dots and at the ends of lines."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from compactlab.reports.charts.drawing import Box, Point, classed, width_of
from compactlab.reports.charts.palette import light
from compactlab.reports.render.text import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Transform


# Short labels of strategies, distinct if the names are.

_CUT = "…"
# A name, an argument, or a separator.
_PIECE = re.compile(r"[(,+] ?|[^(,+]+")
_PUNCTUATION = "(,+) "


def distinct_labels(names: Sequence[str], size: int) -> list[str]:
    """Names cut to ``size`` characters, at least 12; common parts are cut first.

    Different names stay different; names that fit stay as they are.

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
    """A name without the arguments that all of its family share."""
    if len(family) == 1:
        return name
    common = set.intersection(*(set(_PIECE.findall(each)) for each in family))
    first, *rest = _PIECE.findall(name)
    own = (p if p not in common or not p.strip(_PUNCTUATION) else _CUT for p in rest)
    text = re.sub(rf"{_CUT}(?:[,+] ?{_CUT})*", _CUT, first + "".join(own))
    return text if text.endswith(")") or not name.endswith(")") else f"{text})"


def _numbered(cut: Mapping[str, str], size: int) -> dict[str, str]:
    """Names; those that became equal get a number."""
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


# Placement of names: a name covers nothing, and is nearer to its dot than to others.

Floats = NDArray[np.float64]

# Half a mark, the gap around a name, and the distances of a name from its dot.
_DOT, _GAP = 5.0, 4.0
_DISTANCES = (7.0, 12, 18, 26, 36, 48, 62, 78, 96, 116, 140, 170)
# Right, left, above, below, then between.
_ANGLES = (0, 180, 90, 270, 30, 330, 150, 210, 60, 300, 120, 240, 75, 105, 285, 255)
# Names farther away than this get a line to their dot, which is checked in steps of this size.
_LEAD, _STEP = 9.0, 2.0
_TRIES = 4


def place(
    dots: Sequence[Point],
    sizes: Sequence[Point],
    frame: Box,
    marks: Sequence[Point] = (),
    drawn: Sequence[Point] = (),
    *,
    boxes: Sequence[Box] = (),
    strict: bool = False,
) -> list[Point | None]:
    """The lower left corner of the name of every dot, in points; None without space.

    Names stay within the frame and avoid all marks, drawn points and boxes. A name, or its line, is
    nearest to its own dot; without a line, its dot is also the nearest mark. Names without space
    come first at the next try; at the last try, lines may cross marks, unless it is strict.

    Examples
    --------
    >>> place([(50, 50)], [(30, 10)], (0, 0, 200, 100))
    [(57.0, 45.0)]
    """
    best: list[Point | None] = []
    order = list(range(len(dots)))
    for number in range(_TRIES):
        careful = strict or number < _TRIES - 1
        places = _placed(order, dots, sizes, frame, (marks, drawn, boxes), strict=careful)
        if not best or places.count(None) < best.count(None):
            best = places
        if None not in places:
            break
        order.sort(key=lambda number: places[number] is not None)
    return best


def _placed(
    order: Sequence[int],
    dots: Sequence[Point],
    sizes: Sequence[Point],
    frame: Box,
    besides: tuple[Sequence[Point], Sequence[Point], Sequence[Box]],
    *,
    strict: bool,
) -> list[Point | None]:
    """Place names in an order; no line crosses a name, and strict lines cross no mark."""
    own, marks = _points(dots), _points([*dots, *besides[0]])
    boxes_taken = np.array(besides[2], np.float64).reshape(-1, 4)
    taken = np.concatenate([_squares(marks, _DOT), _squares(_points(besides[1]), 1), boxes_taken])
    free = 0 if strict else len(taken)
    # Distances from each dot to the nearest name and to its own; a line counts as its name.
    nearest, of_own = np.full(len(own), np.inf), np.zeros(len(own))
    places: list[Point | None] = [None] * len(own)
    for number in order:
        boxes = _around(dots[number], sizes[number], frame)
        far = _distances(boxes, own)
        lead = far[:, number] > _LEAD
        closest = _distances(boxes, marks).min(axis=1) >= far[:, number] - 1e-9
        # A named dot keeps its name as the nearest, and no other name is nearer to this dot.
        settled = np.array([n for n in order if places[n] is not None], dtype=np.int64)
        fits = lead | (closest & (far[:, number] < nearest[number]))
        fits &= ~_touched(boxes, taken) & (far[:, settled] > of_own[settled]).all(axis=1)
        for at in np.flatnonzero(fits):
            line = _line(dots[number], boxes[at])
            if not lead[at] or not _touched(line, taken[free:]).any():
                left, low, right, high = map(float, boxes[at])
                places[number] = (left, low)
                of_own[number] = 0.0 if lead[at] else far[at, number]
                nearest = np.minimum(nearest, far[at])
                with_gap = np.array([[left - _GAP, low, right + _GAP, high]])
                taken = np.concatenate([taken, with_gap, *([line] if lead[at] else [])])
                break
    return places


def _points(points: Sequence[Point]) -> Floats:
    return np.array(points, np.float64).reshape(-1, 2)


def _squares(points: Floats, half: float) -> Floats:
    return np.concatenate([points - half, points + half], axis=1)


def _around(dot: Point, size: Point, frame: Box) -> Floats:
    """Boxes around a dot within the frame, the nearest first."""
    distance, angle = (a.ravel() for a in np.meshgrid(_DISTANCES, _ANGLES, indexing="ij"))
    x = dot[0] + distance * np.cos(np.radians(angle))
    y = dot[1] + distance * np.sin(np.radians(angle))
    upright, level = np.isin(angle, (90, 270)), np.isin(angle, (0, 180))
    beside = np.where((angle > 90) & (angle < 270), x - size[0], x)
    left = np.where(upright, x - size[0] / 2, beside)
    left = np.clip(left, frame[0], max(frame[0], frame[2] - size[0]))
    low = np.where(level, y - size[1] / 2, np.where(angle % 360 < 180, y, y - size[1]))
    boxes = np.stack([left, low, left + size[0], low + size[1]], axis=1)
    within = (boxes[:, :2] >= frame[:2]).all(axis=1) & (boxes[:, 2:] <= frame[2:]).all(axis=1)
    return boxes[within]


def nearest_in(box: Sequence[float], dot: Point) -> Point:
    """The point of a name nearest to its dot, where a line between them ends."""
    return max(box[0], min(dot[0], box[2])), max(box[1], min(dot[1], box[3]))


def _distances(boxes: Floats, points: Floats) -> Floats:
    """The distance of each point from each box."""
    corners = boxes[:, None, :]
    past = np.maximum(corners[..., :2] - points, points - corners[..., 2:])
    distances: Floats = np.hypot(*np.moveaxis(np.maximum(past, 0), -1, 0))
    return distances


def _touched(boxes: Floats, others: Floats) -> NDArray[np.bool_]:
    """Which boxes touch any of the others."""
    left, low, right, high = boxes.T[..., None]
    its_left, its_low, its_right, its_high = others.T
    beside = (left < its_right) & (its_left < right)
    return np.asarray((beside & (low < its_high) & (its_low < high)).any(axis=1), np.bool_)


def _line(dot: Point, box: Floats) -> Floats:
    """Small squares along the line between a dot and its name, outside the dot."""
    end = np.array(nearest_in(box.tolist(), dot))
    start = np.array(dot)
    length = float(np.hypot(*(end - start)))
    first = _DOT + 1.5
    shares = np.arange(first, max(length, first), _STEP) / max(length, first)
    return _squares(start + shares[:, None] * (end - start), 1)


# Names next to dots, with a line to the dot if they cannot be adjacent.

SIZE, _HIGH = 10.0, 1.2
# The gap between a line and the letters.
_SHORT = 1.5
# Dots nearer than the first distance overlap and share one place for their names; so do dots within
# the second distance whose names have no space. The third number is the length of a line of names.
_SAME, _NEAR, _TOGETHER = 2.0, 30.0, 24
# Widths of a letter of the axes' width per character of a name.
_LETTER = 1.6


class _Name(NamedTuple):
    """A name, or lines of those of several marks, and its dot in data."""

    label: str
    dot: Point

    def room(self, size: float) -> Point:
        """Its width and height in points."""
        lines = self.label.split("\n")
        return max(width_of(line, size) for line in lines), size * _HIGH * len(lines)


def write_names(
    axes: Axes,
    named: Mapping[str, Point],
    marks: Sequence[Point],
    drawn: Sequence[Point],
    others: Collection[str] = (),
    *,
    boxes: Sequence[Box] = (),
    size: float = SIZE,
) -> None:
    """Write names next to dots, in axes of their final size and limits.

    Names avoid all marks, and the drawn points and boxes, which are in points of the figure.
    ``others`` are names of less importance: they only take the space that the others leave. Names
    that find none share one place with those of the marks around them.
    """
    (left, low), (right, high) = on_sheet(axes, [(0, 0), (1, 1)], axes.transAxes)
    labels = distinct_labels(list(named), max(12, int((right - left) / (_LETTER * size))))
    dots = on_sheet(axes, list(named.values()))
    frame = (left + 2, low + 2, right + 6, high)
    written, marked = list(boxes), on_sheet(axes, marks)

    def write(
        groups: Mapping[Point, Sequence[int]], lines: Sequence[Point], *, strict: bool = False
    ) -> list[int]:
        """Write the names of each dot; return those without space."""
        points = list(named.values())
        names = [_Name(_joined([labels[n] for n in g]), points[g[0]]) for g in groups.values()]
        sizes = [name.room(size) for name in names]
        places = place(list(groups), sizes, frame, marked, lines, boxes=written, strict=strict)
        for at, name, (width, height), corner in zip(groups, names, sizes, places, strict=True):
            if corner is not None:
                x, y = corner
                _write(axes, at, name, (x, y, x + width, y + height), size)
                written.append((x - _GAP, y, x + width + _GAP, y + height))
        pairs = zip(groups.values(), places, strict=True)
        return [number for group, corner in pairs if corner is None for number in group]

    groups = _grouped(dots, range(len(dots)), _SAME)
    late = {at for at, group in groups.items() if all(list(named)[n] in others for n in group)}
    without = write({at: group for at, group in groups.items() if at not in late}, drawn)
    without += write({at: groups[at] for at in groups if at in late}, drawn, strict=True)
    for lines in (drawn, ()):  # a name across a line is better than none
        without = write(_grouped(dots, without, _NEAR), lines)


def _grouped(dots: Sequence[Point], numbers: Iterable[int], reach: float) -> dict[Point, list[int]]:
    """Numbers of dots near the first of their group, by its place."""
    groups: dict[Point, list[int]] = {}
    for number in numbers:
        at = next((at for at in groups if math.dist(at, dots[number]) < reach), dots[number])
        groups.setdefault(at, []).append(number)
    return groups


def _joined(labels: Sequence[str]) -> str:
    r"""Names as lines of a few.

    Examples
    --------
    >>> _joined(["claude_code", "codex", "opencode", "pi"])
    'claude_code, codex,\nopencode, pi'
    """
    lines = [labels[0]]
    for label in labels[1:]:
        longer = f"{lines[-1]}, {label}"
        lines[-1:] = [longer] if len(longer) <= _TOGETHER else [f"{lines[-1]},", label]
    return "\n".join(lines)


def on_sheet(axes: Axes, points: Sequence[Point], places: Transform | None = None) -> list[Point]:
    """Points of the data, or of another transform, in points of the figure."""
    if not points:
        return []
    scale = 72 / axes.figure.get_figure(root=True).dpi
    there = (places or axes.transData).transform(points)
    return [(float(x) * scale, float(y) * scale) for x, y in there]


def _write(axes: Axes, at: Point, name: _Name, box: Box, size: float) -> None:
    """A name, anchored at the side of its dot: a page's font may be narrower than ours.

    It keeps its distance from the dot when the axes are moved.
    """
    left, low, right, high = box
    end = nearest_in((left, low + 1, right, high - 1), at)
    x, anchor = (
        (right, "right") if right < at[0] else (left, "left") if left > at[0]
        else ((left + right) / 2, "center")
    )  # fmt: skip
    line = None
    if math.dist(at, end) > _LEAD:
        side = (end[0] - left) / (right - left), (end[1] - low) / (high - low)
        line = {"arrowstyle": "-", "color": light("muted"), "linewidth": 0.7, "patchA": None,
                "shrinkA": _SHORT, "shrinkB": 0, "relpos": side}  # fmt: skip
    y, level = (
        ((low + high) / 2, "center") if "\n" in name.label else (low + 0.25 * size, "baseline")
    )
    text = axes.annotate(
        name.label, name.dot, xytext=(x - at[0], y - at[1]),
        textcoords="offset points", ha=anchor, va=level, fontsize=size, color=light("ink"),
        zorder=4, gid=classed("name"), arrowprops=line, annotation_clip=False, parse_math=False,
    )  # fmt: skip
    if text.arrow_patch is not None:
        text.arrow_patch.set(zorder=2, gid=classed("lead"))


# Names at the ends of lines, right of the axes, with a thread to each end.

_BESIDE, _APART = 14.0, 1.2


class End(NamedTuple):
    """The end of a line: its name, its colour, and its position in data."""

    label: str
    colour: str
    x: float
    y: float


def width_of_ends(labels: Sequence[str], letters: int, size: float) -> float:
    """The width in points that names at the ends of lines need."""
    cut = distinct_labels(labels, letters)
    return _BESIDE + 1.03 * max((width_of(label, size) for label in cut), default=0.0)


def name_ends(axes: Axes, ends: Sequence[End], letters: int, size: float) -> None:
    """Write the names of lines right of axes that have their final size and limits.

    No name covers another one. Each is as near to the height of its line's end as that allows.
    """
    from matplotlib.transforms import offset_copy

    drawn = axes.figure.get_figure(root=True)
    height = float(axes.bbox.height) * 72 / drawn.dpi
    levels = axes.transAxes.inverted().transform(
        axes.transData.transform([(end.x, end.y) for end in ends])
    )
    wanted = [height * float(level) for _, level in levels]
    places = spaced(wanted, _APART * size, height)
    beside = offset_copy(axes.transAxes, drawn, x=_BESIDE, units="points")
    labels = distinct_labels([end.label for end in ends], letters)
    for end, label, place in zip(ends, labels, places, strict=True):
        thread = {"arrowstyle": "-", "color": light(end.colour), "linewidth": 0.7,
                  "shrinkA": 1, "shrinkB": 2, "relpos": (0, 0.5)}  # fmt: skip
        axes.annotate(
            label, (end.x, end.y), xytext=(1, place / height), textcoords=beside,
            ha="left", va="center", fontsize=size, annotation_clip=False, arrowprops=thread,
            color=light("muted" if end.colour == "grey" else "ink"), gid=classed("name"),
            parse_math=False,
        )  # fmt: skip


def spaced(wanted: Sequence[float], apart: float, high: float) -> list[float]:
    """Positions as near as possible to the wanted ones, in their order and with distances.

    They lie between 0 and ``high``, below 0 only without room. Least squares under a minimum
    distance is isotonic regression: neighbours that are too near share their mean.

    Examples
    --------
    >>> spaced([5, 50, 51], 10, 100)
    [5.0, 45.5, 55.5]
    >>> spaced([99, 99], 10, 100)
    [90.0, 100.0]
    """
    order = sorted(range(len(wanted)), key=lambda number: wanted[number])
    pools: list[list[float]] = []  # sums and counts of positions without the distances
    for number, index in enumerate(order):
        pools.append([wanted[index] - number * apart, 1])
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] > pools[-1][0] / pools[-1][1]:
            total, count = pools.pop()
            pools[-1] = [pools[-1][0] + total, pools[-1][1] + count]
    most = high - (len(order) - 1) * apart
    levels = [
        min(max(total / count, 0.0), float(most))
        for total, count in pools
        for _ in range(int(count))
    ]
    places = [0.0] * len(order)
    for number, (index, level) in enumerate(zip(order, levels, strict=True)):
        places[index] = level + number * apart
    return places
