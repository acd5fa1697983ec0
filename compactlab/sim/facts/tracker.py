"""Follows the prompts of a replay and says in which state every fact is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compactlab.sim.facts.counts import Counts
from compactlab.sim.facts.evidence import NOTHING, Evidence, Witness
from compactlab.sim.facts.ledger import Ledger
from compactlab.sim.facts.states import States
from compactlab.sim.memory import Remembered
from compactlab.sim.message import Message, Part
from compactlab.sim.messages import Messages
from compactlab.sim.view import View


class Tracker:
    """The states of facts in a prompt that is moved from call to call.

    Parameters
    ----------
    ledger
        The facts.
    stored
        What can be fetched by the handles that parts carry.

    Examples
    --------
    A prompt says nothing before it is moved.

    >>> from compactlab.sim.conversation import Conversation
    >>> from compactlab.sim.facts.ledger import ledger_of
    >>> Tracker(ledger_of(Conversation("c", "native", ()))).states
    States(verbatim=0, conflict=0, intact=0, stale=0, mutated=0, retrievable=0, unknown=0, lost=0)
    """

    def __init__(self, ledger: Ledger, stored: Mapping[str, str] | None = None) -> None:
        self.ledger = ledger
        self.witness = Witness(ledger, stored)
        self._counts = [Counts() for _ in Evidence._fields]
        self._shown: dict[int, tuple[Message, Evidence]] = {}
        self._system: tuple[Part, ...] = ()
        self._messages = Messages()
        self._notes = 0
        self._all = (1 << len(ledger.facts)) - 1
        self._states: States | None = None

    def move(self, prompt: View) -> States:
        """Go on to another prompt."""
        gone, come = self._messages.difference(prompt.messages)
        self._messages = prompt.messages
        return self.change(gone, come, prompt.system)

    def change(
        self, gone: Iterable[Message], come: Iterable[Message], system: tuple[Part, ...]
    ) -> States:
        """Go on to a prompt of which one knows what left and what came."""
        for message in gone:
            self._count(self._evidence(message), Counts.take)
        for message in come:
            self._count(self._evidence(message), Counts.add)
        if system is not self._system:
            self._count(self.witness.parts(self._system), Counts.take)
            self._system = system
            self._count(self.witness.parts(system), Counts.add)
        return self.states

    def hear(self, message: Message) -> None:
        """A message was born in the replay: what is made of it stands for what it brings back."""
        self.witness.hear(message)

    def remember(self, notes: Iterable[Remembered]) -> None:
        """The agent has put down notes; memory only grows."""
        for note in notes:
            self._notes |= self.witness.note(note)
            self._states = None

    @property
    def memory(self) -> int:
        """The facts that memory holds."""
        return self._notes

    @property
    def states(self) -> States:
        """The states in the prompt as it is now."""
        if self._states is None:
            self._states = self._found()
        return self._states

    def _evidence(self, message: Message) -> Evidence:
        known = self._shown.get(id(message))
        if known is None:
            # The message is held too: an id may be given again once its object is gone.
            known = self._shown[id(message)] = (message, self.witness.message(message))
        return known[1]

    def _count(self, evidence: Evidence, how: object) -> None:
        if evidence is NOTHING:
            return
        assert callable(how)
        for counts, bits in zip(self._counts, evidence, strict=True):
            if bits:
                how(counts, bits)
        self._states = None

    def _found(self) -> States:
        ledger = self.ledger
        bits = Evidence(*(counts.bits for counts in self._counts))
        verbatim = ledger.held(bits.verbatim)
        conflict = stale = 0
        for number, older in ledger.older.items():
            if older & (bits.said | verbatim):
                fact = 1 << number
                stale |= fact & ~bits.said
                if older & bits.said:
                    conflict |= fact & bits.said & ~bits.ordered
        conflict &= ~verbatim
        intact = bits.intact & ~verbatim & ~conflict
        rest = self._all & ~verbatim & ~conflict & ~intact
        stale &= rest
        rest &= ~stale
        mutated = rest & bits.key
        rest &= ~mutated
        retrievable = rest & (bits.handle | self._notes)
        rest &= ~retrievable
        unknown = rest & bits.opaque
        return States(
            verbatim, conflict, intact, stale, mutated, retrievable, unknown, rest & ~unknown
        )
