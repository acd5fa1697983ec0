"""What an experiment found: its runs, their figures, and the rows of their tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from compactlab.sim.errors import UsageError
from compactlab.sim.metrics import METRICS
from compactlab.sim.model import Catalogue
from compactlab.sim.run import IDENTITY, Run, parcel
from compactlab.sim.selection import read_runs, selected
from compactlab.sim.store import SAVED, Store
from compactlab.sim.tables import NO_ROWS, TABLES

if TYPE_CHECKING:
    import pandas as pd

_PROVENANCE = ("digest", "own_models", "loop", "labels")
_OUTCOME = ("status", "error")
_PLACE = ("source", "place", "skipped", "source_key", "condition")


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
        Where they were read from; None if they were just made.
    """

    runs: list[Run]
    manifest: dict[str, Any] = field(default_factory=dict)
    store: Store | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.runs = _told_apart(_once(self.runs))

    @property
    def failed(self) -> list[Run]:
        """The runs that failed."""
        return [run for run in self.runs if run.status != "ok"]

    @cached_property
    def missing(self) -> int:
        """Cells of the experiment (a source under a condition) that are not in the store yet."""
        if self.store is None or "conditions" not in self.manifest:
            return 0
        sources, conditions = (set(self.manifest[n]) for n in ("source_keys", "conditions"))
        held = sum(s in sources and c in conditions for s, c in self.store.cells())
        return len(sources) * len(conditions) - held

    @cached_property
    def catalogue(self) -> Catalogue:
        """The models that the runs were under: the user's own figures are in the manifest."""
        file = str(self.store.folder) if self.store else ""
        return Catalogue.of(self.manifest.get("own_models", {}), file)

    def frame(self) -> pd.DataFrame:
        """One row a run, metrics as columns; ``run`` joins it with the other tables."""
        import pandas as pd

        head = ("run", *IDENTITY, "label", *_PROVENANCE, *_OUTCOME, *_PLACE)
        rows = [
            {"run": run.key, **{name: getattr(run, name) for name in head[1:]}, **run.metrics}
            for run in self.runs
        ]
        frame = pd.DataFrame(rows, columns=[*head, *METRICS])
        # A copy stands in one piece, to which columns may be added without a warning.
        return frame.astype(dict.fromkeys(METRICS, "float64")).copy()

    def table(self, name: str) -> pd.DataFrame:
        """All rows of a table, with the run that each belongs to.

        Parameters
        ----------
        name
            ``calls``, ``compactions``, ``facts``, ``messages``, ``views`` or ``prompts``.

        Raises
        ------
        UsageError
            If there is no such table.
        """
        if name not in TABLES:
            raise UsageError(f"there is no table {name!r}: {', '.join(TABLES)}")
        import pandas as pd

        columns = TABLES[name].columns
        held = [(run, run.rows.get(name, NO_ROWS)) for run in self.runs]
        keys = [run.key for run, rows in held for _ in range(len(rows))]
        found = {
            column: [value for _, rows in held if len(rows) for value in rows[column]]
            for column in columns
        }
        return pd.DataFrame({"run": keys, **found})

    def calls(self) -> pd.DataFrame:
        """One row a call, with the run that it belongs to."""
        return self.table("calls")

    def query(self, sql: str) -> pd.DataFrame:
        """Ask in SQL, of DuckDB.

        Parameters
        ----------
        sql
            A query over ``runs``, ``calls``, ``compactions``, ``facts``, ``messages``, ``views``
            and ``prompts``, as far as they were written.

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
        """Write a store of them.

        Parameters
        ----------
        folder
            Where to; made if it is not there. What a store there held is taken away.

        Raises
        ------
        UsageError
            If something else lies there, or it cannot be written.
        """
        store = Store(folder)
        files = parcel(self.runs)  # which may still lie there
        store.begin()
        store.put(SAVED, files)
        store.describe(self.manifest)

    @classmethod
    def load(cls, folder: str | Path) -> Results:
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
    """Ask a store in SQL.

    Parameters
    ----------
    store
        The store.
    sql
        A query, see :meth:`Results.query`.

    Returns
    -------
    tuple
        The names of the columns, and the rows.

    Raises
    ------
    InputError
        If there is no store.
    UsageError
        If the query is wrong.
    """
    import duckdb

    with selected(store, store.manifest()) as connection:
        try:
            answer = connection.execute(sql)
            return [column[0] for column in answer.description or ()], answer.fetchall()
        except duckdb.Error as error:
            raise UsageError(f"the query fails: {error}") from None


def _once(runs: Iterable[Run]) -> Iterator[Run]:
    """A source that could not be read is told once, and not under each condition."""
    told: set[str] = set()
    for run in runs:
        if run.status == "unreadable" and run.source_key:
            if run.source_key in told:
                continue
            told.add(run.source_key)
        yield run


def _told_apart(runs: Iterable[Run]) -> list[Run]:
    """Different conversations of one id get the names of their sources."""
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
