"""Why tokens were fresh: a bar a strategy, a piece a cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from compactlab.reports.aggregate import causes_of
from compactlab.reports.charts.axis import in_tokens
from compactlab.reports.charts.bars import Piece, bars
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import canvas
from compactlab.reports.charts.palette import cause_colours
from compactlab.reports.comparison import Comparison

_CAPTION = (
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
    return Chart(name, "Why tokens were fresh", _CAPTION, drawn, "causes")


def ordered(causes: Sequence[Mapping[str, int]]) -> list[str]:
    """The causes that occur, in the order of the pieces."""
    found: Counter[str] = Counter()
    for each in causes:
        found.update(each)
    return [cause for cause in cause_colours() if found[cause]]
