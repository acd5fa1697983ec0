"""A tool's result made shorter: its head and its tail, or a word in its place."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from compactlab.sim.message import Kind, Message, Part, Source
from compactlab.sim.tokens import utf16_length
from compactlab.strategies.mechanisms.stub import sources_of
from compactlab.strategies.mechanisms.units import head

# What OpenClaw says in the place of an image (2026.3.11 on).
IMAGE_GONE = "[image removed during context pruning]"


class _Piece(NamedTuple):
    """A text of a message, and where it begins in all of them joined, in UTF-16 code units."""

    part: Part
    place: int
    text: str
    start: int


def trimmed(
    message: Message, max_chars: float, head_chars: float, tail_chars: float, *, images: bool
) -> Message:
    """Keep the beginning and the end of a tool's result that is too long.

    As OpenClaw's pruner does (2026.1.29 to 2026.3.13): the texts are joined by line breaks and cut
    by UTF-16 code units, if need be through a pair; a note says what was kept.

    Parameters
    ----------
    message
        The result.
    max_chars
        Code units that it may have.
    head_chars, tail_chars
        How many are kept at either end, if that makes fewer.
    images
        Whether a line takes the place of its images, however short it is. If not, a result with
        images is left alone.

    Returns
    -------
    Message
        The shorter result; itself, if nothing was to be done.
    """
    pictured = any(part.type == "image" for part in message.parts)
    if pictured and not images:
        return message
    pieces = list(_pieces(message))
    whole = "\n".join(piece.text for piece in pieces)
    length, first, last = utf16_length(whole), max(0, head_chars), max(0, tail_chars)
    if length <= max_chars or first + last >= length:
        if not pictured:
            return message
        return _instead(message, whole, "truncated", _spans(pieces, length, 0, length))
    kept = f"{head(whole, int(first))}\n...\n{_tail(whole, length, math.ceil(last))}"
    note = (
        f"\n\n[Tool result trimmed: kept first {_written(first)} chars and last {_written(last)} "
        f"chars of {length} chars.]"
    )
    spans = _spans(pieces, int(first), math.ceil(last), length)
    return _instead(message, kept + note, "truncated", spans)


def cleared(message: Message, placeholder: str) -> Message:
    """Put a word in the place of a tool's result; its call keeps it."""
    return _instead(message, placeholder, "stub", ())


def _instead(message: Message, text: str, kind: Kind, sources: tuple[Source, ...]) -> Message:
    """The result with one text in the place of all its parts."""
    if not sources:
        kind, sources = "stub", sources_of(message.parts)
    said = next((part for part in message.parts if part.call_id), message.parts[0])
    part = Part(
        "tool_result",
        text,
        kind if sources else "synthetic",
        sources,
        said.name,
        said.call_id,
        said.is_error,
        said.handle,
    )
    return msgspec.structs.replace(message, parts=(part,))


def _pieces(message: Message) -> Iterator[_Piece]:
    start = 0
    for place, part in enumerate(message.parts):
        text = IMAGE_GONE if part.type == "image" else part.text
        yield _Piece(part, place, text, start)
        start += utf16_length(text) + 1


def _spans(pieces: list[_Piece], first: int, last: int, length: int) -> tuple[Source, ...]:
    """What is left of each text when so many code units of all are kept at either end."""
    found: list[Source] = []
    for part, place, text, start in pieces:
        if part.type == "image" or not text:
            continue
        units = utf16_length(text)
        begins = min(max(first - start, 0), units)
        ends = min(max(start + units - (length - last), 0), units)
        if begins + ends >= units:
            found += _piece(part, place, 0, -1)
            continue
        if begins:
            found += _piece(part, place, 0, _points(text, begins, up=False))
        if ends:
            found += _piece(part, place, _points(text, units - ends, up=True), -1)
    return tuple(dict.fromkeys(found))


def _piece(part: Part, place: int, start: int, end: int) -> tuple[Source, ...]:
    """A span of a part; of one that is a piece itself, what it stands for."""
    plain = part.kind == "verbatim" and len(part.sources) == 1
    return (Source(part.sources[0].id, place, start, end),) if plain else part.sources


def _points(text: str, units: int, *, up: bool) -> int:
    """Characters in so many code units; one that is cut in two counts only if rounded up."""
    begins = head(text, units)
    cut = bool(begins) and begins[-1] != text[len(begins) - 1]
    return len(begins) - (cut and not up)


def _tail(text: str, length: int, units: int) -> str:
    """The last so many code units of a text; half of a pair may be left in front."""
    if text.isascii():
        return text[length - units :]
    cut = text.encode("utf-16-le", "surrogatepass")[2 * (length - units) :]
    return cut.decode("utf-16-le", "surrogatepass")


def _written(number: float) -> str:
    """A number as JavaScript writes it into a text."""
    return str(int(number)) if float(number).is_integer() else str(number)
