"""What the model would be sent now, and the moments at which a strategy is asked for it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.messages import Messages


class View(msgspec.Struct, frozen=True):
    """System blocks and messages: what the model would be sent.

    Parameters
    ----------
    system
        Parts of the system prompt and tool definitions.
    messages
        The messages, oldest first.
    """

    system: tuple[Part, ...] = ()
    messages: Messages = msgspec.field(default_factory=Messages)

    def append(self, *messages: Message) -> View:
        """This view with messages after its last."""
        return View(self.system, self.messages.append(*messages))

    def with_messages(self, messages: Iterable[Message]) -> View:
        """This view with other messages; itself, if they are the same ones."""
        if not isinstance(messages, Messages):
            messages = Messages(messages)
        mine = self.messages
        if messages is mine or len(messages) == len(mine) == messages.shared(mine):
            return self
        return View(self.system, messages)

    def with_system(self, *parts: Part) -> View:
        """This view with other system blocks."""
        return View(parts, self.messages)


class Phase(StrEnum):
    """A moment in the life of a session."""

    BEFORE_TURN = "before_turn"
    """A person has spoken; the first call of the turn is about to be made."""
    BEFORE_CALL = "before_call"
    """A request is about to be made."""
    AFTER_CALL = "after_call"
    """The answer has just come; the cache is warm."""
    AFTER_TURN = "after_turn"
    """The last answer of a turn has come: it calls no tool."""
    ON_OVERFLOW = "on_overflow"
    """The prompt is larger than the window; asked once a call."""
    ON_IDLE = "on_idle"
    """Nothing has happened for a while; how long it will last is not known."""
