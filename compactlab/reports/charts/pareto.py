"""Cost and recall: one mark per strategy, and the Pareto front."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.analysis.contrast import Contrast, contrasts
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import Box, Point, canvas, classed, tip, width_of
from compactlab.reports.charts.kit import (
    NAME_SIZE,
    PERCENT,
    STEPS,
    USD,
    WIDTH,
    Colours,
    KeyEntry,
    Sheet,
    Unit,
    Values,
    mark,
    measure,
)
from compactlab.reports.charts.names import SIZE, on_sheet, write_names
from compactlab.reports.charts.palette import light
from compactlab.reports.render.text import dollars, percent, show

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Width, height, and left margin of the axes: next to a table, and on a small screen.
_WIDE, _NARROW = (560.0, 330.0), (350.0, 380.0)
_LEFT, _RIGHT, _BELOW = 44.0, 14.0, 34.0
# The spacing of the points along a line that names avoid.
_CLOSE = 4.0
# The axis of recall starts here or lower.
_MOST = 0.95
# The shape and the least height at a given width.
_SHAPE, _LOWEST = 0.68, 230.0
# Up to this number of marks, all have names, as far as there is space.
_FEW = 20
# The radius of a mark's tooltip.
_REACH = 7.0
_CAPTION = (
    "Up and to the left is better. Recall is of facts last stated {lag:,} tokens ago or earlier. "
    "Dashed: the Pareto front. Dotted: bounds. "
)
_NAMED = "Named are the front, the reference and your own; the table has all. "
_BROKEN = "Beyond a double stroke, the axis is compressed. "
_BARS = "Bars: 95 % confidence intervals of the differences from {reference}."
_COST = "cost, USD{each} (less is better)"
_RECALL = "recall, % (more is better)"
# Space for names left of the cheapest mark, as a share of the cost axis. An axis that would begin
# near 0 begins at 0.
_LEAD, _NEAR = 0.6, 0.3

# Interval from left to right and from bottom to top; None without one.
_Bar = tuple[Point | None, Point | None]


class TradeOff(NamedTuple):
    """What is drawn: strategies with their intervals, the names of some, and bounds as lines."""

    rows: Sequence[Row]
    front: Sequence[Row]
    intervals: Mapping[str, _Bar]
    colours: Colours
    named: Sequence[Row]
    others: Collection[str]  # labels that are named only where there is space
    bounds: Sequence[Row]
    reference: str  # the label of the reference of intervals; "" without any


def trade_off(
    comparison: Comparison, colours: Colours, own: Collection[str] = ()
) -> TradeOff | None:
    """Cost and recall of all strategies; ``own`` specs are named, too. None without needs.

    A bound is a line at its recall, because nobody can have it for its cost. Only as the reference
    is it a mark, even if the user did not name it.
    """
    basis = comparison.reference
    beside = [row for row in comparison.bounds if row is basis]
    known = [row for row in (*comparison.rows, *comparison.bounds) if row.recall is not None]
    given = [row for row in (*comparison.rows, *beside) if row in known]
    if not given:
        return None
    # Without any strategy, bounds are all that there is to show.
    rows = [row for row in given if not row.bound or row is basis] or given
    bounds = [row for row in known if row.bound and row not in rows]
    intervals, reference = _intervals(comparison, rows)
    front = comparison.front
    leading = [r for r in rows if r in front or r is basis or r.spec in own]
    # Of overlapping marks the first is named: the user's own, the reference, then the front.
    leading.sort(key=lambda row: (row.spec not in own, row is not basis))
    named = [*leading, *(row for row in rows if len(rows) <= _FEW and row not in leading)]
    # Sixty intervals would hide the marks.
    bars = {row.spec: intervals[row.spec] for row in leading if row.spec in intervals}
    others = {row.label for row in named[len(leading) :]}
    return TradeOff(
        rows, front, bars, colours, named, others, bounds, reference if intervals else ""
    )


def pareto(
    whole: Comparison,
    colours: Colours,
    name: str,
    own: Collection[str] = (),
    width: float = WIDTH,
) -> Chart | None:
    """Draw cost and recall; ``own`` specs are named, too. None if nothing is needed."""
    if (subject := trade_off(whole, colours, own)) is None:
        return None
    narrow = None
    with canvas():
        if width == WIDTH:
            wide, broken = _drawn(subject, _WIDE)
            narrow, _ = _drawn(subject, _NARROW)
        else:
            size = SIZE if width > _WIDE[0] else NAME_SIZE
            wide, broken = _drawn(subject, (width, max(_SHAPE * width, _LOWEST)), size)
    caption = (
        _CAPTION.format(lag=whole.lag)
        + ("" if len(subject.rows) <= _FEW else _NAMED)
        + (_BROKEN if broken else "")
        + (_BARS.format(reference=subject.reference) if subject.reference else "")
    )
    return Chart(
        name, "Cost and recall", caption.strip(), wide, "pareto", "front", narrow=narrow,
        values=_values(subject),
    )  # fmt: skip


def _values(subject: TradeOff) -> Values:
    """The place of each mark with the ends of its bars; of bounds, the recall of their lines."""
    rows: list[Sequence[object]] = []
    for row in subject.rows:
        x, y = _place(row)
        spans: list[float | None] = []
        bar = subject.intervals.get(row.spec, (None, None))
        for unit, ends in zip((USD, PERCENT), bar, strict=True):
            spans += map(unit.number, ends) if ends else (None, None)
        rows.append([row.label, "mark", USD.number(x), PERCENT.number(y), *spans])
    lines = [[r.label, "line", None, PERCENT.number(r.recall or 0.0)] for r in subject.bounds]
    bars = [f"{e} of 95 % interval, {u.sign}" for u in (USD, PERCENT) for e in ("start", "end")]
    cost = _COST.format(each=_each(subject.rows[0]))
    return [["strategy", "drawn as", cost, _RECALL, *bars], *rows, *lines]


def _drawn(
    subject: TradeOff, whole: tuple[float, float], size: float = SIZE
) -> tuple[Figure, bool]:
    """The drawing on a sheet, and whether it has a broken axis."""
    width, height = whole
    sheet = Sheet(height, marks_key(subject.rows), above=2, width=width, letters=size)
    axes = sheet.axes(_LEFT, _BELOW, width - _LEFT - _RIGHT, height - _BELOW)
    broken, boxes = draw_trade_off(axes, subject, size)
    for box, rows in zip(boxes, _levels(subject.bounds).values(), strict=True):
        tip(sheet.figure, box, *(line for row in rows for line in _told(row)))
    marks = on_sheet(axes, [_place(row) for row in subject.rows])
    for row, (x, y) in zip(subject.rows, marks, strict=True):
        tip(sheet.figure, (x - _REACH, y - _REACH, x + _REACH, y + _REACH), *_told(row))
    return sheet.figure, broken


def draw_trade_off(axes: Axes, subject: TradeOff, size: float = SIZE) -> tuple[bool, list[Box]]:
    """Draw into axes of their final size.

    Returns whether one of them is broken, and the boxes of the names of bounds.
    """
    broken = _frame(axes, subject.rows, subject.intervals)
    axes.tick_params(labelsize=size)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set_fontsize(size)
    front = [_place(row) for row in subject.front]
    axes.step(
        [x for x, _ in front], [y for _, y in front], where="post", color=light("muted"),
        linewidth=1, linestyle=(0, (4, 3)), zorder=1,
    )  # fmt: skip
    for row in subject.rows:
        colour = subject.colours[row.spec]
        _bars(axes, row, subject.intervals.get(row.spec), colour)
        _dot(axes, row, colour, 3 + 0.4 * (colour != "grey") + 0.2 * (row in subject.front))
    marks = [_place(row) for row in subject.rows]
    boxes = _limits(axes, subject, size)
    named = {row.label: _place(row) for row in subject.named}
    drawn = _stepped(axes, front)
    write_names(axes, named, marks, drawn, subject.others, boxes=boxes, size=size)
    return broken, boxes


def _limits(axes: Axes, subject: TradeOff, size: float) -> list[Box]:
    """Draw bounds as lines at their recall, and return the boxes of their names.

    For a bound below the axis, name and recall are at the lower end.
    """
    (left, low), (right, _) = on_sheet(axes, [(0, 0), (1, 1)], axes.transAxes)
    marks = on_sheet(axes, [_place(row) for row in subject.rows])
    boxes: list[Box] = []
    for level, rows in _levels(subject.bounds).items():
        label = f"{', '.join(row.label for row in rows)} (bound)"
        ((_, y),) = on_sheet(axes, [(0.0, level)])
        names, at, transform, above = label, level, axes.get_yaxis_transform(), 3.0
        if y < low:
            names, at, transform = f"{label}, {percent(level)}%, below", 0, axes.transAxes
            y, above = low, above + 1.2 * size * len(boxes)
        else:
            look: dict[str, Any] = {"linewidth": 0.9, "linestyle": (0, (1, 2)), "zorder": 1}
            axes.hlines(level, 0, 1, color=light("muted"), transform=transform, **look)
        wide, (foot, head) = width_of(names, size), (y + above - 2, y + above + size)
        sides = {1: (right - wide, foot, right, head), 0: (left + 4, foot, left + 4 + wide, head)}
        side = min(sides, key=lambda side: sum(_covers(sides[side], mark) for mark in marks))
        boxes.append(sides[side])
        axes.annotate(
            names, (side, at), xycoords=transform, xytext=(0 if side else 4, above),
            textcoords="offset points", ha="right" if side else "left", va="baseline",
            fontsize=size, color=light("muted"), gid=classed("bound"), annotation_clip=False,
        )  # fmt: skip
    return boxes


def _covers(box: Box, dot: Point) -> bool:
    left, low, right, high = box
    return left - _REACH < dot[0] < right + _REACH and low - _REACH / 2 < dot[1] < high + _REACH / 2


def _levels(bounds: Sequence[Row]) -> dict[float, list[Row]]:
    """Bounds by their recall, the lowest first."""
    levels: dict[float, list[Row]] = {}
    for row in sorted(bounds, key=lambda row: row.recall or 0.0):
        levels.setdefault(round(row.recall or 0.0, 3), []).append(row)
    return levels


def marks_key(rows: Sequence[Row]) -> list[KeyEntry]:
    """The key of the marks in the chart."""
    entries = (
        (any(row.exceeds_window for row in rows), "exceeds the window", "mark", "o-"),
        (any(row.faulty for row in rows), "API would reject", "mark", "s"),
        (any(row.bound for row in rows), "bound", "mark", "D-"),
        (True, "Pareto front", "line", ""),
    )
    return [
        KeyEntry("usable", "muted", "mark", mark="o"),
        *(KeyEntry(text, "muted", kind, mark=sign) for there, text, kind, sign in entries if there),  # type: ignore[arg-type]
    ]


def _told(row: Row) -> list[str]:
    """The tooltip of a mark: the strategy with its figures."""
    faults = [
        (row.exceeds_window, "exceeds the context window on some calls"),
        (row.faulty, "a provider would reject some calls"),
        (row.bound, "bound, no choice"),
        (row.sees_future, "sees future messages"),
    ]
    return [
        row.label,
        f"cost: {dollars(_place(row)[0])} USD{_each(row)}",
        f"recall: {show(row.recall, 'share')}",
        *(text for is_so, text in faults if is_so),
    ]


def _intervals(comparison: Comparison, rows: Sequence[Row]) -> tuple[dict[str, _Bar], str]:
    """The intervals by spec, and the label of their reference."""
    reference = comparison.reference
    if reference is None or reference.recall is None:
        return {}, ""
    paired = contrasts(comparison, reference)
    bars = {}
    for row in rows:
        cost, need = (
            paired.get((row.spec, metric)) for metric in ("cost_usd", comparison.headline)
        )
        if cost and need and (bar := _bar(cost, need, reference)):
            bars[row.spec] = bar
    return bars, reference.label


def _bar(cost: Contrast, need: Contrast, reference: Row) -> _Bar | None:
    dollars, met = _place(reference)
    across = upright = None
    if cost.low is not None and cost.high is not None and cost.kind == "ratio":
        across = cost.low * dollars, cost.high * dollars
    if need.low is not None and need.high is not None:
        upright = met + need.low, min(1.0, met + need.high)
    return (across, upright) if across or upright else None


def _place(row: Row) -> Point:
    """The cost of a conversation, and the recall."""
    return row.mean(), row.recall or 0.0


# Axes, broken if a few strategies would squeeze all others.

# Outliers are this many times as far from the best as three of four strategies; their part of the
# axis is this large.
_FAR, _THEIRS = 1.25, 0.2

Floats = NDArray[np.float64]


def seam(distances: Sequence[float]) -> float | None:
    """The distance from the best up to which an axis is not compressed; None if it never is.

    Examples
    --------
    >>> seam([1, 2, 3, 4, 20]), seam([1, 2, 3, 4, 5])
    (4, None)
    """
    ordered = sorted(distances)
    usual = _FAR * ordered[math.ceil(0.75 * len(ordered)) - 1]
    near = max(each for each in ordered if each <= max(usual, ordered[0]))
    return near if len(ordered) > 4 and 0 < 1.8 * near < ordered[-1] else None


def _frame(axes: Axes, rows: Sequence[Row], intervals: Mapping[str, _Bar]) -> bool:
    """Set both axes, and return whether one of them is broken."""
    costs, met = zip(*map(_place, rows), strict=True)
    across = [end for ends, _ in intervals.values() if ends for end in ends]
    upright = [low for _, ends in intervals.values() if ends for low in ends]
    highest = max(*costs, *across, 0.0) or 1.0
    least = max(0.0, min(*met, *upright, _MOST))
    measure(axes, "x", USD, _COST.format(each=_each(rows[0])))
    measure(axes, "y", PERCENT, _RECALL)
    axes.set_ylim(max(least - 0.1 * (1 - least), -0.03), 1 + 0.1 * (1 - least))
    wide, high = seam(costs), seam([1 - share for share in met])
    left = _start(min(*costs, *across, costs[0]), highest if wide is None else wide)
    axes.set_xlim(left, highest * 1.06)
    if wide is not None:
        _break(axes, "x", (left, wide * 1.04, highest * 1.06), USD)
    if high is not None:
        # From the top, so that losses are measured, with space for names above 100 %.
        _break(axes, "y", (1 + 0.16 * high, 1 - high * 1.04, least - 0.06), PERCENT)
    # No ticks above 100 %.
    low, top = axes.get_ylim()
    axes.set_yticks([tick for tick in axes.get_yticks() if low <= tick <= min(top, 1 + 1e-9)])
    return wide is not None or high is not None


def _start(lowest: float, highest: float) -> float:
    """Where the axis of costs begins: left of the cheapest, or at 0.

    Examples
    --------
    >>> round(_start(20.0, 30.0), 9), _start(2.0, 30.0)
    (14.0, 0.0)
    """
    left = lowest - _LEAD * (highest - lowest)
    return left if left > _NEAR * lowest else 0.0


def _each(row: Row) -> str:
    return " a conversation" if row.conversations > 1 else ""


def _break(axes: Axes, which: str, ends: tuple[float, float, float], unit: Unit) -> None:
    """Draw an axis linearly from its good end to a seam, and compressed beyond."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

    best, at, worst = ends
    sign = 1.0 if worst > best else -1.0
    values = np.array([best, at, worst]) * sign
    shares = np.array([0.0, 1 - _THEIRS, 1.0]) * sign
    order = slice(None, None, int(sign))
    to, back = _through(values * sign, shares, order), _through(shares, values * sign, order)
    getattr(axes, f"set_{which}scale")("function", functions=(to, back))
    getattr(axes, f"set_{which}lim")(*((best, worst) if sign > 0 else (worst, best)))
    most = unit.across - 2 if which == "x" else unit.upright
    near = MaxNLocator(most, steps=STEPS).tick_values(*sorted((best, at)))
    far = MaxNLocator(2, steps=STEPS).tick_values(*sorted((at, worst)))
    beyond = at + 0.25 * (worst - at)
    ticks = [tick for tick in near if min(best, at) <= tick <= max(best, at)]
    ticks += [tick for tick in far if min(beyond, worst) <= tick <= max(beyond, worst)]
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FuncFormatter(lambda value, _: unit.written(value)))
    share = 1 - _THEIRS if sign > 0 else _THEIRS
    _strokes(axes, which, share)


