"""Limits of tool results in OpenClaw 2026.9.6, for one result and for all together.

Exact against the program's own functions (vectors ``openclaw_2026.9.6_*``). Results are counted in
characters as in ``pressure``. Not built: results whose full text OpenClaw keeps in a file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.tokens import utf16_length
from compactlab.sim.core.view import Messages
from compactlab.strategies.mechanisms.joined import ending
from compactlab.strategies.mechanisms.stub import sources_of
from compactlab.strategies.mechanisms.text import BLANKS, changed_to, spans_left
from compactlab.strategies.openclaw.pressure import chars

_SHARE, _TOGETHER, _TIMES = 0.3, 0.5, 4
_SMALL, _LARGE, _VERY_LARGE = 16_000, 32_000, 64_000
LEAST_CHARS = 2000  # of a text, for any number of texts
# Literals of the original, from its outputs.
OMITTED = (
    "\n\n\N{WARNING SIGN}\N{VARIATION SELECTOR-16} [... middle content omitted — showing head and "
    "tail ...]\n\n"
)
ELIDED = (
    "[tool result elided: aggregate tool-result budget exceeded; rerun the command if the output "
    "is needed]"
)
_FAILS = "error|exception|failed|fatal|traceback|panic|stack trace|errno|exit code"
_CONCLUDES = "total|summary|result|complete|finished|done"
_TELLS = re.compile(rf"\b({_FAILS}|{_CONCLUDES})\b", re.ASCII)

_LOOKS_AT = 2000  # characters of an end
Notice = Callable[[int], str]


def cap(window: float) -> int:
    """Return the largest length of a result: ``resolveLiveToolResultMaxChars``.

    It is 0.3 of the window at four characters per token. The maximum is 16,000; 32,000 from a
    window of 100,000 tokens on; 64,000 from 200,000 on.

    Examples
    --------
    >>> cap(40_000), cap(128_000), cap(1_000_000)
    (16000, 32000, 64000)
    """
    most = _VERY_LARGE if window >= 200_000 else _LARGE if window >= 100_000 else _SMALL
    return min(math.floor(window * _SHARE) * 4, most)


def together(window: float, single: int) -> int:
    """Return the largest length of all results: ``resolveLiveToolResultAggregateMaxChars``."""
    return max(single * _TIMES, math.floor(math.floor(window) * 4 * _TOGETHER))


def notice(cut: int) -> str:
    """Return the notice about cut characters."""
    return f"[... {max(1, cut)} more characters truncated; rerun with narrower args if needed]"


def short_notice(cut: int) -> str:
    """Return the notice used if there is little room."""
    return f"[... {max(1, cut)} chars truncated; narrow args]"


def within(text: str, most: float, weight: int = 1, *, end: bool = False) -> str:
    """Return as much of a text's beginning (or end) as the characters allow."""
    most = max(0, math.floor(most))
    if text.isascii():
        count = min(most // weight, len(text))
    else:
        low, count = 0, min(len(text), most)
        while low < count:
            middle = (low + count + 1) // 2
            part = text[len(text) - middle :] if end else text[:middle]
            low, count = (middle, count) if chars(part, weight) <= most else (low, middle - 1)
    return text[len(text) - count :] if end else text[:count]


def has_important_end(text: str) -> bool:
    """Whether the last 2,000 characters report failure, sum up, or close JSON."""
    end = ending(text, _LOOKS_AT).lower()
    return _TELLS.search(end) is not None or end.strip(BLANKS).endswith("}")


class Cut(NamedTuple):
    """A cut text, and the spans of the original that it keeps."""

    text: str
    spans: tuple[tuple[int, int], ...]


def cut_text(
    text: str,
    most: float,
    say: Notice = notice,
    least: int = LEAST_CHARS,
    weight: int = 1,
) -> Cut | None:
    """Cut a text to a length with its notice: ``truncateToolResultText``; None if it fits.

    The end is kept, too, if it reports failure, sums up or closes JSON.
    """
    least = max(0, min(least, max(0, math.floor(most) - chars(say(1), weight))))
    if utf16_length(text) <= most and chars(text, weight) <= most:
        return None
    gone = utf16_length(text) - utf16_length(within(text, most, weight))
    room = max(least, most - chars(say(max(1, gone)), weight))
    if has_important_end(text) and room > 2 * least:
        tail = min(math.floor(room * 0.3), 4000)
        front = room - tail - chars(OMITTED, weight)
        if front > least:
            first = _to_break(within(text, front, weight))
            last = _from_break(within(text, tail, weight, end=True))
            if len(first) + len(last) < len(text):
                return _noticed(text, (first, last), most, say, weight)
    return _noticed(text, (_to_break(within(text, room, weight)), ""), most, say, weight)


def _to_break(text: str) -> str:
    line, found, _ = text.rpartition("\n")
    return line if found and len(line) > len(text) * 0.8 else text


def _from_break(text: str) -> str:
    line, found, rest = text.partition("\n")
    return rest if found and len(line) < len(text) * 0.2 else text


def _noticed(text: str, ends: tuple[str, str], most: float, say: Notice, weight: int) -> Cut:
    """Append the notice to the ends that are kept, and cut these until all fits."""
    first, last = ends
    kept, length = first + (OMITTED + last if last else ""), utf16_length(text)
    while True:
        suffix = say(max(1, length - utf16_length(kept)))
        size = chars(suffix, weight)
        if size >= most:
            return Cut(within(say(max(1, length)), most, weight), ())
        shorter = within(kept, most - size, weight)
        if len(shorter) == len(kept):
            break
        kept = shorter
    begin = len(text) - len(last)
    rest = len(kept) - len(first) - len(OMITTED)
    spans = ((0, min(len(kept), len(first))), (begin, begin + rest) if rest > 0 else (0, 0))
    return Cut(kept + suffix, tuple(span for span in spans if span[0] < span[1]))


def result_chars(message: Message, weight: int = 1) -> int:
    """Count the characters of a result; other messages count 0."""
    texts = (part.text for part in message.parts if part.type != "image")
    return sum(chars(text, weight) for text in texts) if message.role == "tool" else 0


def cut_result(
    message: Message,
    most: float,
    least: int = LEAST_CHARS,
    say: Notice = notice,
    weight: int = 1,
) -> Message:
    """Cut a result's texts to a total length: ``truncateToolResultMessage``.

    Short texts stay if they and the notices of the others fit; the others share what is left.
    """
    sizes = [chars(p.text, weight) if p.type != "image" else 0 for p in message.parts]
    if sum(sizes) <= most:
        return message
    notices = [
        chars(say(max(1, utf16_length(part.text))), weight) if size else 0
        for part, size in zip(message.parts, sizes, strict=True)
    ]
    small = [
        size > 0 and chars(p.text) <= least for p, size in zip(message.parts, sizes, strict=True)
    ]
    kept = sum(size for size, one in zip(sizes, small, strict=True) if one)
    told = sum(size for size, one in zip(notices, small, strict=True) if not one)
    if kept + told > most:
        small, kept, told = [False] * len(sizes), 0, sum(notices)
    left = max(0, most - kept)
    scale = min(1, left / told) if told else 0
    parts = list(message.parts)
    for index, part in enumerate(parts):
        if part.type == "image" or small[index] or not sizes[index]:
            continue
        share = sizes[index] / (sum(sizes) - kept)
        room = math.floor(notices[index] * scale + max(0, left - told) * share)
        found = cut_text(part.text, room, say, math.floor(least * share), weight)
        if found is not None:
            parts[index] = _with(message, index, found)
    return msgspec.structs.replace(message, parts=tuple(parts))


def _with(message: Message, place: int, cut: Cut) -> Part:
    part = message.parts[place]
    sources = spans_left(message, place, list(cut.spans)) if cut.spans else part.sources
    kind = changed_to("truncated" if cut.spans else "stub", part)
    return msgspec.structs.replace(part, text=cut.text, kind=kind, sources=sources)


class Reduced(NamedTuple):
    """Cut results by their position, and the saved characters."""

    changed: dict[int, Message]
    chars: int


def reduced(messages: Messages, window: float) -> Reduced:
    """Cut results that are too large; then cut the oldest if all together are.

    As ``estimateToolResultReductionPotential`` and the recovery after it: results are cut to their
    cap. If all together have more than half of the window, the oldest are cut to their notice, then
    replaced by a line, until they fit.
    """
    single = cap(window)
    sizes = {n: size for n, m in enumerate(messages) if (size := result_chars(m))}
    before, changed = sum(sizes.values()), dict[int, Message]()
    for index, size in sizes.items():
        if size > single:
            changed[index] = cut_result(messages[index], single, 0)
            sizes[index] = result_chars(changed[index])
    most = together(window, single)
    needed = sum(sizes.values()) - most
    say = short_notice if most < len(sizes) * chars(notice(1)) else notice
    if len(sizes) > 1:
        for clear in (False, True):
            for index, size in sizes.items():
                if needed <= 0:
                    break
                message = changed.get(index, messages[index])
                new = (
                    _cleared(message, size - needed)
                    if clear
                    else _shorter(message, size, needed, say)
                )
                saved = size - result_chars(new)
                if saved > 0:
                    changed[index], sizes[index] = new, size - saved
                    needed -= saved
    return Reduced(changed, before - sum(sizes.values()))


def _shorter(message: Message, size: int, needed: int, say: Notice) -> Message:
    floor = chars(say(1))
    return message if size <= floor else cut_result(message, max(floor, size - needed), 0, say)


def _cleared(message: Message, most: int) -> Message:
    """Replace a result's texts by a line, or by as much of it as there is room for."""
    parts, room = list(message.parts), max(0, most)
    for index, part in enumerate(parts):
        if part.type != "image":
            text = within(ELIDED, room)
            room -= chars(text)
            stub = changed_to("stub", part)
            parts[index] = msgspec.structs.replace(
                part, text=text, kind=stub, sources=sources_of([part]) if part.sources else ()
            )
    return msgspec.structs.replace(message, parts=tuple(parts))
