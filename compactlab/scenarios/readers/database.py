"""SQLite databases of clients, opened for reading without any change.

A client may be running and writing. If its shared-memory file exists, the database is read in
place, and neither that file nor any other is written. If it does not exist, SQLite would create one
in the client's folder, so a private copy is read instead.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from compactlab.sim.core.errors import InputError
from compactlab.sim.core.json import LARGEST

# Largest database that is copied, with its log, in bytes.
LARGEST_COPY = 4 * 2**30
COMPANIONS = ("-wal", "-shm", "-journal")
SUFFIXES = (".db", ".sqlite", ".sqlite3")
ENCRYPTED = "this is not a database of SQLite, or an encrypted one"
_MAGIC = b"SQLite format 3\0"
_HEADER = 100  # bytes
_TRIES = 4  # attempts to copy during a write, or to open during a checkpoint
_BUSY = 5.0  # seconds to wait for a lock of the client
_CACHE = 8_000  # page cache in kB
# Steps of SQLite's virtual machine: a session takes some twenty per row. A database without
# indexes, or a malicious one, could keep it busy forever.
_STEPS, _STEPS_PER_BYTE, _WATCH = 100_000_000, 2, 100_000
_ALLOWED = {
    sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_FUNCTION,
}  # fmt: skip
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: LARGEST,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 2,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 50,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 4,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 0,
}

Record = dict[str, Any]  # a row by column


def is_database(path: Path) -> bool:
    """Whether a file is a database, judged by its first bytes."""
    try:
        return path.is_file() and _header(path).startswith(_MAGIC)
    except OSError:
        return False


def is_encrypted(path: Path) -> bool:
    """Whether a file is named like a database, but is neither one nor a text."""
    try:
        start = _header(path) if path.suffix.lower() in SUFFIXES and path.is_file() else b""
    except OSError:
        return False
    return not start.startswith(_MAGIC) and any(byte < 9 or byte > 127 for byte in start)


def is_companion(path: Path) -> bool:
    """Whether a file is one that SQLite creates beside a database."""
    base = next((str(path)[: -len(e)] for e in COMPANIONS if path.name.endswith(e)), "")
    return bool(base) and is_database(Path(base))


def tables(path: Path) -> dict[str, list[str]]:
    """Return the tables of a database with their columns, without views and virtual tables."""
    path = _regular(path)
    with _faults(path):
        if not _is_live(path):
            # Only the schema is read, so that a concurrent change is harmless.
            with closing(_connected(path, "mode=ro&immutable=1")) as connection:
                found = _tables(connection)
            if found or not _has(path, "-wal"):
                return found
    with opened(path) as database:
        return database.tables


class Database:
    """An open database: it reads rows, with texts as bytes."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self.path = connection, path
        self.tables = _tables(connection)
        _guard(connection, path)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read from one snapshot; the client can write, but cannot truncate its log."""
        with _faults(self.path):
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")

    def rows(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        with _faults(self.path):
            cursor = self._connection.execute(query, values)
            try:
                for row in cursor:  # noqa: UP028 - `yield from` would close it once more
                    yield row
            finally:
                with suppress(sqlite3.Error):  # it may already be closed
                    cursor.close()

    def records(
        self, table: str, condition: str = "1", *values: Any, order: str = "rowid"
    ) -> Iterator[Record]:
        columns = self.tables[table]
        named = ", ".join(f'"{column}"' for column in columns)
        query = f'SELECT {named} FROM "{table}" WHERE {condition} ORDER BY {order}'  # noqa: S608
        for row in self.rows(query, *values):
            yield {column: plain(value) for column, value in zip(columns, row, strict=True)}

    def distinct(self, table: str, column: str) -> Iterator[str]:
        """Yield the distinct texts of a column that begins an index, without reading the rows."""
        last: Any = b""
        query = f'SELECT min("{column}") FROM "{table}" WHERE "{column}" > ?'  # noqa: S608
        while True:
            ((last,),) = self.rows(query, plain(last))
            if not isinstance(last, bytes):
                return
            yield plain(last)


def plain(value: Any) -> Any:
    """Decode a value of a row; invalid UTF-8 is escaped."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


@contextmanager
def opened(path: Path) -> Iterator[Database]:
    """Open a database for reading; the client's folder stays unchanged."""
    path = _regular(path)
    with _faults(path):
        if _is_live(path) and (connection := _live(path)):
            with closing(connection):
                yield Database(connection, path)
            return
    with (
        tempfile.TemporaryDirectory(prefix="compactlab-", ignore_cleanup_errors=True) as folder,
        _faults(path),
        closing(_connected(_copy(path, Path(folder)), "mode=rw")) as connection,
    ):
        database = Database(connection, path)
        # Where an open file can be deleted, nothing is left if this process is killed.
        for file in Path(folder).iterdir() if os.name == "posix" else ():
            file.unlink()
        yield database


