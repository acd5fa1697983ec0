"""Stacked bars: cost by class of tokens, cache misses by cause, states of facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from compactlab.reports.analysis.aggregate import causes_of
from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.charts.chart import Chart, Section
from compactlab.reports.charts.drawing import canvas
from compactlab.reports.charts.kit import PERCENT, TOKENS, USD, WIDTH, Piece, Unit, Values, bars
from compactlab.reports.charts.palette import cause_colours

# Cost by class of tokens: one bar per strategy, one piece per class.

Looks = Mapping[str, tuple[str, str, str]]
"""For each metric, its name in the key, its colour and its pattern."""

_CLASSES: Looks = {
    "cost_read_usd": ("cache read", "sky", ""),
    "cost_write_usd": ("cache write", "vermillion", ""),
    "cost_input_usd": ("plain input", "orange", "striped"),
    "cost_output_usd": ("output", "grey", ""),
    "side_cost_usd": ("summary calls", "purple", "dotted"),
}
_CLASSES_CAPTION = (
    "The cost of each strategy by class of tokens: dollars summed over conversations, of each the "
    "mean of its replays. Cache write includes storage where a provider bills it. Summary calls "
    "are requests of the strategy itself, such as for summaries, with all their classes. The parts "
    "of a bar add up to the cost."
)


class Stack(NamedTuple):
    """What bars are drawn from: names of strategies, pieces, and the axis."""

    names: Sequence[str]
    pieces: Sequence[Piece]
    unit: Unit
    title: str
    end: float | None = None

    @property
    def values(self) -> Values:
        """The pieces of each bar."""
        parts = [[self.unit.number(value) for value in piece.values] for piece in self.pieces]
        heads = [f"{piece.name}, {self.unit.sign}" for piece in self.pieces]
        return [["strategy", *heads], *zip(self.names, *parts, strict=True)]


def cost_by_class(comparison: Comparison) -> Stack | None:
    """The cost of each strategy by class of tokens; None if it is 0 or a class is unknown."""
    rows = comparison.rows
    if not any(row.figures["cost_usd"] for row in rows):
        return None
    if any(row.figures[metric] is None for metric in _CLASSES for row in rows):
        return None
    return _stack(rows, _CLASSES, USD, "cost of all conversations, USD")


def classes(comparison: Comparison, name: str, width: float = WIDTH) -> Chart | None:
    """Draw the cost of each strategy by class of tokens."""
    title = "Cost by class of tokens"
    return _chart(cost_by_class(comparison), width, name, title, _CLASSES_CAPTION, "classes")


def _stack(
    rows: Sequence[Row], looks: Looks, unit: Unit, title: str, end: float | None = None
) -> Stack:
    """Bars of the metrics that are not 0 everywhere."""
    pieces = [
        Piece(*look, [row.value(metric) for row in rows])
        for metric, look in looks.items()
        if any(row.figures[metric] for row in rows)
    ]
    return Stack([row.label for row in rows], pieces, unit, title, end)


def _chart(
    stack: Stack | None, width: float, *texts: str, section: Section = "cost"
) -> Chart | None:
    """A chart; ``texts``: name, title, caption and kind."""
    name, title, caption, kind = texts
    if stack is None:
        return None
    with canvas():
        drawn = bars(*stack[:-1], end=stack.end, width=width)
    return Chart(name, title, caption, drawn, kind, section, values=stack.values)


# Cache misses by cause: one bar per strategy, one piece per cause.

_CAUSES_CAPTION = (
    "Cache-miss tokens are prompt tokens that were not read from the cache, billed as a cache "
    "write or as plain input: the sum over conversations, of each the mean of its replays. Every "
    "token has exactly one cause. Requests for summaries and extra turns are included."
)


def misses_by_cause(comparison: Comparison) -> Stack | None:
    """The cache-miss tokens of each strategy by cause; None without misses."""
    causes = [causes_of(row.runs) for row in comparison.rows]
    looks = cause_colours()
    pieces = [Piece(c, *looks[c], [each[c] for each in causes]) for c in ordered(causes)]
    names = [row.label for row in comparison.rows]
    title = "cache-miss tokens, all conversations together"
    return Stack(names, pieces, TOKENS, title) if pieces else None


def breakdown(comparison: Comparison, name: str, width: float = WIDTH) -> Chart | None:
    """Draw the cache-miss tokens of each strategy by cause."""
    title = "Cache-miss tokens by cause"
    return _chart(misses_by_cause(comparison), width, name, title, _CAUSES_CAPTION, "causes")


def ordered(causes: Sequence[Mapping[str, int]]) -> list[str]:
    """The causes that occur, in the order of the pieces."""
    totals: Counter[str] = Counter()
    for each in causes:
        totals.update(each)
    return [cause for cause in cause_colours() if totals[cause]]


# States of facts: one bar per strategy, one piece per state.

# From directly usable to lost.
_STATES: Looks = {
    f"occupancy_{state}": (state, colour, pattern)
    for state, colour, pattern in (
        ("verbatim", "blue", ""), ("intact", "sky", ""), ("unknown", "grey", "dotted"),
        ("retrievable", "green", "striped"), ("conflict", "purple", ""), ("stale", "orange", ""),
        ("resurrected", "orange", "striped"), ("mutated", "vermillion", ""),
        ("presumed", "vermillion", "striped"), ("key_only", "olive", "dotted"),
        ("lost", "grid", ""),
    )
}  # fmt: skip
_STATES_CAPTION = (
    "The states of all facts due at every call of the script: the share of the pairs of a call and "
    "a fact, as the mean over conversations. Verbatim and intact facts can be used as they are. "
    "Retrievable facts can be fetched. Conflicting, stale and mutated facts mislead, as do "
    "finished tasks that are asked for again (resurrected) and open questions that are stated as "
    "decided (presumed). Of key_only facts the key is left, but not the value. Unknown facts have "
    "no recorded text. Lost facts are gone."
)


def states_of_facts(comparison: Comparison) -> Stack | None:
    """The states of facts under each strategy with facts; None without any."""
    rows = [r for r in comparison.rows if all(r.figures[metric] is not None for metric in _STATES)]
    title = "facts due, % of all pairs of a call and a fact"
    return _stack(rows, _STATES, PERCENT, title, end=1.0) if rows else None


def occupancy(comparison: Comparison, name: str, width: float = WIDTH) -> Chart | None:
    """Draw the states of facts under each strategy."""
    texts = (name, "States of facts", _STATES_CAPTION, "states")
    return _chart(states_of_facts(comparison), width, *texts, section="memory")
