"""Figures side by side, a row a strategy: what is kept of each type, how smoothly work goes on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import canvas
from compactlab.reports.charts.grid import Field, grid
from compactlab.reports.columns import ARROWS
from compactlab.reports.comparison import Comparison, Row
from compactlab.reports.figures import percent
from compactlab.sim.metrics import METRICS

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
