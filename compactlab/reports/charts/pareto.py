"""Cost and fact recall: a mark a strategy, and the Pareto front."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.analysis.contrast import Contrast, contrasts, reference_of
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import Point, canvas
from compactlab.reports.charts.kit import (
    PERCENT,
    USD,
    WIDTH,
    Colours,
    KeyEntry,
    Sheet,
    mark,
    measure,
    measure_powers,
)
from compactlab.reports.charts.names import write_names
from compactlab.reports.charts.palette import light

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.ticker import LogLocator

_HEIGHT = 350.0
_LEFT, _RIGHT, _BELOW = 50.0, 18.0, 36.0
# So far apart are the points of a line that names keep off.
_CLOSE = 4.0
# If one costs so many times what is usual, dollars are drawn on an axis of powers.
_FAR = 4.0
# The axis of fact recall begins here at the latest.
_MOST = 0.95
_KEY = (
    KeyEntry("usable", "muted", "mark", mark="o"),
    KeyEntry("exceeds the context window on some calls", "muted", "mark", mark="o-"),
    KeyEntry("invalid prompts", "muted", "mark", mark="s"),
    KeyEntry("control", "muted", "mark", mark="D"),
    KeyEntry("Pareto front", "muted", "line"),
)
_CAPTION = (
    "Each mark is a strategy, over all conversations of this comparison; up and to the left is "
    "better. Fact recall is the share of the needed facts that the prompt holds, of those last "
    "stated {lag:,} tokens ago or earlier. The dashed line is the Pareto front of the "
    "usable strategies that compacted at least once; controls and as_recorded are excluded. "
)
_BARS = (
    "Bars are 95 % confidence intervals, paired by conversation with {reference}: horizontal, of "
    "the ratio of costs times the cost of {reference}; vertical, of the difference in fact recall, "
    "for any distribution of losses. They compare a strategy with {reference}, not two other "
    "strategies with each other."
)
_COST = "cost of all conversations, USD (less is better"
_NO_BARS = "There are no confidence intervals: at least ten conversations are needed for them."

# Ends from left to right and from bottom to top; None where there is no interval.
_Bar = tuple[Point | None, Point | None]


def pareto(comparison: Comparison, colours: Colours, name: str) -> Chart | None:
    """Draw cost and fact recall; None if nothing is needed."""
    rows = [row for row in comparison.rows if row.recall is not None]
    if not rows:
        return None
    intervals, reference = _intervals(comparison, rows)
    caption = _CAPTION.format(lag=comparison.lag) + (
        _BARS.format(reference=reference) if intervals else _NO_BARS
    )
    with canvas():
        sheet = Sheet(_BELOW + _HEIGHT, _KEY, above=2)
        axes = sheet.axes(_LEFT, _BELOW, WIDTH - _LEFT - _RIGHT, _HEIGHT)
        _frame(axes, rows, intervals)
        front = [_place(row) for row in comparison.front]
        axes.step(
            [x for x, _ in front], [y for _, y in front], where="post", color=light("muted"),
            linewidth=1, linestyle=(0, (4, 3)), zorder=1,
        )  # fmt: skip
        for row in rows:
            colour = colours[row.spec]
            _bars(axes, row, intervals.get(row.spec), colour)
            _dot(axes, row, colour, 3 + 0.4 * (colour != "grey") + 0.2 * (row in comparison.front))
        # The most expensive first: to their right there is nothing yet, so lines seldom cross.
        named = {row.label: _place(row) for row in reversed(rows)}
        loud = {row.label: each for row in rows if (each := colours[row.spec]) != "grey"}
        write_names(axes, named, loud, _stepped(axes, front), crossed=bool(intervals))
    return Chart(name, "Cost and fact recall", caption, sheet.figure, "pareto")


def _intervals(comparison: Comparison, rows: Sequence[Row]) -> tuple[dict[str, _Bar], str]:
    """By spec the ends of the bars, and the label of what they are paired with."""
    reference = reference_of(comparison)
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
        upright = met + need.low, met + need.high
    return (across, upright) if across or upright else None


def _place(row: Row) -> Point:
    return row.value("cost_usd"), row.recall or 0.0


def _frame(axes: Axes, rows: Sequence[Row], intervals: Mapping[str, _Bar]) -> None:
    costs, met = zip(*map(_place, rows), strict=True)
    across = [ends for ends, _ in intervals.values() if ends]
    upright = [ends for _, ends in intervals.values() if ends]
    highest = max(*costs, *(high for _, high in across), 0.0) or 1.0
    least = max(0.0, min(*met, *(low for low, _ in upright), _MOST))
    low, high = max(least - 0.1 * (1 - least), -0.03), 1 + 0.14 * (1 - least)
    cheapest, median = min(costs), sorted(costs)[len(costs) // 2]
    if highest > _FAR * median > 0 and cheapest > 0:
        start = max(min([*costs, *(left for left, _ in across)]), cheapest / 2) / 1.25
        measure_powers(axes, USD, _ticks(), f"{_COST}; logarithmic)")
        axes.set_xlim(start, highest * 1.25)
    else:
        measure(axes, "x", USD, f"{_COST})")
        axes.set_xlim(0, highest * 1.06)
    axes.set_ylim(low, high)
    measure(axes, "y", PERCENT, "fact recall, % (more is better)")
    # Above 100 % there is room for names, and nothing to measure.
    axes.set_yticks([tick for tick in axes.get_yticks() if low <= tick <= 1 + 1e-9])


def _ticks() -> LogLocator:
    """As many as fit."""
    from matplotlib.ticker import LogLocator

    return LogLocator(10, subs=(1.0, 2.0, 5.0), numticks=20)


def _bars(axes: Axes, row: Row, bar: _Bar | None, colour: str) -> None:
    across, upright = bar or (None, None)
    x, y = _place(row)
    look: dict[str, Any] = {"color": light(colour), "linewidth": 0.9, "alpha": 0.6, "zorder": 2}
    if across:
        axes.plot(across, [y, y], **look)
    if upright:
        axes.plot([x, x], upright, **look)


def _dot(axes: Axes, row: Row, colour: str, level: float) -> None:
    """A mark; those of the front lie on those that stand beside them."""
    marker = "D" if row.control else "s" if row.faulty else "o"
    face = light("paper" if row.exceeds_window else colour)
    look = {"markerfacecolor": face, "markeredgewidth": 1.5, "clip_on": False, "zorder": level}
    mark(axes, [_place(row)], marker, colour, 7 if marker == "o" else 5.5, **look)


def _stepped(axes: Axes, corners: Sequence[Point]) -> list[Point]:
    """Points on the line of the front, as close as a name is high."""
    dots = [(float(x), float(y)) for x, y in axes.transData.transform(corners)] if corners else []
    points: list[Point] = []
    for (left, low), (right, high) in pairwise(dots):
        across, up = math.ceil((right - left) / _CLOSE), math.ceil((high - low) / _CLOSE)
        points += [(left + (right - left) * n / (across + 1), low) for n in range(1, across + 1)]
        points += [(right, low + (high - low) * n / (up + 1)) for n in range(up + 1)]
    return points
