"""The contract of a scenario: something that makes conversations from seeds."""

from __future__ import annotations

from abc import ABC, abstractmethod

from compactlab.sim.conversation import Conversation
from compactlab.sim.spec import spec_of


class Scenario(ABC):
    """A generator of made-up conversations.

    Subclasses are frozen dataclasses whose fields are their parameters. The same fields and the
    same seed give the same conversation, to the byte, on every machine.
    """

    @property
    def spec(self) -> str:
        """The scenario's name with its parameters, as typed on the command line."""
        return spec_of(self)

    @abstractmethod
    def conversation(self, seed: int) -> Conversation:
        """Make the conversation of that seed.

        Parameters
        ----------
        seed
            Not negative. Draws come from :func:`compactlab.sim.stream.stream`, keyed by the seed,
            the scenario's name and a purpose.

        Returns
        -------
        Conversation
            With ``format`` the scenario's name, ``seed`` the seed, and an ``id`` of both.
        """


def alone(scenario: Scenario, seed: int) -> list[Conversation]:
    """What a source holds that is a scenario under a seed: one conversation."""
    return [scenario.conversation(seed)]
