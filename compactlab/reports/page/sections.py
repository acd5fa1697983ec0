"""The parts of the page, ready to be set: tables as texts, charts as drawings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from compactlab.reports.analysis.advice import Advice
from compactlab.reports.analysis.aggregate import causes_of, together
from compactlab.reports.analysis.comparison import MEMORY, Comparison, Row, columns, scope
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import cause_colours
from compactlab.reports.charts.gallery import gallery
from compactlab.reports.charts.stacked import ordered
from compactlab.reports.page.conversations import (
    BUDGET,
    HEADS,
    Block,
    Conversation,
    block,
    conversations,
    lines_of,
)
from compactlab.reports.page.differences import Differences, differences
from compactlab.reports.page.grid import Grid, figures
from compactlab.reports.page.notes import notes
from compactlab.reports.page.verdict import verdict
from compactlab.reports.page.views import BUDGET as ROOM
from compactlab.reports.page.views import Chosen as Views
from compactlab.reports.page.views import views
from compactlab.reports.render.document import Chart as Drawing
from compactlab.reports.render.text import capitalised, clean, show
from compactlab.sim.cache.causes import CAUSES
from compactlab.sim.experiment.results import Results
from compactlab.sim.metrics import METRICS

# Strategies that are drawn at first, if there are no more than so many, are all of them.
_FEW = 9
# So many stand for a front where there is none.
_INSTEAD = 4

Colours = Mapping[str, str]


@dataclass(frozen=True)
class CauseLine:
    """A cause in the legend: how it is drawn, what it means, how much there was."""

    name: str
    meaning: str
    colour: str
    pattern: str
    tokens: str


@dataclass(frozen=True)
class Chosen:
    """The conversation that is shown at first, and the data of all that can be chosen."""

    conversation: Conversation
    drawings: tuple[Drawing, ...]
    grid: Grid
    block: Block


@dataclass(frozen=True)
class Section:
    """A comparison on the page.

    Parameters
    ----------
    name
        What the ids of its parts begin with.
    title, verdict, notes
        What was compared, what came of it, and what must be said beside it.
    grid, differences, memory
        The table of all strategies, how they differ from the reference (None where there is
        nothing to differ from), and the table of what is forgotten.
    drawings
        Charts by the part that they belong to, see :func:`place`.
    causes
        The legend of the chart of causes.
    chosen
        One conversation; None if none was replayed.
    broken
        Which rules strategies break, and why, by label.
    views
        Compactions message by message: those of that conversation, and those of others; None if
        no run went well.
    """

    name: str
    title: str
    verdict: tuple[str, ...]
    notes: tuple[str, ...]
    grid: Grid
    differences: Differences | None
    memory: Grid
    drawings: Mapping[str, Sequence[Drawing]]
    causes: tuple[CauseLine, ...]
    chosen: Chosen | None
    broken: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    views: tuple[Views, Views] | None


def section(
    results: Results,
    comparison: Comparison,
    colours: Colours,
    name: str,
    *,
    wanted: str | None = None,
    budget: int = BUDGET,
) -> Section:
    """Everything about one comparison."""
    listing = conversations(results, comparison, wanted)
    advice = Advice(comparison)
    drawn_first, roles = chief(advice), _roles(advice)
    data = block(results, listing, colours, drawn_first, budget) if listing else None
    cases = [each.case for each in listing[:1]]
    drawings: dict[str, list[Drawing]] = {}
    for chart in gallery(results, comparison, colours, name, cases):
        drawings.setdefault(place(chart.kind), []).append(drawing(chart))
    return Section(
        name,
        capitalised(scope(comparison)),
        tuple(verdict(comparison, advice=advice)),
        tuple(notes(comparison)),
        figures(comparison, colours, columns(comparison), _MEANINGS, roles),
        differences(comparison, colours),
        figures(comparison, colours, columns(comparison, MEMORY), _MEANINGS, roles),
        drawings,
        _causes(comparison),
        _chosen(results, listing, colours, drawings, data) if data else None,
        _broken(comparison),
        _views(results, comparison, listing, drawn_first, budget),
    )


def _roles(advice: Advice) -> dict[str, tuple[str, ...]]:
    """What strategies are to the comparison, by spec."""
    by_spec: dict[str, list[str]] = {}
    if advice.reference:
        by_spec.setdefault(advice.reference.spec, []).append("reference")
    if advice.advised:
        by_spec.setdefault(advice.advised.spec, []).append("advised")
    for row in advice.comparison.front:
        by_spec.setdefault(row.spec, []).append("Pareto front")
    return {spec: tuple(roles) for spec, roles in by_spec.items()}


# The part of the page that a chart belongs to, by its kind.
_PLACES = {
    "pareto": "front",
    "classes": "cost",
    "causes": "causes",
    "spikes": "spikes",
    "type": "memory",
    "age": "memory",
    "survival": "memory",
    "states": "memory",
    "continuity": "continuity",
    "loops": "loops",
    "session": "conversation",
    "cumulative": "conversation",
}

_MEANINGS = {
    "of_keep_all": "cost over that of keep_all on the same conversations",
    "of_as_recorded": "cost over that of as_recorded on the same conversations",
    **{name: f"{metric.meaning} ({together(name)})" for name, metric in METRICS.items()},
}


def place(kind: str) -> str:
    """The part of the page that a chart of a kind belongs to; ``others`` for a new kind."""
    return _PLACES.get(kind, "others")


def drawing(chart: Chart) -> Drawing:
    """Set a chart."""
    return Drawing(chart.title, chart.markup(), chart.caption, chart.kind)


def _broken(comparison: Comparison) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    by_label = {row.label: row.breaks for row in comparison.rows if row.breaks}
    return tuple(
        (label, tuple((clean(rule), clean(why)) for rule, why in sorted(rules.items())))
        for label, rules in sorted(by_label.items())
    )


def _causes(comparison: Comparison) -> tuple[CauseLine, ...]:
    counts = [causes_of(row.runs) for row in comparison.rows]
    return tuple(
        CauseLine(
            cause,
            CAUSES[cause],
            *cause_colours()[cause],
            show(sum(each[cause] for each in counts), "tokens"),
        )
        for cause in ordered(counts)
    )


def _chosen(
    results: Results,
    listing: Sequence[Conversation],
    colours: Colours,
    drawings: Mapping[str, Sequence[Drawing]],
    data: Block,
) -> Chosen:
    first = listing[0]
    lines = [line for _, line in lines_of(results, first, colours)]
    return Chosen(
        first,
        tuple(drawings.get("conversation", ())),
        Grid(HEADS, tuple(lines), ordered="cost_usd"),
        data,
    )


def _views(
    results: Results,
    comparison: Comparison,
    listing: Sequence[Conversation],
    first_drawn: Collection[str],
    budget: int,
) -> tuple[Views, Views] | None:
    """The compactions that are shown message by message.

    They get as large a share of their own budget as the data get of theirs. What one might choose
    comes first.
    """
    rows = sorted(comparison.rows, key=lambda row: (not row.choice, row.spec not in first_drawn))
    runs = [run for row in rows for run in row.runs]
    if not runs:
        return None
    first = listing[0]
    selection = views(results, runs, first.case, ROOM * budget // BUDGET)
    own = tuple(each for each in selection.shown if each.conversation == first.title)
    others = tuple(each for each in selection.shown if each.conversation != first.title)
    return Views(own, selection.idle, 0), Views(others, (), selection.left_out)


def chief(advice: Advice) -> Collection[str]:
    """Specs of the strategies that are drawn at first: the front, controls and the reference.

    Without a front, the cheapest candidates stand for it.
    """
    rows = advice.comparison.rows
    if len(rows) <= _FEW:
        return [row.spec for row in rows]
    front: Sequence[Row] = advice.comparison.front
    if not front:
        front = [row for row in rows if not row.null and not row.played][:_INSTEAD]
    beside = (advice.reference, advice.advised)
    return [row.spec for row in rows if row in front or row.null or row.played or row in beside]
