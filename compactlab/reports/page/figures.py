"""Tables of the page: figures with their texts and their sort keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from compactlab.reports.analysis.aggregate import ORACLE, OWN, RANDOM
from compactlab.reports.analysis.columns import FigureColumn, marks
from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.analysis.preservation import Preservation, Share, preservation
from compactlab.reports.render.document import (
    Block,
    Cell,
    Column,
    Heading,
    Key,
    Table,
    TableRow,
    name,
)
from compactlab.reports.render.text import MINUS, clean, exact, plain, with_interval
from compactlab.sim.metrics import METRICS

STRATEGY = Column("strategy")
_NO_BREAK = "\N{NO-BREAK SPACE}"
# If a strategy cuts at every call, its spikes are small without merit.
_UNRANKED = frozenset({"write_spike"})
# A column is shown if this share of the strategies has a figure; cost and memory always are.
_MOST = 0.5
_ALWAYS = frozenset({"cost_usd", "recall"})


def figures(
    comparison: Comparison,
    colours: Mapping[str, str],
    columns: Sequence[FigureColumn],
    roles: Mapping[str, Sequence[str]],
) -> Table:
    """Make the table of figures of a comparison: the cheapest first, named bounds last."""
    best = best_of(columns, comparison.rows)
    rows = [
        row_of(row, colours, cells_of(columns, row, best), roles.get(row.spec, ()))
        for row in sorted(comparison.lines, key=lambda row: row.bound)
    ]
    return Table((STRATEGY, *map(head_of, columns)), tuple(rows), ordered="cost_usd")


def telling(
    columns: Sequence[FigureColumn], comparison: Comparison
) -> tuple[list[FigureColumn], list[str]]:
    """The columns with figures of most strategies, and the titles of the others."""
    shown = [column for column in columns if _telling(column, comparison.rows)]
    return shown, [column.title for column in columns if column not in shown]


def _telling(column: FigureColumn, rows: Sequence[Row]) -> bool:
    known = [row for row in rows if row.figures[column.key] is not None]
    return column.key in _ALWAYS or len(known) >= _MOST * len(rows)


def head_of(column: FigureColumn) -> Column:
    """The header of a column of figures with its meaning; its arrow stays with the last word."""
    title, meaning = column.heading, column.meaning
    if column.key in METRICS:
        meaning += f"\n{column.key} in CSV and JSON"
    for arrow in "↓↑":
        title = title.replace(f" {arrow}", f"{_NO_BREAK}{arrow}")
    return Column(title, key=column.key, better=column.better, meaning=meaning)


def row_of(
    row: Row, colours: Mapping[str, str], cells: Sequence[Cell], roles: Sequence[str] = ()
) -> TableRow:
    """The row of a strategy with its marks and roles; muted if it is a bound or not usable."""
    return TableRow(
        (Cell(row.label, aside=marks(row)), *cells),
        "quiet" if row.bound or not row.usable else "",
        Key(colours[row.spec], meaning=clean(row.spec)),
        tuple(roles),
    )


def best_of(columns: Sequence[FigureColumn], rows: Sequence[Row]) -> dict[str, float]:
    """The best figure of each column over the choices, unless all are shown alike."""
    choices = [row for row in rows if row.choice]
    best = {}
    for column in columns:
        values = {value for row in choices if (value := row.of_one[column.key]) is not None}
        read = {column.cell({column.key: value}) for value in values}
        if len(read) > 1 and column.better != "neither" and column.key not in _UNRANKED:
            best[column.key] = min(values) if column.better == "lower" else max(values)
    return best


def cells_of(columns: Sequence[FigureColumn], row: Row, best: Mapping[str, float]) -> list[Cell]:
    """The cells of a strategy; a choice's cell counts as best if its text equals the best one's."""
    cells = []
    for column in columns:
        value, text = row.of_one[column.key], column.cell(row.of_one)
        alike = row.choice and column.key in best and text == column.cell(best)
        cells.append(Cell(text.replace("-", MINUS), exact(value), plain(value), alike))
    return cells


_HEADS = {
    "recall": "share of needs at this distance that the prompt meets",
    "exposure": "share of needs that is missed with summaries without content: the strategy's loss",
    "loss given exposure": "misses with these summaries over misses without content",
    "effect preserved": "one less that",
    "by random": "the same of summaries that quote at random, of the same length",
    "by oracle": "the same of summaries that state what later calls need",
}


def preserved(comparison: Comparison, colours: Mapping[str, str] | None = None) -> Iterator[Block]:
    """Render recall, exposure and effect preservation of strategies that summarise, if known.

    Brackets contain 95 % intervals, if there are any. The table has no colours on a terminal.
    """
    memories = list(_memories(comparison))
    if not memories:
        return
    lag = f"{comparison.lag:,} tokens"
    yield Heading(f"What summaries preserve, of facts last stated {lag} ago or earlier", 4)
    lines = []
    for memory in memories:
        cells = [with_interval(share) for share in _shares(memory).values()]
        if colours is None:
            lines.append(TableRow((name(memory.row.label), *cells)))
        else:
            lines.append(row_of(memory.row, colours, [*map(Cell, cells)]))
    heads = (Column(head, meaning=meaning) for head, meaning in _HEADS.items())
    yield Table((Column("strategy", words=True), *heads), tuple(lines), stacked=True)


def preserved_data(comparison: Comparison) -> dict[str, Any]:
    """The same for all strategies as data: shares with their intervals, if there are any."""
    return {
        "model": comparison.model,
        "window": comparison.window,
        "summarizer": comparison.summarizer,
        "lag": comparison.lag,
        "strategies": [
            {
                "strategy": row.spec,
                "conversations": memory.conversations,
                **{
                    head.replace(" ", "_"): None if share is None else asdict(share)
                    for head, share in _shares(memory).items()
                },
            }
            for row in comparison.rows
            for memory in (preservation(comparison, row),)
        ],
    }


def _memories(comparison: Comparison) -> Iterator[Preservation]:
    rows: Iterator[Row] = (row for row in comparison.lines if row.summarises)
    for row in rows:
        memory = preservation(comparison, row)
        if memory.preserved() is not None:
            yield memory


def _shares(memory: Preservation) -> dict[str, Share | None]:
    own = memory.preserved(OWN)
    found = (
        memory.recall(),
        memory.exposure,
        None if own is None else own.rest,
        own,
        memory.preserved(RANDOM),
        memory.preserved(ORACLE),
    )
    return dict(zip(_HEADS, found, strict=True))
