"""Llm: a language model writes the summaries; its answers are recorded, and runs replay them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal

import msgspec

from compactlab.llm.asker import Asker
from compactlab.llm.endpoint import Endpoint
from compactlab.llm.recorded import Request, turns_of
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.limits import at_least, between
from compactlab.sim.core.message import Part
from compactlab.sim.replay.summarize import Count, Summarizer, SummaryRequest

# Default instructions, for a strategy without its own.
_INSTRUCTIONS = "Summarise the conversation above, so that the work can go on from the summary."
_PREVIOUS = "The summary of what came before:"


@dataclass(frozen=True)
class Llm(Summarizer):
    """Have a language model write the summary, with the prompt of the strategy's own system.

    The model gets the strategy's transcript unchanged. If the request extends the live prompt, the
    model gets the previous summary and the summarised messages as turns. The instructions come
    last. The whole answer is one part, whose sources are all summarised messages. An answer longer
    than allowed is kept, and listed among the faults of summaries. It writes no notes in extra
    turns, because notes are not summaries.

    Parameters
    ----------
    model
        The model's name, as its endpoint knows it.
    prompt
        Replacement for the strategy's instructions; "" for its own.
    temperature
        Sampling temperature; None for the endpoint's own, because newer models of OpenAI and
        Anthropic refuse others.
    max_tokens
        Maximum length of an answer, if the strategy allows more. 8,000 is a guess, above the
        longest recorded summaries.
    draw
        Which of several answers to the same request is used.
    base_url
        The address of the endpoint; "" for the provider's own. It is not part of the spec, because
        the model stays the same.
    api
        The form of its requests, ``openai`` or ``anthropic``; "" to choose by the model's name.
    """

    asks: ClassVar[bool] = True

    model: str = ""
    prompt: str = ""
    temperature: Annotated[float | None, between(0, 2)] = None
    max_tokens: Annotated[int, at_least(1)] = 8000
    draw: Annotated[int, at_least(0)] = 0
    base_url: str = field(default="", repr=False)
    api: Literal["", "openai", "anthropic"] = field(default="", repr=False)
    # The model's answers come from here: not a setting, so neither specs nor files can name it.
    # Summarisers with different sources of answers are not equal.
    asker: Asker | None = field(default=None, init=False, repr=False)

    def answered_by(self, asker: Asker | None) -> Llm:
        """Return a copy with a source of answers."""
        other = replace(self)
        object.__setattr__(other, "asker", asker)
        return other

    @property
    def named_files(self) -> tuple[str, ...]:
        file = self.asker.recording(self.model).file if self.asker else None
        return (str(file),) if file and file.is_file() else ()

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint.of(self.model, self.api, self.base_url)

    def check(self) -> None:
        """Refuse, before a run, requests that cannot be answered.

        Raises a UsageError if there is no model, no folder of answers, or if a requirement
        for requests is missing.
        """
        if not self.model:
            raise UsageError("llm: name the model, as in llm(model='gpt-5-mini')")
        if self.asker is None:
            raise UsageError(
                f"{self.label} replays recorded answers: name their folder with --answers, and add "
                "--ask record to have what is missing asked for"
            )
        self.asker.check(self.model, self.endpoint)

    def request(self, request: SummaryRequest) -> Request:
        """Build the request to the model."""
        instructions = self.prompt or request.instructions or _INSTRUCTIONS
        return Request(
            self.model,
            turns_of([*_read(request), ("user", instructions)]),
            min(request.max_tokens, self.max_tokens),
            temperature=self.temperature,
            draw=self.draw,
        )

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        given = [*request.previous, *(part for m in request.messages for part in m.parts)]
        sources = tuple(dict.fromkeys(source for part in given for source in part.sources))
        if not sources or request.max_tokens < 1:
            return ()
        if self.asker is None:
            self.check()
        assert self.asker is not None
        text = self.asker.answer(self.request(request), self.endpoint).text.strip()
        return (Part("text", text, "summary", sources),) if text else ()


def _read(request: SummaryRequest) -> Iterator[tuple[Literal["user", "assistant"], str]]:
    """Yield the model's input before the instructions, by speaker."""
    if request.transcript:  # the strategy has written everything into it
        yield "user", request.transcript
        return
    before = "\n".join(part.text for part in request.previous if part.text)
    if before:
        yield "user", f"{_PREVIOUS}\n\n{before}"
    for message in request.messages:
        role: Literal["user", "assistant"] = "assistant" if message.role == "assistant" else "user"
        yield role, "\n".join(filter(None, map(_line, message.parts)))


def _line(part: Part) -> str:
    """Write a part as text, because endpoints reject calls of unknown tools."""
    if part.type == "tool_call":
        return f"[calls {part.name}] {part.text}"
    if part.type == "tool_result":
        return f"[result of {part.name or 'a tool'}] {part.text}"
    return part.text if part.type == "text" else ""


@dataclass(frozen=True)
class Expected(Summarizer):
    """Replaces a model in a dry run: records the requests that would be made, and their costs.

    Recorded answers are replayed, so a session is exact up to the first missing answer.

    Parameters
    ----------
    inner
        The summariser whose requests are recorded.
    stand_in
        The summariser that replaces missing answers.
    noted
        By key of a request, dollars for an answer as long as the stand-in's, and for the longest;
        None without a known price.
    """

    asks: ClassVar[bool] = True

    inner: Llm
    stand_in: Summarizer
    noted: dict[str, tuple[float, float] | None] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def spec(self) -> str:
        return self.inner.spec

    @property
    def label(self) -> str:
        return self.inner.label

    def bound(self, conversation: Conversation, seed: int) -> Expected:
        return Expected(self.inner, self.stand_in.bound(conversation, seed), self.noted)

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        asked, asker = self.inner.request(request), self.inner.asker
        assert asker is not None
        if asker.recording(asked.model).get(asked.key) is not None:
            return self.inner.summarize(request, count)
        parts = self.stand_in.summarize(request, count)
        if parts:
            most = asker.estimate(asked)
            length = min(sum(count(part.text) for part in parts), most.output)
            likely = asker.price(asked, msgspec.structs.replace(most, output=length))
            top = asker.price(asked, most)
            self.noted[asked.key] = None if likely is None or top is None else (likely, top)
        return parts
