"""Play back what the recorded agent sent."""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.sim.host import Host, Recorded
from compactlab.sim.recording import compacted
from compactlab.sim.strategy import Strategy
from compactlab.sim.view import Messages, View


@dataclass(frozen=True)
class AsRecorded(Strategy):
    """Compact where the recording says that its agent did, to what it says was left.

    The row "what you actually ran". On conversations that were made up it keeps everything.
    """

    def compact(self, view: View, host: Host) -> View:
        """Repeat the recorded compactions that are new since the last call."""
        done = host.notes.get("done", 0)
        for recorded in host.recorded[done:]:
            view = view.with_messages(_repeat(view.messages, recorded))
        host.notes["done"] = len(host.recorded)
        return view


def _repeat(messages: Messages, recorded: Recorded) -> Messages:
    ids = [message.id for message in messages]
    then = ids.index(recorded.last) + 1 if recorded.last in ids else 0
    return compacted(messages[:then], recorded.compaction).append(*messages[then:])
