"""What a real agent would keep in files beside its transcript."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, MutableMapping
from pathlib import Path

from compactlab.sim.errors import InputError


class Folder(MutableMapping[str, str]):
    """Files in a folder on disk, by their path in it.

    In a replay files are kept in memory; whoever wants to look at them hands a folder to
    ``replay(..., files=Folder(path))``. No path leads out of it, through no symbolic link either.

    Parameters
    ----------
    root
        The folder; made when the first file is written.

    Raises
    ------
    InputError
        If a path leads out of the folder.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)

    def __getitem__(self, path: str) -> str:
        try:
            return self._place(path).read_bytes().decode("utf-8", "replace")
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            raise KeyError(path) from None

    def __setitem__(self, path: str, text: str) -> None:
        place = self._place(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        # Written beside and then moved, so that nobody ever sees half of a file.
        handle, made = tempfile.mkstemp(dir=place.parent)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        Path(made).replace(place)

    def __delitem__(self, path: str) -> None:
        try:
            self._place(path).unlink()
        except FileNotFoundError:
            raise KeyError(path) from None

    def __iter__(self) -> Iterator[str]:
        return (
            path.relative_to(self.root).as_posix()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and not path.is_symlink()
        )

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _place(self, path: str) -> Path:
        root = self.root.resolve()
        place = root if "\0" in path else (self.root / path).resolve()
        if root not in place.parents:
            raise InputError(f"{path!r} leads out of the folder of files")
        return place
