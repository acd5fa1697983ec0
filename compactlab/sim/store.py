"""The store: a directory with a manifest, and of each table a folder of shards.

A shard is what one worker found in one go: a parquet file of one name in the folder of every
table. Files are written under a temporary name and renamed, that of the table of runs last, so a
shard is there when it has a file of runs, and whole. It is named after the cells that it holds (a
source under a condition), so that what is there need not be run again. Nothing in a store depends
on the machine, the number of workers or the time of day.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compactlab.sim.database import cursor, quoted
from compactlab.sim.errors import InputError, UsageError
from compactlab.sim.tables import COUNTED, RUNS, TABLES
from compactlab.sim.whole_file import begun, replace_file

if TYPE_CHECKING:
    import duckdb

FORMAT = 5
_MANIFEST = "manifest.json"
_LOCK = ".lock"
_COUNTS = ".counts"
_SUFFIX = ".parquet"

Cell = tuple[str, str]
"""The keys of a source and of a condition."""


class Store:
    """A directory of results.

    Parameters
    ----------
    folder
        Where it is, or will be.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    @property
    def exists(self) -> bool:
        """Whether there is a manifest."""
        try:
            return (self.folder / _MANIFEST).is_file()
        except (OSError, ValueError):  # too long, or no text that could be a path
            return False

    def manifest(self) -> dict[str, Any]:
        """Where the results come from.

        Raises
        ------
        InputError
            If there is none, or it is damaged or of another version.
        """
        try:
            found = json.loads((self.folder / _MANIFEST).read_text("utf-8"))
            version = found.pop("store", None)
        except FileNotFoundError:
            told = f"{_MANIFEST} is missing" if self.folder.is_dir() else "there is no such folder"
            raise InputError(f"no store of results: {told}", str(self.folder)) from None
        except (OSError, ValueError, TypeError, AttributeError) as error:
            what = f"{type(error).__name__}: {error}"
            raise InputError(f"no store of results ({what})", str(self.folder)) from None
        if version != FORMAT:
            raise InputError(
                f"a store of another version ({version}, this one reads {FORMAT}); "
                "run the experiment again, into another folder",
                str(self.folder),
            )
        return dict(found)

    def describe(self, manifest: Mapping[str, Any]) -> None:
        """Write the manifest, key by key; what stands in a value keeps its order."""
        self.folder.mkdir(parents=True, exist_ok=True)
        held = {key: manifest[key] for key in sorted(manifest)}
        text = json.dumps({"store": FORMAT, **held}, indent=2)
        replace_file(self.folder / _MANIFEST, f"{text}\n".encode())

    def shards(self) -> list[str]:
        """The names of the shards that are whole, sorted."""
        runs = self.folder / RUNS
        names = os.listdir(runs) if runs.is_dir() else []
        return sorted(n.removesuffix(_SUFFIX) for n in names if _is_shard(n))

    def path(self, table: str, shard: str) -> Path:
        """The file of a shard."""
        return self.folder / table / f"{shard}{_SUFFIX}"

    def _files(self, table: str) -> set[str]:
        folder = self.folder / table
        return set(os.listdir(folder)) if folder.is_dir() else set()

    def check(self) -> None:
        """See that no file is gone.

        Raises
        ------
        InputError
            If one is.
        """
        for file in self.lost():
            told = f"{file.relative_to(self.folder)} is gone; to run the experiment again mends it"
            raise InputError(f"a damaged store of results: {told}", str(self.folder))

    def put(self, shard: str, parcel: Mapping[str, bytes]) -> None:
        """Store a shard.

        Parameters
        ----------
        shard
            Its name.
        parcel
            The content of its files by table.
        """
        # One of the same name is gone before its tables change, so that it is never half of each.
        self.drop([shard])
        for table in sorted(parcel, key=lambda name: (name == RUNS, name)):
            (self.folder / table).mkdir(parents=True, exist_ok=True)
            replace_file(self.path(table, shard), parcel[table])

    def remember(self, source: str, counter: str, counts: bytes) -> None:
        """Keep the token counts of a source, for whatever is run on it later.

        They are no result: whoever removes them loses nothing but time.

        Parameters
        ----------
        source
            Its key.
        counter
            Digest of what has counted: other code may count otherwise.
        counts
            As :mod:`compactlab.sim.tally` packs them.
        """
        file = self.folder / _COUNTS / f"{source}.{counter}"
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.is_file():
            replace_file(file, counts)

    def remembered(self, counter: str) -> dict[str, bytes]:
        """The token counts that some code has made, by sources' keys."""
        files = (self.folder / _COUNTS).glob(f"[!.]*.{counter}")
        return {file.stem: file.read_bytes() for file in files}

    def drop(self, shards: Iterable[str]) -> None:
        """Take shards away, so that what they hold is run again."""
        for shard in shards:
            for table in (RUNS, *TABLES):
                self.path(table, shard).unlink(missing_ok=True)

    def clear(self) -> None:
        """Take away all that belongs to it, and the folder if nothing else is in it."""
        (self.folder / _MANIFEST).unlink(missing_ok=True)
        self.drop(self.shards())
        (self.folder / _LOCK).unlink(missing_ok=True)
        for file in (self.folder / _COUNTS).glob("*"):
            file.unlink(missing_ok=True)
        for folder in (*(self.folder / name for name in (RUNS, *TABLES, _COUNTS)), self.folder):
            with suppress(OSError):
                folder.rmdir()

    def tidy(self) -> None:
        """Remove what a run that was killed left behind: half of a shard, files half written."""
        whole = set(self.shards())
        for table in (RUNS, *TABLES):
            left = [
                *(self.folder / table).glob(f"*{_SUFFIX}"),
                *begun(self.folder / table, _SUFFIX),
            ]
            for file in left:
                if file.name.removesuffix(_SUFFIX) not in whole:
                    file.unlink(missing_ok=True)

    def cells(self, where: str = "true") -> dict[Cell, str]:
        """The cells that are there, with their shards.

        Parameters
        ----------
        where
            Which rows of the table of runs to look at, in SQL.
        """
        if not self.shards() or not self.exists:
            return {}
        rows = self.rows(
            f"SELECT DISTINCT source_key, condition, shard FROM all_runs WHERE {where}"  # noqa: S608
        )
        lost = {file.stem for file in self.lost()}
        return {
            (source, condition): shard for source, condition, shard in rows if shard not in lost
        }

    def lost(self) -> list[Path]:
        """Files that are gone, though the table of runs tells of rows in them."""
        if not self.shards():
            return []
        counts = ", ".join(f"sum({COUNTED}{name})" for name in TABLES)
        rows = self.rows(f"SELECT shard, {counts} FROM all_runs GROUP BY shard ORDER BY shard")  # noqa: S608
        held = {name: self._files(name) for name in TABLES}
        return [
            self.path(name, shard)
            for shard, *sums in rows
            for name, count in zip(TABLES, sums, strict=True)
            if count and f"{shard}{_SUFFIX}" not in held[name]
        ]

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The answer to a query over the table of runs."""
        with self.connected([RUNS]) as connection:
            found: list[tuple[Any, ...]] = connection.execute(sql).fetchall()
        return found

    @contextmanager
    def connected(
        self, tables: Iterable[str] = (RUNS, *TABLES)
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection to a database that sees each table as ``all_NAME``, with its shards.

        Parameters
        ----------
        tables
            Names of those that are looked at: of each, files are opened.

        Raises
        ------
        InputError
            If a file cannot be read, or a query is wrong.
        """
        import duckdb

        connection = cursor()
        try:
            mixed = len(self.manifest().get("engines", ())) > 1
            for table in tables:
                self._view(connection, table, mixed=mixed)
            yield connection
        except duckdb.Error as error:
            said = str(error).partition("\n")[0]
            raise InputError(f"the store cannot be read: {said}", str(self.folder)) from None
        except RuntimeError as error:
            if "interrupted" in str(error):  # DuckDB's word for Ctrl-C
                raise KeyboardInterrupt from None
            raise
        finally:
            connection.close()

    def _view(self, connection: duckdb.DuckDBPyConnection, table: str, *, mixed: bool) -> None:
        # Only where versions with other columns have written do all files have to be looked at.
        held = self._files(table)
        shards = [shard for shard in self.shards() if f"{shard}{_SUFFIX}" in held]
        files = [str(self.path(table, shard)) for shard in shards]
        if not files:
            return
        connection.execute(
            f"CREATE TEMP VIEW all_{table} AS SELECT * EXCLUDE (filename, file_row_number), "  # noqa: S608
            "file_row_number AS row, parse_filename(filename, true) AS shard FROM read_parquet("
            f"[{', '.join(map(quoted, files))}], filename=true, file_row_number=true, "
            f"union_by_name={mixed})"
        )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else writes here meanwhile.

        Raises
        ------
        UsageError
            If somebody does, or the folder cannot be written.
        """
        import filelock

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = filelock.FileLock(self.folder / _LOCK, timeout=0)
            lock.acquire()
        except filelock.Timeout:
            raise UsageError(f"another run is writing into {str(self.folder)!r}") from None
        except (OSError, ValueError, NotImplementedError) as error:
            raise UsageError(f"cannot write to {str(self.folder)!r}: {error}") from None
        try:
            yield
        finally:
            # The file stays: who removes it may remove it under the next one's hands.
            lock.release()


def _is_shard(name: str) -> bool:
    return name.endswith(_SUFFIX) and not name.startswith(".")
