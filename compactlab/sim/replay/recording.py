"""What can be told from a recording: what its agent sent, and what of that it does not hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from compactlab.sim.cache.prompt import CLIENT_CONTEXT
from compactlab.sim.core.conversation import Compaction, Conversation, Rewind
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.messages import Messages
from compactlab.sim.models.model import Catalogue, tokenizer_of

BEFORE_THE_LOG = "before-the-log"


def compacted(context: Messages, compaction: Compaction) -> Messages:
    """The context that a recorded compaction left of the one before."""
    ids = [message.id for message in context]
    tail = context[ids.index(compaction.kept_from) :] if compaction.kept_from in ids else ()
    return Messages([*compaction.inserted, *tail])


def recorded_contexts(conversation: Conversation) -> Iterator[tuple[Message, Messages, int]]:
    """For each call: its answer, what the recorded agent had in context, compactions so far."""
    context, compactions = Messages(), 0
    targets = {event.to for event in conversation.events if isinstance(event, Rewind)}
    known = {"": context}
    for event in conversation.events:
        if isinstance(event, Compaction):
            context, compactions = compacted(context, event), compactions + 1
        elif isinstance(event, Rewind):
            context = known[event.to]
        else:
            if event.call is not None:
                yield event, context, compactions
            context = context.append(event)
            if event.id in targets:
                known[event.id] = context


@dataclass(frozen=True)
class Unseen:
    """Tokens (o200k) that a recording's prompts held and its messages do not."""

    # What was read from the cache right after a compaction, or all of the rest that is always
    # there.
    system: int = 0
    context: int = 0  # what else is always there: project files, environment
    head: int = 0  # what was said before the recording began, until its first compaction

    @property
    def blocks(self) -> tuple[Part, ...]:
        """System parts of these sizes."""
        named = (("tools and system prompt", self.system), (CLIENT_CONTEXT, self.context))
        return tuple(
            Part("text", "", "opaque", (), name=name, size=size) for name, size in named if size
        )

    @property
    def opening(self) -> Message | None:
        """A message of the size of what was said before the recording began."""
        if not self.head:
            return None
        part = Part("text", "", "opaque", (), name=BEFORE_THE_LOG, size=self.head)
        return Message(BEFORE_THE_LOG, "user", (part,), meta=True)


def unseen(conversation: Conversation, catalogue: Catalogue | None = None) -> Unseen:
    """Estimate what a recording's prompts held beside its messages.

    The always-present part is the smallest difference, over the calls, of the recorded prompt and
    the estimate of the messages then in context. An estimate is off by a share of itself, so only
    prompts that are mostly unseen are asked, where there are any. Where a compaction was followed
    by a read, that read is what stood before everything that the compaction replaced, so it is the
    part that clients mark for the cache on its own.
    """
    gaps, reads = _gaps(conversation, catalogue)
    if not gaps:
        return Unseen()
    telling = [gap for gap in gaps if gap.unseen >= gap.estimate] or gaps
    always = max(0, int(min(gap.unseen for gap in telling)))
    before = [gap.unseen for gap in gaps if not gap.compactions]
    head = int(min(before)) - always if conversation.starts_inside and before else 0
    system = min(always, int(min(reads))) if reads else always
    return Unseen(system, always - system, max(0, head))


class _Gap(NamedTuple):
    """For one call: recorded prompt less estimate, the estimate (o200k), compactions so far."""

    unseen: float
    estimate: float
    compactions: int


def _gaps(
    conversation: Conversation, catalogue: Catalogue | None
) -> tuple[list[_Gap], list[float]]:
    """The gaps of all calls with usage, and what was read right after each compaction."""
    gaps: list[_Gap] = []
    reads: list[float] = []
    if not any(answer.call and answer.call.usage for answer in conversation.calls):
        return gaps, reads
    for answer, context, compactions in recorded_contexts(conversation):
        usage = answer.call.usage if answer.call else None
        if usage is None or not usage.prompt:
            continue
        tokenizer = tokenizer_of(answer.call.model if answer.call else "", catalogue)
        estimate = context.total(tokenizer.message) + sum(map(tokenizer.part, conversation.system))
        if gaps and compactions > gaps[-1].compactions and usage.cache_read:
            reads.append(usage.cache_read / tokenizer.factor)
        unseen = (usage.prompt - estimate) / tokenizer.factor
        gaps.append(_Gap(unseen, estimate / tokenizer.factor, compactions))
    return gaps, reads
