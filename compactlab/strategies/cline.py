"""Cline: a rolling summary before the newest messages, and a compaction without a model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Annotated, Literal

import msgspec

from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import Message, Part, frame, remembered
from compactlab.sim.core.tokens import utf16_length
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Agent, Strategy
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.mechanisms.cut import parted
from compactlab.strategies.mechanisms.estimate import reported_tokens
from compactlab.strategies.mechanisms.handover import (
    INSTRUCTIONS,
    is_summary,
    placed,
    split_previous,
    summary_message,
)
from compactlab.strategies.mechanisms.notice import path_of, told_files
from compactlab.strategies.mechanisms.stub import Result, is_stub, sources_of, with_stubs
from compactlab.strategies.mechanisms.text import as_json, holds, transcript
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at

# All figures and rules are those of `@cline/core` 0.0.86 (2026; sources in
# `sdk/packages/core/src/extensions/context` of cline/cline).

# Characters of JSON per token; the share of the window taken as prompt limit if the model has none;
# the share of the limit at which compaction begins.
CHARS, INPUT, TRIGGER = 3, 0.9, 0.9
# Largest factor by which the last report may correct the estimate.
MOST_FACTOR = 4.0
# Targets: a share of the trigger; a share of the limit from a number of exchanges on; a share of
# the messages after an overflow.
TARGET, LONG_TARGET, LONG, OVERFLOWN = 0.7, 0.5, 5, 0.5
_SUMMARY = 8192
_RESULT_CHARS = 2000
# Number of newest answers quoted in notices.
ANSWERS = 3


@remembered
def json_tokens(message: Message) -> int:
    """Estimate the tokens of a message by its JSON; tool results have the user role there."""
    role = "assistant" if message.role == "assistant" else "user"
    chars = len('{"role":"","content":[]}') + len(role) + max(len(message.parts) - 1, 0)
    return -(-(chars + sum(map(_chars, message.parts))) // CHARS)


_SHELLS = {
    "text": '{"type":"text","text":}',
    "thinking": '{"type":"thinking","thinking":}',
    "tool_call": '{"type":"tool_use","id":"","name":"","input":}',
    "tool_result": '{"type":"tool_result","tool_use_id":"","content":}',
    "image": '{"type":"image","data":,"mediaType":"image/png"}',
}


def _chars(part: Part) -> int:
    chars = len(_SHELLS[part.type]) + 4 * part.size + utf16_length(part.call_id)
    if part.type == "tool_call":
        return chars + utf16_length(part.name) + utf16_length(part.text or "{}")
    return chars + utf16_length(as_json(part.text))


@dataclass(frozen=True)
class Sizes:
    """Current sizes and targets, in tokens as Cline estimates them."""

    request: int  # system prompt and messages
    messages: int  # messages alone
    limit: float  # largest prompt
    trigger: float
    target: int  # for the messages

    @property
    def is_time(self) -> bool:
        """Whether the request has reached the trigger."""
        return self.request >= self.trigger


def sizes_of(view: View, host: Host, trigger: float | None, *, overflown: bool = False) -> Sizes:
    """Estimate a request, and correct the limits by the last report.

    If the report exceeds the estimate, the limits shrink, to a quarter at most.
    """
    messages = view.messages.total(json_tokens)
    around = sum(-(-utf16_length(part.text) // CHARS) + part.size for part in view.system)
    request = messages + around
    last = host.reported.prompt if host.reported else 0
    factor = min(MOST_FACTOR, max(1.0, last / request)) if last and request else 1.0
    limit = host.window * INPUT / factor
    at = tokens_at(trigger, host, host.window * INPUT * TRIGGER) / factor
    if overflown:
        whole = min(at - around, messages * OVERFLOWN)
        return Sizes(request, messages, limit, at, max(1, math.floor(whole)))
    long = exchanges(view.messages) >= LONG and 0 < host.model.max_output < limit
    aim = math.floor(limit * LONG_TARGET) if long else math.floor(at * TARGET)
    aim = max(1, math.floor(min(aim, limit, max(1, at - 1))))
    return Sizes(request, messages, limit, at, max(1, aim - around))


def exchanges(messages: Messages) -> int:
    """Count the exchanges; for Cline, tool results are user messages."""
    pairs, waits = 0, False
    for message in messages:
        if message.role != "assistant":
            waits = True
        elif waits:
            pairs, waits = pairs + 1, False
    return pairs


def cut_index(messages: Messages, preserve: int) -> int:
    """Return the index of the first message to keep; as ``findCutIndex``.

    At least ``preserve`` tokens are kept, and the whole current turn unless the conversation begins
    with it. The kept part begins with an answer or a typed message.
    """
    first = min(messages.tail_from(json_tokens, preserve - 1) - 1, len(messages) - 1)
    if first <= 0:
        return 0
    turn = next((n for n in range(len(messages) - 1, 0, -1) if _is_typed(messages[n])), 0)
    cut = min(first, turn) if turn else first
    while cut and messages[cut].role != "assistant" and not _is_typed(messages[cut]):
        cut -= 1
    return cut


def _is_typed(message: Message) -> bool:
    return message.starts_turn and not is_summary(message)


# Without a model: typed messages, the newest messages, and the final answers of turns.


def kept_by_rule(messages: Messages, target: int, marked: frozenset[str]) -> dict[int, Message]:
    """Return the messages kept without a summary, by index; as ``runBasicCompaction``.

    Kept are all typed messages; the newest messages of the current turn that fit the target, from
    an answer on; the final answers of earlier turns, newest first, while they fit; and messages
    that an earlier compaction kept.
    """
    typed = [n for n, message in enumerate(messages) if _is_typed(message)]
    if not typed:
        return {}
    kept = {n: _typed_alone(messages[n], newest=n == typed[-1]) for n in typed}
    stays = {n for n, m in enumerate(messages) if n not in kept and m.id in marked}
    kept |= {n: messages[n] for n in stays}
    total = sum(map(json_tokens, kept.values()))
    first = len(messages)
    room = target - total
    for index in range(len(messages) - 1, typed[-1], -1):
        room -= json_tokens(messages[index])
        if index in stays or room < 0:
            break
        first = index
    while first < len(messages) and messages[first].role != "assistant":
        first += 1
    kept |= {n: messages[n] for n in range(first, len(messages))}
    total = sum(map(json_tokens, kept.values()))
    for start, end in zip(typed[-2::-1], typed[:0:-1], strict=True):
        index, answer = _last_answer(messages, start, end, stays)
        if answer is not None and total + json_tokens(answer) <= target:
            kept[index] = answer
            total += json_tokens(answer)
    return _paired(messages, kept)


def _paired(messages: Messages, kept: dict[int, Message]) -> dict[int, Message]:
    """Add the results of all kept calls, even late ones, and remove results of other calls."""
    calls = {p.call_id for m in kept.values() for p in m.parts if p.type == "tool_call"}
    asked = {p.call_id for m in messages for p in m.parts if p.type == "tool_call"}
    whole = {}
    for index, message in enumerate(messages):
        if message.role != "tool":
            stays = index in kept
        else:
            answered = {part.call_id for part in message.parts}
            stays = bool(answered & calls) or (index in kept and not answered & asked)
        if stays:
            whole[index] = kept.get(index, message)
    return whole


def _typed_alone(message: Message, *, newest: bool) -> Message:
    """Remove attachments from a typed message, unless it is the newest."""
    words = tuple(part for part in message.parts if part.type != "image")
    if newest or not words or len(words) == len(message.parts):
        return message
    return msgspec.structs.replace(message, parts=words)


def _last_answer(
    messages: Messages, start: int, end: int, stays: set[int]
) -> tuple[int, Message | None]:
    """Return the final answer of a turn without thinking; None if it has no text."""
    for index in range(end - 1, start, -1):
        message = messages[index]
        if index in stays:
            break
        if message.role == "assistant" and not holds(message, "tool_call"):
            return index, _words(message)
    return end, None


def _words(message: Message) -> Message | None:
    words = tuple(part for part in message.parts if part.type != "thinking")
    if not any(part.type == "text" and part.text.strip() for part in words):
        return None
    if len(words) == len(message.parts):
        return message
    return msgspec.structs.replace(message, parts=words)


def told(messages: Messages, kept: dict[int, Message]) -> list[Message]:
    """Return the kept messages; notices in typed messages describe the removed ones."""
    speaking = [n for n, m in enumerate(messages) if m.role == "assistant" and m.text.strip()]
    quoted = set(speaking[-ANSWERS:])
    places = [*kept, len(messages)]
    after = []
    for index, following in pairwise(places):
        message = kept[index]
        gap = range(index + 1, following)
        if _is_typed(message) and gap:
            answers = [messages[n] for n in gap if n in quoted]
            message = _with_notice(message, messages.between(index + 1, following), answers)
        after.append(message)
    return after


def _with_notice(message: Message, gap: Sequence[Message], answers: Sequence[Message]) -> Message:
    lists = told_files(gap)
    words = [part for m in answers for part in m.parts if part.type == "text" and part.text.strip()]
    sources = sources_of([part for m in gap for part in m.parts if part.sources] or [NOTHING])
    if not (lists or words) or not sources:
        return message
    lines = [f"Left out: {len(gap)} messages.", *lists, *(part.text for part in words)]
    part = Part("text", "\n".join(lines), "summary", sources)
    return msgspec.structs.replace(message, parts=(*placed(message), part))


NOTHING = Part("text", "", "synthetic", ())
# Our own wording; only its length matters.
LEAD = "Context summary:\n\n"


@dataclass(frozen=True)
class AgenticCompaction(Strategy):
    """Summarise all but the newest 20,000 tokens, including the previous summary.

    After Cline (``@cline/core`` 0.0.86, 2026). A prompt may have nine tenths of the window; the
    trigger is nine tenths of that. A request is estimated as a token per three characters of JSON,
    corrected by the last report. The current turn is kept whole, unless it is the first. If it
    alone is too large, nothing is summarised until a prompt does not fit. Then, and always with
    ``strategy='basic'``, no model is used: typed messages, the newest messages that fit, and the
    final answers of turns stay. Notices in typed messages list files and commands, and quote the
    newest answers.

    Written after the source, not compared with the program's answers. Simplified: successive typed
    messages are not joined; tool results, typed messages and histories too large for the summariser
    are not cut; our own rules classify tools by name. A separate limit of the prompt is assumed to
    be unknown.

    Parameters
    ----------
    trigger
        Tokens, or a share of the window, at which it acts; None for 81 % of the window.
    strategy
        ``agentic`` summarises, ``basic`` does not.
    preserve_recent_tokens
        Tokens at the end that are kept.
    """

    does = (Act.SUMMARISE,)

    trigger: Trigger = None
    strategy: Literal["agentic", "basic"] = "agentic"
    preserve_recent_tokens: Annotated[int, at_least(0)] = 20_000
    phases = frozenset({Phase.BEFORE_CALL, Phase.ON_OVERFLOW})

    breaks = MappingProxyType(
        {
            "last user message": "a conversation may begin with a turn that is cut; 0.0.86",
            "size": "a summary or notice may be longer than what it stands for; 0.0.86",
        }
    )

    def compact(self, view: View, host: Host) -> View:
        overflown = host.phase is Phase.ON_OVERFLOW
        sizes = sizes_of(view, host, self.trigger, overflown=overflown)
        if len(view.messages) < 2 or not (overflown or sizes.is_time):
            return view
        host.believe(sizes.request * host.window * INPUT / sizes.limit, view)
        if overflown or self.strategy == "basic":
            return self._by_rule(view, host, min(sizes.target, int(sizes.trigger)))
        return self._summarised(view, host, min(self.preserve_recent_tokens, sizes.target))

    def _by_rule(self, view: View, host: Host, target: int) -> View:
        marked = frozenset(host.notes.get("kept", ()))
        kept = kept_by_rule(view.messages, max(1, target), marked)
        if not kept or len(kept) == len(view.messages):
            return view
        host.notes["kept"] = [m.id for m in kept.values() if not _is_typed(m)]
        return view.with_messages(told(view.messages, kept))

    def _summarised(self, view: View, host: Host, preserve: int) -> View:
        cut = cut_index(view.messages, preserve)
        if cut <= 0:
            return view
        old, rest = parted(view.messages, cut)
        last = max((n for n, message in enumerate(old) if is_summary(message)), default=-1)
        new = old[last + 1 :]
        if not new:
            return view
        previous, _ = split_previous(Messages(old))
        before = "\n".join(part.text for part in previous)
        most = min(_SUMMARY, host.model.max_output or _SUMMARY)
        written = f"{before}\n\n{transcript(new, _RESULT_CHARS)}"
        request = SummaryRequest(tuple(new), most, previous, INSTRUCTIONS, written)
        summary = host.summarize(view, request)
        if not summary:
            return view
        lists = told_files(new)
        files = (Part("text", "\n".join(lists), "summary", sources_of(summary)),) if lists else ()
        return view.with_messages([summary_message(host, (*summary, *files), lead=LEAD), *rest])


# The extension before the SDK: repeated reads are removed, then half of the middle.

# `src/core/context/context-management` of cline/cline: ContextManager.ts (01cfde0, a12c565) and
# context-window-utils.ts (031561e).
_ALLOWED = {64_000: 37_000, 128_000: 98_000, 200_000: 160_000}
_ENOUGH = 0.3  # share of the characters that must be saved to avoid truncation
# Our own words; only their length matters.
READ_AGAIN = "[The file was read again later; see there.]"
LEFT_OUT = "[Some of the conversation before was left out to make room.]"


def allowed_tokens(window: int) -> float:
    """Return the trigger of the extension in tokens; as ``getContextWindowInfo``."""
    return _ALLOWED.get(window, max(window - 40_000, window * 0.8))


def read_once(messages: Messages) -> Messages:
    """Keep only the newest of several reads of a file; as ``applyContextOptimizations``."""
    paths = {
        part.call_id: path
        for message in messages
        for part in _calls(message)
        if "read" in part.name.lower() and (path := path_of(part))
    }
    newest = {
        paths[part.call_id]: part.call_id
        for message in messages
        if message.role == "tool"
        for part in message.parts
        if part.call_id in paths
    }

    def say(_: int, result: Result) -> str | None:
        path = paths.get(result[0].call_id, "")
        again = path and newest[path] != result[0].call_id and not is_stub(result)
        return READ_AGAIN if again else None

    changes = {n: with_stubs(m, say) for n, m in enumerate(messages) if m.role == "tool"}
    return messages.replace({n: m for n, m in changes.items() if m is not messages[n]})


def without_middle(messages: Messages, *, most: bool) -> Messages:
    """Remove half or three quarters of the messages after the first exchange.

    As ``getNextTruncationRange``: messages are counted as alternating, an even number is removed,
    and the rest does not begin with an answer. Results are removed or kept with their calls.
    """
    starts = [
        n
        for n, message in enumerate(messages)
        if not n or (message.role == "assistant") != (messages[n - 1].role == "assistant")
    ]
    rest = len(starts) - 2
    gone = (rest * 3 // 8 if most else rest // 4) * 2
    end = 2 + gone
    if gone > 0 and messages[starts[end - 1]].role != "assistant":
        end -= 1
    if gone <= 0 or end <= 2:
        return messages
    first, last = starts[2], starts[end] if end < len(starts) else len(messages)
    lost = {part.call_id for m in messages[first:last] for part in _calls(m)}
    kept = {part.call_id for m in messages[:first] for part in _calls(m)}
    after = list(messages[:first])
    after += [m for m in messages[first:last] if _answers_any(m, kept)]
    after += [m for m in messages[last:] if not _answers_any(m, lost)]
    after[starts[1]] = _noted(after[starts[1]])
    return Messages(after)


def _noted(message: Message) -> Message:
    if message.parts and message.parts[0].text == LEFT_OUT:
        return message
    return msgspec.structs.replace(message, parts=(frame(LEFT_OUT), *placed(message)))


def _calls(message: Message) -> list[Part]:
    return [part for part in message.parts if part.type == "tool_call"]


def _answers_any(message: Message, calls: set[str]) -> bool:
    return message.role == "tool" and any(part.call_id in calls for part in message.parts)


def _text_chars(message: Message) -> int:
    return sum(len(part.text) for part in message.parts)


@dataclass(frozen=True)
class HalfTruncation(Strategy):
    """Keep repeated file reads once; if that is not enough, drop half of the middle.

    Cline's extension before its SDK (cline/cline ``ContextManager.ts``, 01cfde0 and a12c565). It
    acts when the last request and its answer had 160,000 of 200,000 tokens (37,000 of 64,000,
    98,000 of 128,000, else all but 40,000 or a fifth). Of several reads of a file the newest stays.
    If that saves less than 30 % of the characters, half of the messages after the first exchange
    are dropped, or three quarters if the request was twice as large or refused. The first answer
    says so.

    Written after the source, not compared with the program's answers. Simplified: tool results,
    user text in the original, stay with their calls; files in user messages or in results of edits
    are not reads; automatic condensing, in which the agent calls a summarising tool, is left out.

    Parameters
    ----------
    trigger
        Tokens, or a share of the window, at which it acts; None for the extension's sizes.
    """

    does = (Act.CLEAR, Act.TRUNCATE)

    trigger: Trigger = None
    phases = frozenset({Phase.BEFORE_CALL, Phase.ON_OVERFLOW})

    breaks = MappingProxyType(
        {
            "last user message": "in a long turn it is part of the middle; Cline 01cfde0",
            "size": "the line in place of a short result may be longer; Cline 01cfde0",
        }
    )

    def compact(self, view: View, host: Host) -> View:
        if host.phase is Phase.ON_OVERFLOW:
            return view.with_messages(without_middle(view.messages, most=True))
        tokens = reported_tokens(host)
        at = tokens_at(self.trigger, host, allowed_tokens(host.window))
        if tokens is None or tokens < at:
            return view
        host.believe(tokens, view)
        once = read_once(view.messages)
        chars = view.messages.total(_text_chars)
        if chars - once.total(_text_chars) >= _ENOUGH * chars > 0:
            return view.with_messages(once)
        return view.with_messages(without_middle(once, most=tokens / 2 > at))


@dataclass(frozen=True)
class Cline(Agent):
    """Cline: at 81 % of the window, summarise all but the newest messages.

    After ``@cline/core`` 0.0.86 (2026), which its command line uses; ``strategy='truncation'`` is
    the earlier extension, which drops half of the middle. Left out: another model for summaries.

    Parameters
    ----------
    trigger
        Tokens, or a share of the window, at which it compacts; None for 81 % of the window, in the
        extension 80 % of most windows.
    strategy
        ``agentic`` summarises, ``basic`` shortens by rule, ``truncation`` drops the middle.
    preserve_recent_tokens
        Tokens at the end that ``agentic`` keeps.
    """

    trigger: Trigger = None
    strategy: Literal["agentic", "basic", "truncation"] = "agentic"
    preserve_recent_tokens: Annotated[int, at_least(0)] = 20_000

    def steps(self) -> tuple[Strategy, ...]:
        if self.strategy == "truncation":
            return (HalfTruncation(self.trigger),)
        return (AgenticCompaction(self.trigger, self.strategy, self.preserve_recent_tokens),)
