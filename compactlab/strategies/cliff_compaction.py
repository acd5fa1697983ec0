"""Cliff compaction: old turns become a digest by rule, and the digest before is dropped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, NamedTuple

from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import FRAME, Message, Part, frame, remembered
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Act, Strategy
from compactlab.strategies.mechanisms.handover import is_summary, placed, summary_message
from compactlab.strategies.mechanisms.text import changed_to, spans_left
from compactlab.strategies.mechanisms.trigger import Trigger, tokens_at

# Rules and figures are those of the package cliffcompaction 0.1.0 (`cliff.py`, `engine.py`,
# `dialects/openai_chat.py`), the wording of the first line is ours. Lengths are code points.

LEAD = "What was done before, by rule and without long results, so far as it is kept:\n\n"
BETWEEN = "\n\n---\n\n"
_NOTIFICATION = re.compile(r"<task-notification>.*?</task-notification>\s*", re.DOTALL)
# Tokens at which it acts: the default, and by its README for windows of 200,000 to 250,000.
_LARGE, _TRIGGER, _SMALL = 250_000, 200_000, 0.5
_HARSH = 300  # characters of a text on the last rung


class Digest(NamedTuple):
    """What a compaction makes of messages: how many stay in front, the digest, and the newest."""

    head: int
    parts: list[Part]
    kept: list[Message]


def steps_of(messages: Sequence[Message]) -> list[list[Message]]:
    """Split messages into steps, each begun by an answer; ``group_turns``."""
    steps: list[list[Message]] = []
    for message in messages:
        if message.role == "assistant" or not steps:
            steps.append([])
        steps[-1].append(message)
    return steps


def digested(messages: Sequence[Message], rule: CliffCompaction) -> Digest | None:
    """Return the digest of old steps; None if no fewer messages are left: as ``compact``."""
    head = next((n for n, m in enumerate(messages) if m.role == "assistant"), 0)
    while head and is_summary(messages[head - 1]):
        head -= 1
    steps = steps_of(messages[head:])
    old = steps[: max(len(steps) - rule.keep_recent, 0)]
    kept = [message for step in steps[len(old) :] for message in step]
    if head + 1 + len(kept) >= len(messages) or all(m.role != "assistant" for m in messages):
        return None
    pieces = [piece for step in old for message in step for piece in pieces_of(message, rule)]
    return Digest(head, _joined(pieces, BETWEEN), kept)


def pieces_of(message: Message, rule: CliffCompaction) -> list[list[Part]]:
    """Return a message's part of a digest, in pieces: as ``summarize_message``."""
    texts = [n for n, part in enumerate(message.parts) if part.type == "text"]
    if is_summary(message):
        return []
    if message.role == "user":
        return _labelled("user: ", message, texts, rule.human_chars)
    if message.role == "tool":
        results: dict[str, list[int]] = {}
        for n, part in enumerate(message.parts):
            if part.type == "tool_result":
                results.setdefault(part.call_id, []).append(n)
        pieces = [_quoted(message, places, 0) for places in results.values()]
        short = [p for p in pieces if 0 < sum(len(q.text) for q in p) <= rule.result_chars]
        return [[frame("result: "), *piece] for piece in short]
    thoughts = [n for n, p in enumerate(message.parts) if p.type == "thinking" and rule.thinking]
    lines = [
        *_labelled("thinking: ", message, thoughts, 0),
        *_labelled("assistant: ", message, texts, rule.text_chars),
        *(
            [frame(f"[{part.name}] "), *_quoted(message, [n], rule.call_chars)]
            for n, part in enumerate(message.parts)
            if part.type == "tool_call"
        ),
    ]
    return [_joined(lines, "\n")] if lines else []


def _labelled(label: str, message: Message, places: list[int], most: int) -> list[list[Part]]:
    quoted = _quoted(message, places, most)
    return [[frame(label), *quoted]] if quoted else []


def _joined(pieces: list[list[Part]], between: str) -> list[Part]:
    return [part for n, piece in enumerate(pieces) for part in ([frame(between)] * (n > 0) + piece)]


def _quoted(message: Message, places: list[int], most: int) -> list[Part]:
    """Quote parts as prose, without outer blanks, cut to a number of characters (0: all)."""
    parts, user = placed(message), message.role == "user"
    cleaned = {n: _NOTIFICATION.sub("", parts[n].text) if user else parts[n].text for n in places}
    texts = {n: text for n, text in cleaned.items() if text.strip()}
    whole = "\n".join(texts.values()).strip()
    left = most if most and len(whole) > most else len(whole)
    quoted: list[Part] = []
    for n, all_of_it in texts.items():
        begun = all_of_it if quoted else all_of_it.lstrip()
        text = (begun.rstrip() if n == max(texts) else begun)[:left]
        quoted += [*[frame("\n")] * bool(quoted), _prose(message, n, parts[n], text)]
        left -= len(text) + 1
        if left <= 0:
            break
    return [*quoted, *[frame("...")] * (0 < most < len(whole))]


