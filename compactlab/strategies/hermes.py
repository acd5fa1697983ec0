"""Hermes Agent: old tool uses become one line each, and a summary replaces the middle."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Annotated

import msgspec

from compactlab.sim.core.limits import at_least, between
from compactlab.sim.core.message import SUMMARY, Message, Part, Role, frame, plain, remembered
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Agent, Strategy
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.mechanisms.cut import after_results
from compactlab.strategies.mechanisms.estimate import estimate_system
from compactlab.strategies.mechanisms.handover import INSTRUCTIONS, is_summary, placed
from compactlab.strategies.mechanisms.notice import notice
from compactlab.strategies.mechanisms.old_uses import pruned
from compactlab.strategies.mechanisms.stub import sources_of
from compactlab.strategies.mechanisms.text import holds, with_parts
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at

# All figures and rules are those of hermes-agent 0.19.0, `agent/context_compressor.py` (package of
# 2026). Lengths are code points, four of which are one token.
CHARS = 4

# The trigger.

# Windows below the first size are small; the trigger is at least the second.
SMALL_WINDOW, LEAST = 512_000, 64_000
_SMALL_SHARE, _TOP_SHARE = 0.75, 0.85


def threshold_tokens(window: int, threshold: float, output: int = 0) -> int:
    """Return the trigger in tokens; as ``_compute_threshold_tokens``.

    It is a share of the window without the reserve for the answer, at least 75 % in small windows,
    and at least 64,000 tokens. If that exceeds the available window, it is 85 % of it.

    Examples
    --------
    >>> threshold_tokens(200_000, 0.5), threshold_tokens(1_000_000, 0.5)
    (150000, 500000)
    """
    share = max(threshold, _SMALL_SHARE) if window < SMALL_WINDOW else threshold
    usable = window - output if window > output else window
    tokens = max(int(usable * share), LEAST)
    return tokens if tokens < usable else max(1, min(int(usable * _TOP_SHARE), usable - 1))


# Estimates of sizes: of a message in a tail, and of a whole request.

_AROUND, _IMAGE, _ROUGH_IMAGE = 10, 1600, 1500


def _envelope(call: Part) -> str:
    """Return a call as Hermes keeps it; the length of its Python form is counted."""
    function = {"name": call.name, "arguments": call.text}
    return str({"id": call.call_id, "type": "function", "function": function})


@remembered
def budget_tokens(message: Message) -> int:
    """Estimate the tokens of a message; as ``_estimate_msg_budget_tokens``."""
    chars = tokens = 0
    for part in message.parts:
        if part.type == "image":
            chars += _IMAGE * CHARS
        elif part.type == "tool_call":
            tokens += len(_envelope(part)) // CHARS
        elif part.type == "thinking":
            tokens += len(part.text) // CHARS + part.size
        else:
            chars += len(part.text)
            tokens += part.size
    return chars // CHARS + _AROUND + tokens


@remembered
def rough_chars(message: Message) -> int:
    """Count the characters of a message in Python's form; as ``estimate_messages_tokens_rough``."""
    chars = len(str({"role": message.role, "content": ""}))
    for part in message.parts:
        if part.type == "image":
            chars += _ROUGH_IMAGE * CHARS
        elif part.type == "tool_call":
            chars += len(_envelope(part)) + 2
        else:
            chars += len(repr(part.text)) - 2 + part.size * CHARS
            chars += len(part.call_id)
    return chars


