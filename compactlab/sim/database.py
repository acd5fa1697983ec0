"""DuckDB, by which users ask a store in SQL of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from compactlab.sim.errors import InputError

if TYPE_CHECKING:
    import duckdb


def cursor() -> duckdb.DuckDBPyConnection:
    """A connection of its own to the database of this process; make temporary things alone.

    To open a database takes longer than most answers, so there is one.
    """
    return _database().cursor()


@cache
def _database() -> duckdb.DuckDBPyConnection:
    import duckdb

    return duckdb.connect(config={"preserve_insertion_order": True})


@contextmanager
def literal(folder: Path) -> Iterator[Path]:
    """A path to a folder in which DuckDB finds no pattern: it has no way to quote ``*?[``."""
    whole = folder.absolute()
    if not any(sign in str(whole) for sign in "*?["):
        yield whole
        return
    with TemporaryDirectory(prefix="compactlab-") as place:
        link = Path(place, "store")
        link.symlink_to(whole, target_is_directory=True)
        yield link


def quoted(path: str) -> str:
    """A path as SQL has it, in UTF-8, whatever this machine's files are called in.

    Raises
    ------
    InputError
        If its name is no UTF-8: DuckDB opens no such file.

    Examples
    --------
    >>> print(quoted("it's"))
    'it''s'
    """
    try:
        text = os.fsencode(path).decode()
    except UnicodeDecodeError:
        raise InputError("DuckDB cannot read it: its name is no UTF-8", path) from None
    return "'" + text.replace("'", "''") + "'"
