"""OpenClaw's guards on tool results: at writing, before a request, and after a refusal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple, get_args

import msgspec

from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import FAILED, Message, Part, Weight, remembered
from compactlab.sim.core.tokens import utf16_length
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Lifetime, Strategy
from compactlab.strategies.mechanisms.joined import (
    Piece,
    before_break,
    ending,
    instead,
    pieces_of,
    spans_of,
)
from compactlab.strategies.mechanisms.stub import Edits, PerReplay
from compactlab.strategies.mechanisms.text import changed_to, head
from compactlab.strategies.openclaw.caps import (
    LEAST_CHARS,
    OMITTED,
    cap,
    has_important_end,
)
from compactlab.strategies.openclaw.caps import cut_result as cut_today
from compactlab.strategies.openclaw.pairs import LEAVES_FAILED, answers, made_up
from compactlab.strategies.openclaw.pruning import context_chars
from compactlab.strategies.pi.preparation import is_at_least

Version = Literal["2026.1.29", "2026.2.17", "2026.3.13", "2026.9.6"]
NEWEST: Version = "2026.3.13"
VERSIONS: tuple[str, ...] = get_args(Version)

# Cutting a long text: its beginning is kept, and its end if that is important.

MOST_CHARS = 400_000  # of a result, for any window
# Literals of the original, from its outputs.
WARNS = "\n\n\N{WARNING SIGN}\N{VARIATION SELECTOR-16} "
TOO_LARGE = (
    f"{WARNS}[Content truncated — original was too large for the model's context window. "
    "The content above is a partial view. If you need more, request specific sections or use "
    "offset/limit parameters to read smaller chunks.]"
)
NOT_STORED = (
    f"{WARNS}[Content truncated during persistence — original exceeded size limit. Use "
    "offset/limit parameters or request specific sections for large content.]"
)
# Version from which an important end is kept; test vectors cover both versions.
_KEEPS_ENDS = "2026.3.1"
_SHARE, _TAIL_SHARE, _TAIL_CHARS = 0.3, 0.3, 4000


def most_chars(window: float) -> float:
    """Return the largest length of a result: ``calculateMaxToolResultChars`` (2026.2.17, 3.13).

    It is 0.3 of the window at four characters per token, and at most 400,000.

    Examples
    --------
    >>> most_chars(200_000), most_chars(2_000_000)
    (240000, 400000)
    """
    share = window * _SHARE
    return min((math.floor(share) if math.isfinite(share) else share) * 4, MOST_CHARS)


class Cut(NamedTuple):
    """A cut text, with the UTF-16 code units kept at both ends."""

    text: str
    first: int
    last: int = 0


def cut_text(
    text: str,
    most: float,
    version: str = NEWEST,
    suffix: str = TOO_LARGE,
    least: int = LEAST_CHARS,
) -> Cut | None:
    """Cut a text to a length: ``truncateToolResultText``; None if it is not longer.

    At least ``least`` characters are kept. In 2026.3.13 the end is also kept if it reports failure,
    sums up or closes JSON.
    """
    length = utf16_length(text)
    if length <= most:
        return None
    room = max(least, math.floor(most) - utf16_length(suffix))
    if is_at_least(version, _KEEPS_ENDS) and room > 2 * least and has_important_end(text):
        tail = min(math.floor(room * _TAIL_SHARE), _TAIL_CHARS)
        first = room - tail - utf16_length(OMITTED)
        if first > least:
            first, last = before_break(text, first, 0.8), _after_break(text, tail)
            return Cut(f"{head(text, first)}{OMITTED}{ending(text, last)}{suffix}", first, last)
    first = before_break(text, room, 0.8)
    return Cut(head(text, first) + suffix, first)


def _after_break(text: str, units: int) -> int:
    """Return the length of the end to keep: after a line break in its first fifth, if any."""
    line, found, _ = ending(text, units).partition("\n")
    place = utf16_length(line)
    return units - place - 1 if found and place < units * 0.2 else units


def cut_result(
    message: Message,
    most: float,
    version: str = NEWEST,
    suffix: str = TOO_LARGE,
    least: int = LEAST_CHARS,
) -> Message:
    """Cut a result's texts to a total length: ``truncateToolResultMessage``.

    Each text gets its share, but at least ``least``. Images are kept.
    """
    total = text_chars(message)
    if total <= most:
        return message
    floor = least + (utf16_length(suffix) if is_at_least(version, _KEEPS_ENDS) else 0)

    def cut(part: Part) -> Cut | None:
        share = max(floor, math.floor(most * (utf16_length(part.text) / total)))
        return cut_text(part.text, share, version, suffix, least)

    return _with_cuts(message, cut)


def capped(message: Message, version: str = NEWEST, most: float = MOST_CHARS) -> Message:
    """Cap a result before it is written: ``capToolResultSize`` (2026.2.17; none before it).

    In 2026.3.13 this is :func:`cut_result` with another notice, by its source (openclaw/openclaw,
    ``session-tool-result-guard.ts`` as of 2026-03).
    """
    if is_at_least(version, _KEEPS_ENDS):
        return cut_result(message, most, version, NOT_STORED)
    total = text_chars(message)
    if total <= most:
        return message

    def cut(part: Part) -> Cut | None:
        units = utf16_length(part.text)
        room = max(LEAST_CHARS, math.floor(most * (units / total)) - utf16_length(NOT_STORED))
        if units <= room:
            return None
        first = before_break(part.text, room, 0.8)
        return Cut(head(part.text, first) + NOT_STORED, first)

    return _with_cuts(message, cut)


@remembered
def text_chars(message: Message) -> int:
    """Count the characters of a tool result's texts; other messages count 0."""
    texts = (part.text for part in message.parts if part.type != "image")
    return sum(map(utf16_length, texts)) if message.role == "tool" else 0


