"""What compactions and forgetting cost: how much is uncached at once, and the closed loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.charts.bars import HEAD, WIDTH, Entry, beside, in_dollars
from compactlab.reports.charts.bars import rows as in_rows
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import canvas, light
from compactlab.reports.render.text import dollars, percent
from compactlab.sim.experiment.table import NO_ROWS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# What forgetting costs: the bill of each strategy in the open loop and in the closed one.

_OPEN, _BEST, _WORST = "cost_usd", "cost_with_rework_usd", "cost_with_rework_worst_usd"
_LOOPS_KEY = (
    Entry("open loop", "ink", "mark", mark="o-"),
    Entry("closed loop, at best", "blue", "mark", mark="o"),
    Entry("closed loop, at worst", "vermillion", "mark", mark="s"),
)
MINUS = "\N{MINUS SIGN}"
_LOOPS_CAPTION = (
    "Dollars of all conversations, of each the mean of its replays: in the open loop nothing comes "
    "of what was forgotten; in the closed one (simulated) it is fetched, asked for and put right, "
    "at best with everything wrong noticed, at worst, where that differs, with all of it used. "
    "Figures at the right: what rework adds at best and at worst, USD. It moves the compactions "
    "that follow, so a bill may come out smaller by chance."
)


def loops(comparison: Comparison, name: str) -> Chart | None:
    """Draw a line a strategy from what it costs in the open loop to what it costs in the closed.

    Parameters
    ----------
    comparison
        What is drawn; rows without a closed loop are not.
    name
        Of the chart.

    Returns
    -------
    Chart or None
        None if the loop was left open, or nothing is paid.
    """
    rows = [row for row in comparison.rows if row.figures[_BEST] is not None]
    if not any(row.value(_OPEN) for row in rows):
        return None
    with canvas():
        key = _LOOPS_KEY if any(map(_differ, rows)) else _LOOPS_KEY[:-1]
        drawn, axes = in_rows([row.label for row in rows], key, right=86, above=HEAD)
        places = range(len(rows))
        ends = [sorted(row.value(each) for each in (_OPEN, _BEST, _worst(row))) for row in rows]
        axes.hlines(
            places, [end[0] for end in ends], [end[-1] for end in ends],
            color=light("grey"), linewidth=2, zorder=1,
        )  # fmt: skip
        _marks(axes, rows)
        for place, row in zip(places, rows, strict=True):
            beside(axes, place, _added(row), 92)
        beside(axes, -1, "rework adds, USD", 92)
        axes.set_xlim(0, max(end[-1] for end in ends) * 1.03)
        in_dollars(axes, "x")
        axes.set_xlabel("cost of all conversations, USD")
    return Chart(name, "What forgetting costs", _LOOPS_CAPTION, drawn, "loops")


def _marks(axes: Axes, rows: Sequence[Row]) -> None:
    """A mark for every bill; that of the worst case where one can see it."""
    worst = [(n, row) for n, row in enumerate(rows) if _differ(row)]
    signs = (
        (
            [(row.value(_WORST), n) for n, row in worst],
            "s",
            "vermillion",
            light("vermillion"),
            4.5,
        ),
        (
            [(row.value(_OPEN), n) for n, row in enumerate(rows)],
            "o",
            "ink",
            light("paper"),
            7.0,
        ),
        (
            [(row.value(_BEST), n) for n, row in enumerate(rows)],
            "o",
            "blue",
            light("blue"),
            4.5,
        ),
    )
    for points, marker, colour, face, size in signs:
        axes.plot(
            [x for x, _ in points], [y for _, y in points], linestyle="none",
            marker=marker, markersize=size, clip_on=False, markeredgecolor=light(colour),
            markerfacecolor=face, zorder=3,
        )  # fmt: skip


def _worst(row: Row) -> str:
    return _WORST if row.figures[_WORST] is not None else _BEST


def _differ(row: Row) -> bool:
    """Whether it costs more at worst than at best, so that one can see it."""
    return abs(row.value(_worst(row)) - row.value(_BEST)) > 1e-9


def _added(row: Row) -> str:
    ends = (row.value(metric) - row.value(_OPEN) for metric in (_BEST, _worst(row)))
    # Two that read the same are one.
    return " to ".join(dict.fromkeys(map(_signed, ends)))


def _signed(value: float) -> str:
    return f"{MINUS if value < 0 else '+'}{dollars(abs(round(value, 9)))}"


# What compactions do to the bill: how much is fresh at once, and when that has paid.

Floats = NDArray[np.float64]

# Fewer compactions than this are drawn one by one.
_FEW = 8
_LEAST = 0.1
_RIGHT, _BETWEEN = 104.0, 14.0
_KEY = (
    Entry("middle half", "sky"),
    Entry("5th to 95th percentile", "grey", "line"),
    Entry("median", "ink", "mark", mark="|"),
    Entry(f"one compaction, where there are fewer than {_FEW}", "sky", "mark", mark="o"),
)
_CAPTION = (
    "All compactions of all conversations and replays. Left: fresh tokens of the call at which a "
    "compaction happens over the median of the five calls before; 1 is no spike. Where nothing was "
    f"fresh before there is no ratio; what is below {_LEAST} is drawn there. Right: calls until a "
    "compaction has paid, when the smaller prompts have saved what was made anew and summarised, "
    "of those that pay before the next one or the end; what pays at once is drawn at 1. Then how "
    "many compactions there are, and which share does not pay."
)


@dataclass(frozen=True)
class _Compactions:
    """Of a strategy: spikes, calls until those that pay have paid, and how many there are."""

    ratios: Floats
    paid_after: Floats
    number: int

    @property
    def unpaid(self) -> float:
        """The share that does not pay before the next one or the end."""
        return 1 - len(self.paid_after) / self.number


def spikes(comparison: Comparison, name: str) -> Chart | None:
    """Draw what compactions cost at once, and how soon they pay.

    Parameters
    ----------
    comparison
        What is drawn; rows that never compact are not.
    name
        Of the chart.

    Returns
    -------
    Chart or None
        None if there are no compactions on record.
    """
    read = ((row, _read(row)) for row in comparison.rows)
    found = [(row, compactions) for row, compactions in read if compactions]
    if not found:
        return None
    with canvas():
        drawn, left = in_rows([row.label for row, _ in found], _KEY, right=_RIGHT, above=HEAD)
        x, y, width, height = left.get_position().bounds
        half = (width - _BETWEEN / WIDTH) / 2
        left.set_position((x, y, half, height))
        right = drawn.add_axes((x + width - half, y, half, height), sharey=left)
        right.tick_params(labelleft=False, length=0)
        right.grid(visible=False, axis="y")
        each = [compactions for _, compactions in found]
        _panel(left, [np.maximum(c.ratios, _LEAST) for c in each], "{:,g}".format)
        _panel(right, [np.maximum(c.paid_after, 1) for c in each], "{:,.0f}".format)
        left.axvline(1, color=light("muted"), linewidth=0.8)
        left.set_xlabel("spike: fresh tokens, times those before")
        right.set_xlabel("break-even, calls")
        for place, compactions in enumerate(each):
            _told(right, place, f"{compactions.number:,}", f"{percent(compactions.unpaid)}%")
        _told(right, -1, "number", "unpaid")
    return Chart(name, "The spike after compactions, and when they pay", _CAPTION, drawn, "spikes")


def _read(row: Row) -> _Compactions | None:
    held = [rows for run in row.runs if len(rows := run.rows.get("compactions", NO_ROWS))]
    if not held:
        return None

    def column(name: str) -> Floats:
        return np.concatenate([rows.array(name) for rows in held]).astype(np.float64)

    fresh, before, after = column("fresh"), column("fresh_before"), column("break_even_calls")
    ratios = fresh[before > 0] / before[before > 0]
    return _Compactions(ratios, after[after <= column("calls_to_next")], len(fresh))


def _panel(axes: Axes, given: Sequence[Floats], written: Callable[[float], str]) -> None:
    """Boxes in rows, on an axis of powers."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

    axes.set_xscale("log")
    for low, high, colour, width in ((5, 95, "grey", 1.2), (25, 75, "sky", 8.0)):
        ends = [(n, *np.percentile(v, [low, high])) for n, v in enumerate(given) if len(v) >= _FEW]
        if ends:
            places, starts, stops = zip(*ends, strict=True)
            axes.hlines(places, starts, stops, color=light(colour), linewidth=width, zorder=2)
    middles = [(float(np.median(v)), n) for n, v in enumerate(given) if len(v) >= _FEW]
    dots = [(float(x), n) for n, v in enumerate(given) if len(v) < _FEW for x in v]
    for points, marker, colour, size in ((middles, "|", "ink", 9.0), (dots, "o", "sky", 4.5)):
        axes.plot(
            [x for x, _ in points], [y for _, y in points], linestyle="none", marker=marker,
            markersize=size, color=light(colour), markeredgewidth=1.6 if marker == "|" else 0,
            zorder=3,
        )  # fmt: skip
    low, high = (f([x for v in given for x in v] or [1.0]) for f in (min, max))
    axes.set_xlim(min(low, 1.0) / 1.2, max(high, 10.0) * 1.2)
    decades = range(-1, 9)
    few = max(high, 10.0) / min(low, 1.0) < 200
    steps = (1, 2, 5) if few else (1,)
    axes.xaxis.set_major_locator(FixedLocator([s * 10.0**d for d in decades for s in steps]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: written(value)))


def _told(axes: Axes, place: float, number: str, unpaid: str) -> None:
    beside(axes, place, number, 46)
    beside(axes, place, unpaid, 98)
