"""What a conversation has cost up to each of its calls: a line a strategy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compactlab.reports.calls import bills
from compactlab.reports.charts.axis import in_calls, in_dollars
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.curves import Curve, curves
from compactlab.reports.charts.drawing import canvas
from compactlab.reports.comparison import Row
from compactlab.sim.run import Run

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
