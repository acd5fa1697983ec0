"""A tool's texts as one, and where in the log is what is left of them when that one is cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from compactlab.sim.core.message import Kind, Message, Part, Source
from compactlab.sim.core.tokens import utf16_length
from compactlab.strategies.mechanisms.stub import sources_of
from compactlab.strategies.mechanisms.text import head


class Piece(NamedTuple):
    """A text of a message, and where it begins in all of them joined, in UTF-16 code units."""

    part: Part
    place: int
    text: str
    start: int


def pieces_of(message: Message, image: str | None = None) -> Iterator[Piece]:
    """The texts of a message as they stand when line breaks join them.

    ``image`` is what stands for an image; without it, images are passed over.
    """
    start = 0
    for place, part in enumerate(message.parts):
        if part.type == "image" and image is None:
            continue
        text = image or "" if part.type == "image" else part.text
        yield Piece(part, place, text, start)
        start += utf16_length(text) + 1


def spans_of(pieces: Sequence[Piece], first: int, last: int, length: int) -> tuple[Source, ...]:
    """What is left of each text when so many code units of all are kept at either end."""
    sources: list[Source] = []
    for part, place, text, start in pieces:
        if part.type == "image" or not text:
            continue
        units = utf16_length(text)
        begins = min(max(first - start, 0), units)
        ends = min(max(start + units - (length - last), 0), units)
        if begins + ends >= units:
            sources += _span(part, place, 0, -1)
            continue
        if begins:
            sources += _span(part, place, 0, _points(text, begins, up=False))
        if ends:
            sources += _span(part, place, _points(text, units - ends, up=True), -1)
    return tuple(dict.fromkeys(sources))


def instead(message: Message, text: str, kind: Kind, sources: tuple[Source, ...]) -> Message:
    """A tool's result with one text in the place of all its parts; a stub, if nothing is left."""
    if not sources:
        kind, sources = "stub", sources_of(message.parts)
    first = next((part for part in message.parts if part.call_id), message.parts[0])
    part = Part(
        "tool_result",
        text,
        kind if sources else "synthetic",
        sources,
        first.name,
        first.call_id,
        first.is_error,
        first.handle,
    )
    return msgspec.structs.replace(message, parts=(part,))


def ending(text: str, units: int) -> str:
    """The last so many code units of a text; half of a pair may be left in front."""
    if text.isascii():
        return text[max(len(text) - units, 0) :]
    cut = text.encode("utf-16-le", "surrogatepass")
    return cut[max(len(cut) - 2 * units, 0) :].decode("utf-16-le", "surrogatepass")


def before_break(text: str, units: int, share: float) -> int:
    r"""Where to cut a text after so many code units, or at its last line break before that.

    The break counts if what stands before it is more than a share of the units.

    Examples
    --------
    >>> before_break("12345678\nabcdef", 10, 0.7), before_break("12345678\nabcdef", 14, 0.7)
    (8, 14)
    """
    line, found, _ = head(text, units + 1).rpartition("\n")
    place = utf16_length(line)
    return place if found and place > units * share else units


def _span(part: Part, place: int, start: int, end: int) -> tuple[Source, ...]:
    """A span of a part; of one that is a piece itself, what it stands for."""
    plain = part.kind == "verbatim" and len(part.sources) == 1
    return (Source(part.sources[0].id, place, start, end),) if plain else part.sources


def _points(text: str, units: int, *, up: bool) -> int:
    """Characters in so many code units; one that is cut in two counts only if rounded up."""
    begins = head(text, units)
    cut = bool(begins) and begins[-1] != text[len(begins) - 1]
    return len(begins) - (cut and not up)
