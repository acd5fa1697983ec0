"""The sentences and lines of a text, and where in the log they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator

from compactlab.sim.message import Message, Part, Source

LONGEST = 300  # characters of a span; longer ones are cut, so that one line cannot be everything

# A line ends a span, and so does a sentence in it.
_BREAK = re.compile(r"[\r\n]|(?<=[.!?]) (?=[A-Z])")


def spans_of(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of sentences and lines, cut to the longest length, without outer blanks."""
    start = 0
    for stop in (*(match.end() for match in _BREAK.finditer(text)), len(text)):
        while start < stop:
            end = stop
            if stop - start > LONGEST:
                blank = text.rfind(" ", start + LONGEST // 2, start + LONGEST)
                end = blank + 1 if blank >= 0 else start + LONGEST
            piece = text[start:end].rstrip()
            if bare := piece.lstrip():
                yield start + len(piece) - len(bare), start + len(piece)
            start = end


def origin_of(message: Message, index: int) -> Source | None:
    """Say where a part's text begins in the log, if it stands there character by character."""
    part = message.parts[index]
    if part.kind == "verbatim" and part.sources == (Source(message.id),):
        return Source(message.id, index)
    return place_of(part)


def place_of(part: Part) -> Source | None:
    """The piece of the log that a part quotes, if it says which one."""
    if part.kind != "verbatim" or len(part.sources) > 1 or part.sources[0].part < 0:
        return None
    return part.sources[0]