def _regular(path: Path) -> Path:
    """Resolve a path to its file; the files beside the target belong to it."""
    with _faults(path):
        path = Path(os.path.realpath(path))
        size = path.stat().st_size
        if not path.is_file() or not _header(path).startswith(_MAGIC):
            raise InputError(ENCRYPTED, str(path))
        for end in COMPANIONS:
            beside = Path(f"{path}{end}")
            if beside.is_symlink() or (beside.exists() and not beside.is_file()):
                raise InputError(f"{beside.name} beside it is not a regular file", str(path))
        if size < _HEADER:
            raise InputError("this database breaks off in its header", str(path))
    return path


def _header(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEADER)


def _has(path: Path, end: str) -> bool:
    try:
        return Path(f"{path}{end}").stat().st_size > 0
    except OSError:
        return False


def _is_live(path: Path) -> bool:
    """Whether the client's shared memory exists, by which readers and writers coordinate."""
    # Without the log, SQLite would create one.
    beside = (Path(f"{path}{end}").is_file() for end in ("-shm", "-wal"))
    return 2 in _header(path)[18:20] and all(beside)


def _live(path: Path) -> sqlite3.Connection | None:
    """Connect to a database in use; return None if the client has just closed it."""
    for _ in range(_TRIES):
        connection = None
        try:
            # The shared memory is not written either, so that the client only sees the reader's
            # lock.
            connection = _connected(path, "mode=ro&readonly_shm=1")
            connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
        except sqlite3.OperationalError:
            if connection is not None:
                connection.close()
            if not _is_live(path):
                break
        else:
            return connection
    return None


def _connected(path: Path, how: str) -> sqlite3.Connection:
    """Connect safely: a foreign schema can do nothing but return rows."""
    name = quote(str(path).replace(os.sep, "/"))
    name = name if name.startswith("/") else f"/{name}"
    connection = sqlite3.connect(
        f"file:{name}?{how}", uri=True, isolation_level=None, timeout=_BUSY, check_same_thread=False
    )
    connection.text_factory = bytes
    for limit, most in _LIMITS.items():
        connection.setlimit(limit, most)
    settings = ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON", "mmap_size=0")
    for setting in (*settings, f"cache_size=-{_CACHE}"):
        connection.execute(f"PRAGMA {setting}").close()
    return connection


def _guard(connection: sqlite3.Connection, path: Path) -> None:
    """Allow only reading from now on, limited by the size of the database."""
    steps = (_STEPS + _STEPS_PER_BYTE * path.stat().st_size) // _WATCH
    left = iter(range(steps))
    connection.set_progress_handler(lambda: next(left, -1) == -1, _WATCH)
    connection.set_authorizer(
        lambda action, *_: sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY
    )


def _tables(connection: sqlite3.Connection) -> dict[str, list[str]]:
    query = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name"
    found = {}
    for name, sql in connection.execute(query).fetchall():
        if not isinstance(sql, bytes) or sql.upper().lstrip().startswith(b"CREATE VIRTUAL"):
            continue
        rows = connection.execute("SELECT name FROM pragma_table_info(?)", (plain(name),))
        found[plain(name)] = [plain(column) for (column,) in rows]
    return found


def _copy(path: Path, folder: Path) -> Path:
    """Copy a database and its log into a folder, as of one moment."""
    copied = folder / "copy"
    for _ in range(_TRIES):
        before = _seen(path)
        size = sum(each[0] for each in before if each)
        if size > LARGEST_COPY:
            text = f"above {LARGEST_COPY:,} bytes: start its client, or copy less"
            raise InputError(text, str(path))
        if size > shutil.disk_usage(folder).free:
            text = f"no room for a private copy of {size:,} bytes in {tempfile.gettempdir()}"
            raise InputError(text, str(path))
        for end in ("", "-wal", "-journal"):
            with suppress(FileNotFoundError):
                Path(f"{copied}{end}").unlink()
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{path}{end}", f"{copied}{end}", follow_symlinks=False)
        if _seen(path) == before:
            return copied
    raise InputError("it is written all the time: try again when its client is idle", str(path))


def _seen(path: Path) -> list[tuple[int, int, int] | None]:
    seen: list[tuple[int, int, int] | None] = [None, None, None]
    for at, end in enumerate(("", "-wal", "-journal")):
        with suppress(FileNotFoundError):
            stat = os.stat(f"{path}{end}")
            seen[at] = stat.st_size, stat.st_mtime_ns, stat.st_ino
    return seen


@contextmanager
def _faults(path: Path) -> Iterator[None]:
    """Turn any fault of a database into an error that names it."""
    try:
        yield
    except sqlite3.Error as error:
        said = str(error)
        if said == "interrupted":
            said = "it takes too long to search: are its indexes gone?"
        elif said == "file is not a database":
            said = ENCRYPTED
        raise InputError(said, str(path)) from None
    except OSError as error:
        raise InputError(error.strerror or str(error), str(path)) from None
