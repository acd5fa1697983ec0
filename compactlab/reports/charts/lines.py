"""Lines over a session: what it has cost so far, and what is still there by age."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compactlab.reports.analysis.aggregate import bills
from compactlab.reports.analysis.bootstrap import row_interval
from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.charts.bars import (
    WIDTH,
    Entry,
    draw_key,
    height_of,
    in_calls,
    in_dollars,
    in_percent,
    told_apart,
)
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import LINES, canvas, figure, light
from compactlab.reports.render.text import counted
from compactlab.sim.experiment.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Curves: a line a strategy, of which those that matter stand out from the others.

_HEIGHT = 240.0
_LEFT, _RIGHT, _BELOW = 52.0, 16.0, 36.0
_LETTERS = 44


@dataclass(frozen=True)
class Curve:
    """A line.

    Parameters
    ----------
    label, colour
        Of its strategy.
    xs, ys
        Its points; what is no number is left out, and so is the line beside it.
    band
        The lower and the upper end of the interval at every point; empty for none.
    """

    label: str
    colour: str
    xs: Sequence[float]
    ys: Sequence[float]
    band: Sequence[tuple[float, float]] = ()


def curves(given: Sequence[Curve], *, marks: bool) -> tuple[Figure, Axes]:
    """Draw lines with a key above them; grey ones lie below and share an entry of it.

    Parameters
    ----------
    given
        The lines.
    marks
        Whether every point has the mark of its colour; else some of them.
    """
    loud = [curve for curve in given if curve.colour != "grey"]
    names = told_apart([curve.label for curve in loud], _LETTERS)
    entries = [Entry(name, curve.colour, "line") for name, curve in zip(names, loud, strict=True)]
    if len(loud) < len(given):
        others = counted(len(given) - len(loud), "other strategy" if loud else "strategy")
        entries.append(Entry(others, "grey", "line"))
    above = height_of(entries, WIDTH - 24) + 10
    height = _BELOW + _HEIGHT + above
    drawn = figure(WIDTH / 72, height / 72)
    draw_key(drawn, entries, 4, height - 4, WIDTH - 24)
    axes = drawn.add_axes(
        (_LEFT / WIDTH, _BELOW / height, (WIDTH - _LEFT - _RIGHT) / WIDTH, _HEIGHT / height)
    )
    for number, curve in enumerate(given):
        _draw(axes, curve, number, marks)
    return drawn, axes


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


# What a conversation has cost up to each of its calls: a line a strategy.

# So many points say where a line goes: those that stand out have more.
_LOUD, _QUIET = 160, 50
_CAPTION = (
    "Dollars that the conversation has cost up to and with each call, side calls among them. A "
    "jump is a call with a large prompt that was not in the cache, or the request for a summary."
)


def cumulative(
    rows: Sequence[Row],
    runs: Mapping[str, Run],
    colours: Mapping[str, str],
    name: str,
    subject: str,
) -> Chart | None:
    """Draw the cost of one conversation as it adds up.

    Parameters
    ----------
    rows
        The strategies, in order.
    runs
        The runs of the conversation, by the strategies' specs.
    colours
        Names of colours by spec.
    name
        Of the chart.
    subject
        The conversation, as it is told to readers.

    Returns
    -------
    Chart or None
        None if nothing is paid.
    """
    found = [
        _curve(row, runs[row.spec], colours[row.spec])
        for row in rows
        if row.spec in runs and len(runs[row.spec].calls)
    ]
    if not any(curve.ys[-1] for curve in found):
        return None
    with canvas():
        drawn, axes = curves(found, marks=False)
        axes.set_xlim(0, 1.01 * max(curve.xs[-1] for curve in found))
        axes.set_ylim(bottom=0)
        axes.set_xlabel("call number")
        axes.set_ylabel("cost so far, USD")
        in_calls(axes, "x")
        in_dollars(axes, "y")
    return Chart(name, "What it has cost so far", _CAPTION, drawn, "cumulative", subject)


def _curve(row: Row, run: Run, colour: str) -> Curve:
    paid = bills(run)
    most = _QUIET if colour == "grey" else _LOUD
    step = -(-len(paid) // most) or 1
    at = sorted({*range(0, len(paid), step), len(paid) - 1})
    return Curve(row.label, colour, [0, *(n + 1 for n in at)], [0.0, *(paid[n] for n in at)])


# What is still there by the age of what was said: a line a strategy.

Colours = Mapping[str, str]

_AGES = {
    "amnesia_age_1k": "less than 1k",
    "amnesia_age_4k": "1k to 4k",
    "amnesia_age_16k": "4k to 16k",
    "amnesia_age_64k": "16k to 64k",
    "amnesia_age_more": "64k or more",
}
_ROUNDS = {f"amnesia_round_{number}": f"{number}" for number in range(6)}
_NONE = (math.nan, math.nan)
_HELD = "facts that the prompt holds, % of those due"
_MEAN = (
    "the share of facts due that the prompt still holds, the mean over types of facts and then "
    "over the conversations that have facts of that age"
)
_AGED = (
    f"Recall by age: {_MEAN}. A fact's age is how many tokens of the log lie between the call and "
    "the message that stated it last. Level and high is good; a line that falls to the right "
    "forgets what is old, one that is low on the left forgets what was just said."
)
_SURVIVED = (
    f"Recall by compactions: {_MEAN}. Facts are sorted by how many compactions there have been "
    "since they were stated last; strategies that compact seldom end early. "
)
_BANDS = "Bands, where there are ten conversations or more, are 95 % intervals over conversations."


def by_age(comparison: Comparison, colours: Colours, name: str) -> Chart | None:
    """Draw how much is held of what was said so many tokens ago; None without facts."""
    found = _curves(comparison.rows, colours, _AGES, bands=False)
    if not found:
        return None
    with canvas():
        drawn, axes = curves(found, marks=True)
        _places(axes, found, list(_AGES.values()))
        axes.set_xlabel("age of the fact, tokens of the log")
        axes.set_ylabel(_HELD)
        axes.set_ylim(0, 1.02)
        in_percent(axes, "y")
    return Chart(name, "What is remembered, by its age", _AGED, drawn, "age")


def by_round(comparison: Comparison, colours: Colours, name: str) -> Chart | None:
    """Draw how much is held after so many compactions; None where nothing was compacted."""
    found = _curves(comparison.rows, colours, _ROUNDS, bands=True)
    if not any(len(curve.ys) > 1 and not math.isnan(curve.ys[1]) for curve in found):
        return None
    caption = _SURVIVED + (_BANDS if any(curve.band for curve in found) else "")
    with canvas():
        drawn, axes = curves(found, marks=True)
        _places(axes, found, list(_ROUNDS.values()))
        axes.set_xlabel("compactions since the fact was stated, rounds")
        axes.set_ylabel(_HELD)
        axes.set_ylim(0, 1.02)
        in_percent(axes, "y")
    return Chart(name, "What survives compactions", caption.strip(), drawn, "survival")


def _places(axes: Axes, found: Sequence[Curve], names: Sequence[str]) -> None:
    """Write along an axis what the points stand for, as far as there are any."""
    last = max(len(curve.xs) for curve in found)
    axes.set_xticks(range(last), names[:last])
    axes.set_xlim(-0.3, last - 0.7)


def _curves(
    rows: Sequence[Row],
    colours: Colours,
    metrics: Sequence[str] | Mapping[str, str],
    *,
    bands: bool,
) -> list[Curve]:
    """A curve a strategy, up to the last age at which any of its facts is."""
    found = []
    for row in rows:
        held = [_held(row, metric) for metric in metrics]
        while held and math.isnan(held[-1]):
            held.pop()
        if held:
            colour = colours[row.spec]
            wide = _bands(row, list(metrics)[: len(held)]) if bands and colour != "grey" else ()
            found.append(Curve(row.label, colour, range(len(held)), held, wide))
    return found


def _held(row: Row, metric: str) -> float:
    forgotten = row.figures[metric]
    return math.nan if forgotten is None else 1 - forgotten


def _bands(row: Row, metrics: Sequence[str]) -> tuple[tuple[float, float], ...]:
    """The interval at every point; none if no point has one."""
    found = []
    for metric in metrics:
        interval = row_interval(row, metric)
        known = interval.low is not None and interval.high is not None
        found.append((1 - (interval.high or 0.0), 1 - (interval.low or 0.0)) if known else _NONE)
    return tuple(found) if any(ends is not _NONE for ends in found) else ()
