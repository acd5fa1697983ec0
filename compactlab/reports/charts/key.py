"""The key of a chart: what its colours, patterns, lines and marks stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compactlab.reports.charts.drawing import in_points, width_of
from compactlab.reports.charts.palette import LINES, light
from compactlab.reports.charts.pattern import draw_pattern

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINE = 15.0
_SIZE = 8.5
_SWATCH, _GAP, _BETWEEN = 18.0, 5.0, 16.0


@dataclass(frozen=True)
class Entry:
    """What a sign stands for.

    Parameters
    ----------
    text
        What it stands for.
    colour
        Name of its colour.
    kind
        ``patch``, ``pale`` (a patch one sees through), ``line`` (with the mark and the dashes of
        its colour) or ``mark``.
    pattern
        Of a patch.
    mark
        Of a mark: a marker of matplotlib's; "" for the colour's own. A hollow one ends with ``-``.
    """

    text: str
    colour: str
    kind: str = "patch"
    pattern: str = ""
    mark: str = ""

    @property
    def width(self) -> float:
        """Points that it takes."""
        return _SWATCH + _GAP + width_of(self.text, _SIZE)


def height_of(entries: Sequence[Entry], width: float) -> float:
    """Points that a key needs where there is so much room from left to right."""
    return LINE * len(_flowed(entries, width))


def draw_key(
    drawn: Figure, entries: Sequence[Entry], left: float, top: float, width: float
) -> None:
    """Draw a key in lines.

    Parameters
    ----------
    drawn
        The figure.
    entries
        What stands in it.
    left, top
        Its upper left corner, in points from the figure's lower left one.
    width
        Points that a line may have.
    """
    for number, line in enumerate(_flowed(entries, width)):
        x, y = left, top - LINE * (number + 0.5)
        for entry in line:
            _sign(drawn, entry, x, y)
            drawn.text(
                x + _SWATCH + _GAP,
                y,
                entry.text,
                transform=in_points(drawn),
                fontsize=_SIZE,
                va="center_baseline",
            )
            x += entry.width + _BETWEEN


def _flowed(entries: Sequence[Entry], width: float) -> list[list[Entry]]:
    lines: list[list[Entry]] = []
    room = 0.0
    for entry in entries:
        if not lines or entry.width > room:
            lines.append([])
            room = width
        lines[-1].append(entry)
        room -= entry.width + _BETWEEN
    return lines


def _sign(drawn: Figure, entry: Entry, x: float, y: float) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

    place = in_points(drawn)
    colour = light(entry.colour)
    if entry.kind in ("patch", "pale"):
        left, low, right, high = x + 4, y - 4.5, x + _SWATCH - 1, y + 4.5
        drawn.add_artist(
            Rectangle(
                (left, low),
                right - left,
                high - low,
                transform=place,
                facecolor=colour,
                linewidth=0,
                alpha=0.28 if entry.kind == "pale" else None,
            )
        )
        draw_pattern(drawn, [(left, low, right, high)], entry.pattern)
        return
    line = LINES[entry.colour]
    marker = (entry.mark or line.marker).removesuffix("-")
    xs = [x, x + _SWATCH / 2, x + _SWATCH] if entry.kind == "line" else [x + _SWATCH / 2]
    drawn.add_artist(
        Line2D(
            xs,
            [y] * len(xs),
            transform=place,
            color=colour,
            linewidth=line.width,
            linestyle=line.dashes if entry.kind == "line" else "none",
            marker=marker or None,
            markevery=[len(xs) // 2],
            markersize=5.5,
            markerfacecolor=light("paper") if entry.mark.endswith("-") else colour,
        )
    )
