"""Follows the prompts of a replay and determines the state of every fact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from typing import NamedTuple

from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.notes import Remembered
from compactlab.sim.core.view import Messages, View
from compactlab.sim.facts.evidence import NOTHING, Evidence, Witness
from compactlab.sim.facts.ledger import Ledger


class Counts:
    """A counter per bit.

    The first plane holds the lowest binary digit of all counts, the next one the second digit, and
    so on. Adding a message increments many counters in as many steps as they have digits.
    """

    __slots__ = ("_planes",)

    def __init__(self) -> None:
        self._planes: list[int] = []

    def add(self, things: int) -> None:
        """Increment counters, with carry."""
        planes = self._planes
        for digit, plane in enumerate(planes):
            planes[digit] = plane ^ things
            things &= plane
            if not things:
                return
        if things:
            planes.append(things)

    def take(self, things: int) -> None:
        """Decrement counters, with borrow."""
        planes = self._planes
        for digit, plane in enumerate(planes):
            planes[digit] = plane ^ things
            things &= planes[digit]
            if not things:
                return

    @property
    def bits(self) -> int:
        """The bits whose count is not 0."""
        return reduce(or_, self._planes, 0)


STATES = (
    "verbatim", "conflict", "intact", "stale", "resurrected", "mutated", "presumed", "key_only",
    "retrievable", "unknown", "lost",
)  # fmt: skip


_THOUGHT = Evidence._fields.index("thought")


class States(NamedTuple):
    """The state of every fact in a prompt: exactly one, the first that applies.

    Each field is a set of facts as bits.
    """

    verbatim: int = 0  # a piece that states it is there unchanged
    # Not verbatim; its value and an older one are both stated, without an order.
    conflict: int = 0
    intact: int = 0  # key, value and polarity occur near each other
    stale: int = 0  # only an older value is there
    # Like stale, for a task: it is requested, and nothing says that it is finished.
    resurrected: int = 0
    mutated: int = 0  # another value, or the contrary, is stated
    # Like mutated, for a fact that asks: the prompt states it as decided.
    presumed: int = 0
    key_only: int = 0  # its key is there, but not its value
    retrievable: int = 0  # only a call, a file pointer or a note leads to it
    unknown: int = 0  # its sources are only there as tokens without text
    lost: int = 0  # none of these

    @property
    def kept(self) -> int:
        """The facts that the agent can use directly: verbatim or intact."""
        return self.verbatim | self.intact if self.intact else self.verbatim

    @property
    def outdated(self) -> int:
        """The facts of which only an older value is there."""
        return self.stale | self.resurrected

    @property
    def changed(self) -> int:
        """The facts with a different statement in the prompt."""
        return self.mutated | self.presumed

    def of(self, fact: int) -> str:
        """Return the state of one fact, by its number."""
        for name, facts in zip(self._fields, self, strict=True):
            if facts >> fact & 1:
                return name
        return "lost"


def _same(new: int, last: int) -> int:
    return last if new == last else new


class Tracker:
    """The states of facts in a prompt, updated from call to call.

    Examples
    --------
    A prompt has no facts before the first update.

    >>> from compactlab.sim.core.conversation import Conversation
    >>> from compactlab.sim.facts.ledger import ledger_of
    >>> states = Tracker(ledger_of(Conversation("c", "native", ()))).states
    >>> {name: facts for name, facts in states._asdict().items() if facts}
    {}
    """

    def __init__(
        self, ledger: Ledger, stored: Mapping[str, str] | None = None, *, strips: bool = False
    ) -> None:
        self.ledger = ledger
        self._strips = strips  # whether the model drops the thinking of earlier turns
        self._turns: set[str] = set()  # ids of the messages that started one
        self._dropped = 0  # facts only in the thinking of earlier turns
        self.witness = Witness(ledger, stored)
        self._counts = [Counts() for _ in Evidence._fields]
        self._shown: dict[int, tuple[Message, Evidence]] = {}
        self._system: tuple[Part, ...] = ()
        self._messages = Messages()
        self._notes = 0
        self._all = (1 << len(ledger.facts)) - 1
        self._states: States | None = None
        self._last = States()

    def move(self, prompt: View) -> States:
        """Move to another prompt."""
        gone, come = self._messages.difference(prompt.messages)
        self._messages = prompt.messages
        return self.change(gone, come, prompt.system)

    def change(
        self, gone: Iterable[Message], come: Iterable[Message], system: tuple[Part, ...]
    ) -> States:
        """Move to a prompt, given the removed and the added messages."""
        for message in gone:
            self._count(self._evidence(message), Counts.take)
        for message in come:
            if self._strips and message.starts_turn and message.id not in self._turns:
                self._turns.add(message.id)
                self._dropped |= self._counts[_THOUGHT].bits
                self._states = None
            self._count(self._evidence(message), Counts.add)
        if system is not self._system:
            self._count(self.witness.parts(self._system), Counts.take)
            self._system = system
            self._count(self.witness.parts(system), Counts.add)
        return self.states

    def hear(self, message: Message) -> None:
        """Add a message created in the replay; parts made from it represent its sources."""
        self.witness.hear(message)

    def remember(self, notes: Iterable[Remembered]) -> None:
        """Add notes to the agent's memory, which only grows."""
        for note in notes:
            self._notes |= self.witness.note(note)
            self._states = None

    @property
    def memory(self) -> int:
        """The facts in memory."""
        return self._notes

    @property
    def states(self) -> States:
        """The states in the current prompt."""
        if self._states is None:
            self._states = self._computed()
        return self._states

    def _evidence(self, message: Message) -> Evidence:
        known = self._shown.get(id(message))
        if known is None:
            # The message is stored too: after its deletion, its id() may be reused.
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

    def _computed(self) -> States:
        ledger = self.ledger
        bits = Evidence(*(counts.bits for counts in self._counts))
        bits = bits._replace(verbatim=bits.verbatim | bits.thought & ~self._dropped)
        verbatim = ledger.held(bits.verbatim)
        conflict = stale = 0
        for number, older in ledger.older.items():
            if older & (bits.stated | verbatim):
                fact = 1 << number
                stale |= fact & ~bits.stated
                if older & bits.stated:
                    conflict |= fact & bits.stated & ~bits.ordered
        conflict &= ~verbatim
        conflict &= ~(together := ledger.held(bits.verbatim | bits.parts))
        intact = (bits.intact | together) & ~verbatim & ~conflict
        rest = self._all & ~verbatim & ~conflict & ~intact
        stale &= rest
        rest &= ~stale
        resurrected = stale & ledger.finished
        wrong = rest & bits.wrong
        rest &= ~wrong
        presumed = wrong & ledger.asking
        key_only = rest & bits.key
        rest &= ~key_only
        retrievable = rest & (bits.handle | self._notes)
        rest &= ~retrievable
        unknown = rest & bits.opaque
        states = States(
            verbatim,
            conflict,
            intact,
            stale & ~resurrected,
            resurrected,
            wrong & ~presumed,
            presumed,
            key_only,
            retrievable,
            unknown,
            rest & ~unknown,
        )
        # Most sets are equal from call to call; equal sets are stored once.
        self._last = States(*map(_same, states, self._last))
        return self._last
