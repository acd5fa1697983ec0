"""Files that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from compactlab.sim.errors import UsageError

_BEGUN = ".tmp"


def replace_file(path: Path, content: bytes) -> None:
    """Write a file under a temporary name and rename it, so that it is whole or not there.

    Raises
    ------
    UsageError
        If it cannot be written, say because the disk is full; what was there stays.
    """
    if not path.name:
        raise UsageError(f"cannot write {str(path)!r}: it is a folder")
    temporary = path.with_name(f".{path.name}{_BEGUN}")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            # Renamed before its content is on the disk, it might be there and empty after a crash.
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except (OSError, ValueError) as error:
        told = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UsageError(f"cannot write {str(path)!r}: {told}") from None
    finally:
        with suppress(OSError, ValueError):
            temporary.unlink(missing_ok=True)


def begun(folder: Path, suffix: str) -> Iterator[Path]:
    """Files of a suffix that were not written to their end; what others put there is left alone."""
    return folder.glob(f".*{suffix}{_BEGUN}")
