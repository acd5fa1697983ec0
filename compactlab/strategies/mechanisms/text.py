"""Texts and parts as the original systems interpret, cut and write them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

import msgspec

from compactlab.sim.core.message import FRAME, SUMMARY, Kind, Message, Part, Source
from compactlab.sim.core.tokens import utf16_length

# Numbers as in JavaScript: a configuration may have values of any type.


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a number, including NaN and infinity."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_finite(value: object) -> TypeGuard[float]:
    """Whether a value is a finite number."""
    return is_number(value) and math.isfinite(value)


# Small functions for the parts of a message.


def holds(message: Message, type: str) -> bool:
    """Whether a message has a part of a type."""
    return any(part.type == type for part in message.parts)


def one(message: Message) -> int:
    """Weigh every message as 1."""
    return 1


def with_parts(message: Message, parts: Sequence[Part]) -> Message:
    """Return a message with other parts; the same message if they are identical."""
    own = message.parts
    if len(parts) == len(own) and all(a is b for a, b in zip(parts, own, strict=True)):
        return message
    return msgspec.structs.replace(message, parts=tuple(parts))


def changed_to(kind: Kind, part: Part) -> Kind:
    """Return the kind of a changed part; a part without sources keeps its kind."""
    return kind if part.sources else part.kind


def arguments_of(call: Part) -> Any:
    """Parse the arguments of a call as JSON; None if they are invalid."""
    try:
        return json.loads(call.text)
    except (ValueError, RecursionError):
        return None


# Texts as the original systems interpret, cut and write them.

# JavaScript's white space, which differs from Python's.
BLANKS = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_BLANK_RUN = re.compile(f"[{BLANKS}]+")
# Characters that only one of Python and JavaScript treats as blank.
_DISPUTED = "\x1c\x1d\x1e\x1f\x85\ufeff"
LONE = re.compile("[\ud800-\udfff]")


def head(text: str, units: int) -> str:
    r"""Return the first code units of a text; a surrogate pair may be split.

    Examples
    --------
    >>> head("hello", 2), head("a\N{ROCKET}", 2)
    ('he', 'a\ud83d')
    """
    begins = text[: max(units, 0)]
    if begins.isascii():
        return begins
    cut = begins.encode("utf-16-le", "surrogatepass")[: 2 * units]
    return cut.decode("utf-16-le", "surrogatepass")


def collapsed(text: str, words: int = -1) -> str:
    r"""Replace each run of blanks by one blank, and strip the text.

    If only the first words are wanted, the rest of a long text is not read.
    """
    if any(map(text.__contains__, _DISPUTED)):
        text = _BLANK_RUN.sub(" ", text).strip(" ")
        return text if words < 0 else " ".join(text.split(" ", words)[:words])
    pieces = text.split(None, words)
    return " ".join(pieces if words < 0 else pieces[:words])


def as_json(value: object) -> str:
    r"""Write a value as ``JSON.stringify`` does: unpaired surrogates are escaped.

    Examples
    --------
    >>> print(as_json(["a\ud83d", 1]))
    ["a\ud83d",1]
    """
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return LONE.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def whole(text: str) -> str:
    r"""Remove unpaired surrogates from a text, as pi does before sending."""
    return text if text.isascii() else LONE.sub("", text)


def without_middle(message: Message, index: int, head: int, tail: int, marker: str) -> Part:
    """Return a part's text without its middle, with the remaining spans."""
    part = message.parts[index]
    text, end = part.text, len(part.text)
    shorter = text[:head] + marker + (text[end - tail :] if tail else "")
    return Part(
        part.type,
        shorter,
        changed_to("truncated", part),
        spans_left(message, index, [(0, head), (end - tail, end)]),
        part.name,
        part.call_id,
        part.is_error,
        part.handle,
    )


def spans_left(message: Message, index: int, spans: list[tuple[int, int]]) -> tuple[Source, ...]:
    """Return the spans of pieces of a part in the log; all its sources, if they are unknown."""
    part = message.parts[index]
    if part.kind != "verbatim" or len(part.sources) > 1:
        return part.sources
    (source,) = part.sources
    place, first = (index, 0) if source.part < 0 else (source.part, source.start)
    sources = (Source(source.id, place, first + a, first + b) for a, b in spans if a < b)
    return tuple(sources) or part.sources


def speaker(message: Message) -> str:
    """Return ``User`` or ``Assistant``; "" for other messages.

    Summaries, shell output and similar messages have the user role but no speaker, and so do
    attachments of the client that no person typed. A strategy's text in an extra turn is the
    user's: the transcript shows it as such.
    """
    if message.role == "assistant":
        return "" if message.origin == SUMMARY else "Assistant"
    attached = message.meta and any(part.kind != "synthetic" for part in message.parts)
    return "" if message.role == "tool" or message.origin or attached else "User"


def spoken(message: Message) -> list[tuple[int, Part]]:
    """Return the prose parts of a message, with their indices."""
    return [
        (index, part)
        for index, part in enumerate(message.parts)
        if part.type == "text" and part.name != FRAME
    ]


_SPEAKERS = {"user": "User", "assistant": "Assistant", "tool": "Tool result"}


def transcript(messages: Iterable[Message], result_chars: int | None = None) -> str:
    """Write messages as text, with speakers.

    OpenCode and Cline cut each tool result to 2,000 characters.
    """
    lines = (_line(message, part, result_chars) for message in messages for part in message.parts)
    return "\n\n".join(line for line in lines if line)


def _line(message: Message, part: Part, result_chars: int | None) -> str:
    text = part.text
    if not text and part.type != "tool_call":
        return ""
    if part.type == "tool_call":
        return f"[Assistant calls] {part.name}({text})"
    if (
        part.type == "tool_result"
        and result_chars is not None
        and utf16_length(text) > result_chars
    ):
        text = f"{text[:result_chars]}\n[cut]"
    return f"[{_SPEAKERS[message.role]}] {text}"
