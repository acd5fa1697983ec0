"""DuckDB, by which stores are read."""

from __future__ import annotations

from functools import cache
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


def quoted(text: str) -> str:
    """A text as SQL has it.

    Examples
    --------
    >>> print(quoted("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"
