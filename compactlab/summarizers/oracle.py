"""Oracle: a summary that knows what later calls need, and says just that. No agent can write it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from compactlab.sim.conversation import Conversation
from compactlab.sim.errors import UsageError
from compactlab.sim.facts.ledger import numbers
from compactlab.sim.message import Part
from compactlab.sim.summarize import Summarizer, SummaryRequest
from compactlab.summarizers.bound import Bound
from compactlab.summarizers.recital import recited
from compactlab.summarizers.scripted_writer import ScriptedWriter
from compactlab.summarizers.told import told


@dataclass(frozen=True)
class Oracle(ScriptedWriter):
    """Say every fact that a later call needs, as far as the budget goes, and nothing else.

    It sees the future: the best that any summary could do, for comparison. Where there are too
    many facts, those come first that are needed soonest. A fact that the messages do not state,
    nor the summary before, it does not know either.
    """

    simulated: ClassVar[str] = "sees the future: says just the facts that later calls need"

    def bound(self, conversation: Conversation, seed: int) -> Summarizer:
        """With the facts and needs of a conversation."""
        return BoundOracle(conversation, seed, self.spec)

    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        """Refuse: without a conversation there are no facts."""
        raise UsageError("the oracle knows what is needed: bind it to a conversation first")


@dataclass(frozen=True, eq=False)
class BoundOracle(Bound):
    """An :class:`Oracle` that knows the needs."""

    simulated: ClassVar[str] = Oracle.simulated

    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        """Summarise; see :meth:`compactlab.sim.summarize.Summarizer.summarize`."""
        found = told(self.witness, request)
        known = (found.fresh | found.carried) & ~found.deleted
        now = max((self.place.get(message.id, -1) for message in request.messages), default=-1)
        kept: dict[int, Part] = {}
        room = request.max_tokens
        for number in self._by_need(known, now):
            part = recited(self.ledger.facts[number], found.given)
            if (tokens := count(part.text)) <= room:
                room -= tokens
                kept[number] = part
        return tuple(kept[number] for number in sorted(kept))

    def _by_need(self, known: int, now: int) -> list[int]:
        """Facts that are needed after a place in the script, the soonest first."""
        soonest: dict[int, int] = {}
        for answer, needed in self.ledger.needs.items():
            if self.place[answer] > now:
                for number in numbers(needed & known):
                    soonest[number] = min(soonest.get(number, len(self.place)), self.place[answer])
        return sorted(soonest, key=lambda number: (soonest[number], number))
