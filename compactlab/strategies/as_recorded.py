"""Play back what the recorded agent sent."""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.sim.host import Host, Recorded
from compactlab.sim.messages import Messages
from compactlab.sim.recording import compacted
from compactlab.sim.strategy import Strategy
from compactlab.sim.view import View


@dataclass(frozen=True)
class AsRecorded(Strategy):
    """Compact where the recording says that its agent did, to what it says was left.

    The row "what you actually ran". On conversations that were made up it keeps everything.
    """

    def compact(self, view: View, host: Host) -> View:
        """Repeat the recorded compactions that are new since the last call."""
        done = host.notes.get("done", 0)
        for recorded in host.recorded[done:]:
            view = view.with_messages(_repeat(view.messages, recorded, host.log))
        host.notes["done"] = len(host.recorded)
        return view


def _repeat(messages: Messages, recorded: Recorded, log: Messages) -> Messages:
    """Compact what stood there when the recorded agent did; what came after it stays."""
    later: set[str] = set()
    for message in reversed(log):
        if message.id == recorded.last:
            break
        later.add(message.id)
    then = len(messages)
    while then and messages[then - 1].id in later:
        then -= 1
    return compacted(messages[:then], recorded.compaction).append(*messages[then:])
