"""What is still there by the age of what was said: a line a strategy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from compactlab.reports.charts.axis import in_percent
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.curves import Curve, curves
from compactlab.reports.charts.drawing import canvas
from compactlab.reports.comparison import Comparison, Row
from compactlab.reports.statistics.interval import row_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
