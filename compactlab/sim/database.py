"""DuckDB, by which users ask a store in SQL of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

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


def quoted(text: str) -> str:
    """A text as SQL has it.

    Examples
    --------
    >>> print(quoted("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"
