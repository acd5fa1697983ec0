"""Building blocks of charts: a sheet with its key, axes with units, rows of strategies, bars."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from compactlab.reports.analysis.comparison import Row
from compactlab.reports.charts.drawing import (
    Box,
    Point,
    draw_pattern,
    figure,
    in_points,
    tip,
    width_of,
)
from compactlab.reports.charts.names import distinct_labels
from compactlab.reports.charts.palette import LINES, light
from compactlab.reports.render.text import dollars, show
from compactlab.sim.store.parquet import NO_ROWS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle
    from matplotlib.ticker import Locator

Floats = NDArray[np.float64]
Align = Literal["left", "center", "right"]
Colours = Mapping[str, str]
"""Names of colours by spec."""
Values = Sequence[Sequence[object]]
"""Rows of a table; the first one has the heads."""

# A sheet: a figure with its key at the top, measured in points.

WIDTH = 662.0  # points; a page shows 4/3 as many pixels
_LEFT, _LINE, KEY_SIZE = 4.0, 15.0, 8.5
_SWATCH, _GAP, _BETWEEN = 18.0, 5.0, 16.0
PALE = 0.28


class KeyEntry(NamedTuple):
    """An entry of the key: a patch, a pale patch, a line in its colour's style, or a mark."""

    text: str
    colour: str
    kind: Literal["patch", "pale", "line", "mark"] = "patch"
    pattern: str = ""
    # A matplotlib marker; "" for the colour's own. A hollow one ends with "-".
    mark: str = ""

    def in_letters(self, size: float) -> float:
        """Its width in points at a font size."""
        return _SWATCH + _GAP + width_of(self.text, size)