def _prose(message: Message, n: int, part: Part, text: str) -> Part:
    """Return a part, or a piece of it, as prose."""
    if text == part.text:
        return Part("text", text, part.kind, part.sources, part.name * (part.name == FRAME))
    start = max(part.text.find(text), 0)
    spans = spans_left(message, n, [(start, min(start + len(text), len(part.text)))])
    return Part("text", text, changed_to("truncated", part), spans)


@remembered
def chars(message: Message) -> int:
    """Count the characters of a message; tokens without text count four."""
    return sum(len(part.text) + len(part.name) + 4 * part.size for part in message.parts)


def rebuilt(
    messages: Messages,
    rule: CliffCompaction,
    over: Callable[[Messages], bool],
    written: Callable[[list[Part]], Message],
    *,
    force: bool = False,
) -> Messages:
    """Compact whenever a message makes the history too large: as ``_compact_chain``."""
    start = next((n + 1 for n, m in enumerate(messages) if is_summary(m)), 0)
    working, acted = messages[:start], False
    for message in messages[start:]:
        working = working.append(message)
        if over(working) and (found := digested(working, rule)):
            working = working.branch(found.head, [written(found.parts), *found.kept])
            acted = True
    if force and not acted and (found := digested(working, rule)):
        return working.branch(found.head, [written(found.parts), *found.kept])
    return working if acted else messages


@dataclass(frozen=True)
class CliffCompaction(Strategy):
    """Replace old steps by a digest that a rule writes; the digest before is dropped, not merged.

    The package cliffcompaction (0.1.0; arXiv 2609.26779), a proxy for any client. A step is an
    answer with the results of its calls. Beyond the trigger, one message replaces all but the
    newest steps: it has all texts and thinking, each call in one line, and results of at most 500
    characters. Longer results and the previous digest are lost. Messages before the first answer
    always stay. If that is not enough, only the newest step stays; then texts are cut to 300
    characters and thinking is removed. No model is used.

    The rule is exact, for requests in the form of OpenAI's chats. Simplified: sizes count four
    characters of text per token, without JSON; a refused prompt is compacted at once until it fits,
    and sent if it never does.

    Parameters
    ----------
    trigger
        Estimated size at which it acts; None for 200,000 tokens, or half of a window of up to
        250,000, by the README.
    keep_recent
        How many of the newest steps stay as they are.
    result_chars
        Longest result in the digest.
    call_chars
        Characters of a call's arguments in the digest.
    text_chars
        Characters of an answer's text in the digest; 0 for all.
    human_chars
        Characters of a user message in the digest.
    thinking
        Whether thinking is in the digest.
    """

    does = (Act.TRUNCATE, Act.CLEAR)

    trigger: Trigger = None
    keep_recent: Annotated[int, at_least(0)] = 3
    result_chars: Annotated[int, at_least(0)] = 500
    call_chars: Annotated[int, at_least(0)] = 150
    text_chars: Annotated[int, at_least(0)] = 0
    human_chars: Annotated[int, at_least(0)] = 20_000
    thinking: bool = True
    phases = frozenset({Phase.BEFORE_CALL, Phase.ON_OVERFLOW})

    breaks = MappingProxyType(
        {
            "last user message": "a second digest drops the first; cliffcompaction 0.1.0",
            "pairs": "a result that comes late is in another step; cliffcompaction 0.1.0",
            "size": "labels may be longer than the little that goes; cliffcompaction 0.1.0",
        }
    )

    def compact(self, view: View, host: Host) -> View:
        own = host.window * _SMALL if host.window <= _LARGE else _TRIGGER
        most = 4 * tokens_at(self.trigger, host, own)
        system = sum(len(part.text) + 4 * part.size for part in view.system)
        refused = host.phase is Phase.ON_OVERFLOW

        def over(messages: Messages) -> bool:
            return system + messages.total(chars) > most

        def too_much(messages: Messages) -> bool:
            return (
                host.count(View(view.system, messages)) > host.window if refused else over(messages)
            )

        def written(digest: list[Part]) -> Message:
            return summary_message(host, digest, lead=LEAD)

        messages = view.messages
        host.believe((system + messages.total(chars)) / 4, view)
        for number, rung in enumerate(self.rungs()):
            if not too_much(messages):
                break
            force = refused or number > 0
            messages = rebuilt(messages, rung, over, written, force=force)
        return view.with_messages(messages)

    def rungs(self) -> Iterator[CliffCompaction]:
        """Yield the rules that are tried in turn: as ``_rung_cfg``."""
        yield self
        yield (tight := replace(self, keep_recent=1))
        most = min(self.text_chars or _HARSH, _HARSH)
        yield replace(tight, text_chars=most, thinking=False)