def _through(given: Floats, wanted: Floats, order: slice) -> Callable[[Floats], Floats]:
    """A piecewise linear function through pairs of values, extrapolated at its ends."""
    xs, ys = given[order], wanted[order]
    first, last = (ys[1] - ys[0]) / (xs[1] - xs[0]), (ys[-1] - ys[-2]) / (xs[-1] - xs[-2])

    def through(values: Floats) -> Floats:
        inner = np.interp(values, xs, ys)
        below, above = np.minimum(values - xs[0], 0) * first, np.maximum(values - xs[-1], 0) * last
        return np.asarray(inner + below + above)

    return through


def _strokes(axes: Axes, which: str, share: float) -> None:
    """The double stroke across a broken axis, and a pale line at the seam."""
    look: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False, "zorder": 5}
    level = [share, share] if which == "x" else [0, 1], [0, 1] if which == "x" else [share, share]
    axes.plot(*level, color=light("muted"), linewidth=0.6, linestyle=(0, (1, 3)), **look)
    for shift in (-0.006, 0.006):
        along, across = [share + shift - 0.006, share + shift + 0.006], [-0.016, 0.016]
        xs, ys = (along, across) if which == "x" else (across, along)
        axes.plot(xs, ys, color=light("muted"), linewidth=1.1, **look)


