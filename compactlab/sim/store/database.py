"""DuckDB: writes and reads the store's parquet files, and answers the SQL of users."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from mmap import mmap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

# A file may be replaced by another of its size within one tick of the clock: none is remembered.
# Columns of texts are looked at whole before their type is said, not by a sample.
_OWN: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,  # the same bytes on every machine
    "temp_directory": "",
    "enable_external_file_cache": False,
    "pandas_analyze_sample": 10**12,
}


# Bytes of addresses without which DuckDB does not raise an error, but crashes.
_ROOM = 640 * 2**20


@contextmanager
def connection(*, own: bool = True) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection for our own reading and writing, or for the SQL of users.

    What is made temporary in it, it sees alone.
    """
    import duckdb

    cursor = _database(own=own).cursor()
    try:
        yield cursor
    except duckdb.Error as error:
        if isinstance(error, duckdb.InternalError | duckdb.FatalException):
            _database.cache_clear()  # it answers no more, whatever it is asked
        raise
    except RuntimeError as error:
        if "interrupted" in str(error):  # DuckDB's word for Ctrl-C
            raise KeyboardInterrupt from None
        raise
    finally:
        cursor.close()


@cache
def _database(*, own: bool) -> duckdb.DuckDBPyConnection:
    """The databases of this process: to open one takes longer than most answers."""
    import duckdb

    try:
        mmap(-1, _ROOM).close()
    except OSError as error:
        raise MemoryError(f"DuckDB needs {_ROOM:,} bytes to begin") from error
    # DuckDB tells of what is still open when Python has ended.
    atexit.register(_database.cache_clear)
    return duckdb.connect(config=_OWN if own else {"preserve_insertion_order": True})


@contextmanager
def literal(folder: Path) -> Iterator[Path]:
    """A path to a folder in which DuckDB finds no pattern, and that is UTF-8.

    DuckDB has no way to quote ``*?[``, and opens no file of another name.
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
    """A path as DuckDB has it: in UTF-8, whatever this machine's files are called in."""
    return os.fsencode(path).decode()


def quoted(path: Path) -> str:
    """A path as SQL has it.

    Examples
    --------
    >>> print(quoted(Path("it's")))
    'it''s'
    """
    return "'" + utf8(path).replace("'", "''") + "'"
