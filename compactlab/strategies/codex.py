"""OpenAI's Codex CLI: the user's words are kept, all the rest is summarised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from compactlab.sim.core.limits import at_least
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.messages import Messages
from compactlab.sim.core.view import Phase, View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.strategy import Agent, Strategy
from compactlab.strategies.mechanisms.estimate import at_most, is_little, known_tokens
from compactlab.strategies.mechanisms.handover import (
    INSTRUCTIONS,
    fitting,
    is_summary,
    live_request,
    summary_message,
)
from compactlab.strategies.mechanisms.text import without_middle

# Codex CLI estimates a token for every four bytes of UTF-8.
_BYTES = 4


def approx_tokens(text: str) -> int:
    """Estimate tokens as a quarter of the bytes, rounded up; as ``approx_token_count``."""
    return -(-len(_utf8(text)) // _BYTES)


def user_words(messages: Sequence[Message]) -> list[Message]:
    """The messages that a person typed: their text alone, in order."""
    typed = [m for m in messages if m.starts_turn and not is_summary(m)]
    return [words for words in map(_text_alone, typed) if words.parts]


def newest_words(messages: Sequence[Message], max_tokens: int) -> list[Message]:
    """The newest of some messages up to a budget; the oldest of them loses its middle.

    As ``build_compacted_history`` of codex-rs (0100b10).
    """
    newest: list[Message] = []
    remaining = max_tokens
    for message in reversed(messages):
        if remaining <= 0:
            break
        tokens = approx_tokens(message.text)
        if tokens > remaining:
            newest.append(shortened(message, remaining))
            break
        newest.append(message)
        remaining -= tokens
    return newest[::-1]


def shortened(message: Message, tokens: int) -> Message:
    """A message whose text has lost its middle: so many tokens of it are left.

    Cut are bytes of UTF-8, never inside of a character; as ``truncate_text`` of codex-rs. Of
    several parts the longest is cut.
    """
    parts = list(message.parts)
    index = max(range(len(parts)), key=lambda n: len(parts[n].text))
    others = sum(approx_tokens(p.text) for n, p in enumerate(parts) if n != index)
    budget = max(tokens - others, 0) * _BYTES
    text = parts[index].text
    total = len(_utf8(text))
    head, tail = _fits(text, budget // 2), _fits(text[::-1], budget - budget // 2)
    marker = f"…{-(-max(total - budget, 0) // _BYTES)} tokens left out…"
    parts[index] = without_middle(message, index, head, tail, marker)
    return Message(message.id, message.role, tuple(parts), message.time, origin=message.origin)


def _fits(text: str, budget: int) -> int:
    """How many leading characters have no more than so many bytes."""
    if text.isascii():
        return min(len(text), budget)
    used = count = 0
    for character in text:
        used += len(_utf8(character))
        if used > budget:
            break
        count += 1
    return count


def _text_alone(message: Message) -> Message:
    words: tuple[Part, ...] = tuple(p for p in message.parts if p.type == "text" and p.text)
    if len(words) == len(message.parts):
        return message
    return Message(message.id, message.role, words, message.time, origin=message.origin)


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# Codex says before the summary whose it is; our own words.
LEAD = "Another agent has worked on this and leaves you its notes; go on from there:"
_MAX_TOKENS = 16_000  # the original sets no limit
_LIMIT = 0.9


@dataclass(frozen=True)
class UserWords(Strategy):
    """Keep what the user said word for word, the newest first, and a summary at the very end.

    After the local compaction of Codex CLI (codex-rs 0100b10, ``compact.rs``): all that the agent
    said and all that tools returned gives way to one hand-over summary. What the client says at
    the beginning of a session stays in front, as it would be built again. The request rides on
    the live history; if that is too large, the oldest items are left out of it. An empty summary
    is taken as it is.

    In front of a new turn the message of the user stands after the summary. Images that the user
    sent are lost, as in the original. Simplified: in a narrowed window the user's words have a
    quarter of it at most; where next to nothing would be gained it does not act. The compaction
    on the server and the one without a summary are other strategies.

    Parameters
    ----------
    limit
        Tokens at which it is time, if that is less than 90 % of the window; 0 for that.
    user_tokens
        Tokens of the user's words that are kept; the oldest of them loses its middle.
    """

    limit: Annotated[int, at_least(0)] = 0
    user_tokens: Annotated[int, at_least(0)] = 20_000
    phases = frozenset({Phase.BEFORE_CALL, Phase.ON_OVERFLOW})

    breaks = MappingProxyType(
        {"last user message": "one that is longer than the budget is cut; codex-rs 0100b10"}
    )

    def compact(self, view: View, host: Host) -> View:
        """Replace everything but the user's words, if it is time."""
        limit = int(host.window * _LIMIT)
        if self.limit:
            limit = min(limit, self.limit)
        if host.phase is not Phase.ON_OVERFLOW and known_tokens(view, host) < limit:
            return view
        start = _unanswered(view.messages)
        history, asked = view.messages[:start], view.messages[start:]
        if host.phase is Phase.ON_OVERFLOW:
            # What was just said may itself be what is too much.
            history, asked = view.messages, view.messages[:0]
        front = _opening(history)
        words = newest_words(user_words(history[front:]), at_most(self.user_tokens, host))
        if is_little(host.count(history[front:]) - host.count(Messages(words)), host):
            return view
        request = fitting(View(view.system, history), host, INSTRUCTIONS)
        most = host.model.max_output or _MAX_TOKENS
        summary = host.summarize(request, live_request(request.messages, most))
        last = summary_message(host, summary, lead=LEAD)
        return view.with_messages([*history[:front], *words, last, *asked])


def _unanswered(messages: Messages) -> int:
    """Index from which on nobody but the user has spoken."""
    index = len(messages)
    while index and messages[index - 1].role == "user" and not is_summary(messages[index - 1]):
        index -= 1
    return index


def _opening(messages: Messages) -> int:
    """How many messages the client put in front before anybody spoke."""
    index = 0
    while index < len(messages) and messages[index].meta and not is_summary(messages[index]):
        index += 1
    return index


@dataclass(frozen=True)
class Codex(Agent):
    """Codex CLI with local compaction: the user's words, and a summary after them.

    After codex-rs at 0100b10 (2026). Left out: compaction by the provider's own endpoint, whose
    result nobody can read, and the route without a summary.

    Parameters
    ----------
    limit
        Tokens at which it compacts, if that is less than nine tenths of the window; 0 for none.
    """

    limit: Annotated[int, at_least(0)] = 0

    def steps(self) -> tuple[Strategy, ...]:
        """One strategy."""
        return (UserWords(limit=self.limit),)
