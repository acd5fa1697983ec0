"""Cost against memory: one dot a strategy, and the line that none of them beats."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import canvas, figure
from compactlab.reports.charts.palette import light
from compactlab.reports.charts.placement import nearest, place
from compactlab.reports.comparison import Comparison, Row
from compactlab.reports.figures import dollars
from compactlab.reports.text import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CAPTION = (
    "One mark a strategy, over all conversations of this comparison; up and to the left is better. "
    "● usable; ○ hollow: over the window on some calls; ■ faulty prompts; ◆ a yardstick; black: "
    "what was run. The dashed line joins the strategies that one might choose and that no other of "
    "them beats in both; yardsticks, what was run, and what is over the window or faulty or never "
    "acted are off it."
)
_SIZE = (9.2, 5.2)
_MARGIN = {"left": 0.075, "right": 0.985, "bottom": 0.115, "top": 0.975}
_FONT = 9.0
_LINE = 11.0
# Mean width of a letter over its height: pages set names in a narrower font, so there is room.
_LETTER = 0.58
# A name farther away than this gets a line to its dot.
_LEAD = 9.0
# Dots nearer than this lie on each other.
_SAME = 2.0
# So far apart are the points of a line that names keep off.
_CLOSE = 4.0

Names = dict[tuple[float, float], list[str]]


def pareto(comparison: Comparison, colours: Mapping[str, str], name: str) -> Chart | None:
    """Draw cost against the share of needs that are met.

    Parameters
    ----------
    comparison
        What is drawn; rows without needs are not.
    colours
        Name of the colour by spec.
    name
        Of the drawing, unique in the page.

    Returns
    -------
    Chart or None
        None if nothing is needed.
    """
    rows = [row for row in comparison.rows if row.remembered is not None]
    if not rows:
        return None
    with canvas():
        drawn = figure(*_SIZE)
        axes = drawn.add_axes(
            (
                _MARGIN["left"],
                _MARGIN["bottom"],
                _MARGIN["right"] - _MARGIN["left"],
                _MARGIN["top"] - _MARGIN["bottom"],
            )
        )
        _frame(axes, rows)
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
            _dot(axes, row, light(colours[row.spec]))
        _names(axes, rows, _stepped(axes, front))
    return Chart(name, "What it costs against what is remembered", _CAPTION, drawn, "pareto")


def _frame(axes: Axes, rows: list[Row]) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    dearest = max(row.value("cost_usd") for row in rows) or 1.0
    least = min(row.remembered or 0.0 for row in rows)
    spread = max(1 - least, 0.02)
    axes.set_xlim(0, dearest * 1.06)
    axes.set_ylim(max(least - 0.12 * spread, -0.03), 1 + 0.16 * spread)
    axes.set_xlabel("cost of all conversations, USD (less is better)")
    axes.set_ylabel("needs met, % (100 less amnesia by need; more is better)")
    axes.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _dollar_tick(value)))
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{100 * value:.4g}" if value <= 1 + 1e-9 else "")
    )


def _dollar_tick(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else dollars(value)


def _dot(axes: Axes, row: Row, colour: str) -> None:
    axes.plot(
        [row.value("cost_usd")],
        [row.remembered or 0.0],
        marker="D" if row.null else "s" if row.faulty else "o",
        markersize=6.5 if row.null or row.faulty else 8,
        markerfacecolor=light("paper") if row.hollow else colour,
        markeredgecolor=colour,
        markeredgewidth=1.6,
        linestyle="none",
        zorder=3,
        clip_on=False,
    )


def _stepped(axes: Axes, front: Sequence[Row]) -> list[tuple[float, float]]:
    """Points on the line of the front, as close as a name is high."""
    corners = [(row.value("cost_usd"), row.remembered or 0.0) for row in front]
    found: list[tuple[float, float]] = []
    dots = [(float(x), float(y)) for x, y in axes.transData.transform(corners)] if corners else []
    for (left, low), (right, high) in pairwise(dots):
        across, up = math.ceil((right - left) / _CLOSE), math.ceil((high - low) / _CLOSE)
        found += [(left + (right - left) * n / (across + 1), low) for n in range(1, across + 1)]
        found += [(right, low + (high - low) * n / (up + 1)) for n in range(up + 1)]
    return found


def _names(axes: Axes, rows: list[Row], drawn: Sequence[tuple[float, float]]) -> None:
    # The dearest first: to their right there is nothing yet, so lines seldom cross.
    rows = sorted(rows, key=lambda row: -row.value("cost_usd"))
    values = [(row.value("cost_usd"), row.remembered or 0.0) for row in rows]
    dots = [(float(x), float(y)) for x, y in axes.transData.transform(values)]
    named = _together(dots, [shorten(row.label, 48) for row in rows])
    (left, low), (right, high) = axes.transAxes.transform([(0, 0), (1, 1)])
    sizes = [_size(names) for names in named.values()]
    places = place(list(named), sizes, (left + 2, low + 2, right, high), drawn)
    for (dot, names), (width, height), (x, y) in zip(named.items(), sizes, places, strict=True):
        end = nearest((x, y + 1, x + width, y + height - 1), dot)
        if math.dist(dot, end) > _LEAD:
            xs, ys = zip(dot, end, strict=True)
            axes.plot(xs, ys, transform=None, color=light("muted"), linewidth=0.6, zorder=2)
        # Anchored where it is next to its dot, because the page's font may be narrower than ours.
        share, anchor = _anchor(dot[0], x, width)
        for line, name in enumerate(reversed(names)):
            axes.text(
                x + width * share,
                y + line * _LINE,
                name,
                transform=None,
                ha=anchor,
                va="bottom",
                fontsize=_FONT,
                zorder=4,
            )


def _together(dots: list[tuple[float, float]], names: list[str]) -> Names:
    """Names by dot; strategies that cannot be told apart share one, in as many lines."""
    found: Names = {}
    for dot, name in zip(dots, names, strict=True):
        same = next((other for other in found if math.dist(dot, other) < _SAME), dot)
        found.setdefault(same, []).append(name)
    return found


def _size(names: list[str]) -> tuple[float, float]:
    return max(map(len, names)) * _FONT * _LETTER, len(names) * _LINE


def _anchor(
    dot: float, left: float, width: float
) -> tuple[float, Literal["left", "center", "right"]]:
    if left + width < dot:
        return 1.0, "right"
    return (0.5, "center") if abs(left + width / 2 - dot) < 1 else (0.0, "left")
