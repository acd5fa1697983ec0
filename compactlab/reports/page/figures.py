"""Tables of the page: figures with their texts and their sort keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compactlab.reports.analysis.columns import FigureColumn, marks
from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.render.document import Cell, Column, Key, Table, TableRow
from compactlab.reports.render.text import MINUS, clean, exact, plain
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
