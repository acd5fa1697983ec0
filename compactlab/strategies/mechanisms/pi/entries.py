"""The entries of a session of pi, in which a compaction is an entry like the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compactlab.sim.message import FRAME, Message, Part
from compactlab.strategies.mechanisms.pi.file_lists import Files


def told(message: Message) -> tuple[Part, ...]:
    """The parts of a message without what frames it."""
    return tuple(p for p in message.parts if not (p.kind == "synthetic" and p.name == FRAME))


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry on the way from the session's start to its newest message.

    Parameters
    ----------
    id
        Its id; "" if it has none.
    type
        ``message``; ``custom_message`` and ``branch_summary``, which the model is told of;
        ``compaction``; anything else is bookkeeping.
    message
        What the model is told of it.
    kept_from
        Of a compaction: id of the first entry that it kept.
    files
        Of a compaction: the files that it knew of; None if an extension wrote its summary, as
        OpenClaw's safeguard does, because pi does not carry those on.
    """

    id: str
    type: str = "message"
    message: Message | None = None
    kept_from: str = ""
    files: Files | None = None

    @property
    def summary(self) -> tuple[Part, ...]:
        """The parts of a compaction's summary."""
        return told(self.message) if self.message else ()


def last_compaction(entries: Sequence[Entry]) -> int:
    """Index of the last compaction; -1 if there is none."""
    for index in range(len(entries) - 1, -1, -1):
        if entries[index].type == "compaction":
            return index
    return -1


def messages_of(entries: Sequence[Entry]) -> list[Message]:
    """What the model is told of entries, compactions left out."""
    return [e.message for e in entries if e.message is not None and e.type != "compaction"]
