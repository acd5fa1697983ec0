"""The fields of a report's rows, each declared once: the table, JSON and CSV follow from them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import msgspec

from compactlab.reports.render import csv
from compactlab.reports.render.document import Column, Table, name, rows
from compactlab.reports.render.text import NONE, plain, show


@dataclass(frozen=True)
class Field:
    """A figure, or a name, that each row of a report has."""

    # Its key in JSON and CSV; with a point in it, the key of an object within an object; "" if only
    # a table shows it.
    name: str
    # What it is, of a row; or the path of attributes to it, which is None where one of them is;
    # without either, the attribute of its name.
    value: Callable[[Any], Any] | str = ""
    label: str = ""  # its heading in a table, if that is not the name
    unit: str = ""  # by which a table writes it
    text: Callable[[Any], str] | None = None  # how a table writes it, of a row
    write: Callable[[Any], str] | None = None  # the same, of the value
    shown: bool = True  # whether a table shows it; else it is for programs
    words: bool = False  # this and the next ones as in a Column
    rank: int = 0
    group: str = ""

    def of(self, row: Any) -> Any:
        """Its value of a row."""
        if callable(self.value):
            return self.value(row)
        for attribute in self._path:
            row = None if row is None else getattr(row, attribute)
        return row

    @cached_property  # asked for in every row
    def _path(self) -> list[str]:
        return str(self.value or self.name).split(".")

    def cell(self, row: Any) -> str:
        """What a table shows of a row."""
        if self.text is not None:
            return self.text(row)
        value = self.of(row)
        if self.write is not None:
            return self.write(value)
        return _written(value, self.unit)

    @property
    def column(self) -> Column:
        """Its column in a table."""
        return Column(self.label or self.name, self.words, self.rank, self.group)


def hidden(*names: str, of: str = "", **values: Callable[[Any], Any] | str) -> tuple[Field, ...]:
    """Fields for programs alone: attributes of a row, or of what it has; and others, by name."""
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
    """What a table shows of a row."""
    return tuple(field.cell(row) for field in fields if field.shown)


def table_of(fields: Sequence[Field], each: Iterable[Any]) -> Table:
    """A table of rows."""
    return Table(heads_of(fields), rows(cells_of(fields, row) for row in each))


def data_of(fields: Iterable[Field], row: Any) -> dict[str, Any]:
    """A row for programs."""
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
    """Rows as CSV: truth is 1 or 0, and names in a list stand apart by blanks."""
    named = [field for field in fields if field.name]
    lines = ([_flat(as_data(field.of(row))) for field in named] for row in each)
    return csv.write([[field.name for field in named], *lines])


def _flat(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    return " ".join(map(str, value)) if isinstance(value, list) else value


def as_data(value: Any) -> Any:
    """A value as JSON knows it: records as objects, and no figure that is no number.

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
