"""A made-up client that really asks a cache, and keeps the log that a real client would keep.

It knows what the log does not tell: how large everything is, what stands in front of the messages,
what it changes without a word. So what an audit finds out can be held against the truth.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Literal

from compactlab.sim.cache import Anthropic, Cache, CachePolicy, Lookup, Request, Settings
from compactlab.sim.cache.prompt import CLIENT_CONTEXT, Prompt
from compactlab.sim.core.conversation import Compaction, Conversation, Event, Rewind
from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.message import Call, Message, Part, PartType, Role, Source, Usage
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.core.view import Messages, View
from compactlab.sim.models.model import Model

QUICK = Tokenizer("chars4")
START = 1_770_000_000.0
MAIN = "main"
PRICED = "anthropic/claude-sonnet-4-5"


def model_of(name: str, policy: CachePolicy | None = None, *, strips: bool = False) -> Model:
    """A model that counts quickly."""
    known = policy or Anthropic()
    return Model(name, 200_000, 0, QUICK, PRICED, known, strips_thinking=strips)


MODELS = {
    MAIN: model_of(MAIN),
    "other": model_of("other"),
    "forgetful": model_of("forgetful", strips=True),
}


def _part(id: str, type: PartType, size: int) -> Part:
    return Part(type, "", "verbatim", (Source(id),), size=size)


@dataclass
class _Line:
    """What one model's cache holds, and the prompt that it was last sent."""

    cache: Cache
    prompt: Prompt


