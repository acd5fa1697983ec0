"""A summariser that knows what is replayed, under the name of the one that it was made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from compactlab.sim.conversation import Conversation
from compactlab.sim.facts.evidence import Witness
from compactlab.sim.facts.ledger import Ledger, ledger_of
from compactlab.summarizers.scripted_writer import ScriptedWriter


@dataclass(frozen=True, eq=False)
class Bound(ScriptedWriter):
    """Knows the conversation and the seed; subclasses make the summaries.

    Parameters
    ----------
    conversation
        What is replayed.
    seed
        The experiment's seed.
    name
        The spec of the summariser that was bound.
    """

    conversation: Conversation
    seed: int
    name: str

    @property
    def spec(self) -> str:
        """The spec of the summariser that was bound."""
        return self.name

    @cached_property
    def ledger(self) -> Ledger:
        """The facts of the conversation."""
        return ledger_of(self.conversation)

    @cached_property
    def witness(self) -> Witness:
        """Reads what parts say of the facts."""
        return Witness(self.ledger)

    @cached_property
    def place(self) -> dict[str, int]:
        """The place of each message in the script, by id."""
        return {id: place for place, id in enumerate(self.ledger.messages)}
