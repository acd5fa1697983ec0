"""The only door through which a strategy reaches what costs or lies outside the view."""

from __future__ import annotations

import random
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compactlab.sim.core.blocks import blocks_of
from compactlab.sim.core.conversation import Compaction
from compactlab.sim.core.errors import ContractError
from compactlab.sim.core.memory import Remembered
from compactlab.sim.core.message import Message, Part, Usage, Weight
from compactlab.sim.core.messages import Messages
from compactlab.sim.core.view import Phase, View
from compactlab.sim.facts.needs import Later
from compactlab.sim.models.model import Model, replayable
from compactlab.sim.replay.summarize import SummaryRequest, TurnRequest


@dataclass(frozen=True, slots=True)
class Compacted:
    """A compaction of the session's view that has happened in this replay.

    Parameters
    ----------
    before, after
        Tokens of the view before and after.
    last
        Id of the newest message in the log at that time.
    """

    before: int
    after: int
    last: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """A compaction that the recorded agent made, and the newest message at that time."""

    compaction: Compaction
    last: str


@dataclass
class Host:
    """What a strategy may know and do at the moment at which it is asked.

    Attributes
    ----------
    model
        The model of the next call: its window, its tokenizer.
    phase
        Which moment it is.
    now
        Seconds since 1970: the time of the newest message, or of the idle moment.
    requested
        When the last request started; None before the first.
    ttl
        The lifetime of cache entries that the client asks for; "" for the provider's own.
    log
        All that has been said so far. The future is out of reach.
    session
        The session's view, from which turn and request parts project the prompt.
    reported
        Usage of the last call as the provider reported it; None before the first.
    compactions
        What this replay's strategies have compacted so far.
    recorded
        What the recorded agent had compacted by now.
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
    phase: Phase = Phase.BEFORE_CALL
    now: float = 0.0
    requested: float | None = None
    ttl: str = ""
    log: Messages = field(default_factory=Messages)
    session: View = field(default_factory=View)
    reported: Usage | None = None
    compactions: Sequence[Compacted] = ()
    recorded: Sequence[Recorded] = ()
    notes: dict[str, Any] = field(default_factory=dict)
    files: MutableMapping[str, str] = field(default_factory=dict)
    memory: list[Remembered] = field(default_factory=list)
    reminders: list[str] = field(default_factory=list)
    asking: object = None
    _summarize: Callable[[View, SummaryRequest], tuple[Part, ...]] | None = None
    _run_turn: Callable[[View, TurnRequest], View] | None = None
    _rng: Callable[[str], random.Random] | None = None
    _later: Callable[[], Later] | None = None
    _fetch: Callable[[str], str] | None = None

    def hang_up(self) -> None:
        """Let go of who answers, when a replay is over.

        They know the host, too: together with all that they hold they would stay in memory until
        somebody looks for circles.
        """
        self._summarize = self._run_turn = self._rng = self._later = self._fetch = None

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
        assert self._later is not None
        return self._later()

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
        assert self._rng is not None
        return self._rng(purpose)

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
        assert self._summarize is not None
        return self._summarize(view, request)

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
        assert self._run_turn is not None
        return self._run_turn(view, request)

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
        assert self._fetch is not None
        return self._fetch(handle)
