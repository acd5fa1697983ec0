"""What money is paid for, why tokens were uncached, in which states facts are: stacked bars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from compactlab.reports.analysis.aggregate import causes_of
from compactlab.reports.analysis.comparison import Comparison
from compactlab.reports.charts.bars import Piece, bars, in_dollars, in_percent, in_tokens
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import canvas, cause_colours

# What the money is paid for: a bar a strategy, a piece a class of tokens.

# Metric: what the key calls it, its colour, its pattern.
_CLASSES = {
    "cost_read_usd": ("cache read", "sky", ""),
    "cost_write_usd": ("cache write", "vermillion", ""),
    "cost_input_usd": ("plain input", "orange", "striped"),
    "cost_output_usd": ("output", "grey", ""),
    "side_cost_usd": ("side calls", "purple", "dotted"),
}
_CLASSES_CAPTION = (
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
    return Chart(name, "What the money is paid for", _CLASSES_CAPTION, drawn, "classes")


# Why tokens were fresh: a bar a strategy, a piece a cause.

_CAUSES_CAPTION = (
    "Fresh tokens are prompt tokens that were not read from the cache, whether billed as a cache "
    "write or as plain input: the sum over conversations, of each the mean of its replays. Every "
    "token has exactly one cause. Requests that a strategy caused, for summaries and extra turns, "
    "are among them."
)


def breakdown(comparison: Comparison, name: str) -> Chart | None:
    """Draw the fresh tokens of each strategy by cause.

    Parameters
    ----------
    comparison
        What is drawn.
    name
        Of the chart.

    Returns
    -------
    Chart or None
        None if nothing was fresh.
    """
    causes = [causes_of(row.runs) for row in comparison.rows]
    shown = ordered(causes)
    if not shown:
        return None
    colours = cause_colours()
    pieces = [
        Piece(cause, colours[cause][0], [each[cause] for each in causes], colours[cause][1])
        for cause in shown
    ]
    with canvas():
        title = "fresh tokens, all conversations together"
        drawn = bars([row.label for row in comparison.rows], pieces, title, in_tokens)
    return Chart(name, "Why tokens were fresh", _CAUSES_CAPTION, drawn, "causes")


def ordered(causes: Sequence[Mapping[str, int]]) -> list[str]:
    """The causes that occur, in the order of the pieces."""
    found: Counter[str] = Counter()
    for each in causes:
        found.update(each)
    return [cause for cause in cause_colours() if found[cause]]


# In which states facts are: a bar a strategy, a piece a state.

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
_STATES_CAPTION = (
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
    return Chart(name, "In which state facts are", _STATES_CAPTION, drawn, "states")
