"""Stacked bars: a row a strategy, a piece a class, a cause or a state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compactlab.reports.charts.axis import Which
from compactlab.reports.charts.drawing import figure, width_of
from compactlab.reports.charts.key import Entry, draw_key, height_of
from compactlab.reports.charts.labels import told_apart
from compactlab.reports.charts.palette import light
from compactlab.reports.charts.pattern import Box, draw_pattern

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

WIDTH = 662.0  # points; a page shows as many pixels and a third more
ROW = 17.0
HEAD = 13.0  # above the rows, for what stands over the figures beside them: there it is row -1
NAME_SIZE = 8.5
LETTERS = 38
_SIDE, _ABOVE, _BELOW = 16.0, 6.0, 34.0


@dataclass(frozen=True)
class Piece:
    """A part of every bar.

    Parameters
    ----------
    name
        What it is called in the key.
    colour, pattern
        How it is drawn.
    values
        One a bar.
    """

    name: str
    colour: str
    values: Sequence[float]
    pattern: str = ""


def bars(
    names: Sequence[str],
    pieces: Sequence[Piece],
    title: str,
    ticks: Callable[[Axes, Which], None],
    end: float | None = None,
) -> Figure:
    """Draw bars of pieces.

    Parameters
    ----------
    names
        Of the bars, from top to bottom.
    pieces
        What they are put together from, from left to right.
    title
        Of the axis, with its unit.
    ticks
        Writes the numbers of an axis.
    end
        Where the axis ends; by itself if None.
    """
    entries = [Entry(piece.name, piece.colour, "patch", piece.pattern) for piece in pieces]
    drawn, axes = rows(names, entries)
    starts = [0.0] * len(names)
    for piece in pieces:
        axes.barh(
            range(len(names)),
            piece.values,
            left=starts,
            height=0.72,
            color=light(piece.colour),
            edgecolor=light("paper"),
            linewidth=0.4,
        )
        starts = [start + value for start, value in zip(starts, piece.values, strict=True)]
    axes.set_xlim(0, end or max(*starts, 0.0) * 1.02 or 1.0)
    ticks(axes, "x")
    axes.set_xlabel(title)
    for piece, container in zip(pieces, axes.containers, strict=True):
        drawn_over = [_box(axes, bar) for bar in container if bar.get_width()]
        draw_pattern(drawn, drawn_over, piece.pattern)
    return drawn


def beside(axes: Axes, row: float, text: str, across: float) -> None:
    """Write a figure beside a row, its end so many points right of the axes."""
    axes.annotate(
        text, (1, row), xycoords=axes.get_yaxis_transform(), xytext=(across, 0),
        textcoords="offset points", ha="right", va="center_baseline", fontsize=8,
        color=light("muted"), annotation_clip=False,
    )  # fmt: skip


def _box(axes: Axes, bar: Rectangle) -> Box:
    """Where a bar is, in points of the figure; rows are counted from the top."""
    left, one, right, other = axes.transData.transform_bbox(bar.get_bbox()).extents
    return float(left), float(min(one, other)), float(right), float(max(one, other))


def rows(
    names: Sequence[str], entries: Sequence[Entry], right: float = 0.0, above: float = 0.0
) -> tuple[Figure, Axes]:
    """A figure with a row a strategy and a key above, and the axes for what is in the rows.

    Parameters
    ----------
    names
        Of the strategies, from top to bottom: row 0 is the first.
    entries
        Of the key.
    right, above
        Points to leave free right of the axes, and between them and the key.
    """
    shown = told_apart(names, LETTERS)
    left = 1.03 * max(width_of(name, NAME_SIZE) for name in shown) + 12
    key = height_of(entries, WIDTH - 2 * _SIDE)
    height = _ABOVE + key + 4 + above + ROW * len(names) + _BELOW
    drawn = figure(WIDTH / 72, height / 72)
    draw_key(drawn, entries, 4, height - _ABOVE, WIDTH - 2 * _SIDE)
    axes = drawn.add_axes(
        (
            left / WIDTH,
            _BELOW / height,
            (WIDTH - left - _SIDE - right) / WIDTH,
            ROW * len(names) / height,
        )
    )
    axes.set_yticks(range(len(names)), shown)
    axes.tick_params(length=0)
    axes.tick_params(axis="y", labelcolor=light("ink"), labelsize=NAME_SIZE)
    axes.grid(visible=False, axis="y")
    axes.set_ylim(len(names) - 0.5, -0.5)
    return drawn, axes
