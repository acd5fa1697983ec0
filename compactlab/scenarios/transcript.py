"""Reading a conversation from any transcript: its format is told by what is in it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from compactlab.scenarios import (
    anthropic_messages,
    claude_code,
    codex,
    jsonl,
    locomo,
    native,
    openai_chat,
    pi,
    swe_agent,
    tau_bench,
)
from compactlab.sim.conversation import Conversation
from compactlab.sim.errors import InputError


class Format(Protocol):
    """A format that can be read; each is a module of this folder."""

    name: str
    description: str

    def sniff(self, first: list[Any], /) -> bool:
        """Say whether the first values of a file, never none, look like this format."""

    def read(self, path: Path, lenient: bool = False) -> Iterator[Conversation]:
        """Yield the conversations of a file."""


FORMATS: tuple[Format, ...] = (
    native,
    pi,
    codex,
    claude_code,
    locomo,
    tau_bench,
    swe_agent,
    anthropic_messages,
    openai_chat,
)


def read(path: str | Path, *, lenient: bool = False) -> Iterator[Conversation]:
    """Yield the conversations of a file, whatever its format.

    Parameters
    ----------
    path
        The file.
    lenient
        Pass over what cannot be read, and count it in `Conversation.skipped`.

    Returns
    -------
    Iterator[Conversation]
        Their ids are the file's stem, with a suffix from the second on; files of equal stem give
        equal ids. Native files carry their own.

    Raises
    ------
    InputError
        If the file is of no known format, or something in it cannot be read.
    """
    path = Path(path)
    known = ", ".join(each.name for each in FORMATS)
    try:
        reader = _reader(path)
    except InputError as error:
        if error.line != 1:
            raise
        # Not even its first line: perhaps it is none at all.
        told = f"{error.message}; transcripts are of one of these formats: {known}"
        raise InputError(told, error.path, error.line) from None
    if reader is None:
        raise InputError(f"this is no transcript of a known format ({known})", str(path))
    return reader.read(path, lenient)


def read_as(path: Path, named: str, *, lenient: bool = False) -> Iterator[Conversation]:
    """Read a file, whose errors name it as its user did: a store shall not tell where it was made.

    Parameters
    ----------
    path
        The file, from the root on.
    named
        What it is called in errors.
    lenient
        As for :func:`read`.
    """
    try:
        yield from read(path, lenient=lenient)
    except InputError as error:
        where = named if error.path == str(path) else error.path
        raise InputError(error.message, where, error.line) from None


def find(paths: Iterable[str | Path]) -> tuple[list[Path], int]:
    """List the transcripts among files and below directories.

    Parameters
    ----------
    paths
        Files, which must be transcripts, and directories, in which others are passed over.

    Returns
    -------
    tuple[list[Path], int]
        The transcripts, each once, those of a directory sorted; and how many files of the
        directories were passed over: of no known format, or symbolic links.

    Raises
    ------
    InputError
        If a file that is named is missing or of no known format.
    """
    found: dict[Path, Path] = {}
    skipped = 0
    for path in map(Path, paths):
        if not _is_folder(path):
            read(path)
            found.setdefault(path.resolve(), path)
            continue
        for file in _files(path):
            if _is_transcript(file):
                found.setdefault(file.resolve(), file)
            else:
                skipped += 1
    return list(found.values()), skipped


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except PermissionError as error:
        raise InputError(error.strerror or str(error), str(path)) from None
    except (OSError, ValueError) as error:  # too long, or no text that could be a path
        raise InputError(f"this is no path: {error}") from None


def _reader(path: Path) -> Format | None:
    if not _is_folder(path) and path.exists() and not path.is_file():
        raise InputError("this is no regular file", str(path))
    first = jsonl.peek(path)
    return next((each for each in FORMATS if each.sniff(first)), None)


def _files(directory: Path) -> list[Path]:
    closed: list[OSError] = []
    walked = os.walk(directory, onerror=closed.append)
    found = [Path(folder, file) for folder, _, files in walked for file in files]
    # A folder that nobody may look into stands for what may be in it, and is named when it is read.
    return sorted([*found, *(Path(error.filename) for error in closed)])


def _is_transcript(file: Path) -> bool:
    # A link that leads inside would be read twice, one that leads outside is not ours to follow.
    try:
        return not file.is_symlink() and _reader(file) is not None
    except InputError:
        # What nobody may read may be a transcript; whoever reads it next will say so.
        return not os.access(file, os.R_OK)
