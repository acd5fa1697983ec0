"""The files of a folder or a pattern, and the limit of a search."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatch
from glob import has_magic
from pathlib import Path, PurePath

from compactlab.sim.core.errors import UsageError

# Largest number of files and folders visited for one folder or pattern: some seconds of work, and
# more than any folder of transcripts has. `/**/*.jsonl` would search the whole machine.
VISITED = 500_000


class _Visit:
    def __init__(self, name: str) -> None:
        self.name, self.left = name, VISITED

    def count(self, entries: int = 1) -> None:
        self.left -= entries
        if self.left < 0:
            raise UsageError(
                f"{self.name!r}: more than {VISITED:,} files and folders would be looked at; name "
                "a folder nearer to the transcripts"
            )

    def entries(self, folder: Path) -> Iterator[os.DirEntry[str]]:
        """Yield the contents of a folder; nothing if it is not readable."""
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                self.count()
                yield entry


def files_below(folder: Path) -> list[Path]:
    """Return all files in a folder and its subfolders, sorted."""
    visit = _Visit(str(folder))
    closed: list[OSError] = []
    files: list[Path] = []
    for at, folders, names in os.walk(folder, onerror=closed.append):
        visit.count(len(folders) + len(names))
        files += (Path(at, name) for name in names)
    # An unreadable folder is returned itself, so that reading it reports the error.
    return sorted([*files, *(Path(error.filename) for error in closed)])


def files_like(pattern: str) -> Iterator[Path]:
    """Yield the files and folders that match a pattern, as :mod:`glob` finds them, unordered."""
    visit = _Visit(pattern)
    whole = PurePath(pattern)
    parts = whole.parts[1:] if whole.anchor else whole.parts
    # Two ``**`` in a row match the same as one.
    steps = [p for p, before in zip(parts, ("", *parts), strict=False) if not p == before == "**"]
    todo = [(Path(whole.anchor), steps)]
    while todo:
        folder, (name, *rest) = todo.pop()
        if not has_magic(name):
            if rest:
                todo.append((folder / name, rest))
            elif os.path.lexists(folder / name):
                yield folder / name
            continue
        deep = name == "**"
        if deep and rest:
            todo.append((folder, rest))
        for entry in visit.entries(folder):
            hidden = entry.name.startswith(".") and not name.startswith(".")
            if hidden or not fnmatch(entry.name, name):
                continue
            if not rest:
                yield folder / entry.name
            with suppress(OSError):
                if (deep or rest) and entry.is_dir():
                    todo.append((folder / entry.name, [name, *rest] if deep else rest))
