"""Charts for Python users, drawn into matplotlib axes: ``results.plot``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from compactlab.reports.analysis.comparison import Comparison, case_of, comparisons
from compactlab.reports.analysis.scope import without_recall
from compactlab.reports.charts.drawing import canvas, own_specs, strategy_colours, width_of
from compactlab.reports.charts.gallery import drawn, largest
from compactlab.reports.charts.kit import KEYS, KeyEntry, legend, name_rows, stack
from compactlab.reports.charts.lines import (
    Lines,
    cumulative_cost,
    draw_lines,
    named,
    recall_by_compactions,
    recall_by_distance,
)
from compactlab.reports.charts.names import distinct_labels, width_of_ends
from compactlab.reports.charts.pareto import draw_trade_off, marks_key, trade_off
from compactlab.reports.charts.setbacks import draw_loops, loops_key, recovered
from compactlab.reports.charts.stacked import (
    Stack,
    cost_by_class,
    misses_by_cause,
    states_of_facts,
)
from compactlab.sim.core.errors import UsageError
from compactlab.sim.store.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

T = TypeVar("T")

# The most characters of names, a margin in points, and the size of new figures in inches.
_LETTERS, _GAP, _SIZE = 30, 12, (7.5, 4.5)


class Plots:
    """Charts of results as matplotlib axes.

    Each method draws the chart of its name (``compactlab report --charts``) into ``ax``, by default
    into a new figure, and returns the axes. Give axes their final size before: names are placed so
    that none covers another one. The font has the size of ``matplotlib.rcParams``. ``comparison``
    is the number of a model, window and summariser, in the order of ``results.summary()``.

    Raises
    ------
    UsageError
        If there is no such comparison or conversation, or nothing to draw.
    """

    def __init__(self, results: Results) -> None:
        self._results = results

    def cost_and_recall(self, ax: Axes | None = None, *, comparison: int = 0) -> Axes:
        """Cost and recall of each strategy, the Pareto front, and bounds as lines."""
        own = own_specs(self._results)
        compared = self._comparison(comparison)
        subject = _some(trade_off(compared, self._colours, own), without_recall(compared))

        def draw(axes: Axes, size: float) -> None:
            draw_trade_off(axes, subject, size)

        return _into(ax, draw, key=marks_key(subject.rows))

    def cost_by_class(self, ax: Axes | None = None, *, comparison: int = 0) -> Axes:
        """The cost of each strategy by class of tokens."""
        return _bars(ax, cost_by_class(self._shown(comparison)))

    def cache_misses_by_cause(self, ax: Axes | None = None, *, comparison: int = 0) -> Axes:
        """The cache-miss tokens of each strategy by cause."""
        return _bars(ax, misses_by_cause(self._shown(comparison)))

    def states_of_facts(self, ax: Axes | None = None, *, comparison: int = 0) -> Axes:
        """The states of the facts that are due under each strategy."""
        return _bars(ax, states_of_facts(self._shown(comparison)))

    def recall_by_distance(self, ax: Axes | None = None, *, comparison: int = 0) -> Axes:
        """Recall by the tokens since a fact was last stated, a line a strategy."""
        return _lines(ax, recall_by_distance(self._shown(comparison), self._colours))

    def recall_by_compactions(self, ax: Axes | None = None, *, comparison: int = 0) -> Axes:
        """Recall by the compactions since a fact was last stated, a line a strategy."""
        return _lines(ax, recall_by_compactions(self._shown(comparison), self._colours))

    def cost_with_recovery(self, ax: Axes | None = None, *, comparison: int = 0) -> Axes:
        """The cost of each strategy in the open loop and with the recovery of missed facts."""
        closed = _some(recovered(self._shown(comparison)) or None)
        names = [row.label for row in closed]

        def draw(axes: Axes, size: float) -> None:
            draw_loops(axes, closed)
            _rows(axes, names, size)

        return _into(ax, draw, names, key=loops_key(closed))

    def cumulative_cost(
        self, ax: Axes | None = None, *, comparison: int = 0, conversation: str | None = None
    ) -> Axes:
        """The cost of a conversation up to each call, a line a strategy; by default the largest."""
        shown = self._shown(comparison)
        cases = [
            case
            for row in shown.rows
            for case in map(case_of, row.runs)
            if conversation in (None, case[1])
        ]
        runs = next(iter(largest(shown, cases)), None)
        return _lines(ax, cumulative_cost(shown.rows, runs or {}, self._colours))

    @cached_property
    def _compared(self) -> list[Comparison]:
        return comparisons(self._results)

    @cached_property
    def _colours(self) -> dict[str, str]:
        return strategy_colours(self._results, self._compared)

    def _comparison(self, number: int) -> Comparison:
        if not 0 <= number < len(self._compared):
            raise UsageError(f"there is no comparison {number} of {len(self._compared)}")
        return self._compared[number]

    def _shown(self, number: int) -> Comparison:
        comparison = self._comparison(number)
        return replace(comparison, rows=tuple(drawn(comparison, own_specs(self._results))))


def _some(given: T | None, why: str = "") -> T:
    if given is None:
        raise UsageError(": ".join(filter(None, ["nothing to draw in these results", why])))
    return given


def _into(
    ax: Axes | None,
    draw: Callable[[Axes, float], None],
    left: Sequence[str] = (),
    right: Sequence[str] = (),
    key: Sequence[KeyEntry] = (),
) -> Axes:
    """Draw into axes, or into new ones with margins for names and the key, which is added."""
    from matplotlib import pyplot, rcParams

    if ax is not None:
        return _draw(ax, draw, 0.85 * rcParams["font.size"], key)
    with canvas():
        whole, axes = pyplot.subplots(figsize=_SIZE)
        size = rcParams["font.size"]
        names = distinct_labels(left, _LETTERS)
        width, height = (72 * inches for inches in _SIZE)
        before = max((width_of(name, size) for name in names), default=2 * _GAP) + 2 * _GAP
        behind = width_of_ends(right, _LETTERS, size) if right else _GAP
        above = _GAP + 1.7 * size * -(-len(key) // KEYS)
        whole.subplots_adjust(
            left=before / width, right=1 - (behind + _GAP) / width, top=1 - above / height
        )
        return _draw(axes, draw, size, key)


def _draw(
    axes: Axes, draw: Callable[[Axes, float], None], size: float, key: Sequence[KeyEntry]
) -> Axes:
    draw(axes, size)
    if key:
        legend(axes, key, size)
    return axes


def _rows(axes: Axes, names: Sequence[str], size: float) -> None:
    name_rows(axes, distinct_labels(names, _LETTERS))
    axes.tick_params(axis="y", labelsize=size)


def _bars(ax: Axes | None, given: Stack | None) -> Axes:
    bars = _some(given)

    def draw(axes: Axes, size: float) -> None:
        stack(axes, bars.pieces, bars.unit, bars.title, bars.end, hatched=True)
        _rows(axes, bars.names, size)

    key = [KeyEntry(p.name, p.colour, "patch", p.pattern) for p in bars.pieces if p.name]
    return _into(ax, draw, bars.names, key=key)


def _lines(ax: Axes | None, given: Lines | None) -> Axes:
    lines = _some(given)
    right = [curve.end.label for curve in named(lines.curves)]
    return _into(ax, lambda axes, size: draw_lines(axes, lines, _LETTERS, size), right=right)
