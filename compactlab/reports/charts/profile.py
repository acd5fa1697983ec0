"""Figures side by side, a row a strategy, the better the darker."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compactlab.reports.analysis.columns import ARROWS
from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.charts.bars import NAME_SIZE, ROW, WIDTH, told_apart
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import canvas, figure, in_points, light, width_of
from compactlab.reports.render.text import percent
from compactlab.sim.metrics import METRICS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Tables that are looked at: a row a strategy, a column a figure, the better the darker.

# Of a column: left, width, and where its first row begins.
Edges = tuple[float, float, float]
_HEAD = 12.0
_SIZE = 8.0
_HEADING = 7.5
_WIDEST = 92.0
_LETTERS = 38
# Ink can be read on the darkest of them, on light paper and on dark.
SHADES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)


@dataclass(frozen=True)
class Field:
    """A column.

    Parameters
    ----------
    heading
        Lines of its heading, the unit among them.
    texts
        What stands in it.
    shades
        How good each is, from 0 to 1; not a number for what is neither good nor bad.
    """

    heading: Sequence[str]
    texts: Sequence[str]
    shades: Sequence[float]


def grid(names: Sequence[str], fields: Sequence[Field]) -> Figure:
    """Draw a table.

    Parameters
    ----------
    names
        Of the rows, from top to bottom.
    fields
        Its columns.
    """
    from matplotlib.lines import Line2D

    shown = told_apart(names, _LETTERS)
    left = 1.03 * max(width_of(name, NAME_SIZE) for name in shown) + 12
    lines = max(len(field.heading) for field in fields)
    width = min((WIDTH - left - 4) / len(fields), _WIDEST)
    height = 10 + _HEAD * lines + ROW * len(names) + 6
    drawn = figure(WIDTH / 72, height / 72)
    place, top = in_points(drawn), height - 10 - _HEAD * lines
    for row, name in enumerate(shown):
        y = top - ROW * (row + 0.5)
        drawn.text(
            left - 8, y, name, transform=place, fontsize=NAME_SIZE, ha="right", va="center_baseline"
        )
    for number, field in enumerate(fields):
        _draw_field(drawn, field, (left + width * number, width, top))
    line = Line2D([4, left + width * len(fields)], [top, top], transform=place)
    line.set(color=light("muted"), linewidth=0.8)
    drawn.add_artist(line)
    return drawn


def _draw_field(drawn: Figure, field: Field, edges: Edges) -> None:
    left, width, top = edges
    place, middle = in_points(drawn), left + width / 2
    for number, words in enumerate(reversed(field.heading)):
        drawn.text(
            middle, top + 5 + _HEAD * number, words, transform=place, fontsize=_HEADING,
            ha="center", color=light("muted"),
        )  # fmt: skip
    steps = [_step(shade) for shade in field.shades]
    for shade in sorted(set(steps) - {0.0}):
        _shade(drawn, [n for n, each in enumerate(steps) if each == shade], shade, edges)
    for row, text in enumerate(field.texts):
        y = top - ROW * (row + 0.5)
        drawn.text(
            middle, y, text, transform=place, fontsize=_SIZE, ha="center", va="center_baseline"
        )


def _step(shade: float) -> float:
    return 0.0 if math.isnan(shade) else SHADES[round(shade * (len(SHADES) - 1))]


def _shade(drawn: Figure, rows: Sequence[int], shade: float, edges: Edges) -> None:
    """Colour all cells of a column that are equally good, as one patch."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    left, width, top = edges[0] + 1, edges[1] - 2, edges[2]
    cells = []
    for row in rows:
        high = top - ROW * row - 0.5
        low = high - ROW + 1
        corners = [(left, low), (left + width, low), (left + width, high), (left, high)]
        cells.append(Path([*corners, corners[0]], closed=True))
    drawn.add_artist(
        PathPatch(
            Path.make_compound_path(*cells),
            transform=in_points(drawn),
            facecolor=light("blue"),
            alpha=shade,
            linewidth=0,
        )
    )


# Figures side by side, a row a strategy: what is kept of each type, how smoothly work goes on.

# Metric: lines of the heading. The unit and the direction are put below them.
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
}
_CONTINUITY = {
    "verbatim_recency": ("verbatim", "recency"),
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
    "Recall by type: the share of facts due, of each type, that the prompt still holds, summed "
    "over the calls of a run; the mean over the conversations that have such facts. The darker, "
    "the more is held; an empty cell: no such fact was due."
)
_PROFILE = (
    "The main figures of continuity, as means over the conversations that have a value: shares in "
    "percent, order as Kendall's tau between \N{MINUS SIGN}1 and 1. The arrow says which direction "
    "is good, and the darker a cell, the better; drift only describes. The minimum is the worst of "
    "structural validity, reference closure, forward need and order fidelity in each run, where an "
    "order below 0 counts as 0. An empty cell: nothing was compacted or summarised, so there is "
    "nothing to measure."
)


def by_type(comparison: Comparison, name: str) -> Chart | None:
    """Show how much is held of the facts of each type; None without facts."""

    def held(row: Row, metric: str) -> float:
        forgotten = row.figures[metric]
        return math.nan if forgotten is None else 1 - forgotten

    return _table(
        comparison, name, _TYPES, held, ("What is remembered, by type", _RECALLED, "type")
    )


def continuity(comparison: Comparison, name: str) -> Chart | None:
    """Show the main figures of continuity; None where there are none."""

    def figure(row: Row, metric: str) -> float:
        value = row.figures[metric]
        return math.nan if value is None else value

    told = "How smoothly the work goes on", _PROFILE, "continuity"
    return _table(comparison, name, _CONTINUITY, figure, told)


def _table(
    comparison: Comparison,
    name: str,
    headings: Mapping[str, tuple[str, ...]],
    of: Callable[[Row, str], float],
    told: tuple[str, str, str],
) -> Chart | None:
    fields = []
    for metric, heading in headings.items():
        values = [of(row, metric) for row in comparison.rows]
        if not all(map(math.isnan, values)):
            fields.append(_field(metric, heading, values))
    if not fields:
        return None
    with canvas():
        drawn = grid([row.label for row in comparison.rows], fields)
    title, caption, kind = told
    return Chart(name, title, caption, drawn, kind)


def _field(metric: str, heading: tuple[str, ...], values: list[float]) -> Field:
    recall = metric in _TYPES
    better = "higher" if recall else METRICS[metric].better
    share = METRICS[metric].unit == "share"
    texts = ["" if math.isnan(v) else percent(v) if share else _tau(v) for v in values]
    goods = [
        math.nan if better == "neither" else v if better == "higher" else 1 - v for v in values
    ]
    unit = f"{'%' if share else 'tau'} {ARROWS[better]}".strip()
    return Field(
        (*heading, unit), texts, [v if math.isnan(v) else max(0.0, min(1.0, v)) for v in goods]
    )


def _tau(value: float) -> str:
    return f"{value:.2f}".replace("-", "\N{MINUS SIGN}")
