"""Names of strategies: short distinct labels, and their placement next to dots."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from compactlab.reports.charts.drawing import Box, Point, classed, in_points, width_of
from compactlab.reports.charts.palette import light
from compactlab.reports.render.text import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    a, b = boxes[:, None, :], others[None, :, :]
    both = (a[..., :2] < b[..., 2:]) & (b[..., :2] < a[..., 2:])
    return np.asarray(np.any(np.all(both, axis=-1), axis=1), np.bool_)


def _line(dot: Point, box: Floats) -> Floats:
    """Small squares along the line between a dot and its name, outside the dot."""
    end = np.array(nearest_in(box.tolist(), dot))
    start = np.array(dot)
    length = float(np.hypot(*(end - start)))
    first = _DOT + 1.5
    shares = np.arange(first, max(length, first), _STEP) / max(length, first)
    return _squares(start + shares[:, None] * (end - start), 1)


# Names next to dots, with a line to the dot if they cannot be adjacent.

_SIZE, _HIGH = 10.0, 1.2
# The gap between a line and the letters.
_SHORT = 1.5
# Dots nearer than this overlap and share one name.
_SAME = 2.0
# Points of the axes' width per character of a name.
_LETTER = 16


def write_names(
    axes: Axes,
    named: Mapping[str, Point],
    marks: Sequence[Point],
    drawn: Sequence[Point],
    others: Collection[str] = (),
) -> None:
    """Write names next to dots, in axes of a figure with one pixel per point.

    Names avoid all marks and the drawn points, which are in points of the figure. ``others`` are
    names of less importance: they only take the space that the others leave.
    """
    dots: dict[Point, tuple[str, bool]] = {}
    (left, low), (right, high) = axes.transAxes.transform([(0, 0), (1, 1)])
    labels = distinct_labels(list(named), max(12, int((right - left) / _LETTER)))
    for name, label, dot in zip(named, labels, _on_sheet(axes, list(named.values())), strict=True):
        if all(math.dist(dot, other) >= _SAME for other in dots):
            dots[dot] = label, name in others
    frame = (left + 2, low + 2, right + 6, high)
    written: list[Box] = []
    for least in (False, True):
        chosen = {dot: label for dot, (label, late) in dots.items() if late is least}
        sizes = [(width_of(label, _SIZE), _SIZE * _HIGH) for label in chosen.values()]
        marked = _on_sheet(axes, marks)
        places = place(list(chosen), sizes, frame, marked, drawn, boxes=written, strict=least)
        for (dot, label), size, at in zip(chosen.items(), sizes, places, strict=True):
            if at is not None:
                (x, y), (width, height) = at, size
                _write(axes, dot, label, (x, y, x + width, y + height))
                written.append((x - _GAP, y, x + width + _GAP, y + height))


def _on_sheet(axes: Axes, points: Sequence[Point]) -> list[Point]:
    """Data points in points of the figure."""
    if not points:
        return []
    return [(float(x), float(y)) for x, y in axes.transData.transform(points)]


def _write(axes: Axes, dot: Point, label: str, box: Box) -> None:
    """A name, anchored at the side of its dot: a page's font may be narrower than ours."""
    whole = in_points(axes.figure.get_figure(root=True))
    left, low, right, high = box
    end = nearest_in((left, low + 1, right, high - 1), dot)
    if math.dist(dot, end) > _LEAD:
        share = 1 - _SHORT / math.dist(dot, end)
        xs, ys = ([a, a + (b - a) * share] for a, b in zip(dot, end, strict=True))
        axes.plot(
            xs, ys, transform=whole, color=light("muted"), linewidth=0.7, zorder=2,
            gid=classed("lead"),
        )  # fmt: skip
    x, anchor = (
        (right, "right") if right < dot[0] else (left, "left") if left > dot[0]
        else ((left + right) / 2, "center")
    )  # fmt: skip
    axes.text(
        x, low + 0.25 * _SIZE, label, transform=whole, ha=anchor, va="baseline", fontsize=_SIZE,
        color=light("ink"), zorder=4, gid=classed("name"),
    )  # fmt: skip
