"""Cost against memory: a mark a strategy, and the line that none of them beats."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.analysis.contrast import Contrast, contrasts, reference_of
from compactlab.reports.charts.bars import (
    WIDTH,
    Entry,
    dollars_tick,
    draw_key,
    height_of,
    in_dollars,
    in_percent,
    in_powers,
)
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import canvas, figure, light
from compactlab.reports.charts.names import write_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT = 350.0
_LEFT, _RIGHT, _BELOW = 50.0, 18.0, 36.0
# So far apart are the points of a line that names keep off.
_CLOSE = 4.0
# If one costs so many times what is usual, dollars are drawn on an axis of powers.
_FAR = 4.0
# The axis of needs met begins here at the latest.
_MOST = 0.95
_KEY = (
    Entry("usable", "muted", "mark", mark="o"),
    Entry("over the window on some calls", "muted", "mark", mark="o-"),
    Entry("faulty prompts", "muted", "mark", mark="s"),
    Entry("a yardstick", "muted", "mark", mark="D"),
    Entry("front of the strategies to choose from", "muted", "line"),
)
_CAPTION = (
    "One mark a strategy, over all conversations of this comparison; up and to the left is better. "
    "Needs met is 100 % less the share of needs that are forgotten. The dashed line joins the "
    "strategies that one might choose and that no other of them beats in both; yardsticks, what "
    "was run, and what is over the window or faulty or never acted are off it. "
)
_BARS = (
    "Bars are 95 % intervals, paired by conversation with {reference}: across, of the ratio of "
    "costs times the cost of {reference}; upright, of the difference in needs met. They say "
    "how a strategy differs from {reference}, and nothing of how two others differ."
)
_NO_BARS = "There are no intervals: for these, ten conversations are needed."

Point = tuple[float, float]


def pareto(comparison: Comparison, colours: Mapping[str, str], name: str) -> Chart | None:
    """Draw cost against the share of needs that are met.

    Parameters
    ----------
    comparison
        What is drawn; rows without needs are not.
    colours
        Name of the colour by spec.
    name
        Of the chart.

    Returns
    -------
    Chart or None
        None if nothing is needed.
    """
    rows = [row for row in comparison.rows if row.remembered is not None]
    if not rows:
        return None
    intervals, reference = _intervals(comparison, rows)
    told = _BARS.format(reference=reference) if intervals else _NO_BARS
    with canvas():
        key = height_of(_KEY, WIDTH - 8)
        height = _BELOW + _HEIGHT + key + 8
        drawn = figure(WIDTH / 72, height / 72)
        draw_key(drawn, _KEY, 4, height - 2, WIDTH - 8)
        axes = drawn.add_axes(
            (_LEFT / WIDTH, _BELOW / height, (WIDTH - _LEFT - _RIGHT) / WIDTH, _HEIGHT / height)
        )
        _frame(axes, rows, intervals)
        front = comparison.front
        axes.step(
            [row.value("cost_usd") for row in front],
            [row.remembered or 0.0 for row in front],
            where="post",
            color=light("muted"),
            linewidth=1,
            linestyle=(0, (4, 3)),
            zorder=1,
        )
        for row in rows:
            _bars(axes, row, intervals.get(row.spec), light(colours[row.spec]))
            level = 3 + 0.4 * (colours[row.spec] != "grey") + 0.2 * (row in front)
            _dot(axes, row, light(colours[row.spec]), level)
        # The dearest first: to their right there is nothing yet, so lines seldom cross.
        named = {row.label: _place(row) for row in reversed(rows)}
        loud = {row.label: each for row in rows if (each := colours[row.spec]) != "grey"}
        write_names(axes, named, loud, _stepped(axes, front), crossed=bool(intervals))
    return Chart(name, "What it costs against what is remembered", _CAPTION + told, drawn, "pareto")


def _intervals(comparison: Comparison, rows: Sequence[Row]) -> tuple[dict[str, _Bar], str]:
    """By spec the ends of the bars, and the label of what they are paired with."""
    reference = reference_of(comparison)
    if reference is None or reference.remembered is None:
        return {}, ""
    found = contrasts(comparison, reference)
    bars = {}
    for row in rows:
        cost, need = (found.get((row.spec, metric)) for metric in ("cost_usd", "amnesia_need"))
        if cost and need and (bar := _bar(cost, need, reference)):
            bars[row.spec] = bar
    return bars, reference.label


_Bar = tuple[Point | None, Point | None]


def _bar(cost: Contrast, need: Contrast, reference: Row) -> _Bar | None:
    """From left to right and from bottom to top; None where there is no interval."""
    dollars, kept = reference.value("cost_usd"), reference.remembered or 0.0
    across = upright = None
    if cost.low is not None and cost.high is not None and cost.kind == "ratio":
        across = cost.low * dollars, cost.high * dollars
    if need.low is not None and need.high is not None:
        upright = kept - need.high, kept - need.low
    return (across, upright) if across or upright else None


def _place(row: Row) -> Point:
    return row.value("cost_usd"), row.remembered or 0.0


def _frame(axes: Axes, rows: Sequence[Row], intervals: Mapping[str, _Bar]) -> None:
    ends = [bar for bars in intervals.values() for bar in bars[:1] if bar]
    lows = [upright[0] for _, upright in intervals.values() if upright]
    dearest = max([row.value("cost_usd") for row in rows] + [high for _, high in ends]) or 1.0
    least = max(0.0, min([row.remembered or 0.0 for row in rows] + lows + [_MOST]))
    spread = 1 - least
    in_dollars(axes, "x")
    axes.set_xlim(0, dearest * 1.06)
    low, high = max(least - 0.1 * spread, -0.03), 1 + 0.14 * spread
    axes.set_ylim(low, high)
    axes.set_xlabel("cost of all conversations, USD (less is better)")
    axes.set_ylabel("needs met, % (100 less needs forgotten; more is better)")
    costs = sorted(row.value("cost_usd") for row in rows)
    if dearest > _FAR * costs[len(costs) // 2] > 0 and costs[0] > 0:
        lows = [bars[0][0] for bars in intervals.values() if bars[0]]
        in_powers(axes, dollars_tick)
        axes.set_xlim(max(min(costs + lows), costs[0] / 2) / 1.25, dearest * 1.25)
        axes.set_xlabel("cost of all conversations, USD (less is better; logarithmic)")
    in_percent(axes, "y")
    # Above 100 % there is room for names, and nothing to measure.
    axes.set_yticks([tick for tick in axes.get_yticks() if low <= tick <= 1 + 1e-9])


def _bars(axes: Axes, row: Row, bar: _Bar | None, colour: str) -> None:
    across, upright = bar or (None, None)
    x, y = _place(row)
    look: dict[str, Any] = {"color": colour, "linewidth": 0.9, "alpha": 0.6, "zorder": 2}
    if across:
        axes.plot(across, [y, y], **look)
    if upright:
        axes.plot([x, x], upright, **look)


def _dot(axes: Axes, row: Row, colour: str, level: float) -> None:
    """A mark; those of the front lie on those that stand beside them."""
    x, y = _place(row)
    axes.plot(
        [x],
        [y],
        marker="D" if row.null else "s" if row.faulty else "o",
        markersize=5.5 if row.null or row.faulty else 7,
        markerfacecolor=light("paper") if row.hollow else colour,
        markeredgecolor=colour,
        markeredgewidth=1.5,
        linestyle="none",
        zorder=level,
        clip_on=False,
    )


def _stepped(axes: Axes, front: Sequence[Row]) -> list[Point]:
    """Points on the line of the front, as close as a name is high."""
    corners = [_place(row) for row in front]
    found: list[Point] = []
    dots = [(float(x), float(y)) for x, y in axes.transData.transform(corners)] if corners else []
    for (left, low), (right, high) in pairwise(dots):
        across, up = math.ceil((right - left) / _CLOSE), math.ceil((high - low) / _CLOSE)
        found += [(left + (right - left) * n / (across + 1), low) for n in range(1, across + 1)]
        found += [(right, low + (high - low) * n / (up + 1)) for n in range(up + 1)]
    return found
