"""What of a store belongs to its experiment: those cells that its manifest names, in its order.

A store may hold more: strategies that the experiment names no more, and what was found with code
that has changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from compactlab.sim.errors import InputError
from compactlab.sim.metrics import METRICS
from compactlab.sim.parquet import array, numbers
from compactlab.sim.run import HEAD, Run
from compactlab.sim.store import ROWS, Store
from compactlab.sim.tables import COUNTED, RUNS, TABLES, Column, Rows

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


@contextmanager
def selected(store: Store, manifest: Mapping[str, Any]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a database that sees the tables of an experiment by their names.

    It is for SQL that a user types; the runs of an experiment are read without any. What else the
    store holds is in tables called ``all_runs``, ``all_calls`` and so on.

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


# What may be infinite: the calls to a break-even that never comes.
_ENDLESS = {name for name, metric in METRICS.items() if metric.unit == "calls"}
_MOST = 1e15
_STATUS = ("ok", "failed", "unreadable")


def read_runs(store: Store, manifest: Mapping[str, Any]) -> list[Run]:
    """The runs of an experiment, in its order; rows of tables are read when they are asked for.

    Raises
    ------
    InputError
        If the store is damaged.
    """
    metrics = dict.fromkeys(manifest.get("metrics", METRICS), Column("number", ""))
    shards = dict(store.read(RUNS, {**HEAD, **ROWS, **metrics}, optional=metrics))
    store.check(shards)
    every = list(shards.values())
    heads = {name: array(column, every, name).tolist() for name, column in HEAD.items()}
    if strange := set(heads["status"]) - set(_STATUS):
        told = f"{RUNS}: {min(strange)[:60]!r} is no status"
        raise InputError(f"a damaged store of results ({told})", str(store.folder))
    figures = numbers(every, metrics)
    for name, values in figures.items():
        endless = {inf} if name in _ENDLESS else set()
        known = [value for value in values if value is not None and value not in endless]
        if max(map(abs, known), default=0.0) > _MOST:
            told = f"{RUNS}: {name} is beyond all that could be measured"
            raise InputError(f"a damaged store of results ({told})", str(store.folder))
    places = {name: _places(store, shards, name) for name in TABLES}
    del heads["run"]
    runs = [
        Run(
            **{name: values[row] for name, values in heads.items()},
            metrics={name: values[row] for name, values in figures.items()},
            rows={name: rows[row] for name, rows in places.items() if len(rows[row])},
        )
        for row in range(sum(map(len, every)))
    ]
    return sorted(_chosen(runs, manifest), key=_order(manifest))


def _chosen(runs: list[Run], manifest: Mapping[str, Any]) -> list[Run]:
    """Those runs that a manifest names; without conditions, all."""
    if "conditions" not in manifest:
        return runs
    sources, conditions = set(manifest["source_keys"]), set(manifest["conditions"])
    return [run for run in runs if run.source_key in sources and run.condition in conditions]


def _order(manifest: Mapping[str, Any]) -> Callable[[Run], tuple[int, int, int]]:
    """The experiment's order; without conditions, that of the files."""
    if "conditions" not in manifest:
        return lambda run: (0, 0, 0)
    sources, conditions = (
        {key: place for place, key in enumerate(manifest[name])}
        for name in ("source_keys", "conditions")
    )
    return lambda run: (sources[run.source_key], run.place, conditions[run.condition])


def _places(store: Store, shards: Mapping[str, pa.Table], name: str) -> list[Rows]:
    """Of each run its stretch of a table, in which the rows of all shards follow each other."""
    column = Column("count", "")
    counts = {shard: array(column, [runs], COUNTED + name) for shard, runs in shards.items()}
    stored = _Stored(store, name, {shard: int(c.sum()) for shard, c in counts.items() if c.any()})
    start, places = 0, []
    for count in (count for each in counts.values() for count in each.tolist()):
        places.append(Rows(stored, start, start + count))
        start += count
    return places


class _Stored(Mapping[str, NDArray[Any]]):
    """The columns of a table over all shards of a store, each read when it is asked for."""

    def __init__(self, store: Store, table: str, rows: Mapping[str, int]) -> None:
        self._store, self._table, self._rows = store, table, rows
        self._known: dict[str, NDArray[Any]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        column = TABLES[self._table].columns[name]
        if name not in self._known:
            parts = [part for _, part in self._store.read(self._table, {name: column}, self._rows)]
            self._known[name] = array(column, parts, name)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(TABLES[self._table].columns)

    def __len__(self) -> int:
        return len(TABLES[self._table].columns)
