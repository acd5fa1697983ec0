"""The host: a strategy's only access to anything that costs or is outside the view."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from compactlab.sim.core.blocks import blocks_of
from compactlab.sim.core.conversation import Compaction
from compactlab.sim.core.errors import ContractError
from compactlab.sim.core.message import Call, Message, Part, Usage, Weight
from compactlab.sim.core.notes import Remembered
from compactlab.sim.core.view import Messages, Phase, View
from compactlab.sim.facts.needs import Later
from compactlab.sim.models.model import Model, replayable
from compactlab.sim.replay.summarize import SummaryRequest, TurnRequest


@dataclass(frozen=True, slots=True)
class Compacted:
    """A compaction of the session's view in this replay."""

    before: int  # tokens of the view
    after: int
    last: str  # id of the newest message in the log at that time
    removed: bool = True  # whether there are fewer messages


@dataclass(frozen=True, slots=True)
class Recorded:
    """A compaction that the recorded agent made, and the newest message at that time."""

    compaction: Compaction
    last: str


@dataclass
class State:
    """The state of a session, which a rewind restores."""

    view: View = field(default_factory=View)
    log: Messages = field(default_factory=Messages)
    notes: list[dict[str, Any]] = field(default_factory=list)  # JSON state by strategy
    turn: View | None = None  # the view for the turn; None if there is none
    sent: View | None = None  # the last prompt sent
    heard: int = 0  # length of the log at that time
    new_turn: bool = False  # whether a user message came since
    reported: Usage | None = None  # usage of that call
    rewound: bool = False  # whether the script was rewound since
    marked: int = 0  # number of leading messages before a strategy's own cache mark
    compactions: list[Compacted] = field(default_factory=list)
    recorded: tuple[Recorded, ...] = ()

    def snapshot(self) -> State:
        """Return an independent copy."""
        notes, compactions = copy.deepcopy(self.notes), list(self.compactions)
        return replace(self, notes=notes, compactions=compactions)


def _nobody(*asked: object, **more: object) -> Any:
    raise ContractError("nobody answers that here: it is asked in a replay")


@dataclass(frozen=True)
class Services:
    """The services behind a host; they take it as an argument, to avoid reference cycles."""

    summarize: Callable[[Host, View, SummaryRequest], tuple[Part, ...]] = _nobody
    run_turn: Callable[[Host, View, TurnRequest], View] = _nobody
    charge: Callable[[Host, View, Call], None] = _nobody
    send: Callable[..., None] = _nobody  # as :meth:`Host.send`
    fetch: Callable[[Host, str], str] = _nobody
    rng: Callable[[Host, str], random.Random] = _nobody
    needs: Callable[[Host], Later] = _nobody


