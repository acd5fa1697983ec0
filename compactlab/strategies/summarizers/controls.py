"""Bounds: a summary that knows the facts needed later, and faulty summaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import ClassVar

from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.notes import Remembered
from compactlab.sim.facts.ledger import numbers
from compactlab.sim.replay.summarize import Count, Summarizer, SummaryRequest, TurnRequest, Written
from compactlab.strategies.summarizers.extractive import Sized
from compactlab.strategies.summarizers.sampling import recited, statements_in
from compactlab.strategies.summarizers.writer import Knowing, Unbound, fitting


@dataclass(frozen=True)
class Oracle(Unbound):
    """State only the facts that later calls need, up to the budget.

    It sees the future: an upper bound for all summaries. Facts needed soonest come first. It only
    knows facts that the messages or the previous summary state.
    """

    simulated: ClassVar[str] = "sees the future: states only the facts that later calls need"

    def bound(self, conversation: Conversation, seed: int) -> Summarizer:
        return BoundOracle(conversation, seed, self.spec)


@dataclass(frozen=True, eq=False)
class BoundOracle(Knowing):
    """An :class:`Oracle` bound to the needs of a conversation."""

    simulated: ClassVar[str] = Oracle.simulated

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        told = self.told(request, "summary", count)
        return tuple(fitting(told, request.max_tokens, count).values())

    def told(
        self, request: SummaryRequest, purpose: str | int, count: Count
    ) -> Iterator[tuple[int, Part]]:
        """Yield facts that later calls need, the soonest first; see :class:`~.writer.Knowing`."""
        facts = statements_in(self.witness, request)
        known = (facts.fresh | facts.carried) & ~facts.deleted
        now = max((self.place.get(message.id, -1) for message in request.messages), default=-1)
        for number in self._by_need(known, now):
            yield number, recited(self.ledger.facts[number], facts.given)

    def _by_need(self, known: int, now: int) -> list[int]:
        """Return the facts needed after a position in the script, the soonest first."""
        soonest: dict[int, int] = {}
        for answer, needed in self.ledger.needs.items():
            if self.place[answer] > now:
                for number in numbers(needed & known):
                    soonest[number] = min(soonest.get(number, len(self.place)), self.place[answer])
        return sorted(soonest, key=lambda number: (soonest[number], number))


# The lower bound: as long as a summary, but without content.

# Words that name nothing, decide nothing and report nothing; no fact's value contains one.
_SENTENCE = (
    "so it went on as it goes on and what was to be said of it was said in so many words as were "
    "there to say it and nobody who reads this knows more than before it was read"
)


@dataclass(frozen=True)
class Junk(Sized):
    """Write words without content, as many as a summary has.

    The lower bound for all summaries. An empty answer is not a bound: strategies reject it, and the
    length of a summary determines the next compaction.
    """

    simulated: ClassVar[str] = "a summary without content"
    matched: ClassVar[bool] = True

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        sources = tuple(dict.fromkeys(s for part in _sourced(request) for s in part.sources))
        text = _of_length(min(request.max_tokens, self.tokens), count)
        return (Part("text", text, "summary", sources),) if text and sources else ()

    def write(self, messages: Sequence[Message], request: TurnRequest, count: Count) -> Written:
        """Write one note with this many words."""
        text = _of_length(min(request.max_tokens, self.tokens), count)
        parts = (part for message in reversed(messages) for part in message.parts)
        sources = next((part.sources for part in parts if part.sources), ())
        items = (Remembered("progress", text, sources),) if text and sources else ()
        return Written(request.silent, items)


def _of_length(tokens: int, count: Count) -> str:
    """Return the longest text of these words within a number of tokens."""
    low, high = 0, tokens  # a word has a token at least
    while low < high:
        middle = (low + high + 1) // 2
        if count(_words(middle)) <= tokens:
            low = middle
        else:
            high = middle - 1
    return _words(low)


def _words(number: int) -> str:
    return " ".join(islice(cycle(_SENTENCE.split()), number))


# Faulty summarisers: they test strategies that do not check their summaries. Each has a fault
# observed in models: no text at all (OpenClaw issue 4223: 22 empty summaries in a row), too much
# text, or the wrong text.

_FILLER = "In other words, and to say it once more, all of this was said and none of it is short. "
_ANSWER = "Sure, I will do that right away. You said: "
_QUOTED = 200  # characters of the last message repeated in an answer


@dataclass(frozen=True)
class Empty(Summarizer):
    """Write nothing: shows whether a strategy checks its summaries."""

    simulated: ClassVar[str] = "a model that answers nothing"

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        return ()


@dataclass(frozen=True)
class Inflating(Summarizer):
    """Repeat everything and add more, over the budget: longer than its input.

    Nothing is forgotten, so only the cost shows what is wrong: strategies that ignore the size of a
    summary make the prompt larger with every compaction.
    """

    simulated: ClassVar[str] = "a model that repeats everything and adds to it"

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        copies = tuple(
            Part("text", part.text, "summary", part.sources)
            for part in _sourced(request)
            if part.text
        )
        if not copies:
            return ()
        given = sum(count(part.text) for part in copies)
        missing = max(request.max_tokens * 4 // 3 - given, 0) + 1
        filler = _FILLER * (missing // max(count(_FILLER) - 1, 1) + 1)
        return (*copies, Part("text", filler, "summary", copies[-1].sources))


@dataclass(frozen=True)
class Failed(Summarizer):
    """Answer the last message instead of summarising: everything else is lost.

    25 of the 28 summaries that one repository recorded are of this kind (lost-in-compaction, May
    2026, judged by their openings).
    """

    simulated: ClassVar[str] = "a model that answers instead of summarising"

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        last = next((part for part in reversed([*_sourced(request)]) if part.text), None)
        if last is None:
            return ()
        quoted, answer = last.text[:_QUOTED], _ANSWER
        while quoted and count(answer + quoted) > request.max_tokens:
            quoted = quoted[: len(quoted) // 2]
        while answer and count(answer + quoted) > request.max_tokens:
            answer = answer[: len(answer) // 2]
        text = answer + quoted
        return (Part("text", text, "summary", last.sources),) if text else ()


def _sourced(request: SummaryRequest) -> Iterator[Part]:
    """Yield all input of the summariser in order, except parts without sources."""
    yield from (part for part in request.previous if part.sources)
    for message in request.messages:
        yield from (part for part in message.parts if part.sources)
