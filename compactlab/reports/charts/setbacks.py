"""What goes wrong and costs: the closed loop, spikes of cache misses, repeated compactions."""

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
    HEAD,
    PERCENT,
    SPREAD,
    STEPS,
    TIMES,
    USD,
    WIDTH,
    Floats,
    KeyEntry,
    Unit,
    Values,
    compactions_of,
    mark,
    measure,
    measure_powers,
    panels,
    row_tips,
    rows,
    spread,
    spread_values,
    write_beside,
)
from compactlab.reports.charts.palette import light
from compactlab.reports.render.text import MINUS, NONE, counted, dollars, percent
from compactlab.sim.metrics.thrash import SMALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# The cost of missed facts: each strategy in the open loop and in the closed one.

_OPEN, _BEST, _WORST = "cost_usd", "cost_with_recovery_usd", "cost_with_recovery_worst_usd"
_LOOPS_KEY = (
    KeyEntry("open loop", "ink", "mark", mark="o-"),
    KeyEntry("closed loop, best case", "blue", "mark", mark="o"),
    KeyEntry("closed loop, worst case", "vermillion", "mark", mark="s"),
)
_LOOPS_CAPTION = (
    "The cost of all conversations in dollars, of each the mean of its replays. In the open loop, "
    "missed facts have no consequences. In the closed loop (simulated), the agent fetches them, "
    "asks for them and corrects errors: in the best case it notices every wrong fact, in the worst "
    "case it uses every wrong fact. Figures at the right: the cost that recovery adds in the best "
    "and in the worst case, USD. Recovery moves later compactions, so it may reduce a cost by "
    "chance."
)


def recovered(comparison: Comparison) -> list[Row]:
    """The strategies that were also run in the closed loop; none if nothing costs anything."""
    closed = [row for row in comparison.rows if row.figures[_BEST] is not None]
    return closed if any(row.value(_OPEN) for row in closed) else []


def loops(comparison: Comparison, name: str, width: float = WIDTH) -> Chart | None:
    """Draw the cost of each strategy in the open and in the closed loop; None if not closed."""
    if not (closed := recovered(comparison)):
        return None
    with canvas():
        right = 86 if width == WIDTH else 0
        sheet, axes = rows([r.label for r in closed], loops_key(closed), right, HEAD, width)
        draw_loops(axes, closed)
        for index, row in enumerate(closed):
            write_beside(axes, index, _added(row), 92)
        write_beside(axes, -1, "recovery adds, USD", 92)
        row_tips(axes, list(map(_loops, closed)))
    bills: Values = [
        [row.label, *(row.value(m) for m in (_OPEN, _BEST, _worst(row)))] for row in closed
    ]
    heads = ["strategy", *(f"{entry.text}, USD" for entry in _LOOPS_KEY)]
    title = "Cost with recovery"
    return Chart(name, title, _LOOPS_CAPTION, sheet.figure, "loops", values=[heads, *bills])


def loops_key(closed: Sequence[Row]) -> Sequence[KeyEntry]:
    """The key of the marks in the chart."""
    return _LOOPS_KEY if any(map(_differ, closed)) else _LOOPS_KEY[:-1]


def draw_loops(axes: Axes, closed: Sequence[Row]) -> None:
    """Draw the bills of strategies in named rows."""
    ends = [sorted(row.value(each) for each in (_OPEN, _BEST, _worst(row))) for row in closed]
    axes.hlines(
        range(len(closed)), [end[0] for end in ends], [end[-1] for end in ends],
        color=light("grey"), linewidth=2, zorder=1,
    )  # fmt: skip
    _bills(axes, closed)
    axes.set_xlim(0, max(end[-1] for end in ends) * 1.03)
    measure(axes, "x", USD, "cost of all conversations, USD")


