"""Columns: what they are, and how they are stored in parquet, the same bytes on every machine."""

from __future__ import annotations

import mmap
from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from compactlab.sim.metrics import RunData

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


# What a table of the store is: named columns with a type and a meaning, filled from a reading.

Type = Literal["text", "texts", "count", "number", "flag"]
Columns = Mapping[str, Sequence[Any]]
_NUMPY: dict[Type, Any] = {"count": np.int64, "number": np.float64, "flag": np.bool_}


@dataclass(frozen=True)
class Column:
    """One column."""

    # ``text``, ``texts`` (a list of them), ``count`` (a whole number), ``number`` or ``flag``.
    type: Type
    meaning: str  # with its unit

    def nothing(self, count: int) -> NDArray[Any]:
        """So many zeros, or empty texts."""
        numeric = _NUMPY.get(self.type)
        return np.zeros(count, numeric) if numeric is not None else np.full(count, "", object)

    def array(self, values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
        """Values as an array; texts are objects."""
        numeric = _NUMPY.get(self.type)
        if numeric is not None:
            return np.fromiter(values, numeric, len(values))
        texts = np.empty(len(values), object)
        for place, value in enumerate(values):  # lists of one length would become a plane
            texts[place] = list(value) if self.type == "texts" else value
        return texts


@dataclass(frozen=True)
class Table:
    """One table."""

    name: str  # in queries, and of its folder
    meaning: str  # what a row is
    columns: Mapping[str, Column]  # by name, without ``run``, which every table has in front
    # Its rows for a reading, column by column; a column that is left out holds zeros.
    of: Callable[[RunData], Columns]

    def rows(self, data: RunData) -> Rows:
        """Its rows for a reading."""
        return self.filled(self.of(data))

    def filled(self, columns: Columns) -> Rows:
        """Rows of columns, as arrays."""
        count = max((len(values) for values in columns.values()), default=0)
        arrays = {
            name: column.array(columns[name]) if name in columns else column.nothing(count)
            for name, column in self.columns.items()
        }
        return Rows(arrays, 0, count)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a table, column by column: all of them, or a stretch."""

    # Arrays by name; of a store, they are read when they are asked for.
    columns: Mapping[str, NDArray[Any]]
    start: int = 0  # which stretch of them
    stop: int = 0

    def __len__(self) -> int:
        return self.stop - self.start

    def array(self, name: str) -> NDArray[Any]:
        """One column."""
        return self.columns[name][self.start : self.stop]

    def __getitem__(self, name: str) -> list[Any]:
        """One column, as plain Python values."""
        values: list[Any] = self.array(name).tolist()
        return values

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rows) or len(self) != len(other):
            return NotImplemented if not isinstance(other, Rows) else False
        return not len(self) or all(
            name in other.columns and self[name] == other[name] for name in self.columns
        )

    __hash__ = None  # type: ignore[assignment]


NO_ROWS = Rows({})


def joined(column: Column, rows: Iterable[Rows], name: str) -> NDArray[Any]:
    """One column of several rows, one after the other."""
    arrays = [each.array(name) for each in rows if len(each)]
    return np.concatenate(arrays) if arrays else column.array(())


# Columns to parquet, the same bytes on every machine, and back.

# A file of ours has about one row for every ten bytes; what claims far more would fill the memory.
ROWS_PER_BYTE = 100
# Whole numbers as differences of bits: half of what plain or dictionary pages take.
_PACKED = "DELTA_BINARY_PACKED"


def packed(columns: Mapping[str, Column], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Write a table as parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = _types()
    table = pa.table(
        {name: _array(arrays[name], types[column.type]) for name, column in columns.items()}
    )
    texts = [name for name, column in columns.items() if column.type == "text"]
    counts = {name: _PACKED for name, column in columns.items() if column.type == "count"}
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        use_dictionary=texts,
        column_encoding=counts,
        write_statistics=False,
    )
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _array(values: NDArray[Any], type: pa.DataType) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(values, type)
    except UnicodeEncodeError:  # half a character, which no table can hold
        return pa.array([_whole(value) for value in values], type)


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return list(map(_whole, value))


def _types() -> dict[Type, pa.DataType]:
    import pyarrow as pa

    return {
        "text": pa.string(),
        "texts": pa.list_(pa.string()),
        "count": pa.int64(),
        "number": pa.float64(),
        "flag": pa.bool_(),
    }


def read(
    file: BinaryIO,
    columns: Mapping[str, Column],
    rows: int | None = None,
    *,
    optional: Container[str] = (),
    lenient: bool = False,
) -> pa.Table:
    """Read columns of a file that :func:`packed` has made; of another origin, it is refused."""
    import pyarrow as pa

    try:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        parquet = _opened(content, columns)
        present = _checked(parquet, columns, len(content), rows, lenient)
        table = parquet.read(present, use_threads=False)
        table.validate(full=True)
    except (pa.ArrowException, OSError, UnicodeError, OverflowError, MemoryError) as error:
        raise ValueError(_shortened(error)) from None
    if table.num_rows != parquet.metadata.num_rows:
        raise ValueError(f"it has {table.num_rows:,} rows and says {parquet.metadata.num_rows:,}")
    for name in present:
        if name not in optional and _has_gaps(table[name]):
            raise ValueError(f"a value of column {name!r} is missing")
    for name in columns.keys() - set(present):
        table = table.append_column(name, _nothing(columns[name], len(table), name in optional))
    return table


def _opened(content: mmap.mmap, columns: Mapping[str, Column]) -> pq.ParquetFile:
    """A file whose texts are read as numbers of words: so what many rows share is held once."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = pa.BufferReader(pa.py_buffer(content))
    ends = {"text": "", "texts": ".list.element"}
    paths = [n + ends[column.type] for n, column in columns.items() if column.type in ends]
    try:
        return pq.ParquetFile(source, read_dictionary=paths, pre_buffer=False)
    except KeyError:  # not all of them are there
        schema = pq.read_metadata(source).schema
        there = {schema.column(n).path for n in range(len(schema))}
        paths = [path for path in paths if path in there]
        return pq.ParquetFile(source, read_dictionary=paths, pre_buffer=False)


def _checked(
    parquet: pq.ParquetFile,
    columns: Mapping[str, Column],
    size: int,
    rows: int | None,
    lenient: bool,
) -> list[str]:
    """See that a file holds what it should; give the names of the columns that are there."""
    count = parquet.metadata.num_rows
    if rows is not None and count != rows:
        raise ValueError(f"it has {count:,} rows, not {rows:,}")
    if not 0 <= count <= size * ROWS_PER_BYTE:
        raise ValueError(f"it cannot have {count:,} rows")
    present = _present(parquet.schema_arrow, columns, lenient)
    lists = {f"{name}.list.element" for name in present if columns[name].type == "texts"}
    for group in range(parquet.metadata.num_row_groups if lists else 0):
        chunks = map(parquet.metadata.row_group(group).column, range(parquet.metadata.num_columns))
        if any(c.path_in_schema in lists and c.num_values > size * ROWS_PER_BYTE for c in chunks):
            raise ValueError("it cannot have so many texts")
    return present


def _present(schema: pa.Schema, columns: Mapping[str, Column], lenient: bool) -> list[str]:
    """The names of the columns that are there, each once and of its type."""
    for known, asked, present in _seen:  # the files of a store are mostly alike
        if asked == (tuple(columns), lenient) and schema.equals(known):
            return present
    types, present = _types(), []
    for name, column in columns.items():
        places = schema.get_all_field_indices(name)
        if not places and lenient:
            continue
        if len(places) != 1:
            raise ValueError(f"it has {len(places) or 'no'} columns {name!r}")
        type = _undictionaried(schema.field(places[0]).type)
        if type != types[column.type]:
            raise ValueError(f"column {name!r} is of type {_shortened(type)}")
        present.append(name)
    _seen.append((schema, (tuple(columns), lenient), present))
    return present


_seen: deque[tuple[pa.Schema, tuple[tuple[str, ...], bool], list[str]]] = deque(maxlen=2)


def _undictionaried(type: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_list(type):
        return pa.list_(_undictionaried(type.value_type))
    return type.value_type if pa.types.is_dictionary(type) else type


def _has_gaps(stored: pa.ChunkedArray) -> bool:
    import pyarrow as pa

    inner = pa.types.is_list(stored.type) and any(c.flatten().null_count for c in stored.chunks)
    return bool(stored.null_count or inner)


def _nothing(column: Column, count: int, optional: bool) -> pa.Array:
    import pyarrow as pa

    type = _types()[column.type]
    return (
        pa.nulls(count, type) if optional else pa.array(column.array(column.nothing(count)), type)
    )


def _shortened(what: object) -> str:
    return str(what).partition("\n")[0][:200]


def array(column: Column, tables: Iterable[pa.Table], name: str) -> NDArray[Any]:
    """One column of tables that were read, one after the other; texts are objects."""
    chunks = [chunk for table in tables for chunk in table[name].chunks]
    if column.type in ("text", "texts"):
        return np.concatenate([np.empty(0, object), *map(_texts, chunks)])
    return np.concatenate([column.array(()), *(c.to_numpy(zero_copy_only=False) for c in chunks)])


def _texts(stored: pa.Array) -> NDArray[Any]:
    import pyarrow as pa

    if pa.types.is_dictionary(stored.type):
        words: NDArray[Any] = _texts(stored.dictionary)[stored.indices.to_numpy()]
        return words
    if not pa.types.is_list(stored.type):
        return np.array(stored.to_pylist(), object)
    texts, ends = _texts(stored.flatten()).tolist(), stored.offsets.to_numpy()
    lists = np.empty(len(stored), object)
    for place, (start, end) in enumerate(pairwise(ends - ends[0])):
        lists[place] = texts[start:end]  # assigned at once, lists of one length become a plane
    return lists


def numbers(tables: Iterable[pa.Table], names: Iterable[str]) -> dict[str, list[float | None]]:
    """Columns of numbers that may be missing; what is no number is missing, too."""
    import pyarrow as pa

    chosen = [table.select(list(names)) for table in tables]
    columns: dict[str, list[float | None]] = {}
    for name, column in zip(
        names, pa.concat_tables(chosen).columns if chosen else (), strict=False
    ):
        figures = column.to_numpy()
        values = figures.astype(object)
        values[np.isnan(figures)] = None
        columns[name] = values.tolist()
    return columns
