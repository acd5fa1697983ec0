"""Fields of a report's rows, each declared once for the table, JSON and CSV."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from io import StringIO
from typing import Any

import msgspec

from compactlab.reports.render.document import Column, Table, name, rows
from compactlab.reports.render.text import NONE, harmless, plain, show


@dataclass(frozen=True)
class Field:
    """A figure or name of each row of a report."""

    # Its key in JSON and CSV; a point separates the keys of nested objects; "" for fields of tables
    # only.
    name: str
    # A function of a row, or a path of attributes (None if one on the path is None); by default,
    # the attribute of its name.
    value: Callable[[Any], Any] | str = ""
    label: str = ""  # its heading in a table; empty: the name
    unit: str = ""  # for its format in a table
    text: Callable[[Any], str] | None = None  # its text in a table, from a row
    write: Callable[[Any], str] | None = None  # its text in a table, from the value
    shown: bool = True  # whether tables show it; else only JSON and CSV do
    words: bool = False  # this and the next ones as in Column
    rank: int = 0
    group: str = ""

    def of(self, row: Any) -> Any:
        if callable(self.value):
            return self.value(row)
        for attribute in self._path:
            row = None if row is None else getattr(row, attribute)
        return row

    @cached_property  # used for every row
    def _path(self) -> list[str]:
        return str(self.value or self.name).split(".")

    def cell(self, row: Any) -> str:
        """Its text in a table."""
        if self.text is not None:
            return self.text(row)
        value = self.of(row)
        if self.write is not None:
            return self.write(value)
        return _written(value, self.unit)

    @property
    def column(self) -> Column:
        return Column(self.label or self.name, self.words, self.rank, self.group)


def hidden(*names: str, of: str = "", **values: Callable[[Any], Any] | str) -> tuple[Field, ...]:
    """Fields for JSON and CSV only: attributes of a row by path, and computed ones by name."""
    path = f"{of}." if of else ""
    paths = {name: f"{path}{name}" for name in names}
    return tuple(Field(name, value, shown=False) for name, value in (paths | values).items())


def _written(value: Any, unit: str) -> str:
    if value is None:
        return NONE
    if isinstance(value, str):
        return name(value)
    if isinstance(value, int) and not unit:
        return f"{value:,}"
    return show(value, unit)


def heads_of(fields: Iterable[Field]) -> tuple[Column, ...]:
    """The columns of a table of rows."""
    return tuple(field.column for field in fields if field.shown)


def cells_of(fields: Iterable[Field], row: Any) -> tuple[str, ...]:
    """The texts of a row in a table."""
    return tuple(field.cell(row) for field in fields if field.shown)


def table_of(fields: Sequence[Field], each: Iterable[Any]) -> Table:
    """A table of rows."""
    return Table(heads_of(fields), rows(cells_of(fields, row) for row in each))


def data_of(fields: Iterable[Field], row: Any) -> dict[str, Any]:
    """A row as JSON data."""
    data: dict[str, Any] = {}
    for field in fields:
        if field.name:
            *outer, key = field.name.split(".")
            held = data
            for each in outer:
                held = held.setdefault(each, {})
            held[key] = as_data(field.of(row))
    return data


def csv_of(fields: Sequence[Field], each: Iterable[Any]) -> str:
    """Rows as CSV: booleans as 1 or 0, lists of names separated by blanks."""
    named = [field for field in fields if field.name]
    lines = ([_flat(as_data(field.of(row))) for field in named] for row in each)
    return write_csv([[field.name for field in named], *lines])


def write_csv(lines: Iterable[Iterable[object]]) -> str:
    r"""Rows of cells as CSV, without formulas for spreadsheets.

    Examples
    --------
    >>> write_csv([["a", "b"], [1, "=2"], [None, ["##[x]"]]])
    "a,b\n1,'=2\n,['# #[x]']\n"
    """
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for line in lines:
        writer.writerow(map(_csv_cell, line))
    return out.getvalue()


def _csv_cell(value: object) -> object:
    """A cell; lists and the like as text, which may contain names."""
    if value is None or isinstance(value, int | float):
        return value
    return harmless(value if isinstance(value, str) else str(value))


def _flat(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    return " ".join(map(str, value)) if isinstance(value, list) else value


def as_data(value: Any) -> Any:
    """A value as JSON data: records as objects, NaN and infinities as null.

    Examples
    --------
    >>> as_data({"a": (1.0, float("inf"), True)})
    {'a': [1, None, True]}
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return plain(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): as_data(held) for key, held in value.items()}
    if names := [*_attributes(value)]:
        return {name: as_data(getattr(value, name)) for name in names}
    return [as_data(held) for held in value]


def _attributes(record: Any) -> Iterator[str]:
    if dataclasses.is_dataclass(record):
        yield from (field.name for field in dataclasses.fields(record))
    elif isinstance(record, msgspec.Struct):
        yield from record.__struct_fields__
    else:
        yield from getattr(record, "_fields", ())  # of a named tuple
