"""Content that an agent stores outside its context: notes and files."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, MutableMapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Source


class Folder(MutableMapping[str, str]):
    """Files in a folder on disk, by relative path.

    A replay keeps files in memory. To inspect them, pass a folder to ``compactlab.replay(...,
    files=compactlab.Folder(path))``, or to ``compactlab explain --files``. No path can leave the
    folder, not even through a symbolic link.

    Parameters
    ----------
    root
        The folder; created with the first file.

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
        if not isinstance(text, str):  # from a user's strategy
            raise InputError(f"{path!r}: the content is not text")
        place.parent.mkdir(parents=True, exist_ok=True)
        # Written to a temporary file and renamed, so that no one sees half a file.
        handle, made = tempfile.mkstemp(dir=place.parent)
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="") as file:
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


# The kinds of notes before a compaction, from section 6.4.3 of the Signet specification.
# ``history`` is the verbatim conversation, for agents that can search their log.
Topic = Literal["decision", "user", "progress", "action", "history"]


class Remembered(msgspec.Struct, frozen=True):
    """One note in an agent's memory."""

    topic: Topic  # ``decision``, ``user``, ``progress``, ``action``, or ``history``
    text: str
    sources: tuple[Source, ...]
    time: float = 0.0  # seconds since 1970


_WORD = re.compile(r"\w+")
# The usual constants of BM25: saturation of repeated words, and length normalisation.
_SATURATION, _LENGTH = 1.2, 0.75


def ranked(query: str, texts: Sequence[str]) -> list[int]:
    """Return the indices of texts that share a word with a query, best first, by BM25.

    This is Lucene's variant from ``bm25s``: no word has a negative weight, even with few texts.
    Scores are rounded to 1e-9, and ties keep their order.

    Examples
    --------
    >>> ranked("Which port?", ["the parser is slow", "port 8080", "port or parser?"])
    [1, 2]
    """
    scores = relevance(query, texts)
    matches = [place for place, score in enumerate(scores) if score > 0]
    return sorted(matches, key=lambda place: (-scores[place], place))


def relevance(query: str, texts: Sequence[str]) -> list[float]:
    """Return the BM25 score of each text for a query, see :func:`ranked`; 0 without a common word.

    Examples
    --------
    >>> relevance("port", ["the parser is slow", "port 8080"])
    [0.0, 0.364814306]
    """
    words, index = sorted(set(_words(query))), _index(tuple(texts))
    known = [word for word in words if index is not None and word in index.vocab_dict]
    if index is None or not known:
        return [0.0] * len(texts)
    scores: list[float] = index.get_scores(known).round(9).tolist()
    return scores


# A log is searched many times between two compactions.
@lru_cache(maxsize=8)
def _index(texts: tuple[str, ...]) -> Any:
    """Return the library's index of texts; None if they contain no word."""
    from bm25s import BM25

    words = [_words(text) for text in texts]
    if not any(words):
        return None
    index = BM25(_SATURATION, _LENGTH, method="lucene", dtype="float64", backend="numpy")
    index.index(words, show_progress=False)
    return index


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
