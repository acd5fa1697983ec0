"""What a conversation is: its figures, without any replay."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from compactlab.sim.core.conversation import Conversation, PassedOver, Rewind
from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.message import Message, Usage
from compactlab.sim.models.model import Catalogue, built_in, tokenizer_of
from compactlab.sim.models.pricing import prices_of
from compactlab.sim.replay.sizes import Unseen, unseen

# Recorded output over counted: 0.91 to 1.07 in five sessions, 0.01 to 0.59 in six whose logs were
# written while answers streamed.
_TRUSTED = 0.75


@dataclass(frozen=True)
class Anatomy:
    """The figures of a conversation."""

    conversation: str
    format: str
    messages: int
    calls: int
    turns: int
    rewinds: int
    compactions: tuple[int, ...]  # recorded tokens before each
    models: dict[str, int]  # calls by model
    tokens_by_role: dict[str, int]  # o200k
    tokens_by_tool: dict[str, int]  # o200k, of results
    images: int
    gaps: tuple[float, ...]  # seconds: median, ninth decile, longest; empty without times
    usage: Usage
    cost_usd: float | None  # at the prices of each call's date; None: no call has a price
    unpriced: int  # calls with usage and without a price
    output_counted: int  # tokens of the answers with recorded usage, as their models count
    unseen: Unseen  # tokens of prompts beside the messages
    passed_over: tuple[PassedOver, ...]  # what was not understood

    @property
    def unrecorded(self) -> bool:
        """Whether no call says what it used."""
        return self.usage == Usage()

    @property
    def output_doubtful(self) -> bool:
        """Whether the recorded output is far below what the answers' own texts count."""
        return self.usage.output < _TRUSTED * self.output_counted


def anatomy(conversation: Conversation, catalogue: Catalogue | None = None) -> Anatomy:
    """Take the figures of a conversation."""
    known = catalogue or built_in()
    models = Counter(answer.call.model for answer in conversation.calls if answer.call)
    usages = [answer.call.usage for answer in conversation.calls if answer.call]
    parts = [part for message in conversation.messages for part in message.parts]
    cost, unpriced = _cost(conversation, known)
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
        cost_usd=cost,
        unpriced=unpriced,
        output_counted=_counted(conversation, known),
        unseen=unseen(conversation, known),
        passed_over=conversation.passed_over,
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


def _counted(conversation: Conversation, known: Catalogue) -> int:
    """Tokens of the answers that a recorded usage belongs to."""
    answers = [m for m in conversation.calls if m.call is not None and m.call.usage is not None]
    return sum(tokenizer_of(m.call.model, known).message(m) for m in answers if m.call)


def _cost(conversation: Conversation, known: Catalogue) -> tuple[float | None, int]:
    """Dollars of the calls that have a price, and how many have none."""
    dollars = []
    start, unpriced = 0.0, 0
    for message in conversation.messages:
        if message.call is not None and message.call.usage is not None:
            try:
                sheet = prices_of(known.find(message.call.model))
                rates = sheet.rates(start or message.time, message.call.usage.prompt)
                dollars.append(rates.cost(message.call.usage))
            except ModelError:
                unpriced += 1
        start = message.time
    return (math.fsum(dollars) if dollars else None), unpriced
