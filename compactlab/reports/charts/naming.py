"""Names beside dots, with a line to the dot where there is no room right beside it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from compactlab.reports.charts.drawing import in_points, width_of
from compactlab.reports.charts.labels import told_apart
from compactlab.reports.charts.palette import light
from compactlab.reports.charts.placement import Box, nearest, place, strayed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Point = tuple[float, float]
Names = dict[Point, list[str]]

_LOUD, _QUIET = 9.0, 7.5
_LINE = 1.2
# A name farther away than this gets a line to its dot.
_LEAD = 9.0
# Another dot that is farther from a name than its own by less than this could be taken for its.
_DOUBT = 5.0
# A line ends so far from the letters.
_SHORT = 1.5
# Dots nearer than this lie on each other.
_SAME = 2.0
# So many names of dots that lie on each other are told; then how many more there are.
_MOST = 4
# Characters that there is room for in a name.
_LETTERS = 44


def write_names(
    axes: Axes,
    named: Mapping[str, Point],
    loud: Mapping[str, str],
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
        Names that are placed first, and written larger and darker, with the names of the colours
        of their dots. A line in that colour goes to the dot where another dot is nearer.
    drawn
        Points that names keep off, in points of the figure.
    crossed
        Whether lines go through the dots.
    """
    first = [*(n for n in named if n in loud), *(n for n in named if n not in loud)]
    dots = [(float(x), float(y)) for x, y in axes.transData.transform([named[n] for n in first])]
    short = told_apart(first, _LETTERS)
    groups = _together(dots, short)
    worn = {text: loud[name] for text, name in zip(short, first, strict=True) if name in loud}
    lines = [_told(names, worn) for names in groups.values()]
    sizes = [_size(each) for each in lines]
    (left, low), (right, high) = axes.transAxes.transform([(0, 0), (1, 1)])
    places = place(list(groups), sizes, (left + 2, low + 2, right, high), drawn, crossed=crossed)
    colours = [next((worn[text] for text in each if text in worn), "") for each in groups.values()]
    for dot, each, size, at, colour in zip(groups, lines, sizes, places, colours, strict=True):
        box = (at[0], at[1], at[0] + size[0], at[1] + size[1])
        _lead(axes, dot, box, colour, strayed=strayed(box, dot, list(groups), _DOUBT))
        _write(axes, dot, each, size, at)


def _lead(axes: Axes, dot: Point, box: Box, colour: str, *, strayed: bool) -> None:
    """A line from a dot to its name, where one might take the name for another dot's."""
    left, low, right, high = box
    end = nearest((left, low + 1, right, high - 1), dot)
    if math.dist(dot, end) <= _LEAD and not (strayed and colour):
        return
    share = 1 - _SHORT / max(math.dist(dot, end), _SHORT)
    xs, ys = ([from_, from_ + (to - from_) * share] for from_, to in zip(dot, end, strict=True))
    # Over quiet dots, so that it is seen where there are many.
    look: dict[str, Any] = (
        {"linewidth": 1.1, "zorder": 3.2} if colour else {"linewidth": 0.5, "zorder": 2}
    )
    whole = in_points(axes.figure.get_figure(root=True))
    axes.plot(xs, ys, transform=whole, color=light(colour or "grey"), **look)


def _write(
    axes: Axes, dot: Point, lines: Sequence[tuple[str, bool]], size: Point, at: Point
) -> None:
    (x, y), (width, _) = at, size
    whole = in_points(axes.figure.get_figure(root=True))
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
