"""The compactions that a recorded agent made: what each left, how long it took, what followed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from compactlab.reports.audit.rereads import Read, Rereads, around, reads_of
from compactlab.sim.core.conversation import Compaction, Conversation
from compactlab.sim.core.message import Message
from compactlab.sim.models.model import Model


@dataclass(frozen=True)
class Logged:
    """A compaction of a log."""

    number: int  # how many calls the session had made before it
    # Tokens of the context, as logged, else of the prompt of the call before; 0 where not known.
    before: int = 0
    after: int = 0  # of the prompt of the first call after it, with what had come since
    # Seconds from the last message to the compaction, which a client logs when its summary is
    # there. None without times, and of one that the user asked for: nobody waited until then.
    wait: float | None = None
    rereads: Rereads = field(default_factory=Rereads)  # what was read again after it
    time: float = 0.0  # seconds since 1970
    answer: str = ""  # id of the first answer after it; "" where none followed

    @property
    def gain(self) -> float | None:
        """By what share it made the context smaller; None where that is not known."""
        return 1 - self.after / self.before if self.before and self.after else None


def compactions_of(conversation: Conversation, find: Callable[[str], Model]) -> list[Logged]:
    """The compactions of a recording."""
    reads: list[Read] = []
    texts: dict[str, str] = {}
    found: list[Logged] = []
    number = prompt = 0
    last = 0.0
    for event in conversation.events:
        if isinstance(event, Compaction):
            if event.edits:
                continue
            before = event.tokens_before or prompt
            found.append(Logged(number, before, wait=_wait(event, last), time=event.time))
        elif isinstance(event, Message):
            last = event.time
            if event.call is not None:
                number += 1
                for index in range(len(found) - 1, -1, -1):
                    if found[index].answer:
                        break
                    found[index] = replace(found[index], answer=event.id)
                reads += reads_of(event, event.call, number)
                if event.call.usage is not None:
                    prompt = event.call.usage.prompt
                    if found and not found[-1].after:
                        found[-1] = replace(found[-1], after=prompt)
            texts |= {p.call_id: p.text for p in event.parts if p.type == "tool_result"}
    return [replace(each, rereads=around(reads, each.number, texts, find)) for each in found]


def _wait(compaction: Compaction, last: float) -> float | None:
    known = compaction.trigger != "manual" and last and compaction.time > last
    return compaction.time - last if known else None
