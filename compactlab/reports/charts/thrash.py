"""Repeated compactions: intervals between them, and gains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import canvas
from compactlab.reports.charts.kit import (
    CALLS,
    FEW,
    PERCENT,
    SPREAD,
    STEPS,
    WIDTH,
    Floats,
    KeyEntry,
    compactions_of,
    measure,
    measure_powers,
    panels,
    row_tips,
    spread,
    spread_values,
    write_beside,
)
from compactlab.reports.charts.palette import light
from compactlab.reports.render.text import NONE, counted, percent
from compactlab.sim.metrics.thrash import SMALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Up to this many calls between compactions count as a loop, by convention.
SOON = 5
_ZONE = 0.13
_RIGHT = 176.0
_COLUMNS = (("per 100 calls", 56), ("gain <10%", 112), ("by re-reads", 172))
_KEY = (
    KeyEntry("middle half", "sky"),
    KeyEntry("5th to 95th percentile", "grey", "line"),
    KeyEntry("median", "ink", "mark", mark="|"),
    KeyEntry(f"one of fewer than {FEW}", "sky", "mark", mark="o"),
    KeyEntry("soon again, or for little", "alarm", "pale"),
)
_CAPTION = (
    "All compactions of all conversations and replays, in the open loop. Left: calls from one "
    "compaction to the next one of the same conversation. Right: the gain, by what share of its "
    "size a compaction makes the prompt smaller; what enlarges it is drawn at 0. Red: "
    f"{SOON} calls or fewer, and a gain of less than 10 %. A strategy with both boxes in the red "
    "compacts again and again for next to nothing. The columns at the right: compactions per 100 "
    "calls, the share that gained less than 10 %, and the share that re-reads of dropped content "
    "have caused."
)


@dataclass(frozen=True)
class _Compactions:
    """Calls between a strategy's compactions, their gains, and the figures next to its row."""

    intervals: Floats
    gains: Floats
    often: float | None
    small: float
    again: float | None

    def told(self, label: str) -> list[str]:
        """The tooltip of its row."""
        lines = [label, counted(len(self.gains), "compaction")]
        if len(self.intervals):
            lines.append(f"calls to the next, median: {float(np.median(self.intervals)):,.0f}")
        if len(self.gains):
            lines.append(f"gain, median: {percent(float(np.median(self.gains)))}%")
        return lines


def thrash(comparison: Comparison, name: str, width: float = WIDTH) -> Chart | None:
    """Draw intervals and gains; None unless a strategy compacted a conversation twice."""
    shown = [(row.label, read) for row in comparison.rows if (read := _read(row))]
    if not any(len(each.intervals) for _, each in shown):
        return None
    with canvas():
        sheet, left, right = panels([label for label, _ in shown], _KEY, _RIGHT, width)
        _intervals(left, [each.intervals for _, each in shown])
        _gains(right, [np.maximum(each.gains, 0.0) for _, each in shown])
        for index, (_, each) in enumerate(shown):
            often = NONE if each.often is None else f"{each.often:.1f}"
            for text, (_, across) in zip(
                (often, _share(each.small), _share(each.again)), _COLUMNS, strict=True
            ):
                write_beside(right, index, text, across)
        for title, across in _COLUMNS:
            write_beside(right, -1, title, across)
        row_tips(left, [each.told(label) for label, each in shown])
    values: list[Sequence[object]] = [SPREAD]
    for label, each in shown:
        values += [
            *spread_values(label, "calls to the next compaction", each.intervals, CALLS),
            *spread_values(label, "gain, %", np.maximum(each.gains, 0.0), PERCENT),
            [label, "compactions per 100 calls", "mean", each.often],
            [label, "gain below 10 %, %", "share", 100 * each.small],
            [label, "by re-reads, %", "share", None if each.again is None else 100 * each.again],
        ]
    title = "Compaction after compaction: interval and gain"
    return Chart(name, title, _CAPTION, sheet.figure, "thrash", "spikes", values=values)


def _read(row: Row) -> _Compactions | None:
    columns = compactions_of(row, "call", "tokens_after", "tokens_removed")
    if not columns:
        return None
    intervals = np.concatenate([*map(np.diff, columns[0])])
    after, removed = map(np.concatenate, columns[1:])
    before = after + removed
    gains = np.divide(removed, before, out=np.zeros_like(before), where=before > 0)
    figures = row.figures
    return _Compactions(
        intervals,
        gains,
        figures["compactions_per_100_calls"],
        float((gains < SMALL).mean()),
        figures["compactions_by_rereads"],
    )


def _intervals(axes: Axes, given: list[Floats]) -> None:
    from matplotlib.ticker import FixedLocator

    high = max(10.0, *(float(each.max(initial=0.0)) for each in given))
    steps = STEPS[:-1] if high < 200 else STEPS[:1]
    ticks = FixedLocator([step * 10.0**decade for decade in range(7) for step in steps])
    measure_powers(axes, CALLS, ticks, "calls to the next compaction")
    axes.set_xlim(0.8, high * 1.2)
    axes.axvspan(0.8, SOON, color=light("alarm"), alpha=_ZONE, linewidth=0, zorder=0)
    spread(axes, given)


def _gains(axes: Axes, given: list[Floats]) -> None:
    measure(axes, "x", PERCENT, "gain, % of the prompt")
    axes.set_xlim(-0.02, 1.0)
    axes.axvspan(-0.02, SMALL, color=light("alarm"), alpha=_ZONE, linewidth=0, zorder=0)
    spread(axes, given)


def _share(value: float | None) -> str:
    return NONE if value is None else f"{percent(value)}%"
