"""In which states facts are: a bar a strategy, a piece a state."""

from __future__ import annotations

from compactlab.reports.charts.axis import in_percent
from compactlab.reports.charts.bars import Piece, bars
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import canvas
from compactlab.reports.comparison import Comparison

# From what can be used as it is to what is gone; of each its colour and pattern.
_STATES = {
    "verbatim": ("blue", ""),
    "intact": ("sky", ""),
    "unknown": ("grey", "dotted"),
    "retrievable": ("green", "striped"),
    "conflict": ("purple", ""),
    "stale": ("orange", ""),
    "mutated": ("vermillion", ""),
    "lost": ("grid", ""),
}
_CAPTION = (
    "The states of all facts that were due, at every call of the script: the share of such pairs "
    "of a call and a fact, as the mean over conversations. Verbatim and intact facts can be used "
    "as they are; those that are retrievable can be fetched; conflict, stale and mutated ones "
    "mislead; of unknown ones no text is on record; lost ones are gone."
)


def occupancy(comparison: Comparison, name: str) -> Chart | None:
    """Draw the states of facts under each strategy.

    Parameters
    ----------
    comparison
        What is drawn; rows without facts are not.
    name
        Of the chart.

    Returns
    -------
    Chart or None
        None if there are no facts, or their states were not computed.
    """
    metrics = {state: f"occupancy_{state}" for state in _STATES}
    rows = [r for r in comparison.rows if all(r.figures[m] is not None for m in metrics.values())]
    if not rows:
        return None
    pieces = [
        Piece(state, colour, [row.value(metrics[state]) for row in rows], pattern)
        for state, (colour, pattern) in _STATES.items()
        if any(row.figures[metrics[state]] for row in rows)
    ]
    with canvas():
        title = "facts due, % of all pairs of a call and a fact"
        drawn = bars([row.label for row in rows], pieces, title, in_percent, end=1.0)
    return Chart(name, "In which state facts are", _CAPTION, drawn, "states")
