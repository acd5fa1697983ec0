"""Files that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_BEGUN = ".tmp"


def replace_file(path: Path, content: bytes) -> None:
    """Write a file under a temporary name and rename it, so that it is whole or not there."""
    temporary = path.with_name(f".{path.name}{_BEGUN}")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            # Renamed before its content is on the disk, it might be there and empty after a crash.
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def begun(folder: Path, suffix: str) -> Iterator[Path]:
    """Files of a suffix that were not written to their end; what others put there is left alone."""
    return folder.glob(f".*{suffix}{_BEGUN}")
