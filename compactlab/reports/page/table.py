"""The comparison as a table with its verdict, on a terminal and in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from compactlab.reports.analysis.columns import columns, marks
from compactlab.reports.analysis.comparison import Comparison, comparisons
from compactlab.reports.analysis.scope import scope
from compactlab.reports.page.bounds import bounds
from compactlab.reports.page.notes import (
    NOTHING,
    Failure,
    Fault,
    failures,
    faults,
    legend,
    notes,
    passed_over,
    summaries,
    unfinished,
)
from compactlab.reports.page.preserved import preserved
from compactlab.reports.page.verdict import verdict
from compactlab.reports.render import markdown as md
from compactlab.reports.render import terminal
from compactlab.reports.render.document import (
    Block,
    Column,
    Document,
    Heading,
    Sentence,
    Sentences,
    Table,
    TableRow,
    name,
    rows,
    sentences,
)
from compactlab.reports.render.text import capitalised, counted
from compactlab.sim.store.results import Results

# A number that is not a part of a name.
_NUMBER = re.compile(r"(?<![\w.@/-])\d[\d,.]*(?![\w@/-])")


def table(results: Results) -> str:
    """All comparisons for a terminal; one line for each error of failed runs."""
    return terminal.write(Document((*_compared(results), *_errors(failures(results)))))


def markdown(results: Results) -> str:
    """All comparisons in Markdown; one row for each failed run."""
    return md.write(Document((*_compared(results), *_failed(failures(results)))))


def troubles(results: Results) -> str:
    """Name skipped lines and failed runs, below a report that does not."""
    over = sentences([passed_over(results)], "important")
    return terminal.write(Document((over, *_errors(failures(results)))))


def _compared(results: Results) -> Iterator[Block]:
    if not results.runs:
        yield sentences([NOTHING], bullets=False)
    compared = comparisons(results)
    for comparison in compared:
        yield from _comparison(comparison)
    read = [*legend(compared), f"{capitalised(summaries(results))}."] if compared else []
    lacking = filter(None, [unfinished(results), passed_over(results)])
    lines = [
        *(Sentence(each, "quiet") for each in read),
        *(Sentence(s, "important") for s in lacking),
    ]
    yield Sentences(tuple(lines))


def _comparison(comparison: Comparison) -> Iterator[Block]:
    yield Heading(capitalised(scope(comparison, name)))
    if comparison.rows:
        shown = columns(comparison)
        heads = [Column(each.heading, rank=each.rank) for each in shown]
        lines = [
            TableRow(
                (
                    f"{name(row.label)} {marks(row)}".strip(),
                    *(each.cell(row.of_one) for each in shown),
                ),
                "" if row.usable and not row.bound else "quiet",
            )
            for row in sorted(comparison.lines, key=lambda row: row.bound)
        ]
        yield Table((Column("strategy", words=True), *heads), tuple(lines), stacked=True)
        yield from preserved(comparison)
    yield sentences([*bounds(comparison), *verdict(comparison), *notes(comparison)])


def _failed(failed: Sequence[Failure]) -> Iterator[Block]:
    """Every failed run."""
    if failed:
        yield Heading(f"{counted(len(failed), 'run')} failed")
        heads = ("conversation", "strategy", "model", "error")
        cells = ((each.conversation, each.strategy, each.model, each.error) for each in failed)
        yield Table(
            tuple(Column(head, words=True) for head in heads),
            rows([name(cell) for cell in row] for row in cells),
        )


def _errors(failed: Sequence[Failure]) -> Iterator[Block]:
    """Every error once, with the number of its runs."""
    if failed:
        title = Sentence(f"{counted(len(failed), 'run')} failed:", "bad")
        yield Sentences(
            (title, *(Sentence(f"  {_line(fault)}") for fault in faults(failed, _uncounted)))
        )


def _uncounted(error: str) -> str:
    """An error without its counts: errors that differ only in these are the same."""
    return _NUMBER.sub("#", error)


def _line(fault: Fault) -> str:
    under = f" under {fault.model}" if fault.model else ""
    first = fault.runs[0]
    if len(fault.runs) == 1:
        return f"{first.conversation}, {first.strategy}{under}: {fault.error}"
    which = f"{fault.conversations(3)}; {fault.strategies(3)}"
    return f"{counted(len(fault.runs), 'run')} ({which}){under}: {fault.error}"
