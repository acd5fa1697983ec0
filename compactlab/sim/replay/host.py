"""The only door through which a strategy reaches what costs or lies outside the view."""

from __future__ import annotations

import random
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compactlab.sim.core.blocks import blocks_of
from compactlab.sim.core.errors import ContractError
from compactlab.sim.core.message import Call, Message, Part, Usage, Weight
from compactlab.sim.core.notes import Remembered
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.facts.needs import Later
from compactlab.sim.models.model import Model, replayable
from compactlab.sim.replay.state import Compacted, Recorded, State
from compactlab.sim.replay.summarize import SummaryRequest, TurnRequest


def _nobody(*asked: object) -> Any:
    raise ContractError("nobody answers that here: it is asked in a replay")


@dataclass(frozen=True)
class Services:
    """Who answers a host. Each is told which host asks, and none keeps it: so no circle arises."""

    summarize: Callable[[Host, View, SummaryRequest], tuple[Part, ...]] = _nobody
    run_turn: Callable[[Host, View, TurnRequest], View] = _nobody
    charge: Callable[[Host, View, Call], None] = _nobody
    fetch: Callable[[Host, str], str] = _nobody
    rng: Callable[[Host, str], random.Random] = _nobody
    needs: Callable[[Host], Later] = _nobody


@dataclass
class Host:
    """What a strategy may know and do at the moment at which it is asked.

    Attributes
    ----------
    model
        The model of the next call: its window, its tokenizer.
    state
        What the session has come to; strategies read it by the names below.
    phase
        Which moment it is.
    now
        Seconds since 1970: the time of the newest message, or of the idle moment.
    requested
        When the last request started; None before the first.
    ttl
        The lifetime of cache entries that the client asks for; "" for the provider's own.
    notes
        The asking strategy's own JSON state. A rewind takes it back.
    files
        What a real agent would keep in files: path to text. No rewind touches it.
    memory
        What the agent has put down for later, oldest first. No rewind touches it.
    reminders
        What plug-ins add to every request for a summary. No rewind touches it.
    asking
        The strategy that is asked.
    """

    model: Model
    state: State = field(default_factory=State)
    _services: Services = field(default_factory=Services, repr=False)
    phase: Phase = Phase.BEFORE_CALL
    now: float = 0.0
    requested: float | None = None
    ttl: str = ""
    notes: dict[str, Any] = field(default_factory=dict)
    files: MutableMapping[str, str] = field(default_factory=dict)
    memory: list[Remembered] = field(default_factory=list)
    reminders: list[str] = field(default_factory=list)
    asking: object = None

    @property
    def log(self) -> Messages:
        """All that has been said so far. The future is out of reach."""
        return self.state.log

    @property
    def session(self) -> View:
        """The session's view, from which turn and request parts project the prompt."""
        return self.state.view

    @property
    def reported(self) -> Usage | None:
        """Usage of the last call as the provider reported it; None before the first."""
        return self.state.reported

    @property
    def compactions(self) -> Sequence[Compacted]:
        """What this replay's strategies have compacted so far."""
        return self.state.compactions

    @property
    def recorded(self) -> Sequence[Recorded]:
        """What the recorded agent had compacted by now."""
        return self.state.recorded

    @property
    def idle(self) -> float:
        """Seconds since the last request started; 0 before the first."""
        return 0.0 if self.requested is None else self.now - self.requested

    @property
    def needs(self) -> Later:
        """What the next call and all later ones need: only an oracle may ask.

        Raises
        ------
        ContractError
            If the asking strategy does not say that it sees the future.
        """
        if not getattr(self.asking, "sees_future", False):
            raise ContractError("host.needs is the future: only who sets sees_future may ask")
        return self._services.needs(self)

    @property
    def window(self) -> int:
        """Tokens that the model can take."""
        return self.model.window

    @property
    def cache_lifetime(self) -> float:
        """Seconds that a cache entry lives unread."""
        return replayable(self.model)[1].lifetime(self.ttl)

    def count(self, what: View | Messages | Message | Part | str) -> int:
        """Count tokens as the model does. What was counted before costs nothing."""
        tokenizer = self.model.tokenizer
        blocks = blocks_of(tokenizer)
        if isinstance(what, View):
            return blocks.of_view(what)
        if isinstance(what, Message):
            return blocks.tokens(what)
        if isinstance(what, Part):
            return tokenizer.part(what)
        return tokenizer.text(what) if isinstance(what, str) else what.total(blocks.weight)

    @property
    def weight(self) -> Weight:
        """Weighs a message by its tokens: the weight whose sums everybody shares."""
        return blocks_of(self.model.tokenizer).weight

    def rng(self, purpose: str) -> random.Random:
        """A stream of random numbers of its own for each purpose, the same at every ask."""
        return self._services.rng(self, purpose)

    def summarize(self, view: View, request: SummaryRequest) -> tuple[Part, ...]:
        """Have something summarised; the request is billed.

        Parameters
        ----------
        view
            The live prompt, which the request rides on if it says so.
        request
            What is to be summarised.

        Returns
        -------
        tuple of Part
            The summary; empty if the summariser had nothing to say.
        """
        return self._services.summarize(self, view, request)

    def run_turn(self, view: View, request: TurnRequest) -> View:
        """Let the agent take an extra turn; its calls are billed, and what is said stays.

        It comes before what a person has just said and nobody has answered. What the agent puts
        down goes into ``memory``.

        Parameters
        ----------
        view
            The live prompt.
        request
            What the agent is told. There is no model: the summariser says what it does.

        Returns
        -------
        View
            The view with the messages of the turn.
        """
        return self._services.run_turn(self, view, request)

    def charge(self, view: View, call: Call) -> None:
        """Bill a request for a summary that the recorded agent made.

        Parameters
        ----------
        view
            The live prompt, which the request is taken to ride on.
        call
            What the log tells of it. Where the recorded models are replayed, it costs what the log
            says; else what it would cost now.
        """
        self._services.charge(self, view, call)

    def mark(self, messages: int) -> None:
        """Have the client mark the end of so many leading messages, from the next request on.

        A client marks the end of the system prompt and the last block. What lies between is read
        as long as the prompt only grows, and no longer once it is cut: entries behind the cut are
        gone with it, those before it were not read for minutes, or are too far from any mark. A
        mark of its own keeps a beginning alive that a strategy leaves as it is. Providers without
        marks read any common beginning as it is.

        Parameters
        ----------
        messages
            How many leading messages of the prompt; 0 for no such mark. A rewind takes it back.
        """
        self.state.marked = messages

    def fetch(self, handle: str) -> str:
        """What was put away, by the handle of the part that stands in its place.

        Parameters
        ----------
        handle
            The handle.

        Raises
        ------
        InputError
            If no strategy knows it, or what it leads to is not what was put away.
        """
        return self._services.fetch(self, handle)
