"""Many small panels in one drawing: what has the same look becomes one path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from compactlab.reports.charts.drawing import LINES, in_points, light

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Point = tuple[float, float]
Points = Sequence[Point]

_SIZE = 7.5
_PALE = 0.28
_WIDTHS = {"grid": 0.6, "alarm": 0.9, "ink": 0.9}


@dataclass(frozen=True)
class Frame:
    """A panel: where it stands, in points, and what its axes hold.

    Parameters
    ----------
    left, low, width, height
        Its place on the sheet.
    last, top
        The ends of its axes; that from bottom to top begins at 0.
    first
        Where the axis from left to right begins.
    """

    left: float
    low: float
    width: float
    height: float
    last: float
    top: float
    first: float = 0.0

    def x(self, value: float) -> float:
        """Where a value stands from left to right."""
        return self.left + self.width * (value - self.first) / (self.last - self.first)

    def y(self, value: float) -> float:
        """Where a value stands from bottom to top."""
        return self.low + self.height * value / self.top

    def across(self, value: float) -> list[Point]:
        """A line from the left to the right."""
        return [(self.left, self.y(value)), (self.left + self.width, self.y(value))]

    def steps(self, edges: Sequence[float], heights: Sequence[float]) -> list[Point]:
        """The outline of bars that touch each other."""
        points = [(self.x(edges[0]), self.low)]
        for n, height in enumerate(heights):
            points += [(self.x(edges[n]), self.y(height)), (self.x(edges[n + 1]), self.y(height))]
        return [*points, (self.x(edges[len(heights)]), self.low)]

    def boxes(self, edges: Sequence[float], heights: Sequence[float]) -> list[Point]:
        """The outline of bars with room between them, along the axis from one to the next."""
        points: list[Point] = []
        for n, height in enumerate(heights):
            if height:
                left, right = self.x(edges[n]), self.x(edges[n + 1])
                room = 0.12 * (right - left)
                points += [(left + room, self.low), (left + room, self.y(height)),
                           (right - room, self.y(height)), (right - room, self.low)]  # fmt: skip
        return points


@dataclass
class Sheet:
    """A figure that panels are drawn on, in points from its lower left corner."""

    drawn: Figure
    _lines: dict[tuple[str, bool], list[Points]] = field(default_factory=dict)

    def area(self, colour: str, outline: Points, *, pale: bool = False) -> None:
        """Fill an outline."""
        from matplotlib.patches import Polygon

        if outline:
            shape = Polygon(outline, closed=True, transform=in_points(self.drawn))
            shape.set(facecolor=light(colour), linewidth=0, alpha=_PALE if pale else None)
            self.drawn.add_artist(shape)

    def line(self, colour: str, points: Points, *, dashed: bool = False) -> None:
        """Draw a line; those of a look lie together on top of all areas, the grid below them."""
        self._lines.setdefault((colour, dashed), []).append(points)

    def text(
        self,
        at: Point,
        words: str,
        colour: str,
        align: Literal["left", "center", "right"] = "left",
        size: float = _SIZE,
    ) -> None:
        """Write a line of text, its middle at a height."""
        self.drawn.text(
            *at,
            words,
            transform=in_points(self.drawn),
            color=light(colour),
            fontsize=size,
            ha=align,
            va="center_baseline",
        )

    def finish(self) -> None:
        """Put the lines on the sheet."""
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        for (colour, dashed), lines in self._lines.items():
            codes = [
                code for line in lines for code in [Path.MOVETO, *[Path.LINETO] * (len(line) - 1)]
            ]
            path = Path([point for line in lines for point in line], codes)
            drawn = PathPatch(path, fill=False, transform=in_points(self.drawn))
            drawn.set(
                edgecolor=light(colour),
                linewidth=_WIDTHS[colour],
                linestyle=LINES[colour].dashes if dashed else "-",
                zorder=0.5 if colour == "grid" else 3,
                capstyle="butt",
            )
            self.drawn.add_artist(drawn)
