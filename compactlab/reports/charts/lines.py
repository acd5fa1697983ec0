"""Lines over a session: cumulative cost, and recall by distance and by compactions."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from compactlab.reports.analysis.aggregate import JUNK, ORACLE, OWN, recall_by_lag
from compactlab.reports.analysis.bootstrap import row_interval
from compactlab.reports.analysis.calls import bills
from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import canvas, tip
from compactlab.reports.charts.kit import (
    CALLS,
    PERCENT,
    USD,
    WIDTH,
    Colours,
    KeyEntry,
    Sheet,
    Unit,
    measure,
    recall,
)
from compactlab.reports.charts.names import distinct_labels
from compactlab.reports.charts.palette import LINES, light
from compactlab.reports.render.text import counted
from compactlab.sim.metrics.lag import LAGS
from compactlab.sim.store.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Curves: one line per strategy; those that matter stand out.

_HEIGHT = 240.0
_LEFT, _RIGHT, _BELOW = 52.0, 16.0, 36.0
_LETTERS = 44


@dataclass(frozen=True)
class Curve:
    """A line, interrupted at NaN. A band has two ends at every point."""

    label: str
    colour: str
    xs: Sequence[float]
    ys: Sequence[float]
    band: Sequence[tuple[float, float]] = ()

    def at(self, x: float) -> float:
        """Its value at the nearest point to the left; NaN beyond its ends."""
        place = bisect_right(self.xs, x) - 1
        return self.ys[place] if place >= 0 and x <= self.xs[-1] else math.nan


def curves(given: Sequence[Curve], *, marks: bool) -> tuple[Figure, Axes]:
    """Lines with a mark at every point or at some; grey ones lie below and share a key entry."""
    loud = [curve for curve in given if curve.colour != "grey"]
    labels = distinct_labels([curve.label for curve in loud], _LETTERS)
    key = [KeyEntry(text, curve.colour, "line") for text, curve in zip(labels, loud, strict=True)]
    if len(loud) < len(given):
        others = counted(len(given) - len(loud), "other strategy" if loud else "strategy")
        key.append(KeyEntry(others, "grey", "line"))
    sheet = Sheet(_BELOW + _HEIGHT, key, beside=24)
    axes = sheet.axes(_LEFT, _BELOW, WIDTH - _LEFT - _RIGHT, _HEIGHT)
    for number, curve in enumerate(given):
        _draw(axes, curve, number, marks)
    return sheet.figure, axes


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
    line, quiet = LINES[curve.colour], curve.colour == "grey"
    few: dict[str, Any] = {} if marks else {"markevery": (0.02 * (1 + number % 5), 0.12)}
    axes.plot(
        curve.xs,
        curve.ys,
        color=light(curve.colour),
        linewidth=line.width,
        linestyle=line.dashes,
        marker=line.marker or ("." if marks else None),
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
    "The cost of the conversation up to and including each call, in dollars, with side calls. A "
    "jump is a call with a large prompt that missed the cache, or the request for a summary."
)


def cumulative(
    rows: Sequence[Row], runs: Mapping[str, Run], colours: Colours, name: str, subject: str
) -> Chart | None:
    """Draw the cumulative cost of a conversation, whose runs are by spec; None if it is 0."""
    lines = [
        _curve(row, runs[row.spec], colours[row.spec])
        for row in rows
        if row.spec in runs and len(runs[row.spec].calls)
    ]
    if not any(line.ys[-1] for line in lines):
        return None
    with canvas():
        drawn, axes = curves(lines, marks=False)
        axes.set_xlim(0, 1.01 * max(line.xs[-1] for line in lines))
        axes.set_ylim(bottom=0)
        measure(axes, "x", CALLS, "call number")
        measure(axes, "y", USD, "cumulative cost, USD")
        last = int(max(line.xs[-1] for line in lines))
        calls = dict.fromkeys(round(last * (n + 1) / _PLACES) for n in range(_PLACES))
        tell(axes, lines, {n: f"up to call {n:,}" for n in calls if n}, USD)
    return Chart(
        name,
        "Cumulative cost",
        _CAPTION,
        drawn,
        "cumulative",
        "conversation",
        "cost-so-far",
        subject,
    )


def _curve(row: Row, run: Run, colour: str) -> Curve:
    paid = bills(run)
    most = _QUIET if colour == "grey" else _LOUD
    step = -(-len(paid) // most) or 1
    at = sorted({*range(0, len(paid), step), len(paid) - 1})
    return Curve(row.label, colour, [0, *(n + 1 for n in at)], [0.0, *(paid[n] for n in at)])


# Facts that the prompt still holds, by distance and by compactions: one line per strategy.

_ROUNDS = {f"amnesia_round_{number}": f"{number}" for number in range(6)}
_NO_BAND = (math.nan, math.nan)
_HELD = "fact recall, % of the facts due"
_MEAN = (
    "the share of the facts due that the prompt still holds, as the mean over types of facts and "
    "then over the conversations that have facts of that age"
)
_LAGGED = (
    "Fact recall by lag: the share of needed facts that the prompt holds, as the mean over the "
    "conversations with such needs. The lag of a need is the number of tokens in the log between "
    "the message that stated the fact last and the call; all strategies meet the same needs. "
    "{bands}It is no survival curve: each step has other needs."
)
_LAG_BANDS = (
    "The band of a strategy that summarises reaches from summaries of the same length without "
    "content (junk) to those that state what is needed (oracle): what a summary can change. "
)
_SURVIVED = (
    f"Fact recall by compactions: {_MEAN}. Facts are grouped by the number of compactions since "
    "they were stated last. The line of a strategy that compacts seldom ends early. "
)
_BANDS = "Bands are 95 % confidence intervals; they need at least ten conversations."


def by_lag(comparison: Comparison, colours: Colours, name: str) -> Chart | None:
    """Draw recall by distance, between null summaries and an oracle's; None without needs."""
    lines = [line for row in comparison.rows if (line := _lagged(row, colours[row.spec]))]
    if not lines:
        return None
    ends = [f"{lag // 1000}k" for lag in LAGS]
    names = [f"{low} to {high}" for low, high in pairwise(ends)]
    steps = [f"less than {ends[1]}", *names[1:], f"{ends[-1]} or more"]
    drawn = _recall(lines, steps, "lag of the need, tokens of the log", "fact recall, % of needs")
    caption = _LAGGED.format(bands=_LAG_BANDS if any(line.band for line in lines) else "")
    return Chart(name, "Fact recall by lag", caption, drawn, "lag")


