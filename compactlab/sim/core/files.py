"""Files that are whole or not there, and that are no links to others."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from io import BufferedReader
from pathlib import Path

from compactlab.sim.core.errors import UsageError

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
    if path.is_symlink():
        raise OSError("it is a link")
    # A pipe would be waited for; a link may have come in the meantime.
    flags = (getattr(os, name, 0) for name in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"))
    descriptor = os.open(path, os.O_RDONLY | sum(flags))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("it is no file")
    return os.fdopen(descriptor, "rb")


def begun(folder: Path, suffix: str) -> Iterator[Path]:
    """Files of a suffix that were not written to their end; what others put there is left alone."""
    return folder.glob(f".*{suffix}{_BEGUN}")
