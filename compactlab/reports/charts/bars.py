"""Stacked bars, a row a strategy; what stands on axes and beside rows; the key of a chart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from compactlab.reports.charts.drawing import (
    LINES,
    Box,
    draw_pattern,
    figure,
    in_points,
    light,
    width_of,
)
from compactlab.reports.render.text import dollars, shorten, show

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle


# What stands on axes: round numbers with their unit.

Which = Literal["x", "y"]
_STEPS = [1, 2, 5, 10]


def in_tokens(axes: Axes, which: Which) -> None:
    """Write the ticks of an axis in tokens."""
    _set(axes, which, tokens_tick, 4 if which == "y" else 6)


def in_dollars(axes: Axes, which: Which) -> None:
    """Write the ticks of an axis in dollars, whose sign is in the axis's name."""
    _set(axes, which, dollars_tick, 6 if which == "y" else 7)


def in_percent(axes: Axes, which: Which) -> None:
    """Write the ticks of an axis of shares in percent; there is none above 100."""
    _set(axes, which, percent_tick, 6)


def in_calls(axes: Axes, which: Which) -> None:
    """Write the ticks of an axis of whole numbers."""
    from matplotlib.ticker import MaxNLocator

    _set(axes, which, "{:,.0f}".format, 6)
    chosen = axes.xaxis if which == "x" else axes.yaxis
    chosen.set_major_locator(MaxNLocator(6, integer=True, steps=_STEPS))


def in_powers(axes: Axes, written: Callable[[float], str]) -> None:
    """Make the axis from left to right one of powers, as many ticks as fit once it is limited."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0), numticks=20))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: written(value)))


def tokens_tick(value: float) -> str:
    """A round number of tokens.

    Examples
    --------
    >>> tokens_tick(20_000), tokens_tick(1_500_000), tokens_tick(0)
    ('20k', '1.5M', '0')
    """
    return re.sub(r"\.0+(?=\D)|(?<=\.\d)0+(?=\D)", "", show(value, "tokens"))


def dollars_tick(value: float) -> str:
    """A round number of dollars.

    Examples
    --------
    >>> dollars_tick(1200.0), dollars_tick(0.05), dollars_tick(0.125), dollars_tick(2.5)
    ('1,200', '0.05', '0.12', '2.50')
    """
    if float(value).is_integer():
        return f"{value:,.0f}"
    return re.sub(r"(?<=\.\d\d)(\d*?)0+$", r"\1", dollars(round(value, 9)))


def percent_tick(value: float) -> str:
    """A share in percent, without the sign.

    Examples
    --------
    >>> percent_tick(0.25), percent_tick(1.2)
    ('25', '')
    """
    return f"{100 * value:.4g}" if value <= 1 + 1e-9 else ""


def _set(axes: Axes, which: Which, written: Callable[[float], str], ticks: int) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    chosen = axes.xaxis if which == "x" else axes.yaxis
    chosen.set_major_locator(MaxNLocator(ticks, steps=_STEPS))
    chosen.set_major_formatter(FuncFormatter(lambda value, _: written(value)))


# Short names of strategies that can still be told apart.

_CUT = "…"
# A name, an argument, or what stands between them.
_PIECE = re.compile(r"[(,+] ?|[^(,+]+")
_PUNCTUATION = "(,+) "


def told_apart(names: Sequence[str], size: int) -> list[str]:
    """Shorten names that are too long, first by what they have in common.

    Parameters
    ----------
    names
        Names of strategies, with their fields.
    size
        Characters that there is room for, at least 12.

    Returns
    -------
    list of str
        In the same order. Names that differ stay different; what had room is as it was.

    Examples
    --------
    >>> told_apart(["window(keep=20, turns=5)", "window(keep=9, turns=5)"], 20)
    ['window(keep=20, …)', 'window(keep=9, …)']
    >>> told_apart(["sliding_window", "a_strategy_with_a_very_long_name"], 20)
    ['sliding_window', 'a_strategy…long_name']
    """
    families: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        if len(name) > size:
            families.setdefault(name.partition("(")[0], []).append(name)
    cut = {name: name for name in names}
    for family in families.values():
        cut.update({name: shorten(_without(name, family), size) for name in family})
    found = _numbered(cut, size)
    return [found[name] for name in names]


def _without(name: str, family: Sequence[str]) -> str:
    """A name without the arguments that all of a family have."""
    common = set.intersection(*(set(_PIECE.findall(each)) for each in family))
    if len(family) == 1:
        return name
    first, *rest = _PIECE.findall(name)
    kept = [piece if _says(piece, common) else _CUT for piece in rest]
    text = first + "".join(kept)
    text = re.sub(rf"{_CUT}(?:[,+] ?{_CUT})*", _CUT, text)
    return text if text.endswith(")") or not name.endswith(")") else f"{text})"


def _says(piece: str, common: set[str]) -> bool:
    return piece not in common or not piece.strip(_PUNCTUATION)


def _numbered(cut: dict[str, str], size: int) -> dict[str, str]:
    """Names that have become alike, with a number behind them."""
    times = Counter(cut.values())
    taken = {text for text, number in times.items() if number == 1}
    found: dict[str, str] = {}
    for name, text in cut.items():
        told, number = text, 1
        while times[text] > 1 and (told := _with(text, number, size)) in taken:
            number += 1
        taken.add(told)
        found[name] = told
    return found


def _with(text: str, number: int, size: int) -> str:
    mark = f" #{number}"
    return shorten(text, size - len(mark)) + mark


# The key of a chart: what its colours, patterns, lines and marks stand for.

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


# Stacked bars: a row a strategy, a piece a class, a cause or a state.

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
