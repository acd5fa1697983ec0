"""Files that are whole or not there, and that are no links to others.

What lies in a folder that somebody names may be a stranger's: a store, recorded answers. All that
is read there, added to or locked goes through this file: no link is followed, no pipe waited for,
and nothing read that is larger than it may be.
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
    """Write a file under a temporary name and rename it, so that it is whole or not there."""
    if not path.name:
        raise UsageError(f"cannot write {str(path)!r}: it is a folder")
    temporary = path.with_name(f".{path.name}{_BEGUN}")
    try:
        # What lies there may be a link, through which another file would be written.
        temporary.unlink(missing_ok=True)
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            # Renamed before its content is on the disk, it might be there and empty after a crash.
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UsageError(f"cannot write {str(path)!r}: {reason}") from None
    finally:
        with suppress(OSError, ValueError):
            temporary.unlink(missing_ok=True)


def open_file(path: Path) -> BufferedReader:
    """Open a file to read it, and not what a link of its name leads to."""
    return os.fdopen(_opened(path, os.O_RDONLY), "rb")


def append_to(path: Path) -> FileIO:
    """Open such a file, or make it, to add to it: what is written at once stands together."""
    return os.fdopen(_opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab", 0)


def _opened(path: Path, access: int) -> int:
    if path.is_symlink():
        raise OSError("it is a link")
    # A pipe would be waited for; a link may have come in the meantime.
    flags = (getattr(os, name, 0) for name in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"))
    descriptor = os.open(path, access | sum(flags), 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("it is no file")
    return descriptor


def read_file(path: Path, largest: int = LARGEST) -> bytes:
    """The content of such a file; an OSError, if it is larger than it may be."""
    with open_file(path) as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise OSError(f"it has more than {largest:,} bytes")
    return content


def lock_file(path: Path, seconds: float = -1) -> BaseFileLock:
    """Lock such a file, which is made where there is none, and wait so long for others.

    Raises
    ------
    TimeoutError
        If somebody else holds it all the time.
    """
    import filelock

    append_to(path).close()
    lock = filelock.FileLock(path, timeout=seconds)
    lock.acquire()
    return lock


def begun(folder: Path, suffix: str) -> Iterator[Path]:
    """Files of a suffix that were not written to their end; what others put there is left alone."""
    return folder.glob(f".*{suffix}{_BEGUN}")
