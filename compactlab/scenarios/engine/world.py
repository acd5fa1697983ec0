"""The draft of a conversation, and the world: the texts of people, an agent and its tools."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from compactlab.scenarios.engine.domain import Domain, Writer, phrases
from compactlab.scenarios.engine.plan import PlannedFact
from compactlab.scenarios.engine.profile import Profile
from compactlab.sim.core.conversation import Event, FactType, Need, Rewind
from compactlab.sim.core.message import Call, Message, Part, Role, verbatim
from compactlab.sim.core.stream import stream
from compactlab.sim.core.tokens import Tokenizer

_START = 1_767_603_600.0  # Monday, 2026-01-05, 9:00 UTC

_COUNT = Tokenizer()
_USUAL, _TRUST = 3.7, 200  # characters per token, before enough text was written to measure it
_SETTLED = 10  # number of calls after which measured sizes outweigh assumed ones
_TIGHTEST, _WIDEST = 0.1, 100.0

Open = Callable[[str], random.Random]  # returns the stream of random numbers for a purpose
Utterance = tuple[Literal["text", "thinking"], str]


class ToolCall(NamedTuple):
    """A call of a tool, and its result."""

    name: str
    arguments: Mapping[str, str | int]
    result: str
    failed: bool = False


class Draft:
    """The messages so far, with their times.

    With ``calls``, all sizes drawn from the profile are scaled by one factor, so that this many
    calls of the agent have about ``tokens`` in all. With 0, the number of calls is not controlled.
    """

    def __init__(
        self, seed: int, name: str, profile: Profile, calls: int = 0, tokens: float = 0
    ) -> None:
        self.events: list[Event] = []
        self.needs: list[Need] = []
        self.copies: list[tuple[str, str]] = []  # repeated messages, by id
        self.profile = profile
        self.tokens = self.returned = 0
        self._sizes = stream(seed, name, "sizes")
        self._gaps = stream(seed, name, "gaps")
        self._weights: dict[str, tuple[int, int]] = {}
        self._messages = 0
        self._goal = calls, tokens
        self._answers, self._stretch, self._stretched = 0, 1.0, 0.0
        self.branch = 0
        self._before: dict[str, str] = {}
        self._tip = ""
        self._calls = 0
        self._clock = _START

    @property
    def next_id(self) -> str:
        return self.message_id(self._messages + 1)

    def message_id(self, number: int) -> str:
        return f"m{number}"

    def call_id(self, number: int) -> str:
        return f"call_{number}"

    def characters(self, tokens: float, what: str = "text") -> int:
        """Convert tokens to characters, by the ratio in earlier texts of that kind."""
        length, weight = self._weights.get(what, (0, 0))
        return int(tokens * (length + _USUAL * _TRUST) / (weight + _TRUST))

    def length(self, what: str, most: float) -> int:
        """Draw a length in characters, of at most ``most`` tokens."""
        drawn = self.profile.size(what).draw(self._sizes) * self._stretch
        return self.characters(min(drawn, most), what)

    def say(self, role: Role, utterances: Sequence[Utterance], meta: bool = False) -> str:
        """Add a message, and return its id."""
        id = self.next_id
        return self._add(role, [verbatim(id, kind, text) for kind, text in utterances], meta)

    def call(
        self, utterances: Sequence[Utterance], tools: Sequence[ToolCall]
    ) -> tuple[str, list[str]]:
        """Add a message with tool calls; their results must be added next."""
        id = self.next_id
        call_ids = [self.call_id(self._calls + number) for number in range(1, len(tools) + 1)]
        self._calls += len(tools)
        parts = [verbatim(id, kind, text) for kind, text in utterances]
        for tool, call_id in zip(tools, call_ids, strict=True):
            arguments = json.dumps(tool.arguments, separators=(",", ":"))
            parts.append(verbatim(id, "tool_call", arguments, name=tool.name, call_id=call_id))
        return self._add("assistant", parts), call_ids

    def result(self, tool: ToolCall, call_id: str) -> str:
        """Add a tool's result, and return the message's id."""
        part = verbatim(
            self.next_id, "tool_result", tool.result,
            name=tool.name, call_id=call_id, is_error=tool.failed,
        )  # fmt: skip
        return self._add("tool", [part])

    def again(self, message: Message) -> str:
        """Repeat a message verbatim, and return the copy's id; calls are not repeated."""
        id = self.next_id
        parts = [verbatim(id, part.type, part.text) for part in message.parts]
        self.copies.append((message.id, self._add(message.role, parts, message.meta)))
        return id

    @property
    def tip(self) -> str:
        """The id of the message that the next one follows; "" at the start."""
        return self._tip

    def rewind(self, to: str) -> None:
        """Let the user go back to a message, or to one of another branch."""
        self.events.append(Rewind(to))
        self._tip = to

    def path(self) -> set[str]:
        """Return the ids of the messages on the current path."""
        ids, id = set[str](), self._tip
        while id:
            ids.add(id)
            id = self._before[id]
        return ids

    def _add(self, role: Role, parts: list[Part], meta: bool = False) -> str:
        id = self.next_id
        call = Call() if role == "assistant" else None
        if self.events:
            self._clock = round(self._after(role), 3)
        self.events.append(Message(id, role, tuple(parts), self._clock, meta, call))
        self._before[id], self._tip = self._tip, id
        self._messages += 1
        for part in parts:
            tokens = _COUNT.part(part)
            self.tokens += tokens
            self.returned += tokens if part.type == "tool_result" else 0
            kind = part.name or part.type
            length, weight = self._weights.get(kind, (0, 0))
            self._weights[kind] = length + len(part.text), weight + tokens
        if call is not None:
            self._pace()
        return id

    def _pace(self) -> None:
        """Scale the next sizes, so that the remaining calls reach the total of tokens."""
        calls, tokens = self._goal
        self._answers += 1
        self._stretched += self._stretch
        if calls:
            usual = (self.tokens + _SETTLED * tokens / calls) / (self._stretched + _SETTLED)
            wanted = (tokens - self.tokens) / max(1, calls - self._answers)
            self._stretch = min(max(wanted / usual, _TIGHTEST), _WIDEST)

    def _after(self, role: Role) -> float:
        clock = self._clock + self._wait(role)
        return self.profile.breaks.waking(clock) if role == "user" else clock

    def _wait(self, role: Role) -> float:
        breaks = self.profile.breaks
        if role == "user" and self._gaps.random() < breaks.share:
            return breaks.draw(self._gaps)
        return min(self.profile.waits[role].draw(self._gaps), breaks.longest)


