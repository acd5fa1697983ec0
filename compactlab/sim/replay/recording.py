"""The requests of a recorded agent, each with its context."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import msgspec

from compactlab.sim.core.conversation import Compaction, Conversation, Rewind
from compactlab.sim.core.message import FAILED, INTERRUPTED, Call, Message, Usage
from compactlab.sim.core.view import Messages

Key = tuple[str, float, Usage]


class Uncounted(NamedTuple):
    """A request without recorded tokens: it was broken off, or made a summary."""

    context: Messages
    time: float


@dataclass(frozen=True)
class Exchange:
    """A recorded call, with the events since the previous one."""

    answer: Message
    call: Call
    usage: Usage
    context: Messages  # the logged messages of its prompt
    arrived: tuple[Message, ...]  # new messages since the last counted call
    time: float  # its start in seconds since 1970
    compacted: Uncounted | None = None  # the request that compacted the context
    rewound: bool = False
    uncounted: tuple[Uncounted, ...] = ()  # requests that were broken off
    gap: float = 0.0  # seconds since the start of the last counted call

    @property
    def cached(self) -> int:
        """The prompt tokens up to the last mark; all if nothing is marked or stored."""
        stored = self.usage.cache_read + self.usage.cache_write
        marked = stored and (self.usage.cache_write or self.call.ttl)
        return stored if marked else self.usage.prompt

    @property
    def opens_turn(self) -> bool:
        """Whether a user message came since the last call."""
        return any(message.starts_turn for message in self.arrived)

    @property
    def ends_turn(self) -> bool:
        """Whether its answer calls no tool."""
        return not any(part.type == "tool_call" for part in self.answer.parts)

    @property
    def key(self) -> Key:
        """The key that its copies in other files share."""
        return self.answer.id, self.answer.time, self.usage

    def bare(self) -> Exchange:
        """This call without texts, to save memory with many sessions."""
        strip = msgspec.structs.replace
        asks = [strip(part, text="") for part in self.answer.parts if part.type == "tool_call"]
        spoken = [strip(message, parts=()) for message in self.arrived if message.starts_turn]
        return replace(
            self,
            answer=strip(self.answer, parts=tuple(asks[:1])),
            context=Messages(),
            arrived=tuple(spoken[:1]),
            compacted=self.compacted and Uncounted(Messages(), self.compacted.time),
            uncounted=(),
        )


def compacted(context: Messages, compaction: Compaction) -> Messages:
    """Return the context after a recorded compaction.

    Messages that are unchanged, as after an edit, are the same objects.
    """
    places = {message.id: index for index, message in enumerate(context)}
    front = (
        context[places[message.id]] if message.id in places else message
        for message in compaction.inserted
    )
    kept = places.get(compaction.kept_from)
    return Messages([*front, *(() if kept is None else context[kept:])])


def exchanges(conversation: Conversation) -> Iterator[Exchange]:
    """Yield the counted calls of a recording, in order."""
    return _Log(conversation).read()


class _Log:
    """The events read so far, and those since the last counted call."""

    def __init__(self, conversation: Conversation) -> None:
        self._events = conversation.events
        targets = {event.to for event in conversation.events if isinstance(event, Rewind)}
        self._targets = targets
        self._known = {"": Messages()}
        self._context = Messages()
        self._clock = self._asked = 0.0
        self._forget()

    def _forget(self) -> None:
        self._arrived: list[Message] = []
        self._newest: float | None = None
        self._uncounted: list[Uncounted] = []
        self._compacted: Uncounted | None = None
        self._rewound = False

    def read(self) -> Iterator[Exchange]:
        """Process the events."""
        for event in self._events:
            if isinstance(event, Compaction):
                self._compacted = Uncounted(self._context, event.time)
                self._context = compacted(self._context, event)
            elif isinstance(event, Rewind):
                self._context, self._rewound = self._known[event.to], True
            else:
                if event.call is not None and event.call.usage and event.call.usage.prompt:
                    yield self._exchange(event, event.call, event.call.usage)
                    self._forget()
                elif event.origin in (*FAILED, INTERRUPTED) or event.call is not None:
                    self._broken_off()
                self._take(event)

    def _exchange(self, answer: Message, call: Call, usage: Usage) -> Exchange:
        time = self._started(answer)
        gap, self._asked = time - self._asked if self._asked else 0.0, time
        return Exchange(
            answer,
            call,
            usage,
            self._context,
            tuple(self._arrived),
            time,
            self._compacted,
            self._rewound,
            tuple(self._uncounted),
            gap,
        )

    def _started(self, answer: Message | None = None) -> float:
        newest = self._newest or 0.0
        if not newest and answer is not None:
            newest = answer.time
        self._clock = max(self._clock, newest)
        return self._clock

    def _broken_off(self) -> None:
        if self._arrived and self._context:
            self._uncounted.append(Uncounted(self._context, self._started()))

    def _take(self, message: Message) -> None:
        if message.role != "assistant":
            self._arrived.append(message)
            # Stored separately: there may be thousands of calls without recorded tokens.
            before = self._newest
            self._newest = message.time if before is None else max(before, message.time)
        self._context = self._context.append(message)
        if message.id in self._targets:
            self._known[message.id] = self._context
