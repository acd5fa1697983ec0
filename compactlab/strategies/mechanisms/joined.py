"""The joined texts of a tool message, and the spans that remain after cutting the joined text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from compactlab.sim.core.message import Kind, Message, Part, Source
from compactlab.sim.core.tokens import utf16_length
from compactlab.strategies.mechanisms.stub import sources_of
from compactlab.strategies.mechanisms.text import head


class Piece(NamedTuple):
    """A text of a message, with its start in the joined text, in UTF-16 code units."""

    part: Part
    place: int
    text: str
    start: int


def pieces_of(message: Message, image: str | None = None) -> Iterator[Piece]:
    """Yield the texts of a message, at their positions after joining by line breaks.

    ``image`` is the text of an image; without it, images are skipped.
    """
    start = 0
    for index, part in enumerate(message.parts):
        if part.type == "image" and image is None:
            continue
        text = image or "" if part.type == "image" else part.text
        yield Piece(part, index, text, start)
        start += utf16_length(text) + 1


def spans_of(pieces: Sequence[Piece], first: int, last: int, length: int) -> tuple[Source, ...]:
    """Return the spans that remain if code units are kept at both ends of the joined text."""
    sources: list[Source] = []
    for part, index, text, start in pieces:
        if part.type == "image" or not text:
            continue
        units = utf16_length(text)
        begins = min(max(first - start, 0), units)
        ends = min(max(start + units - (length - last), 0), units)
        if begins + ends >= units:
            sources += _span(part, index, 0, -1)
            continue
        if begins:
            sources += _span(part, index, 0, _points(text, begins, up=False))
        if ends:
            sources += _span(part, index, _points(text, units - ends, up=True), -1)
    return tuple(dict.fromkeys(sources))


def instead(message: Message, text: str, kind: Kind, sources: tuple[Source, ...]) -> Message:
    """Replace all parts of a tool result by one text; without sources it is a stub."""
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
    """Return the last code units of a text; a surrogate pair may be split."""
    if text.isascii():
        return text[max(len(text) - units, 0) :]
    cut = text.encode("utf-16-le", "surrogatepass")
    return cut[max(len(cut) - 2 * units, 0) :].decode("utf-16-le", "surrogatepass")


def before_break(text: str, units: int, share: float) -> int:
    r"""Return a length in code units at which to cut a text, if possible at a line break.

    The break is used if it is after more than a share of the units.

    Examples
    --------
    >>> before_break("12345678\nabcdef", 10, 0.7), before_break("12345678\nabcdef", 14, 0.7)
    (8, 14)
    """
    line, found, _ = head(text, units + 1).rpartition("\n")
    index = utf16_length(line)
    return index if found and index > units * share else units


def _span(part: Part, index: int, start: int, end: int) -> tuple[Source, ...]:
    """Return the source of a part's span; for a part that is not verbatim, all its sources."""
    plain = part.kind == "verbatim" and len(part.sources) == 1
    return (Source(part.sources[0].id, index, start, end),) if plain else part.sources


def _points(text: str, units: int, *, up: bool) -> int:
    """Count the characters in code units; a split character only counts if rounded up."""
    begins = head(text, units)
    cut = bool(begins) and begins[-1] != text[len(begins) - 1]
    return len(begins) - (cut and not up)
