"""A log in passages, as a search finds them: pieces of messages that are no longer than so much."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from compactlab.sim.core.message import Message, Part, Source
from compactlab.strategies.mechanisms.text import whole


class Passage(NamedTuple):
    """A piece of what was said, word for word, and where it stands."""

    text: str
    source: Source


def passages(messages: Iterable[Message], chars: int) -> Iterator[Passage]:
    r"""Cut messages into passages of so many characters at most.

    They end at line breaks, or between words, where there are any. Thinking, images and what has
    no text are left out: no client keeps them to be searched. So is what is no part of the log.

    Examples
    --------
    >>> from compactlab.sim.core.message import verbatim
    >>> told = Message("m", "user", (verbatim("m", "text", "one two\nthree four\nfive"),))
    >>> [passage.text for passage in passages([told], 12)]
    ['one two\n', 'three four\n', 'five']
    """
    for message in messages:
        for place, part in enumerate(message.parts):
            if part.kind == "verbatim" and part.type not in ("thinking", "image"):
                yield from _pieces(message, place, part, chars)


def _pieces(message: Message, place: int, part: Part, chars: int) -> Iterator[Passage]:
    text, start = part.text, 0
    while start < len(text):
        end = start + chars
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or text.rfind(" ", start, end) + 1 or end
        piece = text[start:end]
        if piece.strip():
            yield Passage(whole(piece), Source(message.id, place, start, min(end, len(text))))
        start = end