def _lagged(row: Row, colour: str) -> Curve | None:
    shares = recall_by_lag(row.runs)
    own = shares[OWN]
    last = max((index for index, share in enumerate(own, 1) if share is not None), default=0)
    if not last:
        return None
    ys = [math.nan if share is None else share for share in own[:last]]
    band: list[tuple[float, float]] = []
    if row.summarises and colour != "grey" and {JUNK, ORACLE} <= shares.keys():
        ends = zip(shares[JUNK][:last], shares[ORACLE][:last], strict=True)
        band = [_NO_BAND if None in pair else pair for pair in ends]  # type: ignore[misc]
    return Curve(row.label, colour, range(last), ys, band)


def by_round(comparison: Comparison, colours: Colours, name: str) -> Chart | None:
    """Draw the share of facts held after a number of compactions; None without compactions."""
    lines = _curves(comparison.rows, colours, _ROUNDS, bands=True)
    if not any(len(line.ys) > 1 and not math.isnan(line.ys[1]) for line in lines):
        return None
    caption = _SURVIVED + (_BANDS if any(line.band for line in lines) else "")
    title = "compactions since the fact was stated"
    drawn = _recall(lines, list(_ROUNDS.values()), title)
    return Chart(
        name,
        "Fact recall by number of compactions",
        caption.strip(),
        drawn,
        "survival",
        shown="survival-by-round",
    )


def _recall(lines: Sequence[Curve], names: Sequence[str], title: str, what: str = _HELD) -> Figure:
    """Curves of shares over named positions, up to the last one with a point."""
    last = max(len(line.xs) for line in lines)
    with canvas():
        drawn, axes = curves(lines, marks=True)
        axes.set_xticks(range(last), names[:last])
        axes.set_xlim(-0.3, last - 0.7)
        axes.set_xlabel(title)
        axes.set_ylim(0, 1.02)
        measure(axes, "y", PERCENT, what)
        tell(axes, lines, {n: f"{title}: {names[n]}" for n in range(last)}, PERCENT)
    return drawn


def _curves(
    rows: Sequence[Row], colours: Colours, metrics: Mapping[str, str], *, bands: bool
) -> list[Curve]:
    """One curve per strategy, up to the last age of any of its facts."""
    lines = []
    for row in rows:
        shares = [recall(row, metric) for metric in metrics]
        while shares and math.isnan(shares[-1]):
            shares.pop()
        if shares:
            colour = colours[row.spec]
            own = list(metrics)[: len(shares)] if bands and colour != "grey" else ()
            lines.append(Curve(row.label, colour, range(len(shares)), shares, _band(row, own)))
    return lines


def _band(row: Row, metrics: Sequence[str]) -> Sequence[tuple[float, float]]:
    """The interval at every point; empty if no point has one."""
    band = []
    for metric in metrics:
        interval = row_interval(row, metric)
        known = interval.low is not None and interval.high is not None
        band.append((1 - (interval.high or 0.0), 1 - (interval.low or 0.0)) if known else _NO_BAND)
    return band if any(ends is not _NO_BAND for ends in band) else ()
