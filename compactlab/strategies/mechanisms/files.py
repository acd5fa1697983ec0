"""What a log knows of the files that an agent has read and changed.

Nothing is ever opened: a file is what the tools' arguments and results said of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from compactlab.sim.message import Message, Part, Source, frame

# The tools of Claude Code, pi, OpenCode and Gemini CLI, without case and without "file".
READS = frozenset({"read", "view", "open"})
WRITES = frozenset({"write", "create"})
EDITS = frozenset({"edit", "multiedit", "replace", "strreplace", "update"})
_PATHS = ("path", "file_path", "filePath", "absolute_path", "filename")
_CONTENTS = ("content", "contents", "text", "file_text")
_OLD = ("old_string", "oldText", "oldString", "old")
_NEW = ("new_string", "newText", "newString", "new")
_PIECE = ("offset", "limit", "start_line", "end_line")

# Claude Code numbers the lines of what it reads; an edit's texts have no numbers.
_NUMBERED = re.compile(r"^ *\d+(?:→|\t)", re.MULTILINE)


@dataclass
class KnownFile:
    """A file, as far as the log knows it.

    Parameters
    ----------
    path
        As the agent wrote it.
    text
        What was last read or written of it, with later edits put in where their old text stands.
    sources
        The messages that this comes from.
    touched, modified
        Place in the log at which it was last read or changed, and last changed; -1 for never.
    whole
        Whether the text was read or written without being a piece.
    """

    path: str
    text: str = ""
    sources: tuple[Source, ...] = ()
    touched: int = -1
    modified: int = -1
    whole: bool = False


@dataclass
class _Shelf:
    """All files that are known so far, and the calls whose results are still to come."""

    files: dict[str, KnownFile] = field(default_factory=dict)
    calls: dict[str, tuple[Message, Part, dict[str, Any]]] = field(default_factory=dict)

    def call(self, message: Message, part: Part) -> None:
        arguments = _arguments(part)
        if _first(arguments, _PATHS):
            self.calls[part.call_id] = message, part, arguments

    def result(self, place: int, message: Message, index: int) -> None:
        part = message.parts[index]
        if part.is_error or part.call_id not in self.calls:
            return
        caller, call, arguments = self.calls.pop(part.call_id)
        tool = re.sub(r"file|[_\W]", "", call.name.lower())
        path = _first(arguments, _PATHS)
        known = self.files.setdefault(path, KnownFile(path))
        if tool in READS:
            whole = not any(arguments.get(name) for name in _PIECE)
            self._learn(known, _NUMBERED.sub("", part.text), (Source(message.id, index),), whole)
        elif tool in WRITES:
            self._learn(known, _first(arguments, _CONTENTS), (Source(caller.id),), whole=True)
            known.modified = place
        elif tool in EDITS:
            _edit(known, arguments, caller)
            known.modified = place
        else:
            return
        known.touched = place

    @staticmethod
    def _learn(known: KnownFile, text: str, sources: tuple[Source, ...], whole: bool) -> None:
        # A piece says less than the whole file that was read before it.
        if text and (whole or not known.whole):
            known.text, known.sources, known.whole = text, sources, whole


def known_files(log: Iterable[Message]) -> list[KnownFile]:
    """The files of a log, the most recently modified first, then those that were only read.

    A file that was only read in a session was changed before all that were changed in it.
    """
    shelf = _Shelf()
    for place, message in enumerate(log):
        for index, part in enumerate(message.parts):
            if part.type == "tool_call":
                shelf.call(message, part)
            elif part.type == "tool_result":
                shelf.result(place, message, index)
    known = [each for each in shelf.files.values() if each.touched >= 0]
    return sorted(known, key=lambda each: (each.modified, each.touched), reverse=True)


def attached(
    log: Iterable[Message], count: Callable[[str], int], files: int, file_tokens: int
) -> list[Part]:
    """The most recently modified files as a client attaches them anew after a compaction.

    Parameters
    ----------
    log
        All that has been said.
    count
        Counts tokens.
    files
        How many, at most.
    file_tokens
        Tokens above which a file's path alone is told.
    """
    parts = []
    for known in [each for each in known_files(log) if each.text][:files]:
        if count(known.text) <= file_tokens:
            parts.append(frame(f"{known.path} as it is now:\n"))
            parts.append(Part("text", known.text, "recovered", known.sources, handle=known.path))
        else:
            told = f"{known.path} was in use; read it again if need be."
            parts.append(Part("text", told, "stub", known.sources, handle=known.path))
    return parts


def _edit(known: KnownFile, arguments: dict[str, Any], caller: Message) -> None:
    changed = False
    for edit in _edits(arguments):
        old, new = _first(edit, _OLD), _first(edit, _NEW)
        if old and old in known.text:
            known.text = known.text.replace(old, new, -1 if edit.get("replace_all") else 1)
            changed = True
    if changed:
        known.sources = (*known.sources, Source(caller.id))


def _edits(arguments: dict[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield arguments
    several = arguments.get("edits")
    if isinstance(several, list):
        yield from (edit for edit in several if isinstance(edit, dict))


def _arguments(part: Part) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(part.text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _first(arguments: Mapping[str, Any], names: Iterable[str]) -> str:
    """The first of some arguments that is a text."""
    return next((v for v in map(arguments.get, names) if isinstance(v, str) and v), "")
