"""What the money is paid for: a bar a strategy, a piece a class of tokens."""

from __future__ import annotations

from compactlab.reports.charts.axis import in_dollars
from compactlab.reports.charts.bars import Piece, bars
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import canvas
from compactlab.reports.comparison import Comparison

# Metric: what the key calls it, its colour, its pattern.
_CLASSES = {
    "cost_read_usd": ("cache read", "sky", ""),
    "cost_write_usd": ("cache write", "vermillion", ""),
    "cost_input_usd": ("plain input", "orange", "striped"),
    "cost_output_usd": ("output", "grey", ""),
    "side_cost_usd": ("side calls", "purple", "dotted"),
}
_CAPTION = (
    "What each strategy's bill is made of: dollars summed over conversations, of each the mean of "
    "its replays. Cache write includes what storing costs where that is billed. Side calls are "
    "requests that a strategy made of its own accord, for summaries, say, with all their classes. "
    "The pieces of a bar add up to its cost."
)


def classes(comparison: Comparison, name: str) -> Chart | None:
    """Draw the cost of each strategy by class of tokens.

    Parameters
    ----------
    comparison
        What is drawn.
    name
        Of the chart.

    Returns
    -------
    Chart or None
        None if nothing is paid, or the classes were not computed.
    """
    rows = comparison.rows
    if not any(row.figures["cost_usd"] for row in rows):
        return None
    if any(row.figures[metric] is None for metric in _CLASSES for row in rows):
        return None
    pieces = [
        Piece(said, colour, [row.value(metric) for row in rows], pattern)
        for metric, (said, colour, pattern) in _CLASSES.items()
        if any(row.figures[metric] for row in rows)
    ]
    with canvas():
        drawn = bars(
            [row.label for row in rows], pieces, "cost of all conversations, USD", in_dollars
        )
    return Chart(name, "What the money is paid for", _CAPTION, drawn, "classes")
