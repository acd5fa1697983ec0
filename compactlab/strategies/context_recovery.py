"""After a compaction, show the last messages once more: OpenClaw pull request 3599."""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.sim.host import Host
from compactlab.sim.message import Message, Part, Source
from compactlab.sim.phase import Phase
from compactlab.sim.strategy import Lifetime, Strategy
from compactlab.sim.view import Messages, View

HEADING = "## Recent Conversation (Recovered After Context Compaction)"


@dataclass(frozen=True)
class ContextRecovery(Strategy):
    """For one turn after a compaction, put the last messages in front of the system prompt.

    It compacts nothing: it follows the compactions that other parts of a pipeline have made, as in
    ``auto_compact() + context_recovery()``. As it changes the system prompt for one turn, the
    whole prompt changes twice: with the block, and without it. Each is written to the cache anew,
    unless the prompt without the block had been sent so lately that it can still be read.

    Parameters
    ----------
    messages
        User and assistant messages that are shown, 0 to 50.
    chars
        Characters of each that are shown.
    """

    messages: int = 10
    chars: int = 500
    phases = frozenset({Phase.BEFORE_TURN})
    lifetime = Lifetime.TURN

    def __post_init__(self) -> None:
        if not 0 <= self.messages <= 50:
            raise ValueError(f"messages must be between 0 and 50, not {self.messages}")

    def compact(self, view: View, host: Host) -> View:
        """Add the block, if there was a compaction since the last time."""
        if len(host.compactions) <= host.notes.get("recovered", 0) or not self.messages:
            return view
        said = _last_said(host.log[:-1], self.messages)
        if not said:
            return view
        host.notes["recovered"] = len(host.compactions)
        heading = Part("text", HEADING, "synthetic", ())
        return view.with_system(heading, *(self._shown(m) for m in said), *view.system)

    def _shown(self, message: Message) -> Part:
        text = _words(message)
        cut = len(text) > self.chars
        shown = f"{text[: self.chars]}..." if cut else text
        source = Source(message.id, end=self.chars if cut else -1)
        return Part("text", f"**{message.role.capitalize()}:** {shown}", "recovered", (source,))


def _words(message: Message) -> str:
    return "".join(part.text for part in message.parts if part.type == "text").strip()


def _last_said(log: Messages, count: int) -> list[Message]:
    """The newest messages of user and assistant that have words."""
    said: list[Message] = []
    for message in reversed(log):
        if message.role != "tool" and not message.meta and _words(message):
            said.append(message)
            if len(said) == count:
                break
    return said[::-1]
