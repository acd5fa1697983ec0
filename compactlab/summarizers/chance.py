"""Chance: quote whatever the dice say. What a summariser must beat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from compactlab.sim.conversation import Conversation
from compactlab.sim.errors import UsageError
from compactlab.sim.message import Part
from compactlab.sim.stream import stream
from compactlab.sim.summarize import Summarizer, SummaryRequest
from compactlab.summarizers.bound import Bound
from compactlab.summarizers.extractive import Sized, filling, written
from compactlab.summarizers.units import distinct, units_of


@dataclass(frozen=True)
class Random(Sized):
    """Quote sentences and lines by chance, in their original order, within the budget.

    What units are and how they are written down, see
    :class:`~compactlab.summarizers.extractive.Extractive`. The draws depend on the experiment's
    seed, the conversation and which messages are to be summarised.

    Parameters
    ----------
    tokens
        Length that is aimed at; a request for less gets less.
    """

    simulated: ClassVar[str] = "chance decides what is quoted"

    def bound(self, conversation: Conversation, seed: int) -> Summarizer:
        """With the seed and the conversation that its draws depend on."""
        return BoundRandom(conversation, seed, self.spec, self.tokens)

    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        """Refuse: without a conversation there is no seed."""
        raise UsageError("chance needs a seed: bind it to a conversation first")


@dataclass(frozen=True, eq=False)
class BoundRandom(Bound):
    """A :class:`Random` with a seed.

    Parameters
    ----------
    tokens
        The length that is aimed at.
    """

    tokens: int
    simulated: ClassVar[str] = Random.simulated

    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        """Summarise; see :meth:`compactlab.sim.summarize.Summarizer.summarize`."""
        units = list(distinct(units_of(request)))
        asked = (message.id for message in request.messages)
        dice = stream(self.seed, self.conversation.id, "random summary", *asked)
        order = list(range(len(units)))
        dice.shuffle(order)
        budget = min(request.max_tokens, self.tokens)
        return written(units, filling(order, units, budget, count), budget, count)
