"""What the model would be sent now."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from compactlab.sim.message import Message, Part
from compactlab.sim.messages import Messages


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
        # Compiled, a class answers for all who are registered with its abstract one: lists, too.
        if type(messages) is not Messages:
            messages = Messages(messages)
        mine = self.messages
        if messages is mine or len(messages) == len(mine) == messages.shared(mine):
            return self
        return View(self.system, messages)

    def with_system(self, *parts: Part) -> View:
        """This view with other system blocks."""
        return View(parts, self.messages)
