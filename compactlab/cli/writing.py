"""Files that a command writes: whole or not there, and said so where that fails."""

from __future__ import annotations

from pathlib import Path

from compactlab.sim.whole_file import replace_file


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file; one that is there is replaced as a whole, or stays as it is.

    Raises
    ------
    UsageError
        If it cannot be written.
    """
    replace_file(path, content.encode() if isinstance(content, str) else content)
