"""Tables of the page: figures as they are shown, and as they are sorted by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compactlab.reports.analysis.columns import FigureColumn, marks
from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.render.document import Cell, Column, Key, Table, TableRow
from compactlab.reports.render.text import MINUS, clean, exact, plain

STRATEGY = Column("strategy")
_NO_BREAK = "\N{NO-BREAK SPACE}"
# Who cuts at every call writes less than before it at each, so the least of these is no merit.
_UNRANKED = frozenset({"write_spike"})
# A column stays if this share of the strategies has a figure in it; cost and memory always do.
_MOST = 0.5
_ALWAYS = frozenset({"cost_usd", "recall"})


def figures(
    comparison: Comparison,
    colours: Mapping[str, str],
    columns: Sequence[FigureColumn],
    roles: Mapping[str, Sequence[str]],
) -> Table:
    """Set the figures of the strategies of a comparison: the cheapest first, named bounds last."""
    best = best_of(columns, comparison.rows)
    rows = [
        row_of(row, colours, cells_of(columns, row, best), roles.get(row.spec, ()))
        for row in sorted(comparison.lines, key=lambda row: row.bound)
    ]
    heads = [head_of(column, column.meaning) for column in columns]
    return Table((STRATEGY, *heads), tuple(rows), ordered="cost_usd")


def telling(
    columns: Sequence[FigureColumn], comparison: Comparison
) -> tuple[list[FigureColumn], list[str]]:
    """The columns that say something of most strategies, and the titles of the others."""
    shown = [column for column in columns if _telling(column, comparison.rows)]
    return shown, [column.title for column in columns if column not in shown]


def _telling(column: FigureColumn, rows: Sequence[Row]) -> bool:
    known = [row for row in rows if row.figures[column.key] is not None]
    return column.key in _ALWAYS or len(known) >= _MOST * len(rows)


def head_of(column: FigureColumn, meaning: str = "") -> Column:
    """The head of a column of figures; its arrow stays with the last word."""
    title = column.heading
    for arrow in "↓↑":
        title = title.replace(f" {arrow}", f"{_NO_BREAK}{arrow}")
    return Column(title, key=column.key, better=column.better, meaning=meaning)


def row_of(
    row: Row, colours: Mapping[str, str], cells: Sequence[Cell], roles: Sequence[str] = ()
) -> TableRow:
    """The row of a strategy, with its marks and its roles; one that is no choice is quiet."""
    return TableRow(
        (Cell(row.label, aside=marks(row)), *cells),
        "quiet" if row.bound or not row.usable else "",
        Key(colours[row.spec], meaning=clean(row.spec)),
        tuple(roles),
    )


def best_of(columns: Sequence[FigureColumn], rows: Sequence[Row]) -> dict[str, float]:
    """The best figure of each column that any choice has, unless all read the same."""
    choices = [row for row in rows if row.choice]
    best = {}
    for column in columns:
        values = {value for row in choices if (value := row.figures[column.key]) is not None}
        read = {column.cell({column.key: value}) for value in values}
        if len(read) > 1 and column.better != "neither" and column.key not in _UNRANKED:
            best[column.key] = min(values) if column.better == "lower" else max(values)
    return best


def cells_of(columns: Sequence[FigureColumn], row: Row, best: Mapping[str, float]) -> list[Cell]:
    """The figures of a strategy; of a choice, those are best that read like the best."""
    cells = []
    for column in columns:
        value, text = row.figures[column.key], column.cell(row.figures)
        alike = row.choice and column.key in best and text == column.cell(best)
        cells.append(Cell(text.replace("-", MINUS), exact(value), plain(value), alike))
    return cells
