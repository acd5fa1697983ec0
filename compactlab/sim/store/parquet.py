"""Columns, and their storage in parquet, with the same bytes on every machine."""

from __future__ import annotations

import atexit
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from mmap import mmap
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from compactlab.sim.core.errors import UsageError
from compactlab.sim.metrics import RunData

if TYPE_CHECKING:
    import duckdb

# File contents are not cached: a file may be replaced by another of equal size within one clock
# tick. The types of text columns are determined from all rows, not from a sample.
_OWN: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,  # the same bytes on every machine
    "temp_directory": "",
    "enable_external_file_cache": False,
    "pandas_analyze_sample": 10**12,
}


# Bytes of address space that DuckDB needs; with less it crashes instead of raising an error.
_ROOM = 640 * 2**20


@contextmanager
def connection(*, own: bool = True) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a connection for our own reading and writing, or for users' SQL.

    Temporary objects are only visible in this connection.
    """
    import duckdb

    cursor = _database(own=own).cursor()
    try:
        yield cursor
    except duckdb.Error as error:
        if isinstance(error, duckdb.InternalError | duckdb.FatalException):
            _database.cache_clear()  # it is unusable now
        raise
    except RuntimeError as error:
        if "interrupted" in str(error):  # DuckDB's word for Ctrl-C
            raise KeyboardInterrupt from None
        raise
    finally:
        cursor.close()


@cache
def _database(*, own: bool) -> duckdb.DuckDBPyConnection:
    """Return the databases of this process: opening one takes longer than most queries."""
    import duckdb

    try:
        mmap(-1, _ROOM).close()
    except OSError as error:
        raise MemoryError(f"DuckDB needs {_ROOM:,} bytes to begin") from error
    # DuckDB warns about databases that are open at exit.
    atexit.register(_database.cache_clear)
    return duckdb.connect(config=_OWN if own else {"preserve_insertion_order": True})


@contextmanager
def literal(folder: Path) -> Iterator[Path]:
    """Yield a path to a folder without glob patterns, in UTF-8.

    DuckDB cannot quote ``*?[``, and opens no other file names.
    """
    whole = folder.absolute()
    if not any(sign in str(whole) for sign in "*?[") and _is_text(whole):
        yield whole
        return
    with TemporaryDirectory(prefix="compactlab-") as place:
        link = Path(place, "store")
        link.symlink_to(whole, target_is_directory=True)
        yield link


def _is_text(path: Path) -> bool:
    try:
        utf8(path)
    except UnicodeDecodeError:
        return False
    return True


def utf8(path: Path) -> str:
    """Return a path in UTF-8 for DuckDB, regardless of the file system's encoding."""
    return os.fsencode(path).decode()


def quoted(path: Path) -> str:
    """Return a path as an SQL string.

    Examples
    --------
    >>> print(quoted(Path("it's")))
    'it''s'
    """
    return "'" + utf8(path).replace("'", "''") + "'"


# A table of the store: named columns with a type and a meaning, filled from a run's data.

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
        """Return a number of zeros, empty texts or empty lists."""
        return self.array([{"text": "", "texts": ()}.get(self.type, 0)] * count)

    def array(self, values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
        """Return values as an array; texts are objects."""
        numeric = _NUMPY.get(self.type)
        if numeric is not None:
            return np.fromiter(values, numeric, len(values))
        texts = np.empty(len(values), object)
        for index, value in enumerate(values):  # numpy would make equal lists a matrix
            texts[index] = list(value) if self.type == "texts" else value
        return texts


@dataclass(frozen=True)
class Table:
    """One table."""

    name: str  # the name in queries, and of the folder
    meaning: str  # the meaning of a row
    columns: Mapping[str, Column]  # by name, without ``run``, the first column of every table
    # Returns its rows for a run's data, by column; a missing column is filled with zeros.
    of: Callable[[RunData], Columns]
    # Columns that are a part of another column, in every row: part to whole.
    parts: Mapping[str, str] = field(default_factory=dict)
    # Metrics of a run that are the sum of these columns over its rows.
    sums: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def rows(self, data: RunData) -> Rows:
        return self.filled(self.of(data))

    def filled(self, columns: Columns) -> Rows:
        count = max((len(values) for values in columns.values()), default=0)
        arrays = {
            name: column.array(columns[name]) if name in columns else column.nothing(count)
            for name, column in self.columns.items()
        }
        return Rows(arrays, 0, count)


class Summed(ABC, Mapping[str, NDArray[Any]]):
    """Columns of many runs with cumulative sums, so that the sum of a range is a difference."""

    @abstractmethod
    def cumulative(self, name: str) -> NDArray[np.int64]:
        """Return the sums of an integer column before each row, and over all rows."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a table, by column: all rows, or a range."""

    # Arrays by name; those of a store are read on access.
    columns: Mapping[str, NDArray[Any]]
    start: int = 0  # start of the range
    stop: int = 0

    def __len__(self) -> int:
        return self.stop - self.start

    def array(self, name: str) -> NDArray[Any]:
        return self.columns[name][self.start : self.stop]

    def total(self, name: str) -> int:
        """Return the sum of an integer column."""
        if self.start == self.stop:
            return 0
        if isinstance(self.columns, Summed):
            sums = self.columns.cumulative(name)
            return int(sums[self.stop] - sums[self.start])
        return int(self.array(name).sum())

    def __getitem__(self, name: str) -> list[Any]:
        """Return a column as plain Python values."""
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
    """Concatenate one column of several rows."""
    arrays = [each.array(name) for each in rows if len(each)]
    return np.concatenate(arrays) if arrays else column.array(())


# Conversion of columns to parquet, with the same bytes on every machine, and back.

# Our files have about one row per ten bytes, and far fewer texts than these limits. A file that
# claims more would fill the memory.
ROWS_PER_BYTE = 100
_TEXT_PER_BYTE = 1_000
_TEXT_AT_LEAST = 2**30
_SQL: dict[Type, str] = {
    "text": "VARCHAR",
    "texts": "VARCHAR[]",
    "count": "BIGINT",
    "number": "DOUBLE",
    "flag": "BOOLEAN",
}
# Version 2 of the format stores differences of integers: half the size.
_FORMAT = "FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION V2"


def packed(columns: Mapping[str, Column], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Write a table as parquet; missing numbers and NaN become nulls."""
    rows = {name: _encodable(column, arrays[name]) for name, column in columns.items()}
    chosen = ", ".join(
        f"{_name(name)}::{_SQL[column.type]} AS {_name(name)}" for name, column in columns.items()
    )
    import duckdb

    try:
        with TemporaryDirectory(prefix="compactlab-") as folder, connection() as database:
            file = Path(folder, "rows.parquet")
            database.register("rows", rows)
            database.execute(f"COPY (SELECT {chosen} FROM rows) TO {quoted(file)} ({_FORMAT})")  # noqa: S608
            return file.read_bytes()
    except (duckdb.IOException, OSError) as error:
        where = f"cannot write into {gettempdir()!r}, the folder of temporary files"
        raise UsageError(f"{where}: {_shortened(error)}") from None


def _encodable(column: Column, values: NDArray[Any]) -> NDArray[Any]:
    """Replace unpaired surrogates in texts by question marks: no table can store them."""
    if column.type not in ("text", "texts"):
        return values
    lists = values.tolist() if column.type == "texts" else [values.tolist()]
    try:
        for texts in lists:
            "".join(texts).encode()
    except UnicodeEncodeError:
        lists = [[text.encode("utf-8", "replace").decode() for text in texts] for texts in lists]
        return column.array(lists if column.type == "texts" else lists[0])
    return values


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def read(
    files: Sequence[Path],
    columns: Mapping[str, Column],
    rows: Sequence[int] | None = None,
    *,
    lenient: bool = False,
) -> tuple[dict[str, NDArray[Any]], list[int]]:
    """Read columns of files made by :func:`packed`; refuse other files.

    Paths are absolute, without glob patterns; ``rows`` is the required number of rows of each
    file, if any. If ``lenient``, a column may be missing: it is filled with zeros, empty texts
    or NaN.

    Returns
    -------
    Each column over all files, and the number of rows of each file. A text in many rows is stored
    once.
    """
    import duckdb

    if not files:
        return {name: column.array(()) for name, column in columns.items()}, []
    try:
        with connection() as database:
            counts = _counts(database, files, rows)
            source = "FROM read_parquet(?, hive_partitioning = false, union_by_name = ?)"
            parquet = _Files(database, source, [list(map(utf8, files)), lenient], sum(counts))
            present = _present(parquet, columns, lenient)
            parquet.check_texts([n for n in present if columns[n].type in ("text", "texts")], files)
            stored = parquet.fetch(present)
    except (duckdb.Error, OSError, UnicodeError, OverflowError, MemoryError) as error:
        raise ValueError(_shortened(error)) from None
    found = {
        name: _filled(name, column, stored[name], lenient)
        if name in stored
        else column.array(_missing(column, sum(counts)))
        for name, column in columns.items()
    }
    return found, counts


def _counts(
    database: duckdb.DuckDBPyConnection, files: Sequence[Path], rows: Sequence[int] | None
) -> list[int]:
    sql = "SELECT file_name, num_rows FROM parquet_file_metadata(?)"
    said = dict(database.execute(sql, [list(map(utf8, files))]).fetchall())
    counts = [said[utf8(file)] for file in files]
    for file, count, wanted in zip(files, counts, rows or counts, strict=True):
        if count != wanted:
            raise ValueError(f"it has {count:,} rows, not {wanted:,}")
        if not 0 <= count <= file.stat().st_size * ROWS_PER_BYTE:
            raise ValueError(f"it cannot have {count:,} rows")
    return counts


@dataclass
class _Files:
    """Several files as one DuckDB table."""

    database: duckdb.DuckDBPyConnection
    source: str
    arguments: list[Any]
    rows: int

    def types(self) -> dict[str, str]:
        described = self.database.execute(f"DESCRIBE SELECT * {self.source}", self.arguments)
        return {name: type for name, type, *_ in described.fetchall()}

    def check_texts(self, names: Sequence[str], files: Sequence[Path]) -> None:
        """Refuse texts that would fill the memory: a page may repeat a text of a gigabyte."""
        if not names:
            return
        sizes = " + ".join(f"coalesce(strlen({_name(name)}::VARCHAR), 0)" for name in names)
        sql = f"SELECT coalesce(sum({sizes}), 0) {self.source}"
        ((size,),) = self.database.execute(sql, self.arguments).fetchall()
        most = _TEXT_PER_BYTE * sum(file.stat().st_size for file in files)
        if size > max(most, _TEXT_AT_LEAST):
            raise ValueError(f"it cannot have {size:,} bytes of text")

    def fetch(self, names: Sequence[str]) -> dict[str, NDArray[Any]]:
        if not names:
            return {}
        chosen = ", ".join(map(_name, names))
        # The pages may contain more rows than the file declares.
        sql = f"SELECT {chosen} {self.source} LIMIT {self.rows + 1}"
        found = self.database.execute(sql, self.arguments).fetchnumpy()
        if (count := len(found[names[0]])) != self.rows:
            raise ValueError(f"it says {self.rows:,} rows, and has {count:,}")
        return {name: found[name] for name in names}  # type: ignore[misc]  # no category is asked for


def _present(parquet: _Files, columns: Mapping[str, Column], lenient: bool) -> list[str]:
    """Return the names of the existing columns, after a check of their types."""
    types, present = parquet.types(), []
    for name, column in columns.items():
        if name not in types:
            if lenient:
                continue
            raise ValueError(f"it has no column {name!r}")
        if types[name] != _SQL[column.type]:
            raise ValueError(f"column {name!r} is of type {_shortened(types[name])}")
        present.append(name)
    return present


def _filled(name: str, column: Column, stored: NDArray[Any], lenient: bool) -> NDArray[Any]:
    """Fill the nulls of a stored column; only numbers may be missing."""
    gaps = np.ma.getmaskarray(stored)
    values: NDArray[Any] = np.ma.getdata(stored)
    if gaps.any():
        if column.type != "number" and not lenient:
            raise ValueError(f"a value of column {name!r} is missing")
        values = values.copy()
        values[gaps] = _missing(column, int(gaps.sum()))
    if column.type not in ("text", "texts"):
        return values
    words: dict[str, str] = {}
    if column.type == "text":
        return column.array([words.setdefault(text, text) for text in values.tolist()])
    lists = [list(each) for each in values.tolist()]
    if any(None in texts for texts in lists):
        raise ValueError(f"a value of column {name!r} is missing")
    return column.array([[words.setdefault(text, text) for text in texts] for texts in lists])


def _missing(column: Column, count: int) -> NDArray[Any]:
    return np.full(count, np.nan) if column.type == "number" else column.nothing(count)


def _shortened(what: object) -> str:
    return str(what).partition("\n")[0][:200]
