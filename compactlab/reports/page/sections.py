"""The part of the page about one comparison, as blocks of a document."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from compactlab.reports.analysis.advice import Advice
from compactlab.reports.analysis.aggregate import causes_of
from compactlab.reports.analysis.columns import MEMORY, columns
from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.analysis.scope import scope
from compactlab.reports.charts.chart import Chart
from compactlab.reports.charts.drawing import own_specs
from compactlab.reports.charts.gallery import ROWS, drawn, gallery
from compactlab.reports.charts.palette import cause_colours
from compactlab.reports.charts.stacked import ordered
from compactlab.reports.page.brief import deciding
from compactlab.reports.page.brief import legend as legend_of
from compactlab.reports.page.conversations import (
    BUDGET,
    Conversation,
    conversations,
    pane,
    table_of,
)
from compactlab.reports.page.differences import differences, few
from compactlab.reports.page.explorer import BUDGET as ROOM
from compactlab.reports.page.explorer import Compactions, explorer, views
from compactlab.reports.page.figures import figures, head_of, preserved, telling
from compactlab.reports.page.headlines import Headline, bounds, headlines, shown
from compactlab.reports.page.table import notes, suspect
from compactlab.reports.page.verdict import certainty, reasons
from compactlab.reports.render.document import (
    Block,
    Cell,
    Custom,
    Folded,
    Heading,
    Key,
    Sentences,
    Table,
    Terms,
    name,
    sentences,
)
from compactlab.reports.render.document import Chart as Drawing
from compactlab.reports.render.fields import write_csv
from compactlab.reports.render.html import short
from compactlab.reports.render.text import MINUS, capitalised, clean, counted
from compactlab.sim.cache.causes import CAUSES
from compactlab.sim.store.results import Results

# Up to this many strategies are all drawn initially.
_FEW = 9
# How many strategies replace a missing front.
_INSTEAD = 4

# Figures that the table of what summaries preserve has with their intervals.
_PRESERVED = {"exposure", "preserved_random", "preserved_oracle"}

Colours = Mapping[str, str]

_READING = (
    "Bold: the best figure of a usable strategy; the spike has none, because a strategy that "
    "compacts at every call has no other calls to compare with. “reference”: the strategy that the "
    "others are compared with. “advised”: the cheapest usable strategy that costs no more than the "
    "reference and is shown to recall enough; it compacted at least once. “Pareto front”: no other "
    "usable strategy is better in cost and in recall.",
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
# The description of each part.
_ALL = "every figure; a click on a column sorts, and its head says what it means"
_TESTED = "interval, adjusted p and non-inferiority, conversation by conversation"
_COST = "what the money is paid for, and why tokens missed the cache"
_SPIKES = "the cache-miss spike, its break-even, and how soon the next compaction comes"
_RECALL = "by distance, by type and by number of compactions, and what missed facts cost"
_CALLS = "One conversation, call by call"
_CONVERSATION = "the context of any conversation, its cumulative cost and its figures"
_COMPACTION = "message by message: what was kept and cut, and which facts were lost"
# At least this many strategies are drawn.
_LEAST_DRAWN = 8
_ALONE = (
    "Unknown: only one model and one summariser were run. With several (`--model` and "
    "`--summarizer`, both repeatable) this page says which findings reverse between them."
)


@dataclass(frozen=True)
class Front:
    """The first screen: the figures that matter, the main chart, the table, and how sure all is."""

    headlines: Sequence[Headline]
    table: Table
    chart: Drawing | None
    certainty: Sentences
    bounds: Sentences


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
    """Everything about one comparison; ``alone`` if the page has no other.

    The verdict, what matters and the main chart are visible; all else is collapsed.
    """
    listing = conversations(results, comparison, wanted)
    advice = Advice(comparison)
    # Pages with many comparisons have space for fewer strategies in each.
    most = max(_LEAST_DRAWN, ROWS * budget // BUDGET)
    shown_specs = {row.spec for row in drawn(comparison, own_specs(results), most)}
    first = [each.case for each in listing[:1]]
    charts: dict[str, list[Block]] = {}
    for chart in gallery(results, comparison, colours, anchor, first, most=most):
        charts.setdefault(chart.section, []).append(drawing(chart))
    yield Heading(capitalised(scope(comparison)), 2, anchor, label)
    said = sentences([*certainty(advice), *suspect(comparison)], bullets=False)
    if comparison.rows:
        front = next(iter(charts.pop("front", ())), None)
        main = front if isinstance(front, Drawing) else None
        table = _deciding(advice, colours)
        below = sentences([*legend_of(advice), *bounds(comparison)], "quiet", bullets=False)
        yield Custom("front.html.j2", Front(headlines(advice), table, main, said, below))
    else:
        yield said
    if others := reasons(advice):
        yield Folded("More of the verdict", (sentences(others, bullets=False),))
    if comparison.rows:
        yield from _strategies(comparison, colours, advice, anchor, legend)
        yield from _tested(comparison, colours, anchor, shown_specs)
    yield from _part("Cost", _COST, (*charts.get("cost", ()), *_causes(comparison)), anchor, "cost")
    if comparison.rows:
        yield from explorer(comparison, colours, results.catalogue, anchor)
    title = "What a compaction costs at once"
    yield from _part(title, _SPIKES, charts.get("spikes", ()), anchor, "spikes")
    memory = (*charts.get("memory", ()), *_memory(comparison, colours, advice))
    yield from _part("Recall and recovery", _RECALL, memory, anchor, "memory")
    if listing:
        panes = tuple(charts.get("conversation", ()))
        yield from _conversation(
            results, listing, colours, advice, charts=panes, budget=budget, anchor=anchor
        )
    if alone and comparison.rows:
        yield sentences([_ALONE], "quiet", bullets=False)


def _conversation(
    results: Results,
    listing: Sequence[Conversation],
    colours: Colours,
    advice: Advice,
    *,
    charts: tuple[Block, ...],
    budget: int,
    anchor: str,
) -> Iterator[Block]:
    """A selectable conversation, call by call, and compactions message by message."""
    first_drawn = chief(advice)
    heading = Heading("Figures of this conversation", 4)
    table = table_of(results, listing[0], colours, first_drawn)
    # For a single conversation, the table of all strategies has the same figures.
    still = (*charts, *((heading, table) if len(listing) > 1 else ()))
    data = pane(results, listing, colours, first_drawn, budget, name=anchor, blocks=still)
    about = (sentences([_PANES], "quiet", bullets=False), Custom("conversation.html.j2", data))
    yield from _part(_CALLS, _CONVERSATION, about, anchor, "conversation")
    shown = _views(results, advice.comparison, listing, first_drawn, budget)
    yield from _compactions(shown, anchor)


def _part(
    title: str, about: str, blocks: Iterable[Block], anchor: str, name: str
) -> Iterator[Block]:
    """A collapsed part; nothing if it is empty."""
    if held := tuple(blocks):
        yield Folded(title, held, f"{anchor}-{name}", about)


def _deciding(advice: Advice, colours: Colours) -> Table:
    """The deciding figures as on the terminal, with meanings and the colours of the charts."""
    table = deciding(advice)
    meanings = {each.key: head_of(each).meaning for each in columns(advice.comparison)}
    heads = (replace(head, meaning=meanings.get(head.key, "")) for head in table.columns)
    rows = (
        replace(
            line,
            cells=(Cell(row.label), *map(_with_minus, line.cells[1:])),
            key=Key(colours[row.spec], meaning=clean(row.spec)),
        )
        for line, (row, _) in zip(table.rows, shown(advice), strict=True)
    )
    return replace(table, columns=tuple(heads), rows=tuple(rows), ordered="cost_usd")


def _with_minus(cell: Cell | str) -> Cell | str:
    if isinstance(cell, str) or cell.value is None:
        return cell
    text, aside = (each.replace("-", MINUS) for each in (cell.text, cell.aside))
    return replace(cell, text=text, aside=aside)


def _tested(
    comparison: Comparison, colours: Colours, anchor: str, among: Collection[str]
) -> Iterator[Block]:
    """The differences from the reference, or a sentence that says why there are none."""
    reference = comparison.reference
    if reference is not None and (why := few(comparison)):
        yield sentences([why], "quiet", bullets=False)
    elif reference is not None:
        title = f"Differences to {name(reference.label)}, and their statistical significance"
        yield from _part(
            title, _TESTED, differences(comparison, colours, among), anchor, "differences"
        )


def _compactions(shown: Compactions, anchor: str) -> Iterator[Block]:
    if shown.shown:
        about = sentences([_COMPACTIONS], "quiet", bullets=False)
        blocks = (about, Custom("compactions.html.j2", replace(shown, name=anchor)))
        title = "One compaction, before and after"
        yield from _part(title, _COMPACTION, blocks, anchor, "compaction")


def drawing(chart: Chart) -> Drawing:
    """Convert a chart to a drawing; the script draws those of a conversation again."""
    markup, narrow = chart.markup(), chart.narrow_markup()
    values = () if chart.section == "conversation" else chart.values
    cells = ([short(c) if isinstance(c, float) else c for c in row] for row in values)
    return Drawing(
        chart.title, markup, chart.caption, chart.kind, narrow=narrow, anchor=chart.name,
        values=write_csv(cells),
    )  # fmt: skip


def _strategies(
    comparison: Comparison,
    colours: Colours,
    advice: Advice,
    anchor: str,
    legend: Sequence[str],
) -> Iterator[Block]:
    shown, left_out = telling(columns(comparison), comparison)
    empty = f"Columns without figures for most strategies are left out: {', '.join(left_out)}. "
    missing = [f"{empty}CSV and JSON have them."] if left_out else []
    table = figures(comparison, colours, shown, roles(advice))
    reading = sentences([*notes(comparison), *legend, *missing, *_READING])
    title = f"All {counted(len(comparison.strategies), 'strategy')}"
    yield from _part(title, _ALL, (table, reading), anchor, "strategies")


def roles(advice: Advice) -> dict[str, tuple[str, ...]]:
    """The roles of strategies in the comparison, by spec."""
    by_spec: dict[str, tuple[str, ...]] = {}
    named = [(advice.reference, "reference"), (advice.advised, "advised")]
    for row, role in [*named, *((row, "Pareto front") for row in advice.comparison.front)]:
        if row:
            spec = advice.comparison.line(row).spec
            if role not in by_spec.get(spec, ()):  # of two with equal runs, both are on the front
                by_spec[spec] = (*by_spec.get(spec, ()), role)
    return by_spec


def _memory(comparison: Comparison, colours: Colours, advice: Advice) -> Iterator[Block]:
    known, _ = telling(columns(comparison, MEMORY), comparison)
    kept = tuple(preserved(comparison, colours))
    # What another table has is not shown again.
    others = {column.key for column in columns(comparison)} | (_PRESERVED if kept else set())
    shown = [column for column in known if column.key not in others]
    if shown and comparison.rows:
        table = figures(comparison, colours, shown, roles(advice))
        about = sentences([_RECOVERY], "quiet", bullets=False)
        yield Folded("Figures of recall and recovery", (table, about))
    if kept:
        yield Folded("What summaries preserve", kept)


def _causes(comparison: Comparison) -> Iterator[Block]:
    """What the causes in the chart mean."""
    causes = list(ordered([causes_of(row.runs) for row in comparison.rows]))
    keys = tuple(Key(*cause_colours()[cause]) for cause in causes)
    if causes:
        yield Terms(tuple((cause, CAUSES[cause]) for cause in causes), keys)


def _views(
    results: Results,
    comparison: Comparison,
    listing: Sequence[Conversation],
    first_drawn: Collection[str],
    budget: int,
) -> Compactions:
    """The compactions that are shown message by message: those of choices come first.

    Their budget is scaled like that of the data.
    """
    rows = sorted(comparison.rows, key=lambda row: (not row.choice, row.spec not in first_drawn))
    runs = [run for row in rows for run in row.runs]
    titles = {each.case: each.title for each in listing}
    return views(results, runs, listing[0].case, ROOM * budget // BUDGET, titles)


def chief(advice: Advice) -> Collection[str]:
    """Specs of the strategies that are drawn initially: the front, bounds and the reference.

    Without a front, the cheapest strategies replace it.
    """
    rows = advice.comparison.rows
    if len(rows) <= _FEW:
        return [row.spec for row in rows]
    front: Sequence[Row] = advice.comparison.front
    if not front:
        front = [row for row in rows if not row.bound and not row.as_recorded][:_INSTEAD]
    others = (advice.reference, advice.advised)
    return [
        row.spec for row in rows if row in front or row.bound or row.as_recorded or row in others
    ]
