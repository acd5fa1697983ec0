"""DuckDB: writes and reads the store's parquet files, and runs users' SQL."""

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
