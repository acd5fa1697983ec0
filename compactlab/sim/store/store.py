"""The store: a directory with a manifest, and one folder of shards per table."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from compactlab.sim.core.errors import InputError, UnverifiedWarning, UsageError
from compactlab.sim.core.files import begun, lock_file, open_file, read_file, replace_file
from compactlab.sim.store.code import digest_of_engine
from compactlab.sim.store.manifest import (
    DIGEST_SUFFIX,
    DIGESTS,
    FORMAT,
    VersionError,
    digest_of_file,
    is_manifest,
    lines_of,
    read_lines,
    read_manifest,
    write_manifest,
)
from compactlab.sim.store.parquet import ROWS_PER_BYTE, Column, connection, literal, quoted, read
from compactlab.sim.store.run import Cell
from compactlab.sim.store.tables import COUNTED, RUNS, TABLES

if TYPE_CHECKING:
    import duckdb


# The store: a directory with a manifest, and one folder of shards per table.
#
# A shard is the result of one unit of work: a parquet file of the same name in the folder of each
# table. Files are written under a temporary name and renamed, the runs last, so a shard with a file
# of runs is complete. Its name is a digest of its cells (a source under a condition), so that
# existing cells need not be run again. The content does not depend on the machine, the number of
# workers or the time. Each file must have the digest that was written with the shard, so damage is
# detected.
#
# A store may come from a stranger, and a folder may hold other people's files. So only files with
# our own names are read, written and removed, never through a link. Only a folder that is empty, or
# has a manifest of ours, becomes a store.

FAILED = ("failed", "unreadable")
SAVED = "results"  # the shard of saved results
MANIFEST = "manifest.json"
_LOCK = ".lock"
_COUNTS = ".counts"
_SUFFIX = ".parquet"
_LARGEST = 2**32  # most bytes of one of its files
_LONGEST = 2**16  # most bytes of a file of digests
_SHARD = re.compile(rf"([0-9a-f]{{16}}|{SAVED})\Z")
_COUNT = re.compile(r"[0-9a-f]{16}\.[0-9a-f]{16}\Z")
_UNFINISHED = b'{"store": %d, "unfinished": true}\n' % FORMAT
# Files that a folder may contain to become a store: remains of an unfinished one.
_BEGUN = {_LOCK, f".{MANIFEST}.tmp"}
_CELL = {name: Column("text", "") for name in ("source_key", "condition", "status")}
ROWS = {COUNTED + table: Column("count", "") for table in TABLES}


@dataclass(frozen=True)
class Content:
    """Columns of a table over several shards."""

    columns: dict[str, NDArray[Any]]
    rows: dict[str, int]  # number of rows by shard, in the order of the columns

    def by_shard(self, name: str) -> dict[str, NDArray[Any]]:
        """Return a column split by shard."""
        parts = np.split(self.columns[name], np.cumsum([*self.rows.values()], dtype=int))
        return dict(zip(self.rows, parts, strict=False))  # the last piece is empty


class Store:
    """A directory of results."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._digests: dict[str, dict[str, str]] = {}  # by shard and table, if read
        self._intact: set[tuple[str, str]] = set()  # verified tables and shards
        self._warned = False

    @property
    def exists(self) -> bool:
        """Whether there is a manifest of a finished store."""
        return self._has_manifest and not self._is_begun

    @property
    def _has_manifest(self) -> bool:
        try:
            return os.path.lexists(self.folder / MANIFEST)
        except (OSError, ValueError):  # too long, or not a valid path
            return False

    @property
    def _is_begun(self) -> bool:
        with suppress(OSError, ValueError), open_file(self.folder / MANIFEST) as file:
            return file.read(len(_UNFINISHED) + 1) == _UNFINISHED
        return False

    def manifest(self) -> dict[str, Any]:
        """Return the provenance of the results."""
        if self._is_begun:
            raise self._fault("no store of results: it was not saved to its end")
        try:
            return read_manifest(read_file(self.folder / MANIFEST))
        except FileNotFoundError:
            fault = f"{MANIFEST} is missing" if self.folder.is_dir() else "there is no such folder"
            raise self._fault(f"no store of results: {fault}") from None
        except VersionError as error:
            raise self._fault(str(error)) from None
        except (OSError, ValueError) as error:
            line = getattr(error, "line", 0)
            where = f"{MANIFEST}:{line}" if line else MANIFEST
            raise self._fault(f"no store of results ({where}: {error})") from None

    def _fault(self, fault: str) -> InputError:
        return InputError(fault, str(self.folder))

    def describe(self, manifest: Mapping[str, Any]) -> None:
        """Write the manifest; this turns the folder into a store."""
        self._make()
        try:
            text = write_manifest(manifest)
        except ValueError as error:
            raise UsageError(f"this manifest cannot be stored: {error}") from None
        replace_file(self.folder / MANIFEST, text.encode())

    def begin(self) -> None:
        """Remove the existing content; the store is unfinished until it has a manifest."""
        self._make()
        replace_file(self.folder / MANIFEST, _UNFINISHED)
        self.drop(self.shards())
        self.tidy()

    def claim(self) -> None:
        """Raise unless the folder is a store or empty, so that no other files are lost."""
        try:
            others = set(os.listdir(self.folder)) - _BEGUN if self.folder.exists() else set()
            if self._has_manifest:
                others = set() if is_manifest(read_file(self.folder / MANIFEST)) else {MANIFEST}
            self._check_links()
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot write to {str(self.folder)!r}: {error}") from None
        if others:
            raise UsageError(
                f"{str(self.folder)!r} is neither a store of results nor empty ({min(others)!r} is "
                "there): name another folder, or move away what is in it"
            )

    def _make(self) -> None:
        self.claim()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot write to {str(self.folder)!r}: {error}") from None

    def _check_links(self) -> None:
        for name in (_LOCK, _COUNTS, DIGESTS, RUNS, *TABLES):
            if (self.folder / name).is_symlink():
                raise UsageError(f"cannot write to {str(self.folder)!r}: {name} in it is a link")

    def shards(self) -> list[str]:
        """Return the names of the complete shards, sorted."""
        return sorted(self._files(RUNS))

    def path(self, table: str, shard: str) -> Path:
        """Return the path of a shard's file."""
        return self.folder / table / f"{shard}{_SUFFIX}"

    def digests_of(self, shard: str) -> Path:
        return self.folder / DIGESTS / f"{shard}{DIGEST_SUFFIX}"

    def _files(self, table: str, suffix: str = _SUFFIX) -> dict[str, int]:
        """Return the shards that have a file in a table, with its size; ignore other files."""
        folder = self.folder / table
        try:
            if not S_ISDIR(folder.lstat().st_mode):
                raise self._fault(
                    f"a damaged store of results: {table} is not a folder, or is a link"
                )
            entries = [e for e in os.scandir(folder) if e.name.endswith(suffix)]
            sizes = {e.name: e.stat(follow_symlinks=False).st_size for e in entries}
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError) as error:
            raise self._fault(f"a damaged store of results: {table}: {error}") from None
        named = ((name.removesuffix(suffix), size) for name, size in sizes.items())
        return {shard: size for shard, size in named if _SHARD.match(shard)}

    def check(self, runs: Content | None = None) -> None:
        """Raise if a file is missing; warn if there are no digests to verify."""
        if (number := len(self.unverified)) and not self._warned:
            self._warned = True
            shards = f"{number:,} of {len(self.shards()):,} shards of {self.folder}"
            fault = f"{shards} have no digests: whether a file was damaged cannot be told"
            warnings.warn(fault, UnverifiedWarning, stacklevel=2)
        for file in self.lost(runs):
            fault = f"{file.relative_to(self.folder)} is gone; to run the experiment again mends it"
            raise self._fault(f"a damaged store of results: {fault}")

    def put(self, shard: str, contents: Mapping[str, bytes]) -> None:
        self._check_there()
        # A shard of the same name is removed first, so that old and new files never mix.
        self.drop([shard])
        tables = [table for table in sorted(contents) if table != RUNS]
        files = {self.path(table, shard): contents[table] for table in tables}
        files[self.digests_of(shard)] = lines_of(shard, contents)
        files[self.path(RUNS, shard)] = contents[RUNS]
        for file, content in files.items():
            with suppress(FileExistsError):
                file.parent.mkdir()
            replace_file(file, content)

    def files_of(self, shard: str) -> dict[str, bytes]:
        """Return the content of a shard's files by table, as :meth:`put` takes it."""
        content = {}
        for table in (RUNS, *TABLES):
            if shard in self._files(table):
                try:
                    content[table] = read_file(self._verified(table, shard), _LARGEST)
                except OSError as error:
                    raise self._damaged(table, shard, error) from None
        return content

    @property
    def unverified(self) -> list[str]:
        """Return the shards without digests."""
        return sorted(self._files(RUNS).keys() - self._files(DIGESTS, DIGEST_SUFFIX).keys())

    def _verified(self, table: str, shard: str) -> Path:
        """Return the path of a shard's file; it must be no link and match its digest."""
        file = self.path(table, shard)
        if (table, shard) not in self._intact:
            if not self._agrees(table, shard):
                # Another process may have rewritten the shard between digests and file.
                self._digests.pop(shard)
                if not self._agrees(table, shard):
                    where = self.digests_of(shard).relative_to(self.folder).as_posix()
                    fault = f"its content is not what {where} says; remove the file and run again"
                    raise self._damaged(table, shard, fault)
            self._intact.add((table, shard))
        return file

    def _agrees(self, table: str, shard: str) -> bool:
        """Whether a file matches its digest, if its shard has digests."""
        if shard not in self._digests:
            self._digests[shard] = self._said(shard)
        said, is_ = self._digests[shard], self._is(table, shard)
        return not said or said.get(table) == is_

    def _said(self, shard: str) -> dict[str, str]:
        """Return the stored digests of a shard's files by table; empty if there are none."""
        file = self.digests_of(shard)
        try:
            if file.parent.is_symlink():
                raise OSError("it is behind a link")
            return read_lines(shard, read_file(file, _LONGEST))
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError) as error:
            where = file.relative_to(self.folder).as_posix()
            raise self._fault(f"a damaged store of results: {where}: {error}") from None

    def _is(self, table: str, shard: str) -> str:
        """Return the actual digest of a file."""
        try:
            with open_file(self.path(table, shard)) as file:
                if os.fstat(file.fileno()).st_size > _LARGEST:
                    raise OSError(f"it has more than {_LARGEST:,} bytes")
                return digest_of_file(file)
        except OSError as error:
            raise self._damaged(table, shard, error) from None

    def _check_there(self) -> None:
        if not self._has_manifest:
            raise UsageError(f"{str(self.folder)!r} is gone: somebody has removed or moved it")
        self._check_links()

    def remember(self, source: str, counter: str, counts: bytes) -> None:
        """Store the token counts of a source for later runs.

        They are only a cache: removing them costs time, not results.
        """
        self._check_there()
        file = self.folder / _COUNTS / f"{source}.{counter}"
        file.parent.mkdir(exist_ok=True)
        if not file.is_file():
            replace_file(file, counts)

    def remembered(self, counter: str) -> dict[str, bytes]:
        """Return the stored token counts of a counter's code, by source key."""
        counts = {}
        for name in self._counts():
            source, _, by = name.partition(".")
            if by == counter:
                with suppress(OSError):
                    counts[source] = read_file(self.folder / _COUNTS / name)
        return counts

    def _counts(self) -> list[str]:
        folder = self.folder / _COUNTS
        names = os.listdir(folder) if folder.is_dir() and not folder.is_symlink() else []
        return sorted(name for name in names if _COUNT.match(name))

    def drop(self, shards: Iterable[str]) -> None:
        """Remove shards, so that their cells are run again."""
        for shard in shards:
            for table in (RUNS, *TABLES):
                self._remove(self.path(table, shard))
            self._remove(self.digests_of(shard))
            self._intact -= {(name, shard) for name in (RUNS, *TABLES)}
            self._digests.pop(shard, None)

    def _remove(self, file: Path) -> None:
        """Remove a file of the store; never through a link."""
        if not file.parent.is_symlink():
            file.unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove all files of the store, and the folder if it is then empty."""
        if not self._has_manifest:
            return
        self.begin()
        for name in self._counts():
            self._remove(self.folder / _COUNTS / name)
        for file in (_LOCK, MANIFEST):  # The manifest last: until then the folder is a store.
            (self.folder / file).unlink(missing_ok=True)
        names = (RUNS, *TABLES, DIGESTS, _COUNTS)
        for folder in (*(self.folder / name for name in names), self.folder):
            with suppress(OSError):
                folder.rmdir()

    def tidy(self) -> None:
        """Remove the remains of a killed run: incomplete shards, half-written files."""
        whole = set(self.shards())
        folders = {DIGESTS: DIGEST_SUFFIX} | dict.fromkeys((RUNS, *TABLES), _SUFFIX)
        for table, suffix in folders.items():
            self.drop(set(self._files(table, suffix)) - whole)
            for file in begun(self.folder / table, suffix):
                if _SHARD.match(file.name.removeprefix(".").partition(".")[0]):
                    self._remove(file)

    def cells(self, status: Sequence[str] = ()) -> dict[Cell, str]:
        if not self.exists:
            return {}
        runs = self.read(RUNS, {**_CELL, **ROWS})
        gone = {file.stem for file in self.lost(runs)}
        cells = zip(*(runs.columns[name].tolist() for name in _CELL), strict=True)
        shards = np.repeat(list(runs.rows), list(runs.rows.values())).tolist()
        return {
            (source, condition): shard
            for shard, (source, condition, state) in zip(shards, cells, strict=True)
            if shard not in gone and (not status or state in status)
        }

    def lost(self, runs: Content | None = None) -> list[Path]:
        """Return missing files whose rows the table of runs counts."""
        runs = self.read(RUNS, ROWS) if runs is None else runs
        gone = []
        for name in TABLES:
            sizes = self._files(name)
            for shard, counts in runs.by_shard(COUNTED + name).items():
                if counts.min(initial=0) < 0:
                    raise self._damaged(RUNS, shard, f"{counts.min()} rows in {name}")
                rows = sum(counts.tolist())
                if rows and shard not in sizes:
                    gone.append(self.path(name, shard))
                elif rows > ROWS_PER_BYTE * sizes.get(shard, 0):
                    raise self._damaged(name, shard, f"it cannot have {rows:,} rows")
        return gone

    def damaged_row(
        self, rows: Mapping[str, int], row: int, fault: str, table: str = RUNS
    ) -> InputError:
        """Return an error for a bad row of a table, with its file and row number."""
        for shard, count in rows.items():
            if row < count:
                return self._damaged(table, shard, f"row {row}: {fault}")
            row -= count
        raise IndexError(row)

    def _damaged(self, table: str, shard: str, fault: object) -> InputError:
        where = self.path(table, shard).relative_to(self.folder).as_posix()
        return self._fault(f"a damaged store of results: {where}: {fault}")

    def read(
        self, table: str, columns: Mapping[str, Column], rows: Mapping[str, int] | None = None
    ) -> Content:
        """Read columns of a table, of all shards or of those in ``rows``."""
        wanted = dict.fromkeys(self._files(table)) if rows is None else dict(rows)
        shards = sorted(wanted)
        with literal(self.folder) as folder:
            files = [self._file(table, shard, folder) for shard in shards]

            def some(part: slice, *, lenient: bool) -> Content:
                counts = None if rows is None else [rows[shard] for shard in shards[part]]
                found, counts = read(files[part], columns, counts, lenient=lenient)
                return Content(found, dict(zip(shards[part], counts, strict=True)))

            with suppress(ValueError):
                return some(slice(None), lenient=False)
            # Columns may only be missing if another version wrote the store.
            other = self.exists and self._of_other_code
            try:
                return some(slice(None), lenient=other)
            except ValueError as error:
                for index, shard in enumerate(shards):  # find the damaged file
                    try:
                        some(slice(index, index + 1), lenient=other)
                    except ValueError as its_own:
                        raise self._damaged(table, shard, its_own) from None
                raise self._damaged(table, shards[0], error) from None

    @property
    def _of_other_code(self) -> bool:
        """Whether another version wrote any part of the store."""
        manifest = self.manifest()
        ours = digest_of_engine(redact=bool(manifest.get("redact")))
        engines = manifest.get("engines") or [manifest.get("engine", "")]
        return any(engine not in ("", ours) for engine in engines)

    def _file(self, table: str, shard: str, folder: Path) -> Path:
        """Link a verified file of a shard into a folder under another name."""
        return folder / self._verified(table, shard).relative_to(self.folder)

    @contextmanager
    def connected(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a database connection that sees each table as ``all_NAME``, with its shards.

        It is for SQL that a user types. The store's content never becomes SQL.
        """
        import duckdb

        mixed = len(self.manifest().get("engines", ())) > 1
        try:
            with connection(own=False) as database, literal(self.folder) as folder:
                for table in (RUNS, *TABLES):
                    self._view(database, folder, table, mixed=mixed)
                yield database
        except duckdb.Error as error:
            reason = str(error).partition("\n")[0]
            raise self._fault(f"the store cannot be read: {reason}") from None

    def _view(
        self, database: duckdb.DuckDBPyConnection, folder: Path, table: str, *, mixed: bool
    ) -> None:
        shards = sorted(self._files(table).keys() & self._files(RUNS).keys())
        if not shards:
            return
        paths = [quoted(self._file(table, shard, folder)) for shard in shards]
        # Without hive_partitioning=false, a folder called seed=7 would be a column of its own.
        database.execute(
            f"CREATE TEMP VIEW all_{table} AS SELECT * EXCLUDE (filename, file_row_number), "  # noqa: S608
            "file_row_number AS row, parse_filename(filename, true) AS shard FROM read_parquet("
            f"[{', '.join(paths)}], filename=true, file_row_number=true, hive_partitioning=false, "
            f"union_by_name={mixed})"
        )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold an exclusive lock on the store."""
        try:
            self._make()
            lock = lock_file(self.folder / _LOCK, seconds=0)
        except TimeoutError:
            raise UsageError(f"another run is writing into {str(self.folder)!r}") from None
        except (OSError, ValueError, NotImplementedError) as error:
            raise UsageError(f"cannot write to {str(self.folder)!r}: {error}") from None
        try:
            yield
        finally:
            # The file stays: removing it could break the next holder's lock.
            lock.release()