def _with_cuts(message: Message, cut: Callable[[Part], Cut | None]) -> Message:
    parts = list(message.parts)
    for index, part in enumerate(parts):
        found = cut(part) if part.type != "image" and part.text else None
        if found is None:
            continue
        piece = Piece(part, index, part.text, 0)
        spans = spans_of([piece], found.first, found.last, utf16_length(part.text))
        parts[index] = msgspec.structs.replace(
            part, text=found.text, kind=changed_to("truncated", part), sources=spans
        )
    return msgspec.structs.replace(message, parts=tuple(parts))


# Writing: every call gets a result before the next message.

Pending = dict[str, str]  # ids of calls without a result, with their tools


def written(
    messages: Iterable[Message],
    pending: Pending,
    *,
    now: float | None = None,
    synthetic: bool = True,
    version: str = NEWEST,
) -> list[Message]:
    """Write messages in order: OpenClaw's ``installSessionToolResultGuard``.

    If another message comes before a result, a synthetic result is added first, unless
    ``synthetic`` is false. ``pending`` are the calls without a result; it is updated. Late results,
    and results without a call, are still written. Exact for 2026.1.29; from 2026.2.3 on, calls of
    an interrupted answer get no synthetic result, as in the repair at load; in 2026.9.6 an answer
    with calls of its own leaves those of the last one open.
    """
    out: list[Message] = []
    for message in messages:
        if message.role == "tool":
            pending.pop(answers(message), None)
        else:
            failed = message.origin in FAILED and is_at_least(version, LEAVES_FAILED)
            calls = {} if failed else _calls(message)
            if synthetic and not (calls and version == VERSIONS[-1]):
                out += flushed(pending, message, now)
            pending.update(calls)
        out.append(message)
    return out


def flushed(pending: Pending, before: Message, now: float | None = None) -> list[Message]:
    """Add synthetic results for pending calls, and clear them: ``flushPendingToolResults``."""
    found = [made_up(before, id, tool, now) for id, tool in pending.items()]
    pending.clear()
    return found


def _calls(message: Message) -> Pending:
    if message.role != "assistant":
        return {}
    return {p.call_id: p.name for p in message.parts if p.type == "tool_call" and p.call_id}


# Sending: no result, and not all results together, may be too large.

CUT_NOTICE = "[truncated: output exceeded context limit]"
REMOVED = "[compacted: tool output removed to free context]"
_CHARS_PER_TOKEN, _RESULT_WEIGHT = 4, 2
_CONTEXT_SHARE, _RESULT_SHARE, _LEAST_ROOM = 0.75, 0.5, 1024


class Room(NamedTuple):
    """The guard's limits in weighted characters: for one result, and for all messages."""

    result: int
    context: int

    @classmethod
    def of(cls, window: float) -> Room:
        """Return the limits for a window in tokens."""
        tokens = max(1, math.floor(window))
        result = math.floor(tokens * _CHARS_PER_TOKEN / _RESULT_WEIGHT * _RESULT_SHARE)
        context = math.floor(tokens * _CHARS_PER_TOKEN * _CONTEXT_SHARE)
        return cls(max(_LEAST_ROOM, result), max(_LEAST_ROOM, context))


