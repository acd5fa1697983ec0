"""A sweep over windows: every strategy under each of them, in one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compactlab.reports.analysis.advice import Advice
from compactlab.reports.analysis.columns import DOUBT, FAULTY, OVER, marks, recall_head
from compactlab.reports.analysis.comparison import ENOUGH, Comparison
from compactlab.reports.analysis.scope import model_names
from compactlab.reports.analysis.windows import Sweep, short, size_of, strategies
from compactlab.reports.page.notes import unfinished
from compactlab.reports.render.document import (
    Block,
    Cell,
    Column,
    Document,
    Key,
    Table,
    TableRow,
    name,
    sentences,
)
from compactlab.reports.render.text import NONE, capitalised, counted, listed, show
from compactlab.sim.store.results import Results

_SHARE = "share"


def title(sweep: Sweep) -> str:
    """What a sweep covers, in one line."""
    first = sweep[0]
    windows = listed([short(size_of(each)) for each in sweep])
    under = f"Model {model_names(first, name)}; windows of {windows} tokens"
    if first.written_by:
        under += f"; summaries by {name(first.written_by)}"
    number = counted(len(strategies(sweep)), "strategy")
    return f"{under}; {number} over {counted(first.conversations, 'conversation')}"


def table(sweep: Sweep, colours: Mapping[str, str] | None = None) -> Table:
    """Cost and recall of every strategy under each window."""
    heads = [Column("strategy", words=True)]
    for each in sweep:
        under = f"at {short(size_of(each))}"
        heads += [
            Column("USD", group=under),
            Column(recall_head(each), group=under, better="higher"),
        ]
    rows = [
        TableRow(
            (name(row.label), *(cell for each in sweep for cell in _cells(each, row.spec))),
            key=Key(colours[row.spec], "") if colours else None,
        )
        for row in strategies(sweep)
    ]
    return Table(tuple(heads), tuple(rows), stacked=True)


def _cells(comparison: Comparison, spec: str) -> tuple[Cell, Cell]:
    row = next((row for row in comparison.rows if row.spec == spec), None)
    if row is None:
        return Cell(NONE), Cell(NONE)
    cost = row.mean()
    return (
        Cell(f"{show(cost, 'USD')} {marks(row)}".strip(), f"{cost:.6g}", cost),
        Cell(show(row.recall, "share"), value=row.recall),
    )


_MARKS = {
    OVER: "exceeds the context window on some calls",
    FAULTY: "the API would reject some calls",
    DOUBT: "it is not known whether the API would reject calls",
}


def document(results: Results, swept: Sequence[Sweep], width: int) -> Document:
    """The verdict of sweeps: a table each, and the cheapest strategies under each window.

    ``width`` is used if the output is not a terminal.
    """
    blocks: list[Block] = []
    for sweep in swept:
        carried = "".join(marks(row) for each in sweep for row in each.strategies)
        legend = "; ".join(f"{mark} {words}" for mark, words in _MARKS.items() if mark in carried)
        lines = [legend, *map(_cheapest, sweep)]
        blocks += [
            sentences([capitalised(title(sweep))], "strong", bullets=False),
            table(sweep),
            sentences([line for line in lines if line]),
        ]
    failed = len(results.failed)
    several = any(each.conversations > 1 for sweep in swept for each in sweep)
    closing = [
        "Cost: the mean of a conversation." if several else "",
        f"Recall: the share held of needed facts last stated {swept[0][0].lag:,} tokens ago or "
        "earlier, at each window.",
        unfinished(results),
        f"{counted(failed, 'run')} failed; compactlab report names them." if failed else "",
    ]
    blocks.append(sentences([line for line in closing if line]))
    return Document(tuple(blocks), width=width, dense=True)


def _cheapest(comparison: Comparison) -> str:
    """The cheapest usable strategies under a window, of those that compact."""
    advice = Advice(comparison)
    usable = [row for row in comparison.strategies if row.usable and not row.as_recorded]
    idle = usable and advice.cheapest not in (None, usable[0])  # what never compacts costs less
    best = {
        "cheapest that compacts" if idle else "cheapest": advice.cheapest,
        f"cheapest that recalls at least {ENOUGH:.0%}": advice.enough,
    }
    parts = [
        f"{role} {name(row.label)} ({show(row.mean(), 'USD')} USD"
        f"{'' if row.recall is None else f', recall {show(row.recall, _SHARE)}'})"
        for role, row in best.items()
        if row is not None
    ]
    return f"At {short(size_of(comparison))}: {'; '.join(parts) or 'no usable strategy'}."
