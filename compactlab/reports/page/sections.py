"""The part of the page about one comparison, as blocks of a document."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from compactlab.reports.analysis.advice import Advice
from compactlab.reports.analysis.aggregate import causes_of
from compactlab.reports.analysis.columns import MEMORY, columns
from compactlab.reports.analysis.comparison import Comparison, Row, scope
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.gallery import gallery
from compactlab.reports.charts.palette import cause_colours
from compactlab.reports.charts.stacked import ordered
from compactlab.reports.page.conversations import BUDGET, Pane, conversations, pane, table_of
from compactlab.reports.page.differences import differences
from compactlab.reports.page.explorer import explorer
from compactlab.reports.page.figures import figures, telling
from compactlab.reports.page.notes import notes
from compactlab.reports.page.preserved import preserved
from compactlab.reports.page.verdict import verdict
from compactlab.reports.page.views import BUDGET as ROOM
from compactlab.reports.page.views import Compactions, views
from compactlab.reports.render.document import (
    Block,
    Column,
    Custom,
    Folded,
    Heading,
    Key,
    Table,
    TableRow,
    Terms,
    name,
    sentences,
)
from compactlab.reports.render.document import Chart as Drawing
from compactlab.reports.render.text import capitalised, clean, show
from compactlab.sim.cache.causes import CAUSES
from compactlab.sim.experiment.results import Results

# Strategies that are drawn at first, if there are no more than so many, are all of them.
_FEW = 9
# So many stand for a front where there is none.
_INSTEAD = 4

Colours = Mapping[str, str]

_READING = (
    "Bold: the best figure of a usable strategy. “Write spike” has no best figure, because a "
    "strategy that compacts at every call has no calls without compaction to compare with.",
    "“reference”: the strategy that the others are compared with. “advised”: the cheapest usable "
    "strategy that costs no more than the reference and is shown to recall enough. “Pareto front”: "
    "no other usable strategy is better in cost and in fact recall; of those with an equal recall, "
    "to a tenth of a point, the verdict names only the cheapest.",
    "Recommended are only usable strategies that compacted at least once; controls and "
    "`as_recorded` are excluded.",
)
_RECOVERY = (
    "Recovery (fetching, asking and correcting) is simulated in the closed loop. It moves later "
    "compactions, so by chance it may also reduce a cost."
)
_PANES = (
    "In each panel, the pale area is the size of the prompt in tokens, and the solid bars are its "
    "cache-miss tokens: those that were not read from the cache. The short ticks above a panel are "
    "compactions; the red ticks above them are calls that exceed the context window. The dashed "
    "red line is the window, where it lies within the panel. All panels have the same axes; the "
    "horizontal axis counts calls. In long sessions, neighbouring calls share a place, which shows "
    "the largest of them. With JavaScript, the pointer or the arrow keys show the figures of each "
    "call."
)
_COMPACTIONS = (
    "The compaction of each run that lost the most needed facts. Left: the prompt without the "
    "compaction. Right: the prompt that was sent. Facts stand beside the message that stated them; "
    "✕ marks facts that a later call needed and did not have."
)
_ALONE = (
    "Unknown: only one model and one summariser were run. With several (`--model` and "
    "`--summarizer`, both repeatable) this page says which findings reverse between them."
)


def section(
    results: Results,
    comparison: Comparison,
    colours: Colours,
    anchor: str,
    *,
    legend: Sequence[str] = (),
    label: str = "",
    alone: bool = True,
    wanted: str | None = None,
    budget: int = BUDGET,
) -> Iterator[Block]:
    """Everything about one comparison; alone if the page has no other."""
    listing = conversations(results, comparison, wanted)
    advice = Advice(comparison)
    first_drawn = chief(advice)
    charts: dict[str, list[Drawing]] = {}
    for chart in gallery(results, comparison, colours, anchor, [c.case for c in listing[:1]]):
        charts.setdefault(place(chart.kind), []).append(drawing(chart))
    yield Heading(capitalised(scope(comparison)), 2, anchor, label)
    yield sentences(verdict(comparison, advice), "strong", bullets=False)
    yield from charts.get("front", ())
    if comparison.rows:
        yield from _strategies(comparison, colours, advice, anchor, legend)
        yield from differences(comparison, colours, f"{anchor}-differences")
        yield Heading("Cost", anchor=f"{anchor}-cost")
    yield from charts.get("cost", ())
    yield from explorer(comparison, colours, results.catalogue, anchor)
    yield from _causes(comparison)
    yield from charts.get("spikes", ())
    yield from _memory(comparison, colours, advice, anchor)
    yield from charts.get("memory", ())
    if alone and comparison.rows:
        yield Heading("What depends on the model and the summariser")
        yield sentences([_ALONE], "important", bullets=False)
    if listing:
        still = (
            *charts.get("conversation", ()),
            Heading("Figures of this conversation", 4),
            table_of(results, listing[0], colours),
        )
        data = pane(results, listing, colours, first_drawn, budget, name=anchor, blocks=still)
        yield from _conversation(data)
        shown = _views(results, comparison, listing[0].case, first_drawn, budget)
        yield from _compactions(shown, anchor)


def _conversation(data: Pane) -> Iterator[Block]:
    title = "One conversation, call by call"
    yield Heading(title, anchor=f"{data.name}-conversation", label="One conversation")
    yield sentences([_PANES], "quiet", bullets=False)
    yield Custom("conversation.html.j2", data)


def _compactions(shown: Compactions, anchor: str) -> Iterator[Block]:
    if shown.shown:
        title = "One compaction, before and after"
        yield Heading(title, anchor=f"{anchor}-compaction", label="One compaction")
        yield sentences([_COMPACTIONS], "quiet", bullets=False)
        yield Custom("compactions.html.j2", shown)


# The part of a comparison that a chart belongs to, by its kind; a new kind belongs to memory.
_PLACES = {
    "pareto": "front",
    "classes": "cost",
    "causes": "cost",
    "spikes": "spikes",
    "thrash": "spikes",
    "session": "conversation",
    "cumulative": "conversation",
}


def place(kind: str) -> str:
    """The part of a comparison that a chart of a kind belongs to."""
    return _PLACES.get(kind, "memory")


def drawing(chart: Chart) -> Drawing:
    """Set a chart."""
    return Drawing(chart.title, chart.markup(), chart.caption, chart.kind)


def _strategies(
    comparison: Comparison,
    colours: Colours,
    advice: Advice,
    anchor: str,
    legend: Sequence[str],
) -> Iterator[Block]:
    """The table of all strategies, how to read it, and which rules they break."""
    shown, left_out = telling(columns(comparison), comparison)
    yield Heading("All strategies", anchor=f"{anchor}-strategies")
    yield figures(comparison, colours, shown, roles(advice))
    empty = f"Columns without figures for most strategies are left out: {', '.join(left_out)}. "
    missing = [f"{empty}CSV and JSON have them."] if left_out else []
    yield sentences([*notes(comparison), *legend, *missing, *_READING])
    broken = {row.label: row.breaks for row in comparison.rows if row.breaks}
    if broken:
        pairs = tuple(
            (name(label), ". ".join(f"{clean(r)}: {clean(why)}" for r, why in sorted(own.items())))
            for label, own in sorted(broken.items())
        )
        title = f"Rules of the contract that strategies break on purpose: {len(pairs)} strategies"
        yield Folded(title, (Terms(pairs),))


def roles(advice: Advice) -> dict[str, tuple[str, ...]]:
    """What strategies are to the comparison, by spec."""
    by_spec: dict[str, tuple[str, ...]] = {}
    named = [(advice.reference, "reference"), (advice.advised, "advised")]
    for row, role in [*named, *((row, "Pareto front") for row in advice.comparison.front)]:
        if row:
            by_spec[row.spec] = (*by_spec.get(row.spec, ()), role)
    return by_spec


def _memory(
    comparison: Comparison, colours: Colours, advice: Advice, anchor: str
) -> Iterator[Block]:
    shown, _ = telling(columns(comparison, MEMORY), comparison)
    if shown:
        title = "Fact recall and recovery"
        yield Heading(title, anchor=f"{anchor}-memory", label="Fact recall")
        yield figures(comparison, colours, shown, roles(advice))
        yield sentences([_RECOVERY], "quiet", bullets=False)
        yield from preserved(comparison, colours)


def _causes(comparison: Comparison) -> Iterator[Block]:
    """The legend of the chart of causes, with how much there was of each."""
    counts = [causes_of(row.runs) for row in comparison.rows]
    rows = []
    for cause in ordered(counts):
        tokens = show(sum(each[cause] for each in counts), "tokens")
        colour, pattern = cause_colours()[cause]
        rows.append(TableRow((cause, tokens, CAUSES[cause]), key=Key(colour, pattern)))
    if rows:
        heads = (Column("cause"), Column("tokens, all strategies"), Column("meaning", words=True))
        yield Table(heads, tuple(rows))


def _views(
    results: Results,
    comparison: Comparison,
    first: tuple[str, str, int],
    first_drawn: Collection[str],
    budget: int,
) -> Compactions:
    """The compactions that are shown message by message: those of choices come first.

    They get as large a share of their own budget as the data get of theirs.
    """
    rows = sorted(comparison.rows, key=lambda row: (not row.choice, row.spec not in first_drawn))
    runs = [run for row in rows for run in row.runs]
    return views(results, runs, first, ROOM * budget // BUDGET)


def chief(advice: Advice) -> Collection[str]:
    """Specs of the strategies that are drawn at first: the front, controls and the reference.

    Without a front, the cheapest candidates stand for it.
    """
    rows = advice.comparison.rows
    if len(rows) <= _FEW:
        return [row.spec for row in rows]
    front: Sequence[Row] = advice.comparison.front
    if not front:
        front = [row for row in rows if not row.control and not row.as_recorded][:_INSTEAD]
    others = (advice.reference, advice.advised)
    return [
        row.spec for row in rows if row in front or row.control or row.as_recorded or row in others
    ]
