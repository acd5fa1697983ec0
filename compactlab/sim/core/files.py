"""Atomic writes, and safe access to files that may be links.

A folder from a user may contain a stranger's files: a store, recorded answers. All reading,
appending and locking there uses this module. It follows no links, waits for no pipes, and reads no
file above a size limit.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from io import BufferedReader, FileIO
from pathlib import Path
from typing import TYPE_CHECKING

from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.json import LARGEST

if TYPE_CHECKING:
    from filelock import BaseFileLock

_BEGUN = ".tmp"


def replace_file(path: Path, content: bytes) -> None:
    """Write a file under a temporary name and rename it, so that it is complete or absent."""
    if not path.name:
        raise UsageError(f"cannot write {str(path)!r}: it is a folder")
    temporary = path.with_name(f".{path.name}{_BEGUN}")
    try:
        # An existing file may be a link to another file.
        temporary.unlink(missing_ok=True)
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            # Without this, the file could be empty after a crash.
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UsageError(f"cannot write {str(path)!r}: {reason}") from None
    finally:
        with suppress(OSError, ValueError):
            temporary.unlink(missing_ok=True)


def open_file(path: Path) -> BufferedReader:
    """Open a file for reading; refuse links."""
    return os.fdopen(_opened(path, os.O_RDONLY), "rb")


def append_to(path: Path) -> FileIO:
    """Open or create such a file for appending; each write is atomic."""
    return os.fdopen(_opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab", 0)


def _opened(path: Path, access: int) -> int:
    if path.is_symlink():
        raise OSError("it is a link")
    # A pipe would block; a link may have been created in the meantime.
    flags = (getattr(os, name, 0) for name in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"))
    descriptor = os.open(path, access | sum(flags), 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("it is not a file")
    return descriptor


def read_file(path: Path, largest: int = LARGEST) -> bytes:
    """Return the content of such a file; raise OSError if it is too large."""
    with open_file(path) as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise OSError(f"it has more than {largest:,} bytes")
    return content


def lock_file(path: Path, seconds: float = -1) -> BaseFileLock:
    """Lock such a file, created if missing; wait up to ``seconds`` for other holders.

    Raises a TimeoutError if another process holds it all the time.
    """
    import filelock

    append_to(path).close()
    lock = filelock.FileLock(path, timeout=seconds)
    lock.acquire()
    return lock


def begun(folder: Path, suffix: str) -> Iterator[Path]:
    """Yield unfinished files with a suffix; files of others are ignored."""
    return folder.glob(f".*{suffix}{_BEGUN}")