class Sheet:
    """A figure measured in points from its lower left corner: its body, with its key above.

    ``above``, ``below`` and ``beside`` are the margins of the key in points.
    """

    def __init__(
        self,
        body: float,
        key: Sequence[KeyEntry] = (),
        *,
        above: float = 4.0,
        below: float = 6.0,
        beside: float = 8.0,
        width: float = WIDTH,
        letters: float = KEY_SIZE,
    ) -> None:
        lines = _flowed(key, width - beside, letters)
        self.width = width
        self.height = body + (above + _LINE * len(lines) + below if key else 0)
        self.figure = figure(width / 72, self.height / 72)
        self._place = in_points(self.figure)
        for number, entries in enumerate(lines):
            x, y = _LEFT, self.height - above - _LINE * (number + 0.5)
            for entry in entries:
                self._sign(entry, x, y)
                self.text((x + _SWATCH + _GAP, y), entry.text, size=letters)
                x += entry.in_letters(letters) + _BETWEEN

    def axes(self, left: float, low: float, width: float, height: float, **look: Any) -> Axes:
        """Axes at a position."""
        whole, high = self.width, self.height
        place = (left / whole, low / high, width / whole, height / high)
        return self.figure.add_axes(place, **look)

    def text(
        self,
        at: Point,
        text: str,
        colour: str = "ink",
        align: Align = "left",
        *,
        size: float = 8.5,
        upright: Literal["center_baseline", "baseline"] = "center_baseline",
    ) -> None:
        """Write a line of text."""
        self.figure.text(
            *at, text, transform=self._place, color=light(colour), fontsize=size, ha=align,
            va=upright,
        )  # fmt: skip

    def line(self, points: Sequence[Point], colour: str, width: float, **look: Any) -> None:
        """Draw a line; ``look`` has properties of matplotlib's lines."""
        from matplotlib.lines import Line2D

        look = {"color": light(colour), "linewidth": width, **look}
        self.figure.add_artist(Line2D(*zip(*points, strict=True), transform=self._place, **look))

    def fill(self, outlines: Sequence[Sequence[Point]], colour: str, alpha: float | None) -> None:
        """Fill closed outlines as one patch."""
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        path = Path.make_compound_path(*(Path([*o, o[0]], closed=True) for o in outlines))
        look = {"facecolor": light(colour), "alpha": alpha, "linewidth": 0}
        self.figure.add_artist(PathPatch(path, transform=self._place, **look))

    def _sign(self, entry: KeyEntry, x: float, y: float) -> None:
        if entry.kind in ("patch", "pale"):
            box = (x + 4, y - 4.5, x + _SWATCH - 1, y + 4.5)
            corners = [(box[0], box[1]), (box[2], box[1]), (box[2], box[3]), (box[0], box[3])]
            self.fill([corners], entry.colour, PALE if entry.kind == "pale" else None)
            draw_pattern(self.figure, [box], entry.pattern)
            return
        line, joined = LINES[entry.colour], entry.kind == "line"
        ends = [x, x + _SWATCH / 2, x + _SWATCH] if joined else [x + _SWATCH / 2]
        self.line(
            [(end, y) for end in ends],
            entry.colour,
            line.width,
            linestyle=line.dashes if joined else "none",
            marker=(entry.mark or line.marker).removesuffix("-") or None,
            markevery=[len(ends) // 2],
            markersize=5.5,
            markerfacecolor=light("paper" if entry.mark.endswith("-") else entry.colour),
        )


def _flowed(entries: Sequence[KeyEntry], width: float, size: float) -> list[list[KeyEntry]]:
    lines: list[list[KeyEntry]] = []
    room = 0.0
    for entry in entries:
        own = entry.in_letters(size)
        if not lines or own > room:
            lines.append([])
            room = width
        lines[-1].append(entry)
        room -= own + _BETWEEN
    return lines


# Entries of a key in a line, for keys outside sheets.
KEYS = 4
_HATCHES = {"": None, "striped": "///", "dotted": "..."}


def legend(axes: Axes, key: Sequence[KeyEntry], size: float) -> None:
    """Write a key above axes that are not on a sheet."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Line2D | Patch] = []
    for entry in key:
        colour = light(entry.colour)
        if entry.kind in ("patch", "pale"):
            look: dict[str, Any] = {"facecolor": colour, "edgecolor": light("paper")}
            handles.append(Patch(hatch=_HATCHES[entry.pattern], label=entry.text, **look))
            continue
        line, hollow = LINES[entry.colour], entry.mark.endswith("-")
        handles.append(Line2D(
            [], [], color=colour, label=entry.text, linewidth=line.width,
            linestyle=line.dashes if entry.kind == "line" else "none",
            marker=(entry.mark or line.marker).removesuffix("-") or None, markersize=5.5,
            markerfacecolor=light("paper") if hollow else colour,
        ))  # fmt: skip
    axes.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=KEYS, frameon=False,
        fontsize=size, borderaxespad=0.2, columnspacing=1.2, handlelength=1.6,
    )  # fmt: skip


# Axes: round tick values with their unit, and marks.

Which = Literal["x", "y"]
STEPS = [1, 2, 5, 10]
# The least width of a tick's number in points.
_TICK = 24


def tokens_tick(value: float) -> str:
    """A round number of tokens.

    Examples
    --------
    >>> tokens_tick(20_000), tokens_tick(1_500_000), tokens_tick(0)
    ('20k', '1.5M', '0')
    """
    return re.sub(r"\.0+(?=\D)|(?<=\.\d)0+(?=\D)", "", show(value, "tokens"))


def dollars_tick(value: float) -> str:
    """A round number of dollars without the sign, which is in the axis title.

    Examples
    --------
    >>> dollars_tick(1200.0), dollars_tick(0.05), dollars_tick(0.125), dollars_tick(2.5)
    ('1,200', '0.05', '0.12', '2.50')
    """
    if float(value).is_integer():
        return f"{value:,.0f}"
    return re.sub(r"(?<=\.\d\d)(\d*?)0+$", r"\1", dollars(round(value, 9)))


def percent_tick(value: float) -> str:
    """A share in percent, without the sign; none above 100.

    Examples
    --------
    >>> percent_tick(0.25), percent_tick(1.2)
    ('25', '')
    """
    return f"{100 * value:.4g}" if value <= 1 + 1e-9 else ""


class Unit(NamedTuple):
    """A unit of metrics: the format of ticks along an axis, and their maximum number."""

    name: str
    written: Callable[[float], str]
    across: int = 6
    upright: int = 6

    @property
    def sign(self) -> str:
        """The unit as in headers."""
        return "%" if self.name == "share" else self.name

    def number(self, value: float) -> float | None:
        """A figure in the unit of axes (shares in percent); None for NaN."""
        if math.isnan(value):
            return None
        return 100 * value if self.name == "share" else float(value)

    def full(self, value: float) -> str:
        """A figure with its unit."""
        text = show(value, self.name)
        return f"{text} {self.name}" if self.name in ("USD", "tokens", "calls") else text


TOKENS = Unit("tokens", tokens_tick, upright=4)
USD = Unit("USD", dollars_tick, across=7)
PERCENT = Unit("share", percent_tick)
CALLS = Unit("calls", "{:,.0f}".format)
TIMES = Unit("ratio", "{:,g}".format)


def measure(axes: Axes, which: Which, unit: Unit, title: str) -> None:
    """Give an axis its title and round ticks in a unit."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis = axes.xaxis if which == "x" else axes.yaxis
    most = min(unit.across, int(across(axes) / _TICK)) if which == "x" else unit.upright
    axis.set_major_locator(MaxNLocator(max(2, most), integer=unit is CALLS, steps=STEPS))
    axis.set_major_formatter(FuncFormatter(lambda value, _: unit.written(value)))
    axis.set_label_text(title)
    _fit_title(axes)


def across(axes: Axes) -> float:
    """The width of axes in points."""
    return float(axes.bbox.width) * 72 / axes.figure.get_figure(root=True).dpi


def _fit_title(axes: Axes) -> None:
    """End a title that is wider than its axis where the axis ends, below the names of rows."""
    label = axes.xaxis.label
    if width_of(label.get_text(), label.get_fontsize()) > across(axes):
        label.set(x=1.0, horizontalalignment="right")


def measure_powers(axes: Axes, unit: Unit, ticks: Locator, title: str) -> None:
    """Give the horizontal axis its title and a scale of powers."""
    from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(ticks)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: unit.written(value)))
    axes.set_xlabel(title)
    _fit_title(axes)


