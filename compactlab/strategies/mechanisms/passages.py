"""Passages of a log for a search: pieces of messages of limited length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from compactlab.sim.core.message import Message, Part, Source
from compactlab.strategies.mechanisms.text import whole


class Passage(NamedTuple):
    """A verbatim piece of a message, with its source."""

    text: str
    source: Source


def passages(messages: Iterable[Message], chars: int) -> Iterator[Passage]:
    r"""Split messages into passages of limited length.

    Passages end at line breaks or between words, if possible. Thinking, images, parts without text
    and parts outside of the log are left out, because no client keeps them for a search.

    Examples
    --------
    >>> from compactlab.sim.core.message import verbatim
    >>> told = Message("m", "user", (verbatim("m", "text", "one two\nthree four\nfive"),))
    >>> [passage.text for passage in passages([told], 12)]
    ['one two\n', 'three four\n', 'five']
    """
    for message in messages:
        for index, part in enumerate(message.parts):
            if part.kind == "verbatim" and part.type not in ("thinking", "image"):
                yield from _pieces(message, index, part, chars)


def _pieces(message: Message, index: int, part: Part, chars: int) -> Iterator[Passage]:
    text, start = part.text, 0
    while start < len(text):
        end = start + chars
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or text.rfind(" ", start, end) + 1 or end
        piece = text[start:end]
        if piece.strip():
            yield Passage(whole(piece), Source(message.id, index, start, min(end, len(text))))
        start = end
