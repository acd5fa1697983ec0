"""Tables of the page: figures as they are shown, and as they are sorted by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compactlab.reports.analysis.comparison import Column, Comparison, Row, marks
from compactlab.reports.render.document import Cell
from compactlab.reports.render.document import Column as Head
from compactlab.reports.render.text import clean, exact, plain

_NO_BREAK, _MINUS = "\N{NO-BREAK SPACE}", "\N{MINUS SIGN}"
# Who cuts at every call writes less than before it at each, so the least of these is no merit.
_UNRANKED = frozenset({"write_spike"})
# A column stays if this share of the strategies has a figure in it; cost and memory always do.
_MOST = 0.5
_ALWAYS = frozenset({"cost_usd", "amnesia_need"})


@dataclass(frozen=True)
class Line:
    """A row: a strategy, with the marks that it carries; a quiet one is no choice.

    What it is to the comparison, such as its reference, stands behind its name.
    """

    label: str
    spec: str
    marks: str
    colour: str
    quiet: bool
    cells: tuple[Cell, ...]
    roles: tuple[str, ...] = ()


@dataclass(frozen=True)
class Grid:
    """A table, with the column by which it is ordered, and titles of those that say too little."""

    heads: tuple[Head, ...]
    lines: tuple[Line, ...]
    ordered: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def explained(self) -> list[Head]:
        """The columns whose meaning is to be told."""
        return [head for head in self.heads if head.meaning]


def head_of(column: Column, meaning: str = "") -> Head:
    """The head of a column of figures; its arrow stays with the last word."""
    title = column.heading
    for arrow in "↓↑":
        title = title.replace(f" {arrow}", f"{_NO_BREAK}{arrow}")
    return Head(title, key=column.key, better=column.better, meaning=meaning)


def line_of(
    row: Row, colours: Mapping[str, str], cells: Sequence[Cell], roles: Sequence[str] = ()
) -> Line:
    """The row of a strategy."""
    name, colour = clean(row.spec), colours[row.spec]
    quiet = row.null or not row.usable
    return Line(row.label, name, marks(row), colour, quiet, tuple(cells), tuple(roles))


def figures(
    comparison: Comparison,
    colours: Mapping[str, str],
    shown: Sequence[Column],
    meanings: Mapping[str, str],
    roles: Mapping[str, Sequence[str]],
) -> Grid:
    """Set the figures of the strategies of a comparison, in its order: the cheapest first.

    Columns that say nothing of most strategies are left out; meanings are by key, colours and
    roles by spec.
    """
    choices = [row for row in comparison.rows if row.choice]
    left_out = tuple(each.title for each in shown if not _telling(each, comparison.rows))
    shown = [each for each in shown if each.title not in left_out]
    best = {column.key: best_of(column, choices) for column in shown}
    lines = []
    for row in comparison.rows:
        own = best if row.choice else {}
        cells = [cell_of(column, row, own.get(column.key)) for column in shown]
        lines.append(line_of(row, colours, cells, roles.get(row.spec, ())))
    heads = [head_of(column, meanings.get(column.key, "")) for column in shown]
    return Grid(tuple(heads), tuple(lines), ordered="cost_usd", left_out=left_out)


def _telling(column: Column, rows: Sequence[Row]) -> bool:
    known = [row for row in rows if row.figures[column.key] is not None]
    return column.key in _ALWAYS or len(known) >= _MOST * len(rows)


def best_of(column: Column, rows: Sequence[Row]) -> float | None:
    """The best figure of a column; None where none reads better or the least is no merit."""
    values = {value for row in rows if (value := row.figures[column.key]) is not None}
    read = {column.cell({column.key: value}) for value in values}
    if len(read) < 2 or column.better == "neither" or column.key in _UNRANKED:
        return None
    return min(values) if column.better == "lower" else max(values)


def cell_of(column: Column, row: Row, best: float | None = None) -> Cell:
    """A figure of a strategy; the best one, if it is that or reads like it."""
    value = row.figures[column.key]
    text = column.cell(row.figures)
    alike = best is not None and text == column.cell({column.key: best})
    return Cell(text.replace("-", _MINUS), exact(value), plain(value), alike)
