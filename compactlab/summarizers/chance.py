"""Chance: quote whatever the dice say. What a summariser must beat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from compactlab.sim.conversation import Conversation
from compactlab.sim.message import Part
from compactlab.sim.stream import stream
from compactlab.sim.summarize import Summarizer, SummaryRequest
from compactlab.summarizers.extractive import Sized, filling, written
from compactlab.summarizers.scripted_writer import ScriptedWriter
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
        return _Bound(self, seed, conversation.id)

    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        """Summarise, for no conversation in particular."""
        return _Bound(self, 0, "").summarize(request, count)


@dataclass(frozen=True)
class _Bound(ScriptedWriter):
    of: Random
    seed: int
    conversation: str
    simulated: ClassVar[str] = Random.simulated

    @property
    def spec(self) -> str:
        return self.of.spec

    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        units = list(distinct(units_of(request)))
        asked = (message.id for message in request.messages)
        dice = stream(self.seed, self.conversation, "random summary", *asked)
        order = list(range(len(units)))
        dice.shuffle(order)
        budget = min(request.max_tokens, self.of.tokens)
        return written(units, filling(order, units, budget, count), budget, count)
