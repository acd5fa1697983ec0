"""Names beside dots, with a line to the dot where there is no room right beside it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from compactlab.reports.charts.drawing import in_points, width_of
from compactlab.reports.charts.labels import told_apart
from compactlab.reports.charts.palette import light
from compactlab.reports.charts.placement import nearest, place

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Point = tuple[float, float]
Names = dict[Point, list[str]]

_LOUD, _QUIET = 9.0, 7.5
_LINE = 1.2
# A name farther away than this gets a line to its dot.
_LEAD = 9.0
# Dots nearer than this lie on each other.
_SAME = 2.0
# So many names of dots that lie on each other are told; then how many more there are.
_MOST = 4
# Characters that there is room for in a name.
_LETTERS = 44


def write_names(
    axes: Axes,
    named: Mapping[str, Point],
    loud: Collection[str],
    drawn: Sequence[Point],
    *,
    crossed: bool,
) -> None:
    """Write names beside dots.

    Parameters
    ----------
    axes
        Where the dots are. A point of its figure is a pixel.
    named
        Where the dot of each name is, in what the axes measure.
    loud
        Names that are placed first, and written larger and darker.
    drawn
        Points that names keep off, in points of the figure.
    crossed
        Whether lines go through the dots.
    """
    first = [*(n for n in named if n in loud), *(n for n in named if n not in loud)]
    dots = [(float(x), float(y)) for x, y in axes.transData.transform([named[n] for n in first])]
    short = told_apart(first, _LETTERS)
    groups = _together(dots, short)
    large = {text for text, name in zip(short, first, strict=True) if name in loud}
    lines = [_told(names, large) for names in groups.values()]
    sizes = [_size(each) for each in lines]
    (left, low), (right, high) = axes.transAxes.transform([(0, 0), (1, 1)])
    places = place(list(groups), sizes, (left + 2, low + 2, right, high), drawn, crossed=crossed)
    for dot, each, size, at in zip(groups, lines, sizes, places, strict=True):
        _write(axes, dot, each, size, at)


def _write(
    axes: Axes, dot: Point, lines: Sequence[tuple[str, bool]], size: Point, at: Point
) -> None:
    (x, y), (width, height) = at, size
    whole = in_points(axes.figure.get_figure(root=True))
    end = nearest((x, y + 1, x + width, y + height - 1), dot)
    if math.dist(dot, end) > _LEAD:
        xs, ys = zip(dot, end, strict=True)
        axes.plot(xs, ys, transform=whole, color=light("grey"), linewidth=0.5, zorder=2)
    # Anchored where it is next to its dot, because the page's font may be narrower than ours.
    share, anchor = _anchor(dot[0], x, width)
    for text, is_loud in reversed(lines):
        letter = _LOUD if is_loud else _QUIET
        axes.text(
            x + width * share,
            y + 0.25 * letter,
            text,
            transform=whole,
            ha=anchor,
            va="baseline",
            fontsize=letter,
            color=light("ink" if is_loud else "muted"),
            zorder=4,
        )
        y += letter * _LINE


def _together(dots: Sequence[Point], names: Sequence[str]) -> Names:
    """Names by dot; strategies that cannot be told apart share one, in as many lines."""
    found: Names = {}
    for dot, name in zip(dots, names, strict=True):
        same = next((other for other in found if math.dist(dot, other) < _SAME), dot)
        found.setdefault(same, []).append(name)
    return found


def _told(names: Sequence[str], large: Collection[str]) -> list[tuple[str, bool]]:
    shown = list(names) if len(names) <= _MOST + 1 else list(names[:_MOST])
    lines = [(name, name in large) for name in shown]
    if len(shown) < len(names):
        lines.append((f"and {len(names) - len(shown)} more", False))
    return lines


def _size(lines: Sequence[tuple[str, bool]]) -> Point:
    letters = [_LOUD if is_loud else _QUIET for _, is_loud in lines]
    widths = [width_of(text, size) for (text, _), size in zip(lines, letters, strict=True)]
    return max(widths), sum(size * _LINE for size in letters)


def _anchor(
    dot: float, left: float, width: float
) -> tuple[float, Literal["left", "center", "right"]]:
    if left + width < dot:
        return 1.0, "right"
    return (0.5, "center") if abs(left + width / 2 - dot) < 1 else (0.0, "left")