@remembered
def guarded_chars(message: Message) -> int:
    """Weigh a message as the guard does: characters of results count twice."""
    chars = context_chars(message)
    return chars * _RESULT_WEIGHT if message.role == "tool" else chars


def _none(message: Message) -> int:
    return 0


def guarded(
    messages: Messages,
    window: float,
    *,
    newest_first: bool = False,
    details: Weight = _none,
    edits: Edits | None = None,
) -> Messages:
    """Guard a request against large results: ``installToolResultContextGuard``.

    As released with 2026.2.17. A result that weighs more than half of the window is cut, and loses
    its images. If all messages exceed three quarters of it, the oldest results are replaced by a
    placeholder until they fit, even where the placeholder is longer. ``details`` are the characters
    of the data a tool gave its client beside the result: they count, and are removed with it.
    """
    room, known = Room.of(window), edits or Edits()
    sizes = messages.total(guarded_chars)
    if details is not _none:
        told = (details(message) for message in messages if message.role == "tool")
        sizes += _RESULT_WEIGHT * sum(told)
    elif sizes <= room.context and not messages.total(_longer(room.result)):
        return messages
    changed: dict[int, Message] = {}
    weights: dict[int, int] = {}
    for index, message in enumerate(messages):
        if message.role != "tool":
            continue
        own = guarded_chars(message) + _RESULT_WEIGHT * details(message)
        if own > room.result:
            cut = known.of(message, ("guard", room.result), partial(_fitted, message, room.result))
            sizes += guarded_chars(cut) - own
            own = guarded_chars(cut)
            if cut is not message:
                changed[index] = cut
        weights[index] = own
    return messages.replace(
        changed | _removed(messages, weights, sizes - room.context, known, newest_first)
    )


@cache
def _longer(most: int) -> Weight:
    """Return a weight that counts results above a limit."""
    return lambda message: int(message.role == "tool" and guarded_chars(message) > most)


def _fitted(message: Message, most: int) -> Message:
    pieces = list(pieces_of(message))
    whole = "\n".join(piece.text for piece in pieces)
    length = utf16_length(whole)
    if not whole:
        return instead(message, CUT_NOTICE, "stub", ())
    if length <= most and len(message.parts) == 1:
        return message
    if length <= most:
        return instead(message, whole, "truncated", spans_of(pieces, length, 0, length))
    first = before_break(whole, most - len(CUT_NOTICE) - 1, 0.7)
    spans = spans_of(pieces, first, 0, length)
    return instead(message, f"{head(whole, first)}\n{CUT_NOTICE}", "truncated", spans)


def _removed(
    messages: Messages, weights: Mapping[int, int], needed: int, edits: Edits, newest_first: bool
) -> dict[int, Message]:
    """Replace results by a placeholder until enough characters are saved."""
    changed: dict[int, Message] = {}
    for index in reversed(list(weights)) if newest_first else weights:
        if needed <= 0:
            break
        if weights[index] <= len(REMOVED):
            continue
        message = messages[index]
        stub = edits.of(message, ("removed",), partial(instead, message, REMOVED, "stub", ()))
        changed[index] = stub
        needed -= max(0, weights[index] - guarded_chars(stub))
    return changed


