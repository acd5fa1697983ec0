"""Stories: small transcripts of every format, each with the conversations that are read of it.

A file of ``stories/`` has those of a subject. In front stand the sections of docs/formats.md that
the stories show (``make docs`` writes the page). Behind ``===`` stands a story's title, then
perhaps why it is so; behind ``---`` the name of a file, then the file; behind ``+++ read`` the
conversations as compactlab's own format has them, and behind ``!`` why there are no (more) of them.
Where reading strictly ends otherwise, that stands behind ``+++ strict``. A file that is called
``NAME.sql`` stands for the database ``NAME``.
"""

from __future__ import annotations

import io
import json
import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from compactlab.scenarios.readers import native, transcript
from compactlab.sim.core.errors import InputError

FOLDER = Path(__file__).parent / "stories"
_READ, _STRICT = "+++ read", "+++ strict"
_MARK = re.compile(r"^(?:=== |--- |\+\+\+ )")


@dataclass
class Story:
    """Some files, and what is read of them."""

    title: str
    why: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    read: str = ""
    strict: str = ""  # "" where it is the same

    @property
    def records(self) -> list[Any]:
        """The values of its one file, one a line."""
        (text,) = self.files.values()
        return [json.loads(line) for line in text.split("\n") if line]

    def told(self, folder: Path) -> Story:
        """The same files with what is read of them now."""
        folder /= "story"  # the name of which is an id, to some
        paths = self.write(folder)
        usual, strict = (_outcome(paths, folder, strict=strict) for strict in (False, True))
        return replace(self, read=usual, strict="" if usual == strict else strict)

    def write(self, folder: Path) -> list[Path]:
        """Write its files into a folder."""
        return [_written(folder / name, text) for name, text in self.files.items()]

    def __str__(self) -> str:
        pieces = [f"=== {self.title}\n", *(f"{line}\n" for line in self.why)]
        pieces += [f"--- {name}\n{text}" for name, text in self.files.items()]
        pieces += [f"{_READ}\n{self.read}", f"{_STRICT}\n{self.strict}" if self.strict else ""]
        return "".join(pieces)


def _written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix != ".sql":
        path.write_text(text, encoding="utf-8", newline="")
        return path
    path = path.with_suffix("")
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(text)
    return path


def records_of(subject: str) -> dict[str, list[Any]]:
    """The records of stories of one file each, by title."""
    return {title: story.records for title, story in stories_of(subject).items()}


def good_files(what: str) -> dict[str, list[Any]]:
    """The records of the stories ``FORMAT: WHAT`` of all formats, by format."""
    return {
        title.removesuffix(f": {what}"): story.records
        for file in sorted(FOLDER.glob("*.txt"))
        for title, story in stories_of(file.stem).items()
        if title.endswith(f": {what}")
    }


def stories_of(subject: str) -> dict[str, Story]:
    """The stories of a subject, by title."""
    stories: dict[str, Story] = {}
    story, mark, name = Story(""), "", ""
    text = (FOLDER / f"{subject}.txt").read_text("utf-8")
    for line in text.removeprefix(head_of(text)).removesuffix("\n").split("\n"):
        if _MARK.match(line):
            mark, name = line, line[4:]
            if mark.startswith("==="):
                assert name not in stories, name
                story = stories[name] = Story(name)
            elif mark.startswith("---"):
                story.files[name] = ""
        elif mark == _READ:
            story.read += f"{line}\n"
        elif mark == _STRICT:
            story.strict += f"{line}\n"
        elif mark.startswith("---"):
            story.files[name] += f"{line}\n"
        else:
            story.why.append(line)
    return stories


def head_of(text: str) -> str:
    """What stands in front of the first story."""
    return "" if text.startswith("=== ") else text.partition("\n=== ")[0] + "\n"


def write_stories(subject: str, stories: list[Story]) -> None:
    """Write the stories of a subject."""
    file = FOLDER / f"{subject}.txt"
    head = head_of(file.read_text("utf-8"))
    file.write_text("".join([head, *map(str, stories)]), encoding="utf-8")


def _outcome(paths: list[Path], folder: Path, *, strict: bool) -> str:
    """What is read of one file, or of all transcripts of a folder."""
    told, left_out = io.BytesIO(), 0
    try:
        if len(paths) > 1:
            paths, left_out = transcript.find([folder])
        for path in paths:
            for conversation in transcript.read(path, strict=strict):
                source = path.relative_to(folder).as_posix()
                native.write(replace(conversation, source=source), told)
    except InputError as error:
        reason = str(error).replace(f"{folder}/", "").partition("; known formats are")[0]
        told.write(f"! {type(error).__name__}: {reason}\n".encode())
    if left_out:
        told.write(f"! files of no known format: {left_out}\n".encode())
    return told.getvalue().decode()


# In a good file of each format every word is marked, or there is every kind of record.
MARKED = good_files("every word marked")
FULL = good_files("every kind of record")