# Marks, and the line of the front.


def _bars(axes: Axes, row: Row, bar: _Bar | None, colour: str) -> None:
    across, upright = bar or (None, None)
    x, y = _place(row)
    look: dict[str, Any] = {"color": light(colour), "linewidth": 0.9, "alpha": 0.6, "zorder": 2}
    if across:
        axes.plot(across, [y, y], **look)
    if upright:
        axes.plot([x, x], upright, **look)


def _dot(axes: Axes, row: Row, colour: str, level: float) -> None:
    """A mark; those of the front lie above the others."""
    marker = "D" if row.bound else "s" if row.faulty else "o"
    face = light("paper" if row.exceeds_window or row.bound else colour)
    look = {"markerfacecolor": face, "markeredgewidth": 1.5, "clip_on": False, "zorder": level}
    size = 7 if marker == "o" else 5.5
    mark(axes, [_place(row)], marker, colour, size, gid=classed("dot"), **look)


def _stepped(axes: Axes, corners: Sequence[Point]) -> list[Point]:
    """Points on the line of the front, spaced for names to avoid."""
    dots = on_sheet(axes, corners)
    points: list[Point] = []
    for (left, low), (right, high) in pairwise(dots):
        across, up = math.ceil((right - left) / _CLOSE), math.ceil((high - low) / _CLOSE)
        points += [(left + (right - left) * n / (across + 1), low) for n in range(1, across + 1)]
        points += [(right, low + (high - low) * n / (up + 1)) for n in range(up + 1)]
    return points
