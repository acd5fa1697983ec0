"""Tables of figures, one row per strategy; better figures are darker."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from compactlab.reports.analysis.columns import ARROWS
from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import canvas, tip, width_of
from compactlab.reports.charts.kit import (
    NAME_SIZE,
    PERCENT,
    ROW,
    TIMES,
    WIDTH,
    Sheet,
    recall,
    row_names,
)
from compactlab.reports.render.text import MINUS, percent
from compactlab.sim.metrics import METRICS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Tables as charts: one row per strategy, one column per figure, the better the darker.

_HEAD = 12.0
_SIZE = 8.5
_HEADING = 8.5
_WIDEST = 92.0
# Text is readable on the darkest of them, on light paper and on dark.
SHADES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)


class ShadedColumn(NamedTuple):
    """Lines of the heading with the unit, texts, and a score of each from 0 to 1, or NaN."""

    heading: Sequence[str]
    texts: Sequence[str]
    shades: Sequence[float]


def shaded_table(
    names: Sequence[str], columns: Sequence[ShadedColumn], whole: float = WIDTH
) -> Figure:
    """Draw a table with one row per name; columns that do not fit continue below."""
    labels, left = row_names(names, whole)
    head = 10 + _HEAD * max(len(column.heading) for column in columns)
    narrowest = max(width_of(word, _HEADING) for each in columns for word in each.heading)
    most = max(1, int((whole - left - 4) / (0.95 * narrowest)))
    lines = -(-len(columns) // most)
    each = -(-len(columns) // lines)
    width = min((whole - left - 4) / each, _WIDEST)
    high = head + ROW * len(names) + 6
    sheet = Sheet(high * lines, width=whole)
    for line in range(lines):
        top = sheet.height - high * line - head
        own = columns[line * each : (line + 1) * each]
        for row, label in enumerate(labels):
            sheet.text((left - 8, top - ROW * (row + 0.5)), label, align="right", size=NAME_SIZE)
        for number, column in enumerate(own):
            _draw(sheet, column, (left + width * number, width, top))
        sheet.line([(4, top), (left + width * len(own), top)], "muted", 0.8)
        for row, name in enumerate(names):
            low = top - ROW * (row + 1)
            tip(sheet.figure, (0, low, whole, low + ROW), name, *_told(columns, row))
    return sheet.figure


def _told(columns: Sequence[ShadedColumn], row: int) -> list[str]:
    """The tooltip of a row: its figures."""
    cells = ((" ".join(each.heading).replace("- ", ""), each.texts[row]) for each in columns)
    return [f"{head}: {text}" for head, text in cells if text]


def _draw(sheet: Sheet, column: ShadedColumn, edges: tuple[float, float, float]) -> None:
    """Draw a column between its edges, with the first row below the top."""
    left, width, top = edges
    middle = left + width / 2
    for number, words in enumerate(reversed(column.heading)):
        at = (middle, top + 5 + _HEAD * number)
        sheet.text(at, words, "muted", "center", size=_HEADING, upright="baseline")
    steps = [_step(shade) for shade in column.shades]
    for shade in sorted(set(steps) - {0.0}):
        # Cells of equal shade are one patch.
        lows = [top - ROW * row - 0.5 - (ROW - 1) for row, s in enumerate(steps) if s == shade]
        sheet.fill([_cell(left + 1, low, width - 2) for low in lows], "blue", shade)
    for row, text in enumerate(column.texts):
        sheet.text((middle, top - ROW * (row + 0.5)), text, align="center", size=_SIZE)


def _step(shade: float) -> float:
    return 0.0 if math.isnan(shade) else SHADES[round(shade * (len(SHADES) - 1))]


def _cell(left: float, low: float, width: float) -> list[tuple[float, float]]:
    right, high = left + width, low + ROW - 1
    return [(left, low), (right, low), (right, high), (left, high)]


# The two tables: recall of each type of fact, and continuity.

# Metric: lines of the heading. The unit and the direction follow below.
_TYPES = {
    "amnesia_decision": ("decision",),
    "amnesia_constraint": ("con-", "straint"),
    "amnesia_prohibition": ("prohi-", "bition"),
    "amnesia_preference": ("prefer-", "ence"),
    "amnesia_artifact": ("artifact",),
    "amnesia_open_loop": ("open", "loop"),
    "amnesia_tool_detail": ("tool", "detail"),
    "amnesia_entity": ("entity",),
    "amnesia_procedure": ("proce-", "dure"),
    "amnesia_goal": ("goal",),
    "amnesia_done": ("done",),
    "amnesia_handle": ("handle",),
    "amnesia_proposal": ("pro-", "posal"),
}
_CONTINUITY = {
    "verbatim_recency": ("recent", "messages", "kept"),
    "forward_need": ("forward", "need"),
    "structural_validity": ("structural", "validity"),
    "reference_closure": ("reference", "closure"),
    "order_fidelity": ("order", "fidelity"),
    "continuity_minimum": ("minimum of", "the four"),
    "novelty": ("novelty of", "summaries"),
    "summaries_failed_share": ("failed", "summaries"),
    "drift_identifiers": ("drift of", "identifiers"),
}
_RECALLED = (
    "Recall by type: the share of the facts due, of each type, that the prompt still holds, "
    "summed over the calls of a run, as the mean over the conversations that have such facts. "
    "Darker cells have higher recall. An empty cell: no fact of this type was due."
)
_PROFILE = (
    "The main figures of continuity, as means over the conversations that have a value: shares in "
    "percent, order as Kendall's tau between \N{MINUS SIGN}1 and 1. The arrow shows the better "
    "direction, and darker cells are better; drift has no better direction. The minimum is the "
    "lowest of structural validity, reference closure, forward need and order fidelity in each "
    "run; an order below 0 counts as 0. An empty cell: nothing was compacted or summarised."
)


def by_type(comparison: Comparison, name: str, width: float = WIDTH) -> Chart | None:
    """Show the share of facts held, by type; None without facts."""
    return _chart(comparison, _TYPES, width, name, "Recall by type of fact", _RECALLED, "type")


def continuity(comparison: Comparison, name: str, width: float = WIDTH) -> Chart | None:
    """Show the main figures of continuity; None if there are none."""
    return _chart(comparison, _CONTINUITY, width, name, "Continuity", _PROFILE, "continuity")


def _chart(
    comparison: Comparison,
    headings: Mapping[str, tuple[str, ...]],
    width: float,
    *texts: str,
) -> Chart | None:
    """A chart; ``texts``: name, title, caption and kind."""
    name, title, caption, kind = texts
    columns: list[ShadedColumn] = []
    labels = ("strategy", *(row.label for row in comparison.rows))
    values: list[list[object]] = [[each] for each in labels]
    for metric, heading in headings.items():
        known = [_value(row, metric) for row in comparison.rows]
        if not all(map(math.isnan, known)):
            columns.append(_column(metric, heading, known))
            unit = PERCENT if METRICS[metric].unit == "share" else TIMES
            values[0].append(" ".join(columns[-1].heading).replace("- ", ""))
            for line, value in zip(values[1:], known, strict=True):
                line.append(unit.number(value))
    if not columns:
        return None
    with canvas():
        drawn = shaded_table([row.label for row in comparison.rows], columns, width)
    return Chart(name, title, caption, drawn, kind, values=values)


def _value(row: Row, metric: str) -> float:
    if metric in _TYPES:
        return recall(row, metric)
    value = row.figures[metric]
    return math.nan if value is None else value


def _column(metric: str, heading: tuple[str, ...], values: Sequence[float]) -> ShadedColumn:
    better = "higher" if metric in _TYPES else METRICS[metric].better
    share = METRICS[metric].unit == "share"
    texts = ["" if math.isnan(v) else percent(v) if share else _tau(v) for v in values]
    unit = f"{'%' if share else 'tau'} {ARROWS[better]}".strip()
    return ShadedColumn((*heading, unit), texts, [_good(v, better) for v in values])


def _good(value: float, better: str) -> float:
    if math.isnan(value) or better == "neither":
        return math.nan
    return max(0.0, min(1.0, value if better == "higher" else 1 - value))


def _tau(value: float) -> str:
    return f"{value:.2f}".replace("-", MINUS)
