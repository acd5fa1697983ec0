"""Summarisers that do it wrong: controls for strategies that trust theirs.

Each does one thing that models have been seen to do: nothing at all (OpenClaw issue 4223: 22 empty
summaries in a row), too much, or something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from compactlab.sim.message import Part
from compactlab.sim.summarize import Summarizer, SummaryRequest

_FILLER = "In other words, and to say it once more, all of this was said and none of it is short. "
_ANSWER = "Sure, I will do that right away. You said: "
_QUOTED = 200  # characters of the last message that an answer repeats


@dataclass(frozen=True)
class Empty(Summarizer):
    """Say nothing. What a strategy makes of it shows whether it looks at its summaries."""

    simulated: ClassVar[str] = "a model that answers nothing"

    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        """Nothing."""
        return ()


@dataclass(frozen=True)
class Inflating(Summarizer):
    """Repeat everything and add more, beyond the budget: longer than what it was given.

    Nothing is forgotten, so only the cost shows what is wrong: strategies that do not look at the
    size of a summary make the prompt larger with every compaction.
    """

    simulated: ClassVar[str] = "a model that repeats everything and adds to it"

    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        """What was said, and filler until it is longer than that, and a third over the budget."""
        told = tuple(
            Part("text", part.text, "summary", part.sources) for part in _said(request) if part.text
        )
        if not told:
            return ()
        given = sum(count(part.text) for part in told)
        missing = max(request.max_tokens * 4 // 3 - given, 0) + 1
        filler = _FILLER * (missing // max(count(_FILLER) - 1, 1) + 1)
        return (*told, Part("text", filler, "summary", told[-1].sources))


@dataclass(frozen=True)
class Failed(Summarizer):
    """Answer the last message instead of summarising: all but that message is gone.

    25 of the 28 summaries that one repository recorded are of this kind (lost-in-compaction, May
    2026, judged by their openings).
    """

    simulated: ClassVar[str] = "a model that answers instead of summarising"

    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        """An answer, within the budget."""
        last = next((part for part in reversed([*_said(request)]) if part.text), None)
        if last is None:
            return ()
        quoted, answer = last.text[:_QUOTED], _ANSWER
        while quoted and count(answer + quoted) > request.max_tokens:
            quoted = quoted[: len(quoted) // 2]
        while answer and count(answer + quoted) > request.max_tokens:
            answer = answer[: len(answer) // 2]
        text = answer + quoted
        return (Part("text", text, "summary", last.sources),) if text else ()


def _said(request: SummaryRequest) -> Iterator[Part]:
    """All that the summariser was given, in order, but what stands for nothing."""
    yield from (part for part in request.previous if part.sources)
    for message in request.messages:
        yield from (part for part in message.parts if part.sources)
