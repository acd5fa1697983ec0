"""Tables that are looked at: a row a strategy, a column a figure, the better the darker."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compactlab.reports.charts.bars import NAME_SIZE, ROW, WIDTH
from compactlab.reports.charts.drawing import figure, in_points, width_of
from compactlab.reports.charts.labels import told_apart
from compactlab.reports.charts.palette import light

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Of a column: left, width, and where its first row begins.
Edges = tuple[float, float, float]
_HEAD = 12.0
_SIZE = 8.0
_HEADING = 7.5
_WIDEST = 92.0
_LETTERS = 38
# Ink can be read on the darkest of them, on light paper and on dark.
SHADES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)


@dataclass(frozen=True)
class Field:
    """A column.

    Parameters
    ----------
    heading
        Lines of its heading, the unit among them.
    texts
        What stands in it.
    shades
        How good each is, from 0 to 1; not a number for what is neither good nor bad.
    """

    heading: Sequence[str]
    texts: Sequence[str]
    shades: Sequence[float]


def grid(names: Sequence[str], fields: Sequence[Field]) -> Figure:
    """Draw a table.

    Parameters
    ----------
    names
        Of the rows, from top to bottom.
    fields
        Its columns.
    """
    from matplotlib.lines import Line2D

    shown = told_apart(names, _LETTERS)
    left = 1.03 * max(width_of(name, NAME_SIZE) for name in shown) + 12
    lines = max(len(field.heading) for field in fields)
    width = min((WIDTH - left - 4) / len(fields), _WIDEST)
    height = 10 + _HEAD * lines + ROW * len(names) + 6
    drawn = figure(WIDTH / 72, height / 72)
    place, top = in_points(drawn), height - 10 - _HEAD * lines
    for row, name in enumerate(shown):
        y = top - ROW * (row + 0.5)
        drawn.text(
            left - 8, y, name, transform=place, fontsize=NAME_SIZE, ha="right", va="center_baseline"
        )
    for number, field in enumerate(fields):
        _field(drawn, field, (left + width * number, width, top))
    line = Line2D([4, left + width * len(fields)], [top, top], transform=place)
    line.set(color=light("muted"), linewidth=0.8)
    drawn.add_artist(line)
    return drawn


def _field(drawn: Figure, field: Field, edges: Edges) -> None:
    left, width, top = edges
    place, middle = in_points(drawn), left + width / 2
    for number, words in enumerate(reversed(field.heading)):
        drawn.text(
            middle, top + 5 + _HEAD * number, words, transform=place, fontsize=_HEADING,
            ha="center", color=light("muted"),
        )  # fmt: skip
    steps = [_step(shade) for shade in field.shades]
    for shade in sorted(set(steps) - {0.0}):
        _shade(drawn, [n for n, each in enumerate(steps) if each == shade], shade, edges)
    for row, text in enumerate(field.texts):
        y = top - ROW * (row + 0.5)
        drawn.text(
            middle, y, text, transform=place, fontsize=_SIZE, ha="center", va="center_baseline"
        )


def _step(shade: float) -> float:
    return 0.0 if math.isnan(shade) else SHADES[round(shade * (len(SHADES) - 1))]


def _shade(drawn: Figure, rows: Sequence[int], shade: float, edges: Edges) -> None:
    """Colour all cells of a column that are equally good, as one patch."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    left, width, top = edges[0] + 1, edges[1] - 2, edges[2]
    cells = []
    for row in rows:
        high = top - ROW * row - 0.5
        low = high - ROW + 1
        corners = [(left, low), (left + width, low), (left + width, high), (left, high)]
        cells.append(Path([*corners, corners[0]], closed=True))
    drawn.add_artist(
        PathPatch(
            Path.make_compound_path(*cells),
            transform=in_points(drawn),
            facecolor=light("blue"),
            alpha=shade,
            linewidth=0,
        )
    )