@dataclass
class Client:
    """A client with its habits.

    Parameters
    ----------
    system, context
        Tokens that it puts in front of the messages, the same for every session and for this one.
    ttl
        The lifetime that it asks for; "" where it does not mark.
    format
        What its log is called.
    noise
        By what share the log's text is off the true sizes at most.
    tail
        Tokens behind the last mark.
    others
        Whether other sessions keep what they share with this one alive.
    models, unknown
        The models that there are, and those of them that nobody else knows.
    """

    system: int = 20_000
    context: int = 6_000
    ttl: Literal["", "5m", "1h"] = "5m"
    format: str = "planted"
    noise: float = 0.2
    tail: int = 3
    others: bool = False
    models: dict[str, Model] = field(default_factory=lambda: MODELS)
    unknown: tuple[str, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        self.model, self.version, self.thinking = MAIN, "1.0", ""
        self.events: list[Event] = []
        self.lookups: list[Lookup] = []
        self.messages = Messages()
        self.now = START
        self.known = {"": self.messages}
        self._lines: dict[str, _Line] = {}
        self._changes = [0, 0]
        self._rng = random.Random(self.seed)
        self._count = 0

    # What happens

    def wait(self, seconds: float) -> Client:
        """Let time go by."""
        self.now += seconds
        return self

    def say(self, tokens: int = 200, *, image: bool = False, meta: bool = False) -> Client:
        """A person speaks."""
        sizes: list[tuple[PartType, int]] = [("text", tokens)]
        if image:
            sizes.append(("image", 1_200))
        self._add("user", sizes, meta=meta)
        return self.wait(1)

    def result(self, tokens: int = 2_000, count: int = 1) -> Client:
        """Tools answer."""
        for _ in range(count):
            self._add("tool", [("tool_result", tokens)])
        return self.wait(1)

    def ask(self, *, thought: int = 0, tokens: int = 300, ends: bool = False) -> Client:
        """Ask the model; a turn goes on unless it ends."""
        usage = self._send(self.messages, thought + tokens)
        how = Call(self.model, usage, self.ttl, self.version, self.thinking)
        self._answer(thought, tokens, ends, how)
        return self

    def break_off(self, *, note: bool = False) -> Client:
        """Ask the model, and let a person stop the answer."""
        self._send(self.messages, 0)
        self.wait(4)
        if note:
            self._add("user", [("text", 10)], meta=True, origin="interrupted")
        else:
            self._add("assistant", [("text", 0)], origin="aborted")
        return self.wait(1)

    def turn(self, calls: int = 3, *, tokens: int = 2_000, thought: int = 0) -> Client:
        """A person speaks, and the model works for some calls."""
        self.say()
        for _ in range(calls - 1):
            self.ask(thought=thought).result(tokens)
        return self.ask(thought=thought, ends=True)

    def suggest(self) -> Client:
        """Ask, unlogged, what the person may want next."""
        self._send(self.messages, 50, log=False)
        return self

    def compact(self, summary: int = 3_000, keep: int = 0) -> Client:
        """Make a summary, which is not counted, and go on with that and the last messages."""
        kept = self.messages[len(self.messages) - keep :]
        self._send(self.messages, summary, log=False)
        inserted, true = self._made("user", [("text", summary)], meta=True)
        first = kept[0].id if kept else ""
        self.events.append(Compaction((inserted,), first, self.now, "auto"))
        self.messages = Messages([true, *kept])
        return self.wait(20)

    def rewind(self, to: str) -> Client:
        """Go back to a message."""
        self.events.append(Rewind(to))
        self.messages = self.known[to]
        return self.wait(5)

    def clear(self, *ids: str, to: int = 20) -> Client:
        """Shorten what tools had answered, without a word."""
        self.messages = Messages(
            Message(m.id, m.role, (_part(m.id, m.parts[0].type, to),)) if m.id in ids else m
            for m in self.messages
        )
        return self

    def churn(self, depth: Literal["front", "messages"]) -> Client:
        """Change what stands in front, without a word."""
        self._changes[depth == "messages"] += 1
        return self

    # What is told of it

    def log(self, name: str = "planted") -> Conversation:
        """The log that it kept."""
        return Conversation(name, self.format, tuple(self.events))

    def find(self, name: str) -> Model:
        """A model by its name."""
        if name in self.unknown:
            raise ModelError(f"unknown model {name}")
        return self.models[name]

    @property
    def last(self) -> str:
        """The id of the newest message."""
        return self.messages[-1].id

    def _front(self) -> tuple[Part, Part]:
        front, behind = map(str, self._changes)
        return (
            Part("text", "", "opaque", (), "system", front, size=self.system),
            Part("text", "", "opaque", (), CLIENT_CONTEXT, behind, size=self.context),
        )

    def _send(self, messages: Messages, output: int, *, log: bool = True) -> Usage:
        model = self.models[self.model]
        assert model.policy is not None
        line = self._lines.get(self.model)
        if line is None:
            prompt = Prompt(QUICK, strips=model.strips_thinking)
            line = self._lines[self.model] = _Line(model.policy.open(), prompt)
        settings = Settings(system=self.version, messages=self.thinking)
        views = [View(self._front(), messages)]
        if self.others:
            views.insert(0, View(self._front()[:1]))
        for view in views:
            line.prompt.move(view)
            request = Request(line.prompt, self.now, self.ttl, settings)
            told = line.cache.request(request)
        written = told.write_5m + told.write_1h
        cache_misses = line.prompt.tokens - told.read - written + self.tail
        if log:
            self.lookups.append(told)
        return Usage(cache_misses, told.read, told.write_5m, told.write_1h, output)

    def _answer(self, thought: int, tokens: int, ends: bool, call: Call) -> None:
        self.wait(4)
        sizes: list[tuple[PartType, int]] = [("text" if ends else "tool_call", tokens)]
        if thought:
            sizes.insert(0, ("thinking", thought))
        self._add("assistant", sizes, call=call)
        self.wait(1)

    def _made(
        self, role: Role, sizes: list[tuple[PartType, int]], **more: object
    ) -> tuple[Message, Message]:
        """A message as the log tells it, and as it truly is."""
        self._count += 1
        id = f"m{self._count}"
        off = [1 + self._rng.uniform(-self.noise, self.noise) for _ in sizes]
        told = [
            (t, n if t == "image" else round(n * by)) for (t, n), by in zip(sizes, off, strict=True)
        ]
        logged, true = (tuple(_part(id, *part) for part in parts) for parts in (told, sizes))
        return Message(id, role, logged, self.now, **more), Message(id, role, true)  # type: ignore[arg-type]

    def _add(self, role: Role, sizes: list[tuple[PartType, int]], **more: object) -> None:
        logged, true = self._made(role, sizes, **more)
        self.events.append(logged)
        self.messages = self.messages.append(true)
        self.known[true.id] = self.messages
