"""The contract of a summariser, and the requests that a strategy makes of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from compactlab.sim.conversation import Conversation
from compactlab.sim.memory import Remembered
from compactlab.sim.message import Message, Part
from compactlab.sim.spec import label_of, spec_of


@dataclass(frozen=True)
class SummaryRequest:
    """What a strategy wants summarised, and how the request for it is built.

    Parameters
    ----------
    messages
        What is to be summarised, oldest first.
    max_tokens
        How long the summary may be, in tokens of the model.
    previous
        The summary before this one, to be carried on; empty if there was none.
    instructions
        What the model is told to do. It is billed; a summariser without a model ignores it.
    transcript
        For a request with a prompt of its own: the messages written out as text. It is billed.
    rides
        ``live``: the request is the live prompt with the instructions after it, so that it reads
        the cache. ``fresh``: a prompt of its own, made of transcript and instructions.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    previous: tuple[Part, ...] = ()
    instructions: str = ""
    transcript: str = ""
    rides: Literal["live", "fresh"] = "fresh"


@dataclass(frozen=True)
class TurnRequest:
    """An extra turn that a strategy has the agent take, so that it can write its memory down.

    Parameters
    ----------
    prompt
        What the agent is told, as a message that no person typed.
    system
        What is added to the system prompt for this turn; it changes all of it.
    purpose
        What bills call it: ``flush``, for one before a compaction.
    max_tokens
        How long its notes may be together, in tokens of the model.
    silent
        What it is asked to answer where the user need not hear anything.
    heard
        What of its answer reaches the user.
    """

    prompt: str
    system: str = ""
    purpose: str = "turn"
    max_tokens: int = 1000
    silent: str = ""
    heard: Callable[[str], str] = str


@dataclass(frozen=True)
class Written:
    """What an agent did with an extra turn.

    Parameters
    ----------
    reply
        What it answered in the end.
    items
        What it put down before; where there is nothing, it made no call of a tool.
    """

    reply: str
    items: tuple[Remembered, ...] = ()


class Summarizer(ABC):
    """Something that makes summaries. Subclasses are frozen dataclasses, named by their spec.

    It stands in for the model wherever one would write something, so it also says what the agent
    puts down in an extra turn. It belongs to a run's identity: the same request must give the
    same answer.

    Attributes
    ----------
    simulated
        What of it is simulated, in one line; "" for one that only copies what was said.
    """

    simulated: ClassVar[str] = ""

    @property
    def spec(self) -> str:
        """The summariser's name with its parameters."""
        return spec_of(self)

    @property
    def label(self) -> str:
        """The spec without what stands at its default: for titles, where room is scarce."""
        return label_of(self)

    def bound(self, conversation: Conversation, seed: int) -> Summarizer:
        """Get to know what is replayed; asked for once before each replay.

        Parameters
        ----------
        conversation
            The script with its facts and needs: who uses them is simulated, and says so.
        seed
            The experiment's seed.

        Returns
        -------
        Summarizer
            Of the same spec; itself, if it need not know.
        """
        return self

    @abstractmethod
    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        """Summarise.

        Parameters
        ----------
        request
            What to summarise; all parts of its messages have sources.
        count
            Counts the tokens of a text as the model does.

        Returns
        -------
        tuple of Part
            Text parts of kind ``summary`` (or ``verbatim`` where a piece is quoted whole), each
            with its sources; within ``request.max_tokens`` together. Empty if nothing was said.
        """

    def write(
        self, messages: Sequence[Message], request: TurnRequest, count: Callable[[str], int]
    ) -> Written:
        """Take an extra turn: say what is put down, and what is answered.

        A summariser that does not say puts nothing down.

        Parameters
        ----------
        messages
            What the agent sees, and nothing else: the messages of its prompt before the request.
        request
            What it is told.
        count
            Counts the tokens of a text as the model does.

        Returns
        -------
        Written
            The texts of its items are within ``request.max_tokens`` together, each with its
            sources.
        """
        return Written(request.silent)


@dataclass(frozen=True)
class Remembering(Summarizer):
    """A summariser that answers the same request from memory.

    Strategies that differ in something else often ask for the same summary, and making one is
    the dearest thing in a replay.

    Parameters
    ----------
    inner
        Who makes the summaries; the spec is its own.
    """

    inner: Summarizer
    known: dict[tuple[object, ...], tuple[Part, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )
    _bound: dict[tuple[str, str, int], Remembering] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def spec(self) -> str:
        """The inner summariser's spec: remembering changes no result."""
        return self.inner.spec

    @property
    def label(self) -> str:
        """The inner summariser's short name."""
        return self.inner.label

    @property
    def simulated(self) -> str:  # type: ignore[override]
        """What of the inner summariser is simulated."""
        return self.inner.simulated

    def bound(self, conversation: Conversation, seed: int) -> Remembering:
        """Bind the inner one; what one that knows more has answered is remembered apart."""
        key = conversation.id, conversation.digest, seed
        if key not in self._bound:
            inner = self.inner.bound(conversation, seed)
            self._bound.clear()
            self._bound[key] = self if inner is self.inner else Remembering(inner)
        return self._bound[key]

    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        """Answer from memory, or ask."""
        key = (request, count)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self.inner.summarize(request, count)
        return found

    def write(
        self, messages: Sequence[Message], request: TurnRequest, count: Callable[[str], int]
    ) -> Written:
        """Ask; each turn sees something else, so there is nothing to remember."""
        return self.inner.write(messages, request, count)
