"""The anatomy of a conversation: figures that need no replay."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from compactlab.reports.bill.spent import Spending, Spent, session_of
from compactlab.sim.core.conversation import Conversation, PassedOver, Rewind
from compactlab.sim.core.message import Message
from compactlab.sim.models.model import Catalogue, built_in, tokenizer_of
from compactlab.sim.replay.sizes import Unseen, unseen


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
    spent: Spent  # the whole recorded bill
    purposes: dict[str, Spent]  # the bill by the purpose of requests
    unseen: Unseen  # tokens of prompts that are not messages
    passed_over: tuple[PassedOver, ...]  # skipped records
    parent: str  # the session that it was forked from

    @property
    def unrecorded(self) -> bool:
        """Whether the log has no usage at all."""
        return not self.spent.calls


def anatomy(conversation: Conversation, catalogue: Catalogue | None = None) -> Anatomy:
    """Compute the figures of a conversation."""
    known = catalogue or built_in()
    models = Counter(answer.call.model for answer in conversation.calls if answer.call)
    parts = [part for message in conversation.messages for part in message.parts]
    spending = Spending([session_of(conversation, known.billed)])
    return Anatomy(
        conversation=conversation.id,
        format=conversation.format,
        messages=len(conversation.messages),
        calls=len(conversation.calls),
        turns=conversation.turns,
        rewinds=sum(isinstance(event, Rewind) for event in conversation.events),
        compactions=tuple(e.tokens_before for e in conversation.compactions if not e.edits),
        models=dict(models.most_common()),
        tokens_by_role=_by_role(conversation),
        tokens_by_tool=_by_tool(conversation),
        images=sum(part.type == "image" for part in parts),
        gaps=_gaps(conversation.messages),
        spent=spending.whole,
        purposes=dict(spending.by_purpose()),
        unseen=unseen(conversation, known),
        passed_over=conversation.passed_over,
        parent=conversation.parent,
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
