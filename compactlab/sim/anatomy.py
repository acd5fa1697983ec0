"""What a conversation is: its figures, without any replay."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from compactlab.sim.conversation import Conversation, Rewind
from compactlab.sim.errors import ModelError
from compactlab.sim.message import Message, Usage
from compactlab.sim.model import find_model, tokenizer_of
from compactlab.sim.pricing import price_sheet
from compactlab.sim.recording import Unseen, unseen


@dataclass(frozen=True)
class Anatomy:
    """The figures of a conversation.

    Parameters
    ----------
    conversation, format
        Its id, and what it was read from.
    messages, calls, turns, rewinds
        Counts.
    compactions
        Tokens before each compaction that the recording holds, as recorded.
    models
        Calls by model.
    tokens_by_role, tokens_by_tool
        Tokens (o200k) of all messages, and of the results of each tool.
    images
        Images in all messages.
    gaps
        Seconds between messages: median, ninth decile and longest; empty without times.
    usage
        The recorded usage of all calls together.
    cost_usd
        What it cost, at the prices of each call's date; None if a model has no price.
    unseen
        Tokens (o200k) that its prompts held beside its messages.
    skipped
        Lines that could not be read.
    """

    conversation: str
    format: str
    messages: int
    calls: int
    turns: int
    rewinds: int
    compactions: tuple[int, ...]
    models: dict[str, int]
    tokens_by_role: dict[str, int]
    tokens_by_tool: dict[str, int]
    images: int
    gaps: tuple[float, ...]
    usage: Usage
    cost_usd: float | None
    unseen: Unseen
    skipped: int


def anatomy(conversation: Conversation) -> Anatomy:
    """Take the figures of a conversation."""
    models = Counter(answer.call.model for answer in conversation.calls if answer.call)
    usages = [answer.call.usage for answer in conversation.calls if answer.call]
    parts = [part for message in conversation.messages for part in message.parts]
    return Anatomy(
        conversation=conversation.id,
        format=conversation.format,
        messages=len(conversation.messages),
        calls=len(conversation.calls),
        turns=conversation.turns,
        rewinds=sum(isinstance(event, Rewind) for event in conversation.events),
        compactions=tuple(event.tokens_before for event in conversation.compactions),
        models=dict(models.most_common()),
        tokens_by_role=_by_role(conversation),
        tokens_by_tool=_by_tool(conversation),
        images=sum(part.type == "image" for part in parts),
        gaps=_gaps(conversation.messages),
        usage=sum((usage for usage in usages if usage), Usage()),
        cost_usd=_cost(conversation),
        unseen=unseen(conversation),
        skipped=conversation.skipped,
    )


def _by_role(conversation: Conversation) -> dict[str, int]:
    count = tokenizer_of("").message
    tokens: Counter[str] = Counter()
    for message in conversation.messages:
        tokens["client" if message.meta else message.role] += count(message)
    return dict(tokens.most_common())


def _by_tool(conversation: Conversation) -> dict[str, int]:
    count = tokenizer_of("").part
    tokens: Counter[str] = Counter()
    for message in conversation.messages:
        for part in message.parts:
            if part.type == "tool_result":
                tokens[part.name or "?"] += count(part)
    return dict(tokens.most_common())


def _gaps(messages: tuple[Message, ...]) -> tuple[float, ...]:
    times = [message.time for message in messages if message.time]
    gaps = sorted(max(0.0, after - before) for before, after in pairwise(times))
    if not gaps:
        return ()
    return gaps[len(gaps) // 2], gaps[len(gaps) * 9 // 10], gaps[-1]


def _cost(conversation: Conversation) -> float | None:
    dollars = []
    start = 0.0
    for message in conversation.messages:
        if message.call is not None and message.call.usage is not None:
            try:
                sheet = price_sheet(find_model(message.call.model).price)
            except ModelError:
                return None
            rates = sheet.rates(start or message.time, message.call.usage.prompt)
            dollars.append(rates.cost(message.call.usage))
        start = message.time
    return math.fsum(dollars) if dollars else None
