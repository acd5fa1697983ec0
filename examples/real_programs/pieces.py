"""Messages of a view in pieces, as frameworks have them, and back to edits of the protocol.

A message of compactlab may hold the results of several calls; frameworks have a message for each.
So a *piece* is a message, or one result of it. Every adapter gives a piece's ``key`` to what it
makes of it, and finds out by that what the framework has kept.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "programs"))


@dataclass(frozen=True)
class Piece:
    """A message, or one result of a tool in it.

    Parameters
    ----------
    key
        The message's id, and the place of its first part.
    role
        ``user``, ``assistant`` or ``tool``.
    message, parts
        The message of the view, and the parts of it that this is.
    """

    key: str
    role: str
    message: dict[str, Any] = field(repr=False)
    parts: tuple[dict[str, Any], ...]

    @property
    def text(self) -> str:
        """What it says to a framework that knows texts alone."""
        kinds = ("text", "tool_result")
        texts = (text_of(part) for part in self.parts if part["type"] in kinds)
        return "\n".join(text for text in texts if text)

    @property
    def images(self) -> int:
        """How many images it shows."""
        return sum(part["type"] == "image" for part in self.parts)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Calls of tools: name, id and arguments."""
        found = (part for part in self.parts if part["type"] == "tool_call")
        return [
            {"name": p.get("name", ""), "id": p.get("call_id", ""), "args": arguments(p["text"])}
            for p in found
        ]

    @property
    def result(self) -> dict[str, Any]:
        """The first result of a tool in it; {} if it has none."""
        return next((part for part in self.parts if part["type"] == "tool_result"), {})


def text_of(part: dict[str, Any]) -> str:
    """A part's text; as many characters as it has tokens for, where nobody has its text."""
    return part["text"] or "." * (4 * part.get("size", 0))


def arguments(text: str) -> dict[str, Any]:
    """The arguments of a call; what is no JSON object is the value of one key."""
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    return value if isinstance(value, dict) else {"arguments": value}


def pieces(messages: Iterable[dict[str, Any]]) -> Iterator[Piece]:
    """The pieces of a view's messages, oldest first."""
    for message in messages:
        parts = message["parts"]
        results = [index for index, part in enumerate(parts) if part["type"] == "tool_result"]
        starts = [0, *results[1:]] if message["role"] == "tool" else [0]
        for start, end in zip(starts, [*starts[1:], len(parts)], strict=True):
            key = f"{message['id']}#{start}"
            yield Piece(key, message["role"], message, tuple(parts[start:end]))


Kept = str | tuple[str, str] | dict[str, Any]
"""A piece that stays, by its key; one that has another text, with it; a message that is new."""


def edits(kept: Iterable[Kept], known: Iterable[Piece]) -> list[Any]:
    """What is left of a view, as edits: see docs/protocol.md."""
    whole = {piece.key: piece for piece in known}
    found: list[Any] = []

    def owner(item: Kept) -> object:
        # A new message is equal to nothing else.
        return id(item) if isinstance(item, dict) else whole[_key(item)].message["id"]

    for message, group in groupby(kept, key=owner):
        items = list(group)
        if isinstance(items[0], dict):
            found += items
            continue
        parts: list[Any] = []
        for item in items:
            piece, first = whole[_key(item)], int(_key(item).rpartition("#")[2])
            if isinstance(item, str):
                parts += range(first, first + len(piece.parts))
            else:
                parts.append({"part": first, "text": item[1]})
        everything = list(range(len(whole[_key(items[0])].message["parts"])))
        found.append(message if parts == everything else {"id": message, "parts": parts})
    return found


def _key(item: Kept) -> str:
    assert not isinstance(item, dict)
    return item if isinstance(item, str) else item[0]


def ids(keys: Iterable[str]) -> list[str]:
    """The messages of some pieces, each once."""
    return list(dict.fromkeys(key.rpartition("#")[0] for key in keys))


def says_summary(message: dict[str, Any]) -> bool:
    """Whether a message holds a summary that was made in this replay."""
    return any(part.get("kind") == "summary" for part in message["parts"])
