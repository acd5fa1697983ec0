"""What of a store belongs to its experiment: those cells that its manifest names, in its order.

A store may hold more: strategies that the experiment names no more, and what was found with code
that has changed since.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from compactlab.sim.errors import InputError
from compactlab.sim.metrics import METRICS
from compactlab.sim.run import HEAD, Run
from compactlab.sim.store import Store
from compactlab.sim.tables import COUNTED, TABLES, Rows

if TYPE_CHECKING:
    import duckdb


@contextmanager
def selected(store: Store, manifest: Mapping[str, Any]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a database that sees the tables of an experiment by their names.

    What else the store holds is in tables called ``all_runs``, ``all_calls`` and so on.

    Parameters
    ----------
    store
        The store.
    manifest
        Its manifest: without conditions, everything is selected.

    Raises
    ------
    InputError
        If the store is damaged, or a query is wrong.
    """
    store.check()
    with store.connected() as connection:
        held = {
            name
            for (name,) in connection.execute("SELECT view_name FROM duckdb_views()").fetchall()
        }
        if "all_runs" in held:
            own = _select(connection, manifest)
            for name in TABLES:
                if f"all_{name}" in held:
                    rows = f"SELECT * FROM all_{name}{own}"  # noqa: S608
                    connection.execute(f"CREATE TEMP VIEW {name} AS {rows}")
        yield connection


def _select(connection: duckdb.DuckDBPyConnection, manifest: Mapping[str, Any]) -> str:
    """Make the view of the runs, and say how rows of other tables are chosen."""
    chosen = "true"
    if "conditions" in manifest:
        for name, column in (("source_key", "source_keys"), ("condition", "conditions")):
            sql = f"CREATE TEMP TABLE _{name} AS SELECT unnest(?) AS key"
            connection.execute(sql, [manifest[column]])
        chosen = " AND ".join(
            f"{name} IN (SELECT key FROM _{name})"  # noqa: S608
            for name in ("source_key", "condition")
        )
    sql = f"SELECT count(*) FROM all_runs WHERE NOT ({chosen})"  # noqa: S608
    whole = connection.execute(sql).fetchall() == [(0,)]
    # What need not be chosen is not looked at, so that questions are answered at once.
    where = "" if whole else f" WHERE {chosen}"
    columns = _told_apart(connection, chosen)
    connection.execute(f"CREATE TEMP VIEW runs AS SELECT {columns} FROM all_runs{where}")  # noqa: S608
    return "" if whole else " WHERE run IN (SELECT run FROM runs)"


def _told_apart(connection: duckdb.DuckDBPyConnection, chosen: str) -> str:
    """The columns of the runs: different conversations of one id have the names of sources."""
    named = f"SELECT conversation FROM all_runs WHERE ({chosen}) AND digest <> '' AND source <> ''"  # noqa: S608
    apart = "GROUP BY conversation HAVING min(digest) <> max(digest)"
    connection.execute(f"CREATE TEMP TABLE _ambiguous AS {named} {apart}")
    if connection.execute("SELECT count(*) FROM _ambiguous").fetchall() == [(0,)]:
        return "*"
    return (
        "* REPLACE (CASE WHEN conversation IN (SELECT conversation FROM _ambiguous) "
        "THEN source || ':' || conversation ELSE conversation END AS conversation)"
    )


def read_runs(store: Store, manifest: Mapping[str, Any]) -> list[Run]:
    """The runs of an experiment, in its order; rows of tables are read when they are asked for.

    Raises
    ------
    InputError
        If the store is damaged.
    """
    if not store.shards():
        return []
    metrics = list(manifest.get("metrics", METRICS))
    try:
        with selected(store, manifest) as connection:
            wanted = ", ".join(f'"{name}"' for name in (*HEAD, *metrics))
            sql = f"SELECT {wanted} FROM runs ORDER BY shard, row"  # noqa: S608
            columns = connection.execute(sql).fetchnumpy()
            places, totals = _places(connection)
        found = {name: columns[name].tolist() for name in (*HEAD, *metrics)}
    except (LookupError, TypeError) as error:
        raise InputError(f"a damaged store of results ({error!r})", str(store.folder)) from None
    tables = {name: _Stored(store, name, total) for name, total in totals.items()}
    runs = []
    names = [name for name in HEAD if name != "run"]
    for key, head, figures in zip(
        found["run"],
        zip(*(found[name] for name in names), strict=True),
        zip(*(found[name] for name in metrics), strict=True),
        strict=True,
    ):
        run = Run(**dict(zip(names, head, strict=True)))
        run.metrics = dict(zip(metrics, figures, strict=True))
        run.rows = {
            name: Rows(tables[name], start, start + count)
            for name, (start, count) in places[key].items()
            if count
        }
        runs.append(run)
    return sorted(runs, key=_order(manifest))


def _order(manifest: Mapping[str, Any]) -> Callable[[Run], tuple[int, int, int]]:
    """The experiment's order; without conditions, that of the files."""
    if "conditions" not in manifest:
        return lambda run: (0, 0, 0)
    sources, conditions = (
        {key: place for place, key in enumerate(manifest[name])}
        for name in ("source_keys", "conditions")
    )
    return lambda run: (sources[run.source_key], run.place, conditions[run.condition])


def _places(
    connection: duckdb.DuckDBPyConnection,
) -> tuple[dict[str, dict[str, tuple[int, int]]], dict[str, int]]:
    """Of each run and table: at which row of all shards its rows begin, and how many they are.

    And of each table, how many rows it has.
    """
    counts = ", ".join(COUNTED + name for name in TABLES)
    rows = connection.execute(f"SELECT run, {counts} FROM all_runs ORDER BY shard, row").fetchall()  # noqa: S608
    found: dict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
    for place, name in enumerate(TABLES, 1):
        starts = accumulate((row[place] for row in rows), initial=0)
        for row, start in zip(rows, starts, strict=False):
            found[row[0]][name] = start, row[place]
    totals = {name: sum(row[place] for row in rows) for place, name in enumerate(TABLES, 1)}
    return found, totals


class _Stored(Mapping[str, NDArray[Any]]):
    """The columns of a table over all shards of a store, each read when it is asked for."""

    def __init__(self, store: Store, table: str, total: int) -> None:
        self._store, self._table, self._total = store, table, total
        self._known: dict[str, NDArray[Any]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        column = TABLES[self._table].columns[name]
        if name not in self._known:
            with self._store.connected([self._table]) as connection:
                sql = f'SELECT "{name}" FROM all_{self._table}'  # noqa: S608
                values = np.asarray(connection.execute(sql).fetchnumpy()[name])
            if len(values) != self._total:
                told = f"{len(values):,} rows in table {self._table}, not {self._total:,}"
                raise InputError(f"a damaged store of results ({told})", str(self._store.folder))
            self._known[name] = column.array(values) if column.type == "texts" else values
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(TABLES[self._table].columns)

    def __len__(self) -> int:
        return len(TABLES[self._table].columns)