def _bills(axes: Axes, closed: Sequence[Row]) -> None:
    """A mark for every bill; that of the worst case only if it differs visibly."""
    worst = [(row.value(_WORST), n) for n, row in enumerate(closed) if _differ(row)]
    mark(axes, worst, "s", "vermillion", 4.5, clip_on=False)
    in_open = [(row.value(_OPEN), n) for n, row in enumerate(closed)]
    mark(axes, in_open, "o", "ink", 7.0, clip_on=False, markerfacecolor=light("paper"))
    best = [(row.value(_BEST), n) for n, row in enumerate(closed)]
    mark(axes, best, "o", "blue", 4.5, clip_on=False)


def _loops(row: Row) -> list[str]:
    """The tooltip of a row: the cost in each loop."""
    shown = {"open loop": _OPEN, "closed loop, best case": _BEST, "worst case": _worst(row)}
    return [row.label, *(f"{key}: {USD.full(row.value(m))}" for key, m in shown.items())]


def _worst(row: Row) -> str:
    return _WORST if row.figures[_WORST] is not None else _BEST


def _differ(row: Row) -> bool:
    """Whether the worst case visibly costs more than the best case."""
    return abs(row.value(_worst(row)) - row.value(_BEST)) > 1e-9


def _added(row: Row) -> str:
    ends = (row.value(metric) - row.value(_OPEN) for metric in (_BEST, _worst(row)))
    # Ends that look the same are written once.
    return " to ".join(dict.fromkeys(map(_signed, ends)))


def _signed(value: float) -> str:
    return f"{MINUS if value < 0 else '+'}{dollars(abs(round(value, 9)))}"


# The cost of compactions: cache misses at once, and calls until break-even.

_LEAST = 0.1
_RIGHT = 122.0
_KEY = (
    KeyEntry("middle half", "sky"),
    KeyEntry("5th to 95th percentile", "grey", "line"),
    KeyEntry("median", "ink", "mark", mark="|"),
    KeyEntry(f"one compaction, where there are fewer than {FEW}", "sky", "mark", mark="o"),
)
_CAPTION = (
    "All compactions of all conversations and replays. Left: cache-miss tokens of the call at "
    "which a compaction happens, divided by the median of the five calls before; 1 is no spike. "
    "There is no ratio where nothing missed the cache before; ratios below "
    f"{_LEAST} are drawn at {_LEAST}. Right: break-even after so many calls, when smaller prompts "
    "have saved the cost of the compaction. It counts compactions that break even before the next "
    "one or the end; immediate break-even is drawn at 1. The columns at the right have the number "
    "of compactions and the share that does not break even."
)


@dataclass(frozen=True)
class _Compactions:
    """Spikes, calls until break-even, and the number of compactions of a strategy."""

    ratios: Floats
    break_even: Floats
    number: int

    @property
    def never_even(self) -> float:
        """The share that does not break even before the next compaction or the end."""
        return 1 - len(self.break_even) / self.number

    def told(self, label: str) -> list[str]:
        """The tooltip of its row."""
        lines = [label, counted(self.number, "compaction")]
        if len(self.ratios):
            lines.append(f"spike, median: {float(np.median(self.ratios)):.1f} times")
        if len(self.break_even):
            lines.append(f"break-even, median: {float(np.median(self.break_even)):,.0f} calls")
        return [*lines, f"no break-even: {percent(self.never_even)}%"]


def spikes(comparison: Comparison, name: str, width: float = WIDTH) -> Chart | None:
    """Draw cache misses of compactions and calls until break-even; None without compactions."""
    shown = [(row.label, read) for row in comparison.rows if (read := _read(row))]
    if not shown:
        return None
    with canvas():
        sheet, left, right = panels([label for label, _ in shown], _KEY, _RIGHT, width)
        ratios = [np.maximum(each.ratios, _LEAST) for _, each in shown]
        _panel(left, ratios, TIMES, "spike: cache-miss tokens, times those before")
        paid = [np.maximum(each.break_even, 1) for _, each in shown]
        _panel(right, paid, CALLS, "break-even, calls")
        left.axvline(1, color=light("muted"), linewidth=0.8)
        for index, (_, each) in enumerate(shown):
            _write_counts(right, index, f"{each.number:,}", f"{percent(each.never_even)}%")
        _write_counts(right, -1, "number", "no break-even")
        row_tips(left, [each.told(label) for label, each in shown])
    values: list[Sequence[object]] = [SPREAD]
    for (label, each), ratio, even in zip(shown, ratios, paid, strict=True):
        values += [
            *spread_values(label, "spike, times", ratio, TIMES),
            *spread_values(label, "break-even, calls", even, CALLS),
            [label, "compactions", "number", each.number],
            [label, "no break-even, %", "share", 100 * each.never_even],
        ]
    title = "Cache-miss spike and break-even of compactions"
    return Chart(name, title, _CAPTION, sheet.figure, "spikes", "spikes", values=values)