@dataclass(frozen=True)
class WriteGuard(Strategy):
    """Give every call a result when messages are written to the session, and cut large results.

    OpenClaw's guard of the session's file (``installSessionToolResultGuard``). If another message
    is written while a call has no result, a synthetic result is written first. A late result comes
    after that message, and ``pair_repair`` moves it at load. Since 2026.2.17 results of more than
    400,000 characters are permanently cut before they are written, at a line break near the end of
    the kept text; 2026.3.13 also keeps an end that looks important. In 2026.9.6 the cap is 16,000
    to 64,000 characters, by the window (``caps.cap``), and there is no check of a whole request any
    more. Exact: the pairs (2026.1.29) and the caps (2026.2.17, 2026.9.6); the cap of 2026.3.13
    consists of exact parts, joined after its source. Synthetic results are written for all
    providers; the original writes none for OpenAI's APIs.

    Parameters
    ----------
    synthetic_results
        Whether synthetic results are written (``allowSyntheticToolResults``).
    max_chars
        The cap in characters; 0 for none. In 2026.9.6 the smaller of this and its own cap is used.
    version
        OpenClaw's: 2026.1.29 has no cap.
    """

    does = (Act.REPAIR, Act.CLEAR)
    waits = "a result to be written"

    synthetic_results: bool = True
    max_chars: Annotated[int, at_least(0)] = MOST_CHARS
    version: Version = "2026.9.6"
    phases = frozenset({Phase.AFTER_TURN, Phase.BEFORE_TURN, Phase.BEFORE_CALL})
    breaks = MappingProxyType({"size": "a call without a result is given one (OpenClaw 2026.1.29)"})

    def compact(self, view: View, host: Host) -> View:
        messages, seen = view.messages, host.notes.get("seen", "")
        if not messages or messages[-1].id == seen:
            return view
        host.notes["seen"] = messages[-1].id
        start = len(messages)
        while start and messages[start - 1].id != seen:
            start -= 1
        new, pending = messages[start:], dict(host.notes.get("pending", {}))
        out = written(new, pending, synthetic=self.synthetic_results, version=self.version)
        host.notes["pending"] = pending
        out = [self._capped(message, host.window) for message in out]
        same = len(out) == len(new) and all(a is b for a, b in zip(out, new, strict=True))
        return view if same else view.with_messages(messages.branch(start, out))

    def _capped(self, message: Message, window: int) -> Message:
        if not self.max_chars or self.version == VERSIONS[0] or message.role != "tool":
            return message
        if self.version == VERSIONS[-1]:
            return cut_today(message, min(self.max_chars, cap(window)))
        return capped(message, self.version, self.max_chars)


@dataclass(frozen=True)
class OverflowTruncation(Strategy):
    """When a prompt is refused even after a compaction, permanently cut large results.

    OpenClaw's last resort (``truncateOversizedToolResultsInSession``, 2026.2.17 on): every result
    is cut to at most three tenths of the window, at four characters per token. In a pipeline it
    comes after the strategy that compacts. Cutting a result is exact. Simplified: the original
    first compacts up to three times, here once; a prompt is refused if it exceeds the window, by
    the model's own count, after ``context_guard``.

    Parameters
    ----------
    version
        OpenClaw's: 2026.3.13 also keeps the end of a result if that looks important.
    """

    does = (Act.CLEAR,)
    waits = "a refusal"

    version: Literal["2026.2.17", "2026.3.13"] = "2026.3.13"
    phases = frozenset({Phase.ON_OVERFLOW})

    def compact(self, view: View, host: Host) -> View:
        sent = view.with_messages(guarded(view.messages, host.window))
        if host.count(sent) <= host.window:
            return view
        most = most_chars(host.window)
        return view.with_messages(
            view.messages.replace(
                {
                    index: cut_result(message, most, self.version)
                    for index, message in enumerate(view.messages)
                    if text_chars(message) > most
                }
            )
        )


@dataclass(frozen=True)
class ContextGuard(Strategy):
    """Before every request, cut results that are too large, and remove old ones if all are.

    OpenClaw's context guard (``installToolResultContextGuard``, 2026.2.17). It counts the
    characters of messages, those of results twice. One result may have half of the window (at four
    characters per token), all messages three quarters. Longer results are cut; then placeholders
    replace results, oldest first, until the rest fits. So a session of large results never reaches
    the compaction trigger. Instead, every further request removes one more result near the
    beginning, and everything after it is written to the cache again.

    The changes of messages are exact. Simplified: the original also counts the details of results,
    which recordings lack; it changes messages in memory until the session is loaded again, which
    has the same effect as changing each request. Left out: the refusal of prompts still above nine
    tenths, added by 2026-03-22 (openclaw/openclaw pull request 51952 shows it).

    Parameters
    ----------
    newest_first
        Remove the newest results first, so that the cached prefix stays: pull request 58036 of
        openclaw/openclaw, merged on 2026-03-31, after the versions built here.
    """

    does = (Act.CLEAR,)
    waits = "three quarters of the window, by weights of its own; it has no setting"

    newest_first: bool = False
    lifetime = Lifetime.REQUEST
    edits: PerReplay[Edits] = field(
        default_factory=partial(PerReplay, Edits), init=False, repr=False, compare=False
    )

    def compact(self, view: View, host: Host) -> View:
        kept = self.edits.of(host)
        messages = guarded(view.messages, host.window, newest_first=self.newest_first, edits=kept)
        return view.with_messages(messages)
