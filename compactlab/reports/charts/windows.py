"""Cost and recall over the context window: one line per strategy, named at its end."""

from __future__ import annotations

import math

from compactlab.reports.analysis.columns import recall_head
from compactlab.reports.analysis.windows import Sweep, short, size_of, strategies
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import canvas
from compactlab.reports.charts.kit import NAME_SIZE, PERCENT, USD, WIDTH, Colours, Sheet, Unit
from compactlab.reports.charts.lines import Curve, Lines, draw_lines, named, tell
from compactlab.reports.charts.names import width_of_ends

_HEIGHT, _LEFT, _RIGHT, _BELOW, _STACKED = 220.0, 48.0, 6.0, 40.0, 480.0
_LETTERS = 22
_CAPTION = (
    "The cost of a conversation and the recall of every strategy under each window, over the same "
    "conversations. Recall is at one distance under all windows. A prompt that exceeds the window "
    "is counted like any other; the table marks these strategies."
)


def by_window(sweep: Sweep, colours: Colours, name: str, width: float = WIDTH) -> Chart | None:
    """Draw cost and recall over the window; None if no strategy has figures under two."""
    panels = [
        lines
        for lines in (
            _lines(sweep, colours, "cost of a conversation, USD", USD),
            _lines(sweep, colours, f"{recall_head(sweep[0])}, %", PERCENT),
        )
        if lines.curves
    ]
    if not panels:
        return None
    across = len(panels) if width > _STACKED else 1
    down = len(panels) // across
    each = width / across
    with canvas():
        sheet = Sheet((_BELOW + _HEIGHT + 8) * down, (), width=width)
        for number, lines in enumerate(panels):
            ends = [curve.end.label for curve in named(lines.curves)]
            room = each - _LEFT - width_of_ends(ends, _LETTERS, NAME_SIZE) - _RIGHT
            low = (_BELOW + _HEIGHT + 8) * (down - 1 - number // across) + _BELOW
            axes = sheet.axes(each * (number % across) + _LEFT, low, room, _HEIGHT)
            draw_lines(axes, lines, _LETTERS)
            heads = {float(n): f"window of {label}" for n, label in enumerate(lines.names)}
            tell(axes, lines.curves, heads, lines.unit)
    return Chart(name, "Cost and recall by window", _CAPTION, sheet.figure, "windows")


def _lines(sweep: Sweep, colours: Colours, what: str, unit: Unit) -> Lines:
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