def rough_tokens(messages: Messages) -> int:
    """Estimate the tokens of a history."""
    return -(-messages.total(rough_chars) // CHARS)


# Old tool uses.


def prunable_before(messages: Messages, protect: int, budget: int | None) -> int:
    """Return the index before which tool uses are old.

    The newest ``protect`` messages are not old. Neither are those that fit the budget, and the
    first that does not fit.
    """
    least = len(messages) - min(protect, len(messages))
    if budget is None or budget <= 0:
        return least
    return max(0, min(messages.tail_from(budget_tokens, budget) - 1, least))


# The ends of head and tail.

_FLOOR, _MOST_FLOOR, _OVER = 3, 8, 1.5


def tail_start(messages: Messages, head: int, budget: int, protect: int) -> int:
    """Return the index at which the tail begins; as ``_find_tail_cut_by_tokens``.

    The tail has at least three to eight messages, and up to 1.5 times the budget. It contains the
    user's last message and the last answer with text. A call stays with its results. At least one
    message after the head remains for the summary.
    """
    last = len(messages)
    behind = max(0, last - head - 1)
    floor = max(_FLOOR, min(protect, _MOST_FLOOR))
    least = min(floor, max(_FLOOR, behind - 2), behind) if behind > 1 else 0
    soft = int(budget * _OVER)
    full = min(messages.tail_from(budget_tokens, soft) - 1, last - least)
    cut = full + 1 if full >= head else min(head, last)
    if cut <= head and 0 < messages[cut:].total(budget_tokens) <= soft:
        # Everything fits the wider budget, so the narrower one sets the cut.
        cut = max(min(messages.tail_from(budget_tokens, budget) - 1, last - least), head)
    cut = min(cut, last - least)
    if cut <= head:
        cut = max(last - least, head + 1)
    cut = _before_call(messages, cut)
    cut = _with_last_user(messages, cut, head)
    cut = _with_last_words(messages, cut, head)
    return after_results(messages, max(cut, head + 1))


def _before_call(messages: Messages, index: int) -> int:
    """Move an index after results to the call of these results."""
    if index <= 0 or index >= len(messages):
        return index
    call = index - 1
    while call >= 0 and messages[call].role == "tool":
        call -= 1
    return call if call >= 0 and holds(messages[call], "tool_call") else index


def _with_last_user(messages: Messages, cut: int, head: int) -> int:
    for index in range(len(messages) - 1, head - 1, -1):
        if messages[index].role == "user" and not is_summary(messages[index]):
            break
    else:
        return cut
    if index >= cut:
        return cut
    if index > head:
        return index
    # The user's message ends the head, so it is summarised together with its answer.
    end = index + 1
    if end < len(messages) and messages[end].role == "assistant":
        end = after_results(messages, end + 1)
    return max(end, head + 1)


def _with_last_words(messages: Messages, cut: int, head: int) -> int:
    found = -1
    for index in range(len(messages) - 1, head - 1, -1):
        message = messages[index]
        if message.role != "assistant":
            continue
        found = max(found, index)
        if any(part.type == "text" and part.text.strip() for part in message.parts):
            found = index
            break
    if found < 0 or found >= cut:
        return cut
    return max(_before_call(messages, found), head + 1)


# Joining head, summary and tail.

UNCALLED = "(tool call removed)"
# Our own wording; only its length matters.
LEAD = (
    "What follows is a summary of earlier turns, for reference alone: what it asks for has been "
    "answered. Respond to the message of the user that comes after it."
)
END = "End of the summary. Respond to what follows."
BEFORE = "Earlier, for reference alone:"
BEHIND = "End of what was said earlier. The summary follows:"
GO_ON = "Go on from what was summarised."


def joined(
    head: Messages, summary: Iterable[Part], tail: Messages, *, id: str, now: float
) -> list[Message]:
    """Join head, summary and tail with alternating roles; as ``compress``.

    The summary has the assistant's role after a user message, otherwise the user's. If its
    neighbours exclude both roles, it becomes part of the tail's first message.
    """
    before: Role = head[-1].role if head else "user"
    after: Role = tail[0].role if tail else "user"
    speaks = any(message.role == "user" for message in (*head, *tail))
    role: Role = "user" if before != "user" or not speaks else "assistant"
    if role == after:
        other: Role = "assistant" if role == "user" else "user"
        if other == before or not speaks:
            return [*head, _merged(tail[0], summary, id), *tail[1:]]
        role = other
    parts = (frame(LEAD), *summary, frame(END))
    return [*head, Message(id, role, parts, now, meta=True, origin=SUMMARY), *tail]


def _merged(message: Message, summary: Iterable[Part], id: str) -> Message:
    """Append a summary to the text of a message."""
    own = placed(message)
    said = tuple(part for part in own if part.type != "tool_call")
    calls = tuple(part for part in own if part.type == "tool_call")
    parts = (frame(BEFORE), *said, frame(BEHIND), *summary, frame(END), *calls)
    return Message(id, message.role, parts, message.time, meta=True, origin=SUMMARY)


def summary_of(message: Message) -> tuple[Part, ...]:
    """Return the summary in a message, without the message's own text."""
    parts = [part for part in message.parts if part.type != "tool_call"]
    behind = [n for n, part in enumerate(parts) if part.text == BEHIND]
    return tuple(part for part in parts[behind[0] if behind else 0 :] if part.sources)


def paired(messages: Iterable[Message]) -> list[Message]:
    """Remove results without their call, and calls without a result."""
    messages = list(messages)
    calls = {p.call_id for m in messages for p in m.parts if p.type == "tool_call"}
    results = {p.call_id for m in messages for p in m.parts if p.type == "tool_result"}
    lost = {"tool_call": calls - results - {""}, "tool_result": results - calls - {""}}

    def stays(part: Part) -> bool:
        return part.call_id not in lost.get(part.type, ())

    whole = (with_parts(m, tuple(filter(stays, m.parts))) for m in messages)
    both = zip(messages, whole, strict=True)
    return [_saying(m, old) for old, m in both if m.parts or m.role == "assistant"]


def _saying(message: Message, before: Message) -> Message:
    """Add a note to a message that has lost its calls and has no other text."""
    if message is before or any(p.text.strip() for p in message.parts if p.type != "thinking"):
        return message
    gone = Part("text", UNCALLED, "stub", sources_of(before.parts))
    return msgspec.structs.replace(message, parts=(*message.parts, gone))


def with_user(after: list[Message], before: Messages, now: float) -> list[Message]:
    """Ensure that there is a user message; as ``_ensure_compressed_has_user_turn``.

    The user's last message is inserted before the first answer without one, or at the end.
    """
    if any(map(_is_person, after)):
        return after
    said = next(filter(_is_person, reversed(before)), None)
    if said is None:
        return [*after, Message("go-on", "user", (plain(GO_ON),), now, meta=True)]
    for index, message in enumerate(after):
        if message.role == "assistant" and (not index or after[index - 1].role != "user"):
            return [*after[:index], said, *after[index:]]
    return [*after, said]


def _is_person(message: Message) -> bool:
    return message.starts_turn and not is_summary(message) and bool(message.text.strip())


# Characters of a message in the summariser's input, and the parts kept from its beginning and end.
_BODY, _BODY_HEAD, _BODY_TAIL, _GIVEN, _GIVEN_HEAD = 6000, 4000, 1500, 1500, 1200
# Length of a summary: a fifth of its input, within these limits, at most a share of the window.
_SHARE, _LEAST_SUMMARY, _MOST_SUMMARY, _WINDOW_SHARE = 0.2, 2000, 10_000, 0.05
# Seconds to wait after an empty summary, and the number of failures before it gives up.
_COOLDOWN, _STRIKES = 60, 2
_TRIES = 3
# Growth of a request in tokens, or as a share of the trigger, above which its estimate is trusted.
_GROWTH, _GROWTH_SHARE = 4096, 0.05
_TASK = 1400  # characters of the user's last message in a summary by rule


def _given(messages: Iterable[Message]) -> str:
    """Write the messages to summarise as text."""
    lines = []
    for message in messages:
        for part in message.parts:
            text = part.text
            if part.type == "tool_call":
                short = text[:_GIVEN_HEAD] + "..." if len(text) > _GIVEN else text
                lines.append(f"[Tool call] {part.name}({short})")
            elif part.type != "thinking":
                if len(text) > _BODY:
                    text = f"{text[:_BODY_HEAD]}\n...[truncated]...\n{text[-_BODY_TAIL:]}"
                lines.append(f"[{message.role.upper()}]: {text}")
    return "\n\n".join(lines)


@dataclass(frozen=True)
class MiddleSummary(Strategy):
    """Shorten old tool calls and results, and replace the middle by a summary.

    Hermes' context compressor (hermes-agent 0.19.0, ``agent/context_compressor.py``); thresholds,
    shortening, boundaries and joints are exact. It acts when the last report within a turn, or the
    estimate of the request, reaches the threshold. The estimate is ignored while it is little above
    that of a request that fitted. The first messages stay until there is a summary. So do the
    newest up to a fifth of the threshold, the user's last message, and the last answer with text.
    In a long turn these may be everything but the previous summary, and hardly anything is saved.
    After two useless compactions it pauses until a prompt is below the threshold.

    Simplified: the request has a prompt of its own, like Hermes', but our wording and no form. If
    no summary comes back, a notice of files and commands and the user's last message replace the
    middle (Hermes' notice is longer), and it pauses for 60 seconds. Older images in the tail stay;
    the todo list of its tool is not repeated; the system prompt is assumed to stay the same (Hermes
    builds it again if a memory has changed). The higher threshold for Codex' own service is left
    out.

    Parameters
    ----------
    trigger
        Tokens, or a share of the window, at which it acts; None to use ``threshold``.
    threshold
        Share of the window, 0 to 1; at least 0.75 in windows below 512,000 tokens, and 64,000.
    target_ratio
        Share of the trigger that the tail may have.
    protect_first_n
        First messages that the first compaction keeps.
    protect_last_n
        Newest messages whose tool uses are not shortened; the tail has at least as many, up to
        eight.
    max_tokens
        Tokens of the window that are set aside for the answer; 0 for none.
    abort_on_summary_failure
        Whether nothing is done if no summary comes back.
    """

    does = (Act.CLEAR, Act.SUMMARISE)

    trigger: Trigger = None
    threshold: Annotated[float, between(0, 1)] = 0.5
    target_ratio: Annotated[float, between(0.1, 0.8)] = 0.2
    protect_first_n: Annotated[int, at_least(0)] = 3
    protect_last_n: Annotated[int, at_least(0)] = 20
    max_tokens: Annotated[int, at_least(0)] = 0
    abort_on_summary_failure: bool = False
    phases = frozenset({Phase.BEFORE_CALL, Phase.ON_OVERFLOW})

    breaks = MappingProxyType(
        {
            "last user message": "it may be taken into the middle; hermes-agent 0.19.0",
            "order": "if nobody is left who spoke, it is put in again, further on; 0.19.0",
            "size": "the summary and its frame may be longer than the middle; hermes-agent 0.19.0",
        }
    )

    def compact(self, view: View, host: Host) -> View:
        threshold = self.tokens_of(host)
        overflow = host.phase is Phase.ON_OVERFLOW
        if not overflow and not self._is_time(view, host, threshold):
            return view
        again = overflow or not _ends_with_results(view.messages)
        for attempt in range(_TRIES if again else 1):
            if not overflow and self._gives_up(host):
                break
            after = self._compressed(view, host, int(threshold), attempt)
            if after is view:
                break
            view = after
            rough = host.notes["rough"] = request_tokens(view)
            host.notes["awaiting"] = True
            if host.count(view) <= host.window if overflow else rough < threshold:
                break
        return view

    def tokens_of(self, host: Host) -> float:
        """Return the trigger in tokens."""
        own = threshold_tokens(host.window, self.threshold, self.max_tokens)
        return tokens_at(self.trigger, host, own)

    def _is_time(self, view: View, host: Host, threshold: float) -> bool:
        """Whether the last report or the estimate of the request has reached the trigger."""
        notes = host.notes
        real = host.reported.prompt if host.reported else 0
        if real:
            fits = real < threshold
            if fits or notes.get("verify"):
                notes["in_vain"] = 0 if fits else notes.get("in_vain", 0) + 1
            if not fits:
                notes["fit"] = 0
            elif notes.get("awaiting") and notes.get("rough"):
                notes["fit"] = notes["rough"]
            notes["verify"] = notes["awaiting"] = False
        host.believe(real, view)
        if real >= threshold and _ends_with_results(view.messages):
            return True
        rough = request_tokens(view)
        host.believe(rough, view)
        if rough < threshold:
            return False
        known = notes.get("fit") or notes.get("rough", 0)
        if not known or not 0 < real < threshold:
            return True
        if rough - known > max(_GROWTH, int(threshold * _GROWTH_SHARE)):
            return True
        notes["fit"] = max(known, rough)
        return False

    def _gives_up(self, host: Host) -> bool:
        notes = host.notes
        in_vain: int = max(notes.get("in_vain", 0), notes.get("fallbacks", 0))
        waits: float = notes.get("until", 0)
        return in_vain >= _STRIKES or host.now < waits

    def _compressed(self, view: View, host: Host, threshold: int, attempt: int) -> View:
        """Shorten tool uses, and summarise the messages between head and tail."""
        notes, messages = host.notes, view.messages
        head = 0 if notes.get("count") else self.protect_first_n
        if len(messages) <= head + _FLOOR + 1:
            notes["in_vain"] = notes.get("in_vain", 0) + 1
            return view
        budget = int(threshold * self.target_ratio)
        shorter = pruned(messages, prunable_before(messages, self.protect_last_n, budget))
        start = after_results(shorter, head)
        end = tail_start(shorter, start, budget, self.protect_last_n)
        if start >= end:
            notes["in_vain"] = notes.get("in_vain", 0) + 1
            return view.with_messages(shorter)
        summary = self._summary(view, host, shorter, (start, end))
        if not summary and self.abort_on_summary_failure:
            return view
        told = summary or _by_rule(shorter[start:end])
        notes["fallbacks"] = 0 if summary else notes.get("fallbacks", 0) + 1
        notes["count"] = notes.get("count", 0) + 1
        notes["verify"] = True
        notes["last"] = id = f"summary-{len(host.compactions) + 1}" + "+" * attempt
        after = joined(shorter[:start], told, shorter[end:], id=id, now=host.now)
        return view.with_messages(with_user(paired(after), messages, host.now))

    def _summary(
        self, view: View, host: Host, messages: Messages, middle: tuple[int, int]
    ) -> tuple[Part, ...]:
        """Summarise the messages after the previous summary, and update that summary."""
        start, end = middle
        known = [n for n in range(end) if is_summary(messages[n])]
        previous: tuple[Part, ...] = ()
        if known:
            start = max(start, known[-1] + 1)
            ids = {m.id: m for m in messages if is_summary(m)}
            previous = summary_of(ids.get(host.notes.get("last", ""), messages[known[-1]]))
        turns = messages[start:end]
        size = int(rough_tokens(turns) * _SHARE)
        most = min(size, int(host.window * _WINDOW_SHARE), _MOST_SUMMARY)
        before = "\n".join(part.text for part in previous)
        request = SummaryRequest(
            tuple(turns),
            max(_LEAST_SUMMARY, most),
            previous,
            INSTRUCTIONS,
            f"{before}\n\n{_given(turns)}",
        )
        summary = host.summarize(view, request)
        if not turns and previous:
            # With nothing new to summarise, a model returns the previous summary.
            return previous
        if not summary:
            host.notes["until"] = host.now + _COOLDOWN
        return summary


def _ends_with_results(messages: Messages) -> bool:
    """Whether the last message is a tool result, so that the agent continues its turn."""
    return bool(messages) and messages[-1].role == "tool"


def request_tokens(view: View) -> int:
    """Estimate the tokens of a request."""
    return estimate_system(view) + rough_tokens(view.messages)


def _by_rule(middle: Messages) -> tuple[Part, ...]:
    """Replace the middle by a notice and the user's last message, without a model."""
    said = next((m for m in reversed(middle) if _is_person(m)), None)
    words = said.text[:_TASK] if said else ""
    last = (Part("text", words, "summary", sources_of(said.parts)),) if said else ()
    return (*last, *notice(list(middle)).parts)


@dataclass(frozen=True)
class Hermes(Agent):
    """Hermes Agent: at 75 % of a usual window, summarise the middle.

    After hermes-agent 0.19.0 (2026), with the settings of its configuration file (``compression``
    and ``model.max_tokens``). Left out: compaction by Codex' app server, other context engines, and
    memory.

    Parameters
    ----------
    trigger
        Tokens, or a share of the window, at which it compacts; None to use ``threshold``.
    threshold
        Share of the window; 0.75 at least in windows below 512,000 tokens.
    target_ratio
        Share of the trigger that the newest messages may have.
    protect_first_n
        First messages that the first compaction keeps.
    protect_last_n
        Newest messages whose tool uses are not shortened.
    max_tokens
        Tokens of the window that are set aside for the answer; 0 for none.
    abort_on_summary_failure
        Whether nothing is done if no summary comes back.
    """

    trigger: Trigger = None
    threshold: Annotated[float, between(0, 1)] = 0.5
    target_ratio: Annotated[float, between(0.1, 0.8)] = 0.2
    protect_first_n: Annotated[int, at_least(0)] = 3
    protect_last_n: Annotated[int, at_least(0)] = 20
    max_tokens: Annotated[int, at_least(0)] = 0
    abort_on_summary_failure: bool = False

    def steps(self) -> tuple[Strategy, ...]:
        return (MiddleSummary(**asdict(self)),)
