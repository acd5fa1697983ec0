"""One line per strategy, named at its end: cost by call, recall by age, both by window."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from compactlab.reports.analysis.aggregate import JUNK, ORACLE, OWN, recall_by_lag
from compactlab.reports.analysis.bootstrap import row_interval
from compactlab.reports.analysis.calls import bills
from compactlab.reports.analysis.columns import recall_head
from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.analysis.scope import Sweep, short, size_of, strategies
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import canvas, tip, width_of
from compactlab.reports.charts.kit import (
    CALLS,
    NAME_SIZE,
    PERCENT,
    USD,
    WIDTH,
    Colours,
    KeyEntry,
    Sheet,
    Unit,
    Values,
    across,
    measure,
    recall,
)
from compactlab.reports.charts.names import End, name_ends, width_of_ends
from compactlab.reports.charts.palette import LINES, light
from compactlab.reports.render.text import counted
from compactlab.sim.metrics.memory import LAGS
from compactlab.sim.store.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Curves: one line per strategy, with its name at its end.

_HEIGHT, _SHAPE = 240.0, 0.66
_LEFT, _RIGHT, _BELOW = 52.0, 6.0, 36.0
# Up to this many lines are all named; of more, the most important.
MOST = 15
# Bands of more lines would cover each other.
_BANDS_AT_MOST = 3
# Points of a sheet's width per character of a name.
_LETTER = 22


@dataclass(frozen=True)
class Curve:
    """A line, interrupted at NaN. A band has two ends at every point."""

    label: str
    colour: str
    xs: Sequence[float]
    ys: Sequence[float]
    band: Sequence[tuple[float, float]] = ()
    bound: bool = False
    place: int = 0  # in the order of the experiment, where whole agents come first

    def at(self, x: float) -> float:
        """Its value at the nearest point to the left; NaN beyond its ends."""
        index = bisect_right(self.xs, x) - 1
        return self.ys[index] if index >= 0 and x <= self.xs[-1] else math.nan

    @property
    def end(self) -> End:
        """Its last point, with its name."""
        x, y = [pair for pair in zip(self.xs, self.ys, strict=True) if not math.isnan(pair[1])][-1]
        return End(f"{self.label} (bound)" if self.bound else self.label, self.colour, x, y)


class Lines(NamedTuple):
    """What a chart of lines is drawn from: curves and axes; positions may have names."""

    curves: Sequence[Curve]
    title: str
    what: str
    unit: Unit
    names: Sequence[str] = ()

    @property
    def values(self) -> Values:
        """The points of each line, with the ends of its band."""
        rows: list[Sequence[object]] = []
        for curve in self.curves:
            for n, (x, y) in enumerate(zip(curve.xs, curve.ys, strict=True)):
                if not math.isnan(y):
                    at = self.names[int(x)] if self.names else x
                    band = map(self.unit.number, curve.band[n] if curve.band else ())
                    rows.append([curve.label, at, self.unit.number(y), *band])
        banded = any(curve.band for curve in self.curves)
        ends = ["lower end of the band", "upper end of the band"] * banded
        return [["strategy", self.title, self.what, *ends], *rows]


def named(given: Sequence[Curve]) -> list[Curve]:
    """The curves with names: all if they are few, else coloured ones, bounds and the extremes.

    The others follow in the order of the experiment.
    """
    by_level = sorted(given, key=lambda curve: curve.end.y)
    extremes = [*by_level[:1], *by_level[-2:]]

    def rank(curve: Curve) -> tuple[bool, int]:
        first = curve.colour != "grey" or curve.bound or curve in extremes
        return not first, curve.place

    chosen = sorted(given, key=rank)[:MOST]
    return [curve for curve in given if curve in chosen]


def draw_lines(axes: Axes, lines: Lines, letters: int = 30, size: float = NAME_SIZE) -> None:
    """Draw curves with their names into axes of their final size."""
    marks = bool(lines.names)
    for number, curve in enumerate(lines.curves):
        _draw(axes, curve, number, marks)
    last = max(curve.xs[-1] for curve in lines.curves)
    if lines.names:
        shown = lines.names[: int(last) + 1]
        room = across(axes) / len(shown)
        # If not all names fit, the last one and every second or third one before it.
        step = max(1, math.ceil(max(width_of(name, size) for name in shown) / room))
        texts = ["" if n % step else name for n, name in enumerate(reversed(shown))]
        axes.set_xticks(range(len(shown)), texts[::-1])
        axes.set_xlim(-0.3, last + 0.3)
        axes.set_xlabel(lines.title)
    else:
        axes.set_xlim(0, 1.01 * last)
        measure(axes, "x", CALLS, lines.title)
    axes.set_ylim(0, 1.02 if lines.unit is PERCENT else None)
    measure(axes, "y", lines.unit, lines.what)
    name_ends(axes, [curve.end for curve in named(lines.curves)], letters, size)


def _drawn(lines: Lines, heads: Mapping[float, str], width: float) -> Figure:
    """A sheet of lines; ``heads`` begin the tooltips at their positions."""
    letters = max(12, round(width / _LETTER))
    shown = named(lines.curves)
    right = width_of_ends([curve.end.label for curve in shown], letters, NAME_SIZE) + _RIGHT
    height = min(_HEIGHT, _SHAPE * width)
    key = []
    if more := len(lines.curves) - len(shown):
        key = [KeyEntry(counted(more, "other strategy"), "grey", "line")]
    with canvas():
        sheet = Sheet(_BELOW + height + 8, key, beside=24, width=width)
        axes = sheet.axes(_LEFT, _BELOW, width - _LEFT - right, height)
        draw_lines(axes, lines, letters)
        tell(axes, lines.curves, heads, lines.unit)
    return sheet.figure


# Curves per tooltip, and the maximum number of tooltips.
_TOLD, _PLACES = 14, 24


def tell(axes: Axes, given: Sequence[Curve], heads: Mapping[float, str], unit: Unit) -> None:
    """Add tooltips along the axis with the values of the curves, coloured ones first.

    Call it after the limits of the axes are final.
    """
    first = sorted(given, key=lambda curve: curve.colour == "grey")[:_TOLD]
    places = list(heads)[:: -(-len(heads) // _PLACES) or 1]
    middles = [float(axes.transData.transform((x, 0.0))[0]) for x in places]
    ends = axes.transAxes.transform([(0, 0), (1, 1)])
    (left, low), (right, high) = ends.tolist()
    edges = [left, *((a + b) / 2 for a, b in pairwise(middles)), right]
    for at, x in enumerate(places):
        known = [(curve.label, curve.at(x)) for curve in first]
        lines = [f"{label}: {unit.full(y)}" for label, y in known if not math.isnan(y)]
        more = [f"and {len(given) - _TOLD} more"] if len(given) > _TOLD else []
        box = (edges[at], low, edges[at + 1], high)
        tip(axes.figure.get_figure(root=True), box, heads[x], *lines, *more)


def _draw(axes: Axes, curve: Curve, number: int, marks: bool) -> None:
    line, quiet = LINES["muted" if curve.bound else curve.colour], curve.colour == "grey"
    few: dict[str, Any] = {} if marks else {"markevery": (0.02 * (1 + number % 5), 0.12)}
    axes.plot(
        curve.xs,
        curve.ys,
        color=light("muted" if curve.bound else curve.colour),
        linewidth=line.width,
        linestyle=line.dashes,
        marker=line.marker or ("." if marks and not curve.bound else None),
        markersize=3 if quiet else 5.5,
        alpha=0.7 if quiet else None,
        zorder=2 if quiet else 3,
        clip_on=not marks,
        label=curve.label,
        **few,
    )
    if curve.band:
        low, high = zip(*curve.band, strict=True)
        axes.fill_between(curve.xs, low, high, color=light(curve.colour), alpha=0.12, linewidth=0)


# Cumulative cost of a conversation by call: one line per strategy.

# The number of points of a line: more for coloured ones.
_LOUD, _QUIET = 100, 40
_CAPTION = (
    "The cost of the conversation up to and including each call, in dollars, with summary calls. A "
    "jump is a call with a large prompt that missed the cache, or the request for a summary."
)


def cumulative_cost(rows: Sequence[Row], runs: Mapping[str, Run], colours: Colours) -> Lines | None:
    """The cumulative cost of a conversation, whose runs are by spec; None if it is 0."""
    lines = [
        _paid(row, runs[row.spec], colours[row.spec], index)
        for index, row in enumerate(rows)
        if row.spec in runs and len(runs[row.spec].calls)
    ]
    if not any(line.ys[-1] for line in lines):
        return None
    return Lines(lines, "call number", "cumulative cost, USD", USD)


def cumulative(
    rows: Sequence[Row],
    runs: Mapping[str, Run],
    colours: Colours,
    name: str,
    subject: str,
    *,
    width: float = WIDTH,
) -> Chart | None:
    """Draw the cumulative cost of a conversation, whose runs are by spec; None if it is 0."""
    if (lines := cumulative_cost(rows, runs, colours)) is None:
        return None
    last = int(max(line.xs[-1] for line in lines.curves))
    calls = dict.fromkeys(round(last * (n + 1) / _PLACES) for n in range(_PLACES))
    drawn = _drawn(lines, {n: f"up to call {n:,}" for n in calls if n}, width)
    title = "Cumulative cost"
    return Chart(
        name, title, _CAPTION, drawn, "cumulative", "conversation", subject, values=lines.values
    )


def _paid(row: Row, run: Run, colour: str, place: int) -> Curve:
    paid = bills(run)
    most = _QUIET if colour == "grey" else _LOUD
    step = -(-len(paid) // most) or 1
    at = sorted({*range(0, len(paid), step), len(paid) - 1})
    xs, ys = [0, *(n + 1 for n in at)], [0.0, *(paid[n] for n in at)]
    return Curve(row.label, colour, xs, ys, bound=row.bound, place=place)


# Facts that the prompt still holds, by distance and by compactions: one line per strategy.

_ROUNDS = {f"amnesia_round_{number}": f"{number}" for number in range(6)}
_NO_BAND = (math.nan, math.nan)
_HELD = "recall, % of the facts due"
_MEAN = (
    "the share of the facts due that the prompt still holds, as the mean over types of facts and "
    "then over the conversations that have facts of that age"
)
_LAGGED = (
    "Recall by distance: the share of needed facts that the prompt holds, as the mean over the "
    "conversations with such needs. The distance of a need is the number of tokens in the log "
    "between the message that stated the fact last and the call; all strategies meet the same "
    "needs. "
    "{bands}It is no survival curve: each step has other needs."
)
_LAG_BANDS = (
    "The band of a strategy that summarises reaches from summaries of the same length without "
    "content (junk) to those that state what is needed (oracle): what a summary can change. "
)
_SURVIVED = (
    f"Recall by compactions: {_MEAN}. Facts are grouped by the number of compactions since "
    "they were stated last. The line of a strategy that compacts seldom ends early. "
)
_BANDS = "Bands are 95 % confidence intervals; they need at least ten conversations."


def recall_by_distance(comparison: Comparison, colours: Colours) -> Lines | None:
    """Recall by distance, between null summaries and an oracle's; None without needs."""
    lines = [line for row in comparison.rows if (line := _lagged(comparison, row, colours))]
    ends = [lag // 1000 for lag in LAGS]
    names = [f"{low}\N{EN DASH}{high}k" for low, high in pairwise(ends)]
    steps = [f"<{ends[1]}k", *names[1:], f"\N{GREATER-THAN OR EQUAL TO}{ends[-1]}k"]
    title = "distance of the need, tokens of the log"
    return Lines(_few_bands(lines), title, "recall, % of needs", PERCENT, steps) if lines else None


def _few_bands(lines: Sequence[Curve]) -> Sequence[Curve]:
    if sum(bool(line.band) for line in lines) <= _BANDS_AT_MOST:
        return lines
    return [replace(line, band=()) for line in lines]


def by_lag(
    comparison: Comparison, colours: Colours, name: str, width: float = WIDTH
) -> Chart | None:
    """Draw recall by distance; None without needs."""
    if (lines := recall_by_distance(comparison, colours)) is None:
        return None
    caption = _LAGGED.format(bands=_LAG_BANDS if any(line.band for line in lines.curves) else "")
    drawn, title = _over_names(lines, width), "Recall by distance"
    return Chart(name, title, caption, drawn, "lag", values=lines.values)


def _lagged(comparison: Comparison, row: Row, colours: Colours) -> Curve | None:
    shares = recall_by_lag(row.runs)
    own, colour = shares[OWN], colours[row.spec]
    last = max((index for index, share in enumerate(own, 1) if share is not None), default=0)
    if not last:
        return None
    ys = [math.nan if share is None else share for share in own[:last]]
    band: list[tuple[float, float]] = []
    if row.summarises and colour != "grey" and {JUNK, ORACLE} <= shares.keys():
        ends = zip(shares[JUNK][:last], shares[ORACLE][:last], strict=True)
        band = [_NO_BAND if None in pair else pair for pair in ends]  # type: ignore[misc]
    return _curve(comparison, row, colours, ys, band)


def recall_by_compactions(comparison: Comparison, colours: Colours) -> Lines | None:
    """The share of facts held after a number of compactions; None without compactions."""
    lines = _aged(comparison, colours, _ROUNDS)
    if not any(len(line.ys) > 1 and not math.isnan(line.ys[1]) for line in lines):
        return None
    title = "compactions since the fact was stated"
    return Lines(_few_bands(lines), title, _HELD, PERCENT, list(_ROUNDS.values()))


def by_round(
    comparison: Comparison, colours: Colours, name: str, width: float = WIDTH
) -> Chart | None:
    """Draw the share of facts held after a number of compactions; None without compactions."""
    if (lines := recall_by_compactions(comparison, colours)) is None:
        return None
    caption = _SURVIVED + (_BANDS if any(line.band for line in lines.curves) else "")
    title, drawn = "Recall by number of compactions", _over_names(lines, width)
    return Chart(name, title, caption.strip(), drawn, "survival", values=lines.values)


def _over_names(lines: Lines, width: float) -> Figure:
    heads = {n: f"{lines.title}: {text}" for n, text in enumerate(lines.names)}
    last = max(curve.xs[-1] for curve in lines.curves)
    return _drawn(lines, {n: head for n, head in heads.items() if n <= last}, width)


def _aged(comparison: Comparison, colours: Colours, metrics: Mapping[str, str]) -> list[Curve]:
    """One curve per strategy, up to the last age of any of its facts."""
    lines = []
    for row in comparison.rows:
        shares = [recall(row, metric) for metric in metrics]
        while shares and math.isnan(shares[-1]):
            shares.pop()
        if shares:
            own = list(metrics)[: len(shares)] if colours[row.spec] != "grey" else ()
            lines.append(_curve(comparison, row, colours, shares, _band(row, own)))
    return lines


def _curve(
    comparison: Comparison,
    row: Row,
    colours: Colours,
    ys: Sequence[float],
    band: Sequence[tuple[float, float]],
) -> Curve:
    place = comparison.named.index(row.spec) if row.spec in comparison.named else 0
    return Curve(row.label, colours[row.spec], range(len(ys)), ys, band, row.bound, place)


def _band(row: Row, metrics: Sequence[str]) -> Sequence[tuple[float, float]]:
    """The interval at every point; empty if no point has one."""
    band = []
    for metric in metrics:
        interval = row_interval(row, metric)
        known = interval.low is not None and interval.high is not None
        band.append((1 - (interval.high or 0.0), 1 - (interval.low or 0.0)) if known else _NO_BAND)
    return band if any(ends is not _NO_BAND for ends in band) else ()


# Cost and recall over the context window: two panels, one line per strategy.

_HIGH, _BEFORE, _UNDER, _STACKED = 220.0, 48.0, 40.0, 480.0
_LETTERS = 22
_WINDOWS = (
    "The cost of a conversation and the recall of every strategy under each window, over the same "
    "conversations. Recall is at one distance under all windows. A prompt that exceeds the window "
    "is counted like any other; the table marks these strategies."
)


def by_window(sweep: Sweep, colours: Colours, name: str, width: float = WIDTH) -> Chart | None:
    """Draw cost and recall over the window; None if no strategy has figures under two."""
    panels = [
        lines
        for lines in (
            _over_windows(sweep, colours, "cost of a conversation, USD", USD),
            _over_windows(sweep, colours, f"{recall_head(sweep[0])}, %", PERCENT),
        )
        if lines.curves
    ]
    if not panels:
        return None
    across = len(panels) if width > _STACKED else 1
    down = len(panels) // across
    each = width / across
    with canvas():
        sheet = Sheet((_UNDER + _HIGH + 8) * down, (), width=width)
        for number, lines in enumerate(panels):
            ends = [curve.end.label for curve in named(lines.curves)]
            room = each - _BEFORE - width_of_ends(ends, _LETTERS, NAME_SIZE) - _RIGHT
            low = (_UNDER + _HIGH + 8) * (down - 1 - number // across) + _UNDER
            axes = sheet.axes(each * (number % across) + _BEFORE, low, room, _HIGH)
            draw_lines(axes, lines, _LETTERS)
            heads = {float(n): f"window of {label}" for n, label in enumerate(lines.names)}
            tell(axes, lines.curves, heads, lines.unit)
    return Chart(name, "Cost and recall by window", _WINDOWS, sheet.figure, "windows")


def _over_windows(sweep: Sweep, colours: Colours, what: str, unit: Unit) -> Lines:
    curves = []
    for index, row in enumerate(strategies(sweep)):
        ys = []
        for comparison in sweep:
            own = next((each for each in comparison.rows if each.spec == row.spec), None)
            value = None
            if own is not None:
                value = own.mean() if unit is USD else own.recall
            ys.append(math.nan if value is None else value)
        if sum(not math.isnan(y) for y in ys) > 1:
            xs = [float(n) for n in range(len(sweep))]
            curves.append(Curve(row.label, colours.get(row.spec, "grey"), xs, ys, place=index))
    names = [short(size_of(each)) for each in sweep]
    return Lines(curves, "context window, tokens", what, unit, names)