def _read(row: Row) -> _Compactions | None:
    columns = compactions_of(
        row, "cache_miss_tokens", "cache_miss_tokens_before", "break_even_calls", "calls_to_next"
    )
    if not columns:
        return None
    misses, before, even, following = map(np.concatenate, columns)
    ratios = misses[before > 0] / before[before > 0]
    return _Compactions(ratios, even[even <= following], len(misses))


def _panel(axes: Axes, given: Sequence[Floats], unit: Unit, title: str) -> None:
    """Boxes in rows, on an axis of powers."""
    from matplotlib.ticker import FixedLocator

    low, high = (f([x for v in given for x in v] or [1.0]) for f in (min, max))
    low, high = min(low, 1.0), max(high, 10.0)
    steps = STEPS[:-1] if high / low < 200 else STEPS[:1]
    ticks = FixedLocator([step * 10.0**decade for decade in range(-1, 9) for step in steps])
    measure_powers(axes, unit, ticks, title)
    axes.set_xlim(low / 1.2, high * 1.2)
    spread(axes, given)


def _write_counts(axes: Axes, place: float, number: str, never_even: str) -> None:
    write_beside(axes, place, number, 46)
    write_beside(axes, place, never_even, 116)


# Repeated compactions: intervals between them, and gains.

# Up to this many calls between compactions count as a loop, by convention.
SOON = 5
_ZONE = 0.13
_BESIDE = 176.0
_COLUMNS = (("per 100 calls", 56), ("gain <10%", 112), ("by re-reads", 172))
_AGAIN_KEY = (
    KeyEntry("middle half", "sky"),
    KeyEntry("5th to 95th percentile", "grey", "line"),
    KeyEntry("median", "ink", "mark", mark="|"),
    KeyEntry(f"one of fewer than {FEW}", "sky", "mark", mark="o"),
    KeyEntry("soon again, or for little", "alarm", "pale"),
)
_AGAIN = (
    "All compactions of all conversations and replays, in the open loop. Left: calls from one "
    "compaction to the next one of the same conversation. Right: the gain, by what share of its "
    "size a compaction makes the prompt smaller; what enlarges it is drawn at 0. Red: "
    f"{SOON} calls or fewer, and a gain of less than 10 %. A strategy with both boxes in the red "
    "compacts again and again for next to nothing. The columns at the right: compactions per 100 "
    "calls, the share that gained less than 10 %, and the share that re-reads of dropped content "
    "have caused."
)


@dataclass(frozen=True)
class _Repeated:
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
    shown = [(row.label, read) for row in comparison.rows if (read := _read_repeated(row))]
    if not any(len(each.intervals) for _, each in shown):
        return None
    with canvas():
        sheet, left, right = panels([label for label, _ in shown], _AGAIN_KEY, _BESIDE, width)
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
    return Chart(name, title, _AGAIN, sheet.figure, "thrash", "spikes", values=values)


def _read_repeated(row: Row) -> _Repeated | None:
    columns = compactions_of(row, "call", "tokens_after", "tokens_removed")
    if not columns:
        return None
    intervals = np.concatenate([*map(np.diff, columns[0])])
    after, removed = map(np.concatenate, columns[1:])
    before = after + removed
    gains = np.divide(removed, before, out=np.zeros_like(before), where=before > 0)
    figures = row.figures
    return _Repeated(
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
