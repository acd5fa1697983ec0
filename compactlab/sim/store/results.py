"""The results of an experiment: its runs, their figures, and the rows of their tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isnan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from compactlab.sim.core.errors import InputError, UsageError
from compactlab.sim.metrics import METRICS
from compactlab.sim.models.model import Catalogue
from compactlab.sim.store.parquet import NO_ROWS, Column, Rows, Summed
from compactlab.sim.store.run import HEAD, IDENTITY, Run, shard_files
from compactlab.sim.store.store import ROWS, SAVED, Content, Store
from compactlab.sim.store.tables import COUNTED, RUNS, TABLES

if TYPE_CHECKING:
    import duckdb
    import pandas as pd


# The experiment of a store consists of the cells in its manifest, in that order.
#
# A store may hold more: strategies that the experiment no longer names, and results of code that
# has changed since.


@contextmanager
def selected(store: Store, manifest: Mapping[str, Any]) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database connection that sees the tables of an experiment by name.

    Runs of bounds that no one named are in ``bounds``, not in ``runs``. The connection is for SQL
    that a user types; reading an experiment's runs needs no SQL. Other content of the store is in
    the tables ``all_runs``, ``all_calls`` and so on.
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
    """Create the view of the runs; return the condition that selects rows of other tables."""
    chosen = "true"
    if "conditions" in manifest:
        for name, column in (("source_key", "source_keys"), ("condition", "conditions")):
            sql = f"CREATE TEMP TABLE _{name} AS SELECT unnest(?) AS key"
            connection.execute(sql, [manifest[column]])
        chosen = " AND ".join(
            f"{name} IN (SELECT key FROM _{name})"  # noqa: S608
            for name in ("source_key", "condition")
        )
    rows = f"SELECT * FROM all_runs WHERE ({chosen}) AND bound"  # noqa: S608
    connection.execute(f"CREATE TEMP VIEW bounds AS {rows}")
    chosen = f"({chosen}) AND NOT bound"
    sql = f"SELECT count(*) FROM all_runs WHERE NOT ({chosen})"  # noqa: S608
    whole = connection.execute(sql).fetchall() == [(0,)]
    # Skip the filter if everything is selected, for fast queries.
    where = "" if whole else f" WHERE {chosen}"
    columns = _distinct_columns(connection, chosen)
    connection.execute(f"CREATE TEMP VIEW runs AS SELECT {columns} FROM all_runs{where}")  # noqa: S608
    return "" if whole else " WHERE run IN (SELECT run FROM runs)"


def _distinct_columns(connection: duckdb.DuckDBPyConnection, chosen: str) -> str:
    """Return the columns of the runs; different conversations with one id are named by source."""
    named = f"SELECT conversation FROM all_runs WHERE ({chosen}) AND digest <> '' AND source <> ''"  # noqa: S608
    apart = "GROUP BY conversation HAVING min(digest) <> max(digest)"
    connection.execute(f"CREATE TEMP TABLE _ambiguous AS {named} {apart}")
    if connection.execute("SELECT count(*) FROM _ambiguous").fetchall() == [(0,)]:
        return "*"
    return (
        "* REPLACE (CASE WHEN conversation IN (SELECT conversation FROM _ambiguous) "
        "THEN source || ':' || conversation ELSE conversation END AS conversation)"
    )


_STATUS = ("ok", "failed", "unreadable")


def read_runs(store: Store, manifest: Mapping[str, Any]) -> list[Run]:
    """Return the runs of an experiment in its order; rows of tables are read on access."""
    metrics = dict.fromkeys(manifest.get("metrics", METRICS), Column("number", ""))
    stored = store.read(RUNS, {**HEAD, **ROWS, **metrics})
    store.check(stored)
    heads = {name: stored.columns[name].tolist() for name in HEAD}
    if strange := set(heads["status"]) - set(_STATUS):
        fault = f"{RUNS}: {min(strange)[:60]!r} is not a status"
        raise InputError(f"a damaged store of results ({fault})", str(store.folder))
    figures = {name: stored.columns[name] for name in metrics}
    for name, values in figures.items():
        for row in _extremes(values):
            if fault := METRICS[name].fault(float(values[row])):
                raise store.damaged_row(stored.rows, row, fault)
    tables = {name: _stretches(store, stored, name) for name in TABLES}
    del heads["run"]
    runs = [
        Run(
            **{name: values[row] for name, values in heads.items()},
            metrics=StoredMetrics(figures, row),
            rows=_StoredRows(tables, row),
        )
        for row in range(sum(stored.rows.values()))
    ]
    return sorted(_chosen(runs, manifest), key=_order(manifest))


def _extremes(values: NDArray[np.float64]) -> Iterator[int]:
    """Return the indices of the smallest and largest of the finite and of the infinite values."""
    for rows in (np.flatnonzero(np.isfinite(values)), np.flatnonzero(np.isinf(values))):
        if len(rows):
            yield int(rows[values[rows].argmin()])
            yield int(rows[values[rows].argmax()])


class StoredMetrics(Mapping[str, float | None]):
    """The metrics of one run, read from columns over all runs of a store.

    A million runs have a great many numbers, so each becomes an object only on access.
    """

    __slots__ = ("columns", "row")

    def __init__(self, columns: Mapping[str, NDArray[np.float64]], row: int) -> None:
        self.columns, self.row = columns, row

    def __getitem__(self, name: str) -> float | None:
        value = float(self.columns[name][self.row])
        return None if isnan(value) else value

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __repr__(self) -> str:
        return repr(dict(self))


class _StoredRows(Mapping[str, Rows]):
    """The rows of one run, by table; tables without rows are left out."""

    __slots__ = ("_row", "_tables")

    def __init__(self, tables: Mapping[str, _Stretches], row: int) -> None:
        self._tables, self._row = tables, row

    def __getitem__(self, name: str) -> Rows:
        columns, ends = self._tables[name]
        start, stop = int(ends[self._row]), int(ends[self._row + 1])
        if start == stop:
            raise KeyError(name)
        return Rows(columns, start, stop)

    def __iter__(self) -> Iterator[str]:
        return (
            name
            for name, (_, ends) in self._tables.items()
            if ends[self._row] < ends[self._row + 1]
        )

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _chosen(runs: list[Run], manifest: Mapping[str, Any]) -> list[Run]:
    """Return the runs in a manifest; all runs if it has no conditions."""
    if "conditions" not in manifest:
        return runs
    sources, conditions = set(manifest["source_keys"]), set(manifest["conditions"])
    return [run for run in runs if run.source_key in sources and run.condition in conditions]


def _order(manifest: Mapping[str, Any]) -> Callable[[Run], tuple[int, int, int]]:
    """Return the sort key of the experiment; without conditions, that of the files."""
    if "conditions" not in manifest:
        return lambda run: (0, 0, 0)
    sources, conditions = (
        {key: index for index, key in enumerate(manifest[name])}
        for name in ("source_keys", "conditions")
    )
    return lambda run: (sources[run.source_key], run.place, conditions[run.condition])


_Stretches = tuple[Mapping[str, NDArray[Any]], NDArray[np.int64]]
"""The columns of a table, and the first row of each run; the last item is the end."""


def _stretches(store: Store, runs: Content, name: str) -> _Stretches:
    """Locate the rows of each run in a table: the rows of all shards are concatenated."""
    counts = {shard: sum(c.tolist()) for shard, c in runs.by_shard(COUNTED + name).items()}
    ends = np.concatenate([[0], np.cumsum(runs.columns[COUNTED + name], dtype=np.int64)])
    rows = {shard: count for shard, count in counts.items() if count}
    return _Stored(store, name, rows, ends, runs.columns), ends


_TEXTS = ("text", "texts")
# Relative tolerance for floating-point sums, whose value depends on the order.
_ROUNDING, _TINY = 1e-9, 1e-12
# Opening the files takes longer than reading a column, so figures are read in batches of this many
# values (400 MB).
_TOGETHER = 50_000_000


class _Stored(Summed):
    """The columns of a table over all shards of a store, read on access."""

    def __init__(
        self,
        store: Store,
        table: str,
        rows: Mapping[str, int],
        ends: NDArray[np.int64],
        metrics: Mapping[str, NDArray[Any]],
    ) -> None:
        self._store, self._table, self._rows = store, table, rows
        self._ends, self._metrics = ends, metrics
        self._known: dict[str, NDArray[Any]] = {}
        self._sums: dict[str, NDArray[np.int64]] = {}

    def cumulative(self, name: str) -> NDArray[np.int64]:
        if name not in self._sums:
            self._sums[name] = np.concatenate([[0], np.cumsum(self[name], dtype=np.int64)])
        return self._sums[name]

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._known:
            wanted = {n: TABLES[self._table].columns[n] for n in self._with(name)}
            read = self._store.read(self._table, wanted, self._rows)
            self._known |= read.columns
            self._check_parts(wanted.keys(), read.rows)
            self._check_sums(wanted.keys(), read.rows)
        return self._known[name]

    def _check_sums(self, fresh: Set[str], rows: Mapping[str, int]) -> None:
        """Check that the metrics of each run are the sums of its rows."""
        first = np.flatnonzero(np.diff(self._ends))  # runs with rows
        for metric, columns in TABLES[self._table].sums.items():
            if metric not in self._metrics or not {*columns} <= self._known.keys():
                continue
            if fresh.isdisjoint(columns) or not len(first):
                continue
            values = self._known[columns[0]].astype(np.float64)
            for column in columns[1:]:
                values = values + self._known[column]
            sums = np.add.reduceat(values, self._ends[first])
            expected = self._metrics[metric][first]
            agree = np.isclose(sums, expected, rtol=_ROUNDING, atol=_TINY) | np.isnan(expected)
            wrong = np.flatnonzero(~agree)
            if len(wrong):
                fault = f"the sum of {' and '.join(columns)} is not the run's {metric}"
                row = int(self._ends[first[wrong[0]]])
                raise self._store.damaged_row(rows, row, fault, self._table)

    def _check_parts(self, fresh: Set[str], rows: Mapping[str, int]) -> None:
        """Check that no column exceeds the column that it is a part of."""
        for part, whole in TABLES[self._table].parts.items():
            if (part in fresh or whole in fresh) and {part, whole} <= self._known.keys():
                wrong = np.flatnonzero(self._known[part] > self._known[whole])
                if len(wrong):
                    fault = f"{part} exceeds {whole}"
                    raise self._store.damaged_row(rows, int(wrong[0]), fault, self._table)

    def _with(self, name: str) -> list[str]:
        """Return a column and the next figures of the table, to be read in one batch."""
        columns = TABLES[self._table].columns
        figures = [n for n, c in columns.items() if c.type not in _TEXTS and n not in self._known]
        if name not in figures:
            return [name]
        first, most = figures.index(name), max(1, _TOGETHER // max(1, sum(self._rows.values())))
        return figures[max(0, min(first, len(figures) - most)) :][:most]

    def __iter__(self) -> Iterator[str]:
        return iter(TABLES[self._table].columns)

    def __len__(self) -> int:
        return len(TABLES[self._table].columns)


_PROVENANCE = ("digest", "own_models", "loop", "labels")
_OUTCOME = ("status", "error")
_PLACE = ("source", "place", "passed_over", "source_key", "condition")


@dataclass
class Results:
    """All runs of an experiment.

    Parameters
    ----------
    runs
        The runs, in the experiment's own order.
    manifest
        Provenance: versions, price list, tokenizer, what was skipped.
    store
        The store that they were read from; None if they were just computed.
    bounds
        Runs of bounds that no one named. Such runs among ``runs`` are moved here.
    """

    runs: list[Run]
    manifest: dict[str, Any] = field(default_factory=dict)
    store: Store | None = field(default=None, compare=False, repr=False)
    bounds: list[Run] = field(default_factory=list)

    def __post_init__(self) -> None:
        own, beside = len(self.runs), [run for run in self.runs if run.bound]
        if beside:
            self.bounds = [*self.bounds, *beside]
            self.runs = [run for run in self.runs if not run.bound]
            own = len(self.runs)
        every = _distinct([*self.runs, *self.bounds])
        self.runs, self.bounds = list(_once(every[:own])), every[own:]

    @property
    def failed(self) -> list[Run]:
        """The runs that failed."""
        return [run for run in self.runs if run.status != "ok"]

    @cached_property
    def missing(self) -> int:
        """The number of cells (a source under a condition) that are not in the store yet."""
        if self.store is None or "conditions" not in self.manifest:
            return 0
        sources, conditions = (set(self.manifest[n]) for n in ("source_keys", "conditions"))
        held = sum(s in sources and c in conditions for s, c in self.store.cells())
        return len(sources) * len(conditions) - held

    @cached_property
    def catalogue(self) -> Catalogue:
        """The models of the runs; the user's own are read from the manifest."""
        file = str(self.store.folder) if self.store else ""
        return Catalogue.of(self.manifest.get("own_models", {}), file)

    def frame(self, *, bounds: bool = False) -> pd.DataFrame:
        """Return one row per run with metrics as columns; ``run`` joins it with other tables.

        ``bounds`` adds the bounds that no one named, marked in a column of that name.
        """
        import pandas as pd

        head = ("run", *IDENTITY, "label", *_PROVENANCE, *_OUTCOME, *_PLACE, *["bound"] * bounds)
        rows = [
            {"run": run.key, **{name: getattr(run, name) for name in head[1:]}, **run.metrics}
            for run in self._chosen(bounds=bounds)
        ]
        frame = pd.DataFrame(rows, columns=[*head, *METRICS])
        # A copy is contiguous, so adding columns gives no warning.
        return frame.astype(dict.fromkeys(METRICS, "float64")).copy()

    def _chosen(self, *, bounds: bool) -> list[Run]:
        return [*self.runs, *self.bounds] if bounds else self.runs

    def table(self, name: str, *, bounds: bool = False) -> pd.DataFrame:
        """Return all rows of a table, with the run of each.

        Parameters
        ----------
        name
            ``calls``, ``compactions``, ``facts``, ``messages``, ``views`` or ``prompts``.
        bounds
            Whether to include bounds that no one named.

        Raises
        ------
        UsageError
            If there is no such table.
        """
        if name not in TABLES:
            raise UsageError(f"there is no table {name!r}: {', '.join(TABLES)}")
        import pandas as pd

        columns = TABLES[name].columns
        held = [(run, run.rows.get(name, NO_ROWS)) for run in self._chosen(bounds=bounds)]
        keys = [run.key for run, rows in held for _ in range(len(rows))]
        cells = {
            column: [value for _, rows in held if len(rows) for value in rows[column]]
            for column in columns
        }
        return pd.DataFrame({"run": keys, **cells})

    def calls(self) -> pd.DataFrame:
        """Return one row per call, with the run of each."""
        return self.table("calls")

    def query(self, sql: str) -> pd.DataFrame:
        """Run an SQL query with DuckDB.

        Parameters
        ----------
        sql
            A query over ``runs``, ``calls``, ``compactions``, ``facts``, ``messages``, ``views``
            and ``prompts``, if they were written.

        Raises
        ------
        UsageError
            If the query is wrong.
        """
        import pandas as pd

        with self._stored() as store:
            names, rows = ask(store, sql)
        return pd.DataFrame(rows, columns=names)

    @contextmanager
    def _stored(self) -> Iterator[Store]:
        if self.store is not None:
            yield self.store
            return
        with TemporaryDirectory() as folder:
            self.save(folder)
            yield Store(folder)

    def save(self, folder: str | Path) -> None:
        """Write the results as a store.

        Parameters
        ----------
        folder
            The folder of the store; created if missing. An existing store is replaced.

        Raises
        ------
        UsageError
            If the folder holds anything else, or cannot be written.
        """
        store = Store(folder)
        files = shard_files(self._chosen(bounds=True))  # previous files
        store.begin()
        store.put(SAVED, files)
        store.describe(self.manifest)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a store.

        Raises
        ------
        InputError
            If there is none, or it is damaged or of another version.
        """
        store = Store(folder)
        manifest = store.manifest()
        return cls(read_runs(store, manifest), manifest, store)


def ask(store: Store, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run an SQL query over a store."""
    import duckdb

    with selected(store, store.manifest()) as connection:
        try:
            answer = connection.execute(sql)
            return [column[0] for column in answer.description or ()], answer.fetchall()
        except duckdb.Error as error:
            raise UsageError(f"the query fails: {error}") from None


def _once(runs: Iterable[Run]) -> Iterator[Run]:
    """Yield the rows of an unreadable source once, not once per condition."""
    seen: set[str] = set()
    for run in runs:
        if run.status == "unreadable" and run.source_key:
            if run.source_key in seen:
                continue
            seen.add(run.source_key)
        yield run


def _distinct(runs: Iterable[Run]) -> list[Run]:
    """Give different conversations with one id the names of their sources."""
    runs = list(runs)
    digests: dict[str, set[str]] = {}
    for run in runs:
        digests.setdefault(run.conversation, set()).update([run.digest] if run.digest else ())
    return [
        replace(run, conversation=f"{run.source}:{run.conversation}")
        if len(digests[run.conversation]) > 1
        and run.source
        and not run.conversation.startswith(f"{run.source}:")
        else run
        for run in runs
    ]
