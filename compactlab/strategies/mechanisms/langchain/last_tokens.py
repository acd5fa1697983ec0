"""The end of a history that fits a budget, as LangChain hands it to the summariser."""

from __future__ import annotations

from bisect import bisect_left

import msgspec

from compactlab.sim.message import Message
from compactlab.sim.messages import Messages
from compactlab.sim.weight import Weight
from compactlab.strategies.mechanisms.middle import without_middle


def last_tokens(messages: Messages, max_tokens: int, weight: Weight) -> list[Message]:
    """The newest messages that fit, from a user's on; the first may be the end of one.

    As ``trim_messages`` with what the summarising middleware gives it (langchain-core 1.7.2):
    strategy last, start on human, partial messages by lines, a system message in front kept. In a
    long turn of an agent there may be no user's message among the newest, and nothing is left.

    Parameters
    ----------
    messages
        What is to be summarised.
    max_tokens
        The budget.
    weight
        Approximates the tokens of a message.
    """
    system = [messages[0]] if messages and messages[0].origin == "system" else []
    rest = messages[len(system) :]
    budget = max(0, max_tokens - sum(map(weight, system)))
    first = rest.tail_from(weight, budget)
    kept = list(rest[first:])
    if first:
        part_of = _end(rest[first - 1], budget - rest[first:].total(weight), weight)
        kept[:0] = [part_of] if part_of is not None else []
    start = next((n for n, m in enumerate(kept) if _is_human(m)), len(kept))
    return [*system, *kept[start:]]


def _is_human(message: Message) -> bool:
    return message.role == "user" and message.origin != "system"


def _end(message: Message, budget: int, weight: Weight) -> Message | None:
    """As many of its last lines as fit; None if not even one does."""
    texts = [index for index, part in enumerate(message.parts) if part.text]
    starts = [
        (index, start)
        for index in texts
        for start in (0, *(n + 1 for n, c in enumerate(message.parts[index].text) if c == "\n"))
    ]

    def cut(place: tuple[int, int]) -> Message:
        index, start = place
        length = len(message.parts[index].text) - start
        end = without_middle(message, index, 0, length, "") if start else message.parts[index]
        before = (part for part in message.parts[:index] if not part.text)
        parts = (*before, end, *message.parts[index + 1 :])
        return msgspec.structs.replace(message, parts=parts)

    first = bisect_left(starts, True, key=lambda place: weight(cut(place)) <= budget)
    return cut(starts[first]) if first < len(starts) else None