@dataclass
class Host:
    """A strategy's view of the session, and its possible actions, at the moment of a call.

    Attributes
    ----------
    model
        The model of the next call: its window, its tokenizer.
    state
        The state of the session; strategies read it by the names below.
    phase
        The current phase.
    now
        Seconds since 1970: the time of the newest message, or of the idle moment.
    requested
        When the last request started; None before the first.
    ttl
        The lifetime of cache entries that the client asks for; "" for the provider's own.
    thinking
        The effort or budget of thinking that the client asks for; "" if the log does not say.
    notes
        The calling strategy's own JSON state. A rewind restores it.
    files
        The files of a real agent: path to text. A rewind does not change them.
    memory
        The agent's notes, oldest first. A rewind does not change them.
    reminders
        Text that plug-ins add to every summary request. A rewind does not change it.
    asking
        The calling strategy.
    belief
        Its estimate of its context, see :meth:`believe`.
    """

    model: Model
    state: State = field(default_factory=State)
    _services: Services = field(default_factory=Services, repr=False)
    phase: Phase = Phase.BEFORE_CALL
    now: float = 0.0
    requested: float | None = None
    ttl: str = ""
    thinking: str = ""
    notes: dict[str, Any] = field(default_factory=dict)
    files: MutableMapping[str, str] = field(default_factory=dict)
    memory: list[Remembered] = field(default_factory=list)
    reminders: list[str] = field(default_factory=list)
    asking: object = None
    belief: tuple[float, View] | None = None

    @property
    def log(self) -> Messages:
        """All messages so far. The future is not accessible."""
        return self.state.log

    @property
    def session(self) -> View:
        """The session's view, from which strategies of turns and requests derive the prompt."""
        return self.state.view

    @property
    def sent(self) -> View | None:
        """The last prompt that was sent; None before the first, and after a rewind."""
        return None if self.state.rewound else self.state.sent

    @property
    def reported(self) -> Usage | None:
        """Usage of the last call as the provider reported it; None before the first."""
        return self.state.reported

    @property
    def compactions(self) -> Sequence[Compacted]:
        """The compactions of this replay so far."""
        return self.state.compactions

    @property
    def recorded(self) -> Sequence[Recorded]:
        """The recorded agent's compactions so far."""
        return self.state.recorded

    @property
    def idle(self) -> float:
        """Seconds since the last request started; 0 before the first."""
        return 0.0 if self.requested is None else self.now - self.requested

    @property
    def needs(self) -> Later:
        """Return the needs of the next call and all later ones, for oracles only.

        Raises
        ------
        ContractError
            If the calling strategy does not declare ``sees_future``.
        """
        if not getattr(self.asking, "sees_future", False):
            raise ContractError("host.needs is the future: only who sets sees_future may ask")
        return self._services.needs(self)

    @property
    def window(self) -> int:
        """The context window of the model in tokens."""
        return self.model.window

    @property
    def cache_lifetime(self) -> float:
        """The seconds that an unread cache entry lives."""
        return replayable(self.model)[1].lifetime(self.ttl)

    def count(self, what: View | Messages | Message | Part | str) -> int:
        """Count tokens like the model. Repeated counts are free."""
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
        """The token weight of messages; all share its cumulative sums."""
        return blocks_of(self.model.tokenizer).weight

    def believe(self, tokens: float, view: View) -> None:
        """Declare the calling strategy's estimate of a context when it decides to compact it.

        If it then compacts, the estimate is compared with the tokens of that context: the metric
        ``fired_early``. A strategy that counts with :meth:`count` has no estimate.

        Parameters
        ----------
        tokens
            The estimate that is compared with the trigger.
        view
            The estimated context.
        """
        self.belief = tokens, view

    def rng(self, purpose: str) -> random.Random:
        """Return the random stream of a purpose: separate for each, the same at every call."""
        return self._services.rng(self, purpose)

    def summarize(self, view: View, request: SummaryRequest) -> tuple[Part, ...]:
        """Request a summary; the request is billed.

        Parameters
        ----------
        view
            The live prompt, for a request that extends it.
        request
            The request.

        Returns
        -------
        tuple of Part
            The summary; empty if the summariser returned none.
        """
        return self._services.summarize(self, view, request)

    def run_turn(self, view: View, request: TurnRequest) -> View:
        """Let the agent take an extra turn; its calls are billed, and its messages stay.

        It comes before unanswered user messages. The agent's notes go into ``memory``.

        Parameters
        ----------
        view
            The live prompt.
        request
            The request. There is no model: the summariser defines the agent's answer.

        Returns
        -------
        View
            The view with the messages of the turn.
        """
        return self._services.run_turn(self, view, request)

    def charge(self, view: View, call: Call) -> None:
        """Bill a recorded summary request.

        Parameters
        ----------
        view
            The live prompt, which the request is assumed to extend.
        call
            The request in the log. If recorded models are replayed, it costs what the log says;
            else the current price.
        """
        self._services.charge(self, view, call)

    def send(
        self, prompt: View, output: int, purpose: str, *, model: str = "", marked: bool = True
    ) -> None:
        """Bill another request of the strategy, for which nobody waits.

        Parameters
        ----------
        prompt
            The whole prompt.
        output
            Tokens of the answer.
        purpose
            Its name in bills: ``score``.
        model
            The model, by its name in the catalogue; "" for the session's own.
        marked
            Whether it has cache marks, for providers that need them.
        """
        self._services.send(self, prompt, output, purpose, model=model, marked=marked)

    def mark(self, messages: int) -> None:
        """Set a client cache mark at the end of some leading messages, from the next request on.

        A client marks the end of the system prompt and the last block. Content in between is read
        as long as the prompt only grows, but not after a cut: entries after the cut are gone, and
        those before it have expired or are too far from any mark. An own mark keeps an unchanged
        beginning in the cache. Providers without marks read any common beginning anyway.

        Parameters
        ----------
        messages
            Number of leading messages of the prompt; 0 removes the mark. A rewind restores it.
        """
        self.state.marked = messages

    def fetch(self, handle: str) -> str:
        """Return offloaded content by the handle of its placeholder part.

        Parameters
        ----------
        handle
            The handle.

        Raises
        ------
        InputError
            If no strategy knows the handle, or the content is not what was offloaded.
        """
        return self._services.fetch(self, handle)
