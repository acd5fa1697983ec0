"""A summariser that knows what is replayed, under the name of the one that it was made of."""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.sim.conversation import Conversation
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