class Used(NamedTuple):
    """How the agent uses a fact: by a text or a tool call."""

    text: str = ""
    call: ToolCall | None = None


class World:
    """Writes all texts, calls and results, with given sizes.

    A scenario with special behaviour subclasses this and overrides the methods concerned.
    """

    def __init__(self, domain: Domain, draft: Draft, open: Open) -> None:
        self.domain, self.draft = domain, draft
        self.rng = open("story")
        self.writer = Writer(open("texts"), domain.words, domain.pools, domain.focus, domain.often)
        self.shares = draft.profile.shares
        shares = draft.profile.tools
        self._weights = {name: shares.get(name, tool.share) for name, tool in domain.tools.items()}
        self._showing = [name for name, tool in domain.tools.items() if tool.shows]

    def before(self, turn: int) -> None:
        """Do something before the user speaks in a turn, numbered from 0; by default, nothing.

        It may add messages and rewinds to the draft. Afterwards the user must be able to speak.
        """

    def request(self, left: float) -> str:
        """Write the user's request, in a turn of about this many tokens."""
        self.writer.refocus()
        if "user" in self.draft.profile.sizes:
            length = self.draft.length("user", left / 2)
            return self.writer.prose(self.domain.requests, length)
        return self.writer.one(self.domain.requests)

    def prose(self, characters: int) -> str:
        """Write a text or thought of the agent."""
        return self.writer.prose(self.domain.sentences, characters)

    def act(self, left: float) -> list[ToolCall]:
        """Return the agent's next tool calls, with ``left`` tokens of the turn; none if it answers.

        An answer takes all remaining tokens of the turn.
        """
        talks = self.domain.answers > 0 and self.rng.random() < self.domain.answers
        if talks or not self._weights:
            return []
        pair = self.rng.random() < self.shares["pair"]
        names = self.rng.choices(list(self._weights), list(self._weights.values()), k=1 + pair)
        return [self._call(name, left / len(names)) for name in names]

    def display(self, left: float) -> ToolCall:
        """Return a call whose result can state any fact that is still due at the end."""
        return self._call(self.rng.choice(self._showing), left, fails=False)

    def resume(self, fact: PlannedFact) -> str:
        """Write how the user refers back to a fact without stating it."""
        area, nth = fact.key.removesuffix(f" {fact.thing}"), fact.thing.split(" ")[0]
        template = self.rng.choice(self.domain.resumes[fact.kind])
        return template.format(key=fact.key, area=area, thing=fact.thing, nth=nth)

    def say(self, fact: PlannedFact) -> Used:
        """Write a text in which the agent uses a fact without a tool."""
        texts = [use for use in self.domain.uses_of(fact.kind) if isinstance(use, str)]
        return Used(self._filled(self.rng.choice(texts or phrases().says[fact.kind]), fact))

    def use(self, fact: PlannedFact, left: float) -> Used:
        """Return how the agent uses a fact: its value is in a text or an argument."""
        use = self.rng.choice(self.domain.uses_of(fact.kind))
        if isinstance(use, str):
            return Used(self._filled(use, fact))
        name, templates = use
        arguments = {key: self._filled(template, fact) for key, template in templates.items()}
        return Used(call=ToolCall(name, arguments, self.result(name, left)))

    def _filled(self, template: str, fact: PlannedFact) -> str:
        return self.writer.fill(template.replace("{value}", "\0")).replace("\0", fact.value)

    def shows(self, call: ToolCall, kind: FactType) -> bool:
        """Whether a call's result may state a fact of a type."""
        return not call.failed and self.domain.tools[call.name].shows

    def room(self, call: ToolCall) -> tuple[int, float]:
        """Return how many facts fit into a result, and how many tokens ahead they may be due."""
        return 1, 0.0

    def show(self, call: ToolCall, fact: PlannedFact, line: str) -> str:
        """Insert the line that states a fact into the result of a call."""
        return self.placed(call.result, line)[0]

    def placed(self, result: str, line: str) -> tuple[str, int]:
        """Insert a line into a result at a random position; return the text and the position."""
        lines = result.split("\n")
        at = self.rng.randint(0, len(lines))
        start = sum(len(each) + 1 for each in lines[:at])
        return "\n".join([*lines[:at], line, *lines[at:]]), start

    def _call(self, name: str, left: float, fails: bool = True) -> ToolCall:
        tool = self.domain.tools[name]
        arguments = {key: self.writer.fill(text) for key, text in tool.arguments.items()}
        if fails and self.rng.random() < self.shares["error"]:
            return ToolCall(name, arguments, self.writer.one(self.domain.errors), failed=True)
        return ToolCall(name, arguments, self.result(name, left))

    def result(self, name: str, left: float) -> str:
        """Write a tool's result."""
        tool = self.domain.tools[name]
        head = [self.writer.fill(tool.head)] if tool.head else []
        length = self.draft.length(name, left) - sum(map(len, head))
        return "\n".join([*head, self.writer.lines(tool.lines, length)])