def mark(
    axes: Axes, points: Sequence[Point], marker: str, colour: str, size: float, **look: Any
) -> None:
    """Draw marks, filled with their colour unless ``look`` overrides it."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    look = {"markerfacecolor": light(colour), "zorder": 3, **look}
    axes.plot(
        xs, ys, linestyle="none", marker=marker, markersize=size, markeredgecolor=light(colour),
        **look,
    )  # fmt: skip


# Rows: one per strategy, with its name at the left and axes for its figures.

ROW = 17.0
HEAD = 13.0  # above the rows, for the headings of figures next to them (row -1)
NAME_SIZE = 8.5
_SIDE, _BELOW = 16.0, 34.0
# Points of a sheet's width per character of a row's name.
_LETTER = 17.4


def row_names(names: Sequence[str], width: float = WIDTH) -> tuple[list[str], float]:
    """Names shortened to the space of rows on a sheet, and their width in points."""
    labels = distinct_labels(names, round(width / _LETTER))
    return labels, 1.03 * max(width_of(label, NAME_SIZE) for label in labels) + 12


def rows(
    names: Sequence[str],
    key: Sequence[KeyEntry],
    right: float = 0.0,
    over: float = 0.0,
    width: float = WIDTH,
) -> tuple[Sheet, Axes]:
    """A sheet with one row per strategy, row 0 at the top, and margins in points."""
    labels, left = row_names(names, width)
    height = ROW * len(names)
    sheet = Sheet(over + height + _BELOW, key, above=6, below=4, beside=2 * _SIDE, width=width)
    axes = sheet.axes(left, _BELOW, width - left - _SIDE - right, height)
    name_rows(axes, labels)
    return sheet, axes


def name_rows(axes: Axes, labels: Sequence[str]) -> None:
    """Name the rows of axes, row 0 at the top."""
    axes.set_yticks(range(len(labels)), labels)
    for text in axes.get_yticklabels():
        text.set_parse_math(False)  # a dollar sign in a name is a dollar sign
    axes.tick_params(length=0)
    axes.tick_params(axis="y", labelcolor=light("ink"), labelsize=NAME_SIZE)
    axes.grid(visible=False, axis="y")
    axes.set_ylim(len(labels) - 0.5, -0.5)


# Points between two axes; below this width of a sheet they are stacked.
_APART, _STACKED = 14.0, 480.0


def panels(
    names: Sequence[str], key: Sequence[KeyEntry], right: float, width: float = WIDTH
) -> tuple[Sheet, Axes, Axes]:
    """Two axes over the same rows, with a margin in points; stacked and without it if narrow."""
    labels, start = row_names(names, width)
    stacked, high = width < _STACKED, ROW * len(names)
    room = width - start - _SIDE - (0 if stacked else right)
    body = 2 * (high + _BELOW) if stacked else HEAD + high + _BELOW
    sheet = Sheet(body, key, above=6, below=4, beside=2 * _SIDE, width=width)
    if stacked:
        first = sheet.axes(start, high + 2 * _BELOW, room, high)
        second = sheet.axes(start, _BELOW, room, high)
        name_rows(second, labels)
    else:
        half = (room - _APART) / 2
        first = sheet.axes(start, _BELOW, half, high)
        second = sheet.axes(start + half + _APART, _BELOW, half, high, sharey=first)
        second.tick_params(labelleft=False, length=0)
        second.grid(visible=False, axis="y")
    name_rows(first, labels)
    return sheet, first, second


def compactions_of(row: Row, *names: str) -> list[Sequence[Floats]]:
    """Columns of the compactions of a strategy, by conversation; empty without any."""
    tables = [t for run in row.runs if len(t := run.rows.get("compactions", NO_ROWS))]
    return [[t.array(name).astype(np.float64) for t in tables] for name in names if tables]


def row_tips(axes: Axes, texts: Sequence[Sequence[str]]) -> None:
    """Add a tooltip to every row, over the whole width of the sheet."""
    drawn = axes.figure.get_figure(root=True)
    width = 72 * drawn.get_figwidth()
    for number, lines in enumerate(texts):
        _, middle = axes.transData.transform((1.0, number))
        tip(drawn, (0.0, middle - ROW / 2, width, middle + ROW / 2), *lines)


def write_beside(axes: Axes, row: float, text: str, across: float) -> None:
    """Write a figure next to a row, ending ``across`` points right of the axes if there is room."""
    drawn = axes.figure.get_figure(root=True)
    if 72 * drawn.get_figwidth() * (1 - axes.get_position().x1) < across - 8:
        return
    axes.annotate(
        text, (1, row), xycoords=axes.get_yaxis_transform(), xytext=(across, 0),
        textcoords="offset points", ha="right", va="center_baseline", fontsize=8.5,
        color=light("muted"), annotation_clip=False,
    )  # fmt: skip


# Fewer values than this are drawn individually.
FEW = 8


def spread(axes: Axes, given: Sequence[Floats]) -> None:
    """Draw the values of each row: a box with whiskers and a median, or individually if few."""
    many = [(n, v) for n, v in enumerate(given) if len(v) >= FEW]
    for share, colour, width in ((5, "grey", 1.2), (25, "sky", 8.0)):
        ends = [(n, *np.percentile(v, [share, 100 - share])) for n, v in many]
        if ends:
            places, starts, stops = zip(*ends, strict=True)
            axes.hlines(places, starts, stops, color=light(colour), linewidth=width, zorder=2)
    mark(axes, [(float(np.median(v)), n) for n, v in many], "|", "ink", 9.0, markeredgewidth=1.6)
    few = [(float(x), n) for n, v in enumerate(given) if len(v) < FEW for x in v]
    mark(axes, few, "o", "sky", 4.5, markeredgewidth=0)


SPREAD: Sequence[object] = ("strategy", "figure", "statistic", "value")


def spread_values(label: str, figure: str, values: Floats, unit: Unit) -> Values:
    """What :func:`spread` draws of a row, under the heads :data:`SPREAD`."""
    if len(values) < FEW:
        return [[label, figure, "one compaction", unit.number(x)] for x in values]
    shares = {f"{share}th percentile": share for share in (5, 25, 75, 95)} | {"median": 50}
    return [
        [label, figure, name, unit.number(float(np.percentile(values, share)))]
        for name, share in sorted(shares.items(), key=lambda pair: pair[1])
    ]


class Piece(NamedTuple):
    """A part of every bar: its name in the key (or ""), its style, and its value in each row."""

    name: str
    colour: str
    pattern: str
    values: Sequence[float]


def bars(
    names: Sequence[str],
    pieces: Sequence[Piece],
    unit: Unit,
    title: str,
    *,
    end: float | None = None,
    width: float = WIDTH,
) -> Figure:
    """One horizontal bar per strategy, stacked from pieces."""
    key = [KeyEntry(p.name, p.colour, "patch", p.pattern) for p in pieces if p.name]
    sheet, axes = rows(names, key, width=width)
    stack(axes, pieces, unit, title, end)
    for piece, container in zip(pieces, axes.containers, strict=True):
        boxes = [_box(axes, bar) for bar in container if bar.get_width()]
        draw_pattern(sheet.figure, boxes, piece.pattern)
    row_tips(axes, [_told(name, pieces, row, unit) for row, name in enumerate(names)])
    return sheet.figure


def stack(
    axes: Axes,
    pieces: Sequence[Piece],
    unit: Unit,
    title: str,
    end: float | None = None,
    *,
    hatched: bool = False,
) -> None:
    """Stack pieces as horizontal bars; patterns are hatches, or drawn later."""
    starts = [0.0 for _ in pieces[0].values]
    for piece in pieces:
        axes.barh(
            range(len(starts)), piece.values, left=starts, height=0.72, color=light(piece.colour),
            edgecolor=light("paper"), linewidth=0.4, label=piece.name,
            hatch=_HATCHES[piece.pattern] if hatched else None,
        )  # fmt: skip
        starts = [start + value for start, value in zip(starts, piece.values, strict=True)]
    axes.set_xlim(0, end or max(*starts, 0.0) * 1.02 or 1.0)
    measure(axes, "x", unit, title)


def _told(name: str, pieces: Sequence[Piece], row: int, unit: Unit) -> list[str]:
    """The tooltip of a bar: its pieces."""
    own = [(piece.name, piece.values[row]) for piece in pieces if piece.values[row]]
    return [name, *(f"{part}: {unit.full(value)}" for part, value in own if part)]


def _box(axes: Axes, bar: Rectangle) -> Box:
    """The box of a bar in points of the figure; rows are counted from the top."""
    left, one, right, other = axes.transData.transform_bbox(bar.get_bbox()).extents
    return float(left), float(min(one, other)), float(right), float(max(one, other))


def recall(row: Row, metric: str) -> float:
    """Recall, from a metric of misses; NaN if it is unknown."""
    missed = row.figures[metric]
    return math.nan if missed is None else 1 - missed
