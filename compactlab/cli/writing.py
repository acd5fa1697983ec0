"""Files that a command writes: whole or not there, and said so where that fails."""

from __future__ import annotations

from pathlib import Path

from compactlab.cli.disclosing import say
from compactlab.sim.whole_file import replace_file


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file; one that is there is replaced as a whole, or stays as it is.

    Raises
    ------
    UsageError
        If it cannot be written.
    """
    replace_file(path, content.encode() if isinstance(content, str) else content)


def write_aside(path: Path, content: str | bytes) -> None:
    """Write a file beside what goes to standard output, and say so on standard error.

    Raises
    ------
    UsageError
        If it cannot be written.
    """
    write_file(path, content)
    say(f"wrote {path}", err=True)
