"""The verdict in about thirty lines, for a terminal or a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress

from compactlab.reports.analysis.advice import Advice, advised_alike, ordered_alike
from compactlab.reports.analysis.columns import against, recall_head
from compactlab.reports.analysis.comparison import Comparison, Row, comparisons
from compactlab.reports.analysis.scope import scope, told_apart
from compactlab.reports.analysis.strength import points, signed
from compactlab.reports.analysis.windows import sweeps
from compactlab.reports.page import windows
from compactlab.reports.page.bounds import bounds
from compactlab.reports.page.commands import why
from compactlab.reports.page.headlines import outliers
from compactlab.reports.page.notes import (
    NOTHING,
    capped,
    fault,
    inferred_models,
    never_acted,
    unfinished,
    unused,
)
from compactlab.reports.page.picks import picks, shown
from compactlab.reports.page.verdict import certainty, for_nothing, reasons, recorded
from compactlab.reports.render import markdown, terminal
from compactlab.reports.render.document import (
    Block,
    Cell,
    Column,
    Document,
    Table,
    TableRow,
    Tone,
    name,
    sentences,
)
from compactlab.reports.render.text import NONE, capitalised, counted, exact, listed, plain, show
from compactlab.sim.store.results import Results

LINES = 32
# The width if the output is not a terminal, such as mail and logs.
_WIDTH = 110


def brief(results: Results) -> str:
    """Write the verdict for a terminal, in some thirty lines.

    The answer and its certainty are always shown. A narrow terminal and the user's own strategies
    need more lines. Of several comparisons it shows the first, and whether the others agree; of
    several windows, a table of all.
    """
    compared = comparisons(results)
    if not compared:
        return NOTHING
    if swept := sweeps(compared):
        return terminal.write(windows.document(results, swept, _WIDTH))
    advice = Advice(compared[0])
    must, may = _sentences(results, compared, advice)
    text = terminal.write(_document(results, advice, must))
    for sentence in may:
        more = terminal.write(_document(results, advice, [*must, sentence]))
        if _fits(more):
            must, text = [*must, sentence], more
    return text


def brief_markdown(results: Results) -> str:
    """The verdict in GitHub's Markdown, with all its sentences."""
    compared = comparisons(results)
    if not compared:
        return NOTHING
    if swept := sweeps(compared):
        return markdown.write(windows.document(results, swept, _WIDTH))
    advice = Advice(compared[0])
    must, may = _sentences(results, compared, advice)
    lines = dict.fromkeys([*must, *may, *reasons(advice)])
    return markdown.write(_document(results, advice, list(lines)))


def _fits(text: str) -> bool:
    return len(text.splitlines()) <= LINES


def _document(results: Results, advice: Advice, lines: Sequence[str]) -> Document:
    table = deciding(advice)
    blocks: list[Block] = [
        sentences([capitalised(scope(advice.comparison, name))], "strong", bullets=False),
        *([table] if table.rows else []),
        sentences([*bounds(advice.comparison)]),
        sentences(lines),
        sentences([*legend(advice), *why(results, advice)], "quiet"),
    ]
    return Document(tuple(blocks), width=_WIDTH, dense=True)


def deciding(advice: Advice) -> Table:
    """The rows that matter with the deciding figures, the same on the terminal and the page."""
    comparison = advice.comparison
    number = comparison.conversations
    than, head = name(against(comparison)), recall_head(comparison)
    recalled = any(advice.recalled(row) for row in comparison.rows)
    # A header wraps where its cells have intervals.
    each = "USD" if number == 1 else "USD per conversation"
    there = (True, True, advice.reference is not None, True, recalled, True)
    columns = (
        Column("strategy", words=True),
        Column(each, key="cost_usd"),
        Column(f"vs {than}", key="of_reference"),
        Column(head, key="recall", better="higher"),
        Column("Δ points", rank=1, key="recall_points", better="higher"),
        Column("note", words=True),
    )
    rows = (
        TableRow(tuple(compress(_cells(advice, row, role), there)), _tone(row, role))
        for row, role in shown(advice)
    )
    return Table(tuple(compress(columns, there)), tuple(rows), stacked=number > 1)


def _tone(row: Row, role: str) -> Tone:
    if role.startswith("choose"):
        return "strong"
    return "" if row.usable else "quiet"


def _sentences(
    results: Results, compared: Sequence[Comparison], advice: Advice
) -> tuple[list[str], list[str]]:
    """Sentences that are always below the table, and optional ones, the most important first."""
    failed = len(results.failed)
    comparison = compared[0]
    must = [
        unfinished(results),
        *inferred_models(comparison),
        f"{counted(failed, 'run')} failed; compactlab report names them." if failed else "",
        *certainty(advice),
        *(each.sentence for each in outliers(advice)),
        *recorded(comparison),
        *for_nothing(comparison),
        *never_acted([row for row, _ in shown(advice)]),
        *advised_alike(compared),
    ]
    may = [
        *unused(comparison),
        *ordered_alike(compared),
        *(_other(each, compared) for each in compared[1:]),
        *capped(comparison),
    ]
    return [sentence for sentence in must if sentence], may


def _other(comparison: Comparison, compared: Sequence[Comparison]) -> str:
    """Another comparison in one line."""
    advice = Advice(comparison)
    parts = [
        f"{role} {name(row.label)}, {show(row.figures['cost_usd'], 'USD')} USD "
        f"(recall {show(row.recall, 'share')})"
        for row, role in picks(advice)
        if row.choice and role
    ]
    return f"{told_apart(comparison, compared, name)}: {'; '.join(parts) or 'no usable strategy'}."


def legend(advice: Advice) -> Iterator[str]:
    """What the columns count that their heads do not say."""
    if any(row.recall is not None for row in advice.comparison.rows):
        yield (
            f"{capitalised(recall_head(advice.comparison))}: of the needed facts last stated "
            f"{advice.comparison.lag:,} tokens ago or earlier, the share that the prompt holds."
        )
    if not all(row.usable or row.bound for row in advice.comparison.rows):
        yield "Usable: every prompt is valid and within the context window."


def note(row: Row, role: str) -> str:
    """The roles of a row, and what is wrong with it."""
    faults = [fault(row)] if not (row.usable or row.bound) else []
    if row.rejected_for:
        faults.append(f"the API may reject it ({listed(list(row.rejected_for))})")
    played = "as recorded" if row.as_recorded and row.acted and role != "as recorded" else ""
    return ", ".join(filter(None, [role, played, *faults]))


def _cells(advice: Advice, row: Row, role: str) -> list[Cell]:
    cost, recall = advice.cost(row), advice.recalled(row)
    if not row.usable:
        cost = None  # it saves nothing
    return [
        Cell(name(row.label)),
        _figure(show(spent := row.mean(), "USD"), spent),
        _figure(signed(cost) if cost else "", cost.estimate if cost else None),
        _figure(show(row.recall, "share"), row.recall),
        _figure(points(recall), recall.estimate if recall else None),
        Cell(note(row, role)),
    ]


def _figure(text: str, value: float | None) -> Cell:
    """A figure with its interval, which is in small print."""
    text, _, interval = text.partition(" (")
    return Cell(text or NONE, exact(value), plain(value), aside=interval and f"({interval}")
