"""What forgetting costs: the bill of each strategy in the open loop and in the closed one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from compactlab.reports.charts.axis import in_dollars
from compactlab.reports.charts.bars import HEAD, beside
from compactlab.reports.charts.bars import rows as in_rows
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import canvas
from compactlab.reports.charts.key import Entry
from compactlab.reports.charts.palette import light
from compactlab.reports.comparison import Comparison, Row
from compactlab.reports.figures import dollars

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OPEN, _BEST, _WORST = "cost_usd", "cost_with_rework_usd", "cost_with_rework_worst_usd"
_KEY = (
    Entry("open loop", "ink", "mark", mark="o-"),
    Entry("closed loop, at best", "blue", "mark", mark="o"),
    Entry("closed loop, at worst", "vermillion", "mark", mark="s"),
)
MINUS = "\N{MINUS SIGN}"
_CAPTION = (
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
        key = _KEY if any(map(_differ, rows)) else _KEY[:-1]
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
    return Chart(name, "What forgetting costs", _CAPTION, drawn, "loops")


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
