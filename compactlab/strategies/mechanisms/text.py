"""Texts and parts as the originals see, cut and write them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

import msgspec

from compactlab.sim.core.message import FRAME, SUMMARY, Kind, Message, Part, Source
from compactlab.sim.core.tokens import utf16_length

# Numbers as JavaScript has them: of any kind in a configuration, and not always numbers.


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a number, NaN and infinity among them."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_finite(value: object) -> TypeGuard[float]:
    """Whether a value is a number, and neither NaN nor infinite."""
    return is_number(value) and math.isfinite(value)


# Small questions to the parts of a message, and small things done to them.


def holds(message: Message, type: str) -> bool:
    """Whether a message has a part of a type."""
    return any(part.type == type for part in message.parts)


def one(message: Message) -> int:
    """Weigh a message by that it is one."""
    return 1


def with_parts(message: Message, parts: Sequence[Part]) -> Message:
    """A message with other parts; itself, if they are the very same."""
    own = message.parts
    if len(parts) == len(own) and all(a is b for a, b in zip(parts, own, strict=True)):
        return message
    return msgspec.structs.replace(message, parts=tuple(parts))


def changed_to(kind: Kind, part: Part) -> Kind:
    """The kind of a part that is changed; what stands for nothing goes on doing so."""
    return kind if part.sources else part.kind


def arguments_of(call: Part) -> Any:
    """The arguments of a call, read as JSON; None if they are none."""
    try:
        return json.loads(call.text)
    except (ValueError, RecursionError):
        return None


# Texts as the originals see, cut and write them.

# What JavaScript takes for white space; Python's own list is another one.
BLANKS = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_BLANK_RUN = re.compile(f"[{BLANKS}]+")
# Where Python and JavaScript do not agree on what a blank is.
_DISPUTED = "\x1c\x1d\x1e\x1f\x85\ufeff"
LONE = re.compile("[\ud800-\udfff]")


def head(text: str, units: int) -> str:
    r"""The first so many code units of a text; half of a pair may be left at the end.

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
    r"""A text with one blank for every run of blanks, and none around it.

    Of a long text of which only so many words are wanted the rest is not looked at.
    """
    if any(map(text.__contains__, _DISPUTED)):
        text = _BLANK_RUN.sub(" ", text).strip(" ")
        return text if words < 0 else " ".join(text.split(" ", words)[:words])
    pieces = text.split(None, words)
    return " ".join(pieces if words < 0 else pieces[:words])


def as_json(value: object) -> str:
    r"""A value as ``JSON.stringify`` writes it: halves of pairs become escapes.

    Examples
    --------
    >>> print(as_json(["a\ud83d", 1]))
    ["a\ud83d",1]
    """
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return LONE.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def whole(text: str) -> str:
    r"""A text without halves of pairs: pi takes them out of everything that it sends."""
    return text if text.isascii() else LONE.sub("", text)


def without_middle(message: Message, index: int, head: int, tail: int, marker: str) -> Part:
    """A part's text with its middle left out, with the spans that it still holds."""
    part = message.parts[index]
    text, end = part.text, len(part.text)
    shorter = text[:head] + marker + (text[end - tail :] if tail else "")
    return Part(
        part.type,
        shorter,
        changed_to("truncated", part),
        _spans(message, index, [(0, head), (end - tail, end)]),
        part.name,
        part.call_id,
        part.is_error,
        part.handle,
    )


def _spans(message: Message, index: int, spans: list[tuple[int, int]]) -> tuple[Source, ...]:
    """Where pieces of a part stand in the log; all of its sources, if that is not known."""
    part = message.parts[index]
    if part.kind != "verbatim" or len(part.sources) > 1:
        return part.sources
    (source,) = part.sources
    place, first = (index, 0) if source.part < 0 else (source.part, source.start)
    sources = (Source(source.id, place, first + a, first + b) for a, b in spans if a < b)
    return tuple(sources) or part.sources


def speaker(message: Message) -> str:
    """``User`` or ``Assistant``; "" if neither of them speaks.

    Summaries, shell output and the like, which are told to the model as the user's, are nobody's
    words, and so is what a client attaches without a person having typed it. What a strategy tells
    the agent in an extra turn is the user's: it stands in the transcript as such.
    """
    if message.role == "assistant":
        return "" if message.origin == SUMMARY else "Assistant"
    attached = message.meta and any(part.kind != "synthetic" for part in message.parts)
    return "" if message.role == "tool" or message.origin or attached else "User"


def spoken(message: Message) -> list[tuple[int, Part]]:
    """The parts of a message that are prose, with their places in it."""
    return [
        (place, part)
        for place, part in enumerate(message.parts)
        if part.type == "text" and part.name != FRAME
    ]


_SPEAKERS = {"user": "User", "assistant": "Assistant", "tool": "Tool result"}


def transcript(messages: Iterable[Message], result_chars: int | None = None) -> str:
    """Write messages out, who said it and what.

    OpenCode and Cline cut each tool's result to 2,000 characters.
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
