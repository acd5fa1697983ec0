"""The newest words of the user, word for word, as Codex CLI keeps them."""

from __future__ import annotations

from collections.abc import Sequence

from compactlab.sim.message import Message, Part
from compactlab.strategies.mechanisms.handover import is_summary
from compactlab.strategies.mechanisms.middle import without_middle

# Codex CLI estimates a token for every four bytes of UTF-8.
_BYTES = 4


def approx_tokens(text: str) -> int:
    """Estimate tokens as a quarter of the bytes, rounded up; as ``approx_token_count``."""
    return -(-len(_utf8(text)) // _BYTES)


def user_words(messages: Sequence[Message]) -> list[Message]:
    """The messages that a person typed: their text alone, in order."""
    typed = [m for m in messages if m.starts_turn and not is_summary(m)]
    return [told for told in map(_text_alone, typed) if told.parts]


def newest_words(messages: Sequence[Message], max_tokens: int) -> list[Message]:
    """The newest of some messages up to a budget; the oldest of them loses its middle.

    As ``build_compacted_history`` of codex-rs (0100b10).

    Parameters
    ----------
    messages
        What the user said, oldest first.
    max_tokens
        The budget.
    """
    kept: list[Message] = []
    remaining = max_tokens
    for message in reversed(messages):
        if remaining <= 0:
            break
        tokens = approx_tokens(message.text)
        if tokens > remaining:
            kept.append(shortened(message, remaining))
            break
        kept.append(message)
        remaining -= tokens
    return kept[::-1]


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
