"""The model under test, its contexts and its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import msgspec

from compactlab.llm.asker import Asker
from compactlab.llm.endpoint import Endpoint
from compactlab.llm.recorded import Answer, Request, turns_of
from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.tokens import Tokenizer

_FRAME = 8  # tokens of overhead per text, for its role
_BROKEN_OFF = ("length", "max_tokens")  # in the words of both kinds of endpoints
Text = tuple[Literal["user", "assistant"], str]


@dataclass(frozen=True)
class Context:
    """The context of a reader: a system prompt and texts with their roles, oldest first."""

    system: str
    texts: tuple[Text, ...]

    @classmethod
    def of(cls, system: Iterable[Part], messages: Iterable[Message]) -> Context:
        """A prompt as text: endpoints refuse calls of tools that they do not know."""
        texts: list[Text] = []
        for message in messages:
            role: Literal["user", "assistant"]
            role = "assistant" if message.role == "assistant" else "user"
            texts.append((role, "\n".join(filter(None, map(_line, message.parts)))))
        return cls("\n\n".join(filter(None, map(_line, system))), tuple(texts))

    def then(self, text: str) -> Context:
        """The context with another text of the user at its end."""
        return Context(self.system, (*self.texts, ("user", text)))


def _line(part: Part) -> str:
    if part.type == "tool_call":
        return f"[calls {part.name}] {part.text}"
    if part.type == "tool_result":
        return f"[result of {part.name or 'a tool'}] {part.text}"
    return part.text if part.type == "text" else ""


@dataclass(frozen=True)
class PromptDraws:
    """A request with all its draws, and whether it was too long for its reader."""

    draws: tuple[Request, ...]
    cut: bool = False  # whether the oldest texts were left out

    @property
    def sample(self) -> str:
        """Its id for an evaluator, whose epochs are the draws."""
        return self.draws[0].key


@dataclass(frozen=True)
class Reader:
    """A model under test, or a judge."""

    model: str  # its name at the endpoint
    endpoint: Endpoint  # the endpoint of the requests
    asker: Asker  # source of recorded or new answers
    # Sampling temperature; None for the default of the endpoint.
    temperature: float | None = None
    draws: int = 1  # number of answers to each request
    # Tokens of its context window; 0 for that of the model, if known.
    window: int = 0
    # Maximum tokens of an answer; 0 for the usual limit of the task. A model that thinks first
    # needs more.
    max_tokens: int = 0

    def check(self) -> None:
        """Raise an error before any replay if nothing can be answered."""
        self.asker.check(self.model, self.endpoint)

    @cached_property
    def _known(self) -> tuple[Tokenizer, int]:
        try:
            model = self.asker.catalogue.find(self.model)
        except ModelError:
            return Tokenizer(), 0
        return model.tokenizer, model.window

    @property
    def room(self) -> int:
        """Tokens of its context window; 0 if unknown."""
        return self.window or self._known[1]

    def asked(self, context: Context, task: str, most: int) -> PromptDraws:
        """Make a request about a context; if it is too long, the oldest texts are left out.

        ``most`` limits the tokens of the answer, unless the reader sets it.
        """
        most = self.max_tokens or most
        system, texts, cut = context.system, context.texts, False
        if self.room:
            system, texts = self._fitted(context, self.room - most - self._count(task))
            cut = (system, texts) != (context.system, context.texts)
        turns = turns_of([*texts, ("user", task)])
        request = Request(self.model, turns, most, system, self.temperature)
        draws = (msgspec.structs.replace(request, draw=draw) for draw in range(self.draws))
        return PromptDraws(tuple(draws), cut)

    def _fitted(self, context: Context, room: int) -> tuple[str, tuple[Text, ...]]:
        """The system prompt and the newest texts that fit."""
        system = context.system if self._count(context.system) <= room else ""
        room -= self._count(system)
        first = len(context.texts)
        while first and self._count(context.texts[first - 1][1]) <= room:
            first -= 1
            room -= self._count(context.texts[first][1])
        return system, context.texts[first:]

    def _count(self, text: str) -> int:
        return self._known[0].text(text) + _FRAME

    def answers(self, asked: PromptDraws) -> list[Answer]:
        """The answers, by draw.

        Raises a ModelError if one is missing.
        """
        return [self.asker.answer(each, self.endpoint) for each in asked.draws]

    def missing(self, asked: Iterable[PromptDraws]) -> list[Request]:
        """The requests without a recorded answer, each once."""
        recording = self.asker.recording(self.model)
        requests = {each.key: each for every in asked for each in every.draws}
        return [each for key, each in requests.items() if recording.get(key) is None]

    def ask(
        self, requests: Sequence[Request], jobs: int, progress: Callable[[int], object]
    ) -> None:
        """Get and record answers to requests, several at once.

        Raises a ModelError if a request fails; earlier answers are recorded.
        """
        if jobs == 1:
            for done, request in enumerate(requests):
                progress(done)
                self.asker.answer(request, self.endpoint)
            return
        from joblib import Parallel, delayed

        # Processes, because threads would share the state of reading a recording.
        work = (delayed(_answered)(self.asker, self.endpoint, each) for each in requests)
        for done, _ in enumerate(Parallel(jobs, return_as="generator_unordered")(work), 1):
            progress(done)


def broke_off(answer: Answer) -> bool:
    """Whether an answer was truncated by its token limit."""
    return answer.ended in _BROKEN_OFF


def _answered(asker: Asker, endpoint: Endpoint, request: Request) -> None:
    asker.answer(request, endpoint)


@dataclass
class Price:
    """The number of requests, and their cost."""

    requests: int = 0
    likely: float = 0.0  # dollars, with answers of a typical length
    most: float = 0.0
    unknown: int = 0  # requests without a known price

    def add(self, asker: Asker, request: Request, usual: int) -> None:
        """Count a request whose answer has typically ``usual`` tokens."""
        usage = asker.estimate(request)
        length = min(usual, usage.output)
        likely = asker.price(request, msgspec.structs.replace(usage, output=length))
        most = asker.price(request)
        self.count(None if likely is None or most is None else (likely, most))

    def count(self, dollars: tuple[float, float] | None) -> None:
        """Count a request by its likely and maximum cost; None if unknown."""
        self.requests += 1
        if dollars is None:
            self.unknown += 1
        else:
            self.likely += dollars[0]
            self.most += dollars[1]
