"""Cost against forward need: one dot a strategy, and the line that none of them beats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from compactlab.reports.comparison import Comparison, Row
from compactlab.reports.drawing import canvas, figure, svg
from compactlab.reports.figures import dollars
from compactlab.reports.palette import light
from compactlab.reports.placement import place
from compactlab.reports.text import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = (9.2, 5.2)
_MARGIN = {"left": 0.075, "right": 0.985, "bottom": 0.115, "top": 0.975}
_FONT = 9.0
# Mean width of a letter over its height: pages set names in a narrower font, so there is room.
_LETTER = 0.58


def scatter(comparison: Comparison, colours: Mapping[str, str], name: str) -> str:
    """Draw cost against forward need.

    Parameters
    ----------
    comparison
        What is drawn; rows without forward need are not.
    colours
        Name of the colour by spec.
    name
        Of the drawing, unique in the page.

    Returns
    -------
    str
        SVG markup; "" if no row has a forward need.
    """
    rows = [row for row in comparison.rows if row.figures["forward_need"] is not None]
    if not rows:
        return ""
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
            [row.value("forward_need") for row in front],
            where="post",
            color=light("muted"),
            linewidth=1,
            linestyle=(0, (4, 3)),
            zorder=1,
        )
        for row in rows:
            _dot(axes, row, light(colours[row.spec]))
        _names(axes, rows)
        return svg(drawn, name, "cost in USD against forward need in percent, a dot a strategy")


def _frame(axes: Axes, rows: list[Row]) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    dearest = max(row.value("cost_usd") for row in rows) or 1.0
    least = min(row.value("forward_need") for row in rows)
    spread = max(1 - least, 0.02)
    axes.set_xlim(0, dearest * 1.06)
    axes.set_ylim(max(least - 0.12 * spread, -0.03), 1 + 0.1 * spread)
    axes.set_xlabel("cost of all conversations, USD (less is better)")
    axes.set_ylabel("forward need, % in context (more is better)")
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
        [row.value("forward_need")],
        marker="D" if row.null else "s" if row.faulty else "o",
        markersize=6.5 if row.null or row.faulty else 8,
        markerfacecolor=light("paper") if row.hollow else colour,
        markeredgecolor=colour,
        markeredgewidth=1.6,
        linestyle="none",
        zorder=3,
        clip_on=False,
    )


def _names(axes: Axes, rows: list[Row]) -> None:
    # The dearest first: to their right there is nothing yet, so lines seldom cross.
    rows = sorted(rows, key=lambda row: -row.value("cost_usd"))
    values = [(row.value("cost_usd"), row.value("forward_need")) for row in rows]
    dots = [(float(x), float(y)) for x, y in axes.transData.transform(values)]
    texts = [shorten(row.label, 48) for row in rows]
    (left, low), (right, high) = axes.transAxes.transform([(0, 0), (1, 1)])
    widths = [len(text) * _FONT * _LETTER for text in texts]
    places = place(dots, widths, _FONT + 2, (left + 2, low + 2, right, high))
    for text, (x, y), (dot_x, dot_y), width in zip(texts, places, dots, widths, strict=True):
        end = x + width if x + width < dot_x else max(x, min(dot_x, x + width))
        edge = max(y + 1, min(dot_y, y + _FONT))
        if abs(end - dot_x) + abs(edge - dot_y) > 11:
            axes.plot(
                [dot_x, end],
                [dot_y, edge],
                transform=None,
                color=light("muted"),
                linewidth=0.6,
                zorder=2,
            )
        aligned = x + width < dot_x
        axes.text(
            x + width * aligned,
            y,
            text,
            transform=None,
            ha="right" if aligned else "left",
            va="bottom",
            fontsize=_FONT,
            zorder=4,
        )
