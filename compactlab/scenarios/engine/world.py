"""The conversation in the making, and what people, an agent and its tools say in it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from compactlab.scenarios.engine.domain import Domain, Writer
from compactlab.scenarios.engine.phrases import phrases
from compactlab.scenarios.engine.plan import PlannedFact
from compactlab.scenarios.engine.profile import Profile
from compactlab.sim.core.conversation import Event, FactType, Need, Rewind
from compactlab.sim.core.message import Call, Message, Part, Role, verbatim
from compactlab.sim.core.stream import stream
from compactlab.sim.core.tokens import Tokenizer

_START = 1_767_603_600.0  # Monday, 2026-01-05, 9:00 UTC

_COUNT = Tokenizer()
_USUAL, _TRUST = 3.7, 200  # characters to a token, before so many have been written
_SETTLED = 10  # calls after which what was seen outweighs what was thought of their sizes
_TIGHTEST, _WIDEST = 0.1, 100.0

Open = Callable[[str], random.Random]  # opens the stream of random numbers for a purpose
Utterance = tuple[Literal["text", "thinking"], str]


class ToolCall(NamedTuple):
    """A call of a tool, and what it returns."""

    name: str
    arguments: Mapping[str, str | int]
    result: str
    failed: bool = False


class Draft:
    """What was said so far, and when.

    With ``calls``, whatever is drawn from the profile is stretched alike, so that after so many
    calls of the agent there are about so many ``tokens``; with 0, calls are as many as it comes.
    """

    def __init__(
        self, seed: int, name: str, profile: Profile, calls: int = 0, tokens: float = 0
    ) -> None:
        self.events: list[Event] = []
        self.needs: list[Need] = []
        self.copies: list[tuple[str, str]] = []  # messages that were said again, by id
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
        """Id of the next message."""
        return self.message_id(self._messages + 1)

    def message_id(self, number: int) -> str:
        """How a message is named, from 1."""
        return f"m{number}"

    def call_id(self, number: int) -> str:
        """How a call of a tool is named, from 1."""
        return f"call_{number}"

    def characters(self, tokens: float, what: str = "text") -> int:
        """How many characters so many tokens have, by what has been written of that kind."""
        length, weight = self._weights.get(what, (0, 0))
        return int(tokens * (length + _USUAL * _TRUST) / (weight + _TRUST))

    def length(self, what: str, most: float) -> int:
        """Draw how many characters something gets, of at most so many tokens."""
        drawn = self.profile.size(what).draw(self._sizes) * self._stretch
        return self.characters(min(drawn, most), what)

    def say(self, role: Role, utterances: Sequence[Utterance], meta: bool = False) -> str:
        """Let somebody say something, and give the message's id."""
        id = self.next_id
        return self._add(role, [verbatim(id, kind, text) for kind, text in utterances], meta)

    def call(
        self, utterances: Sequence[Utterance], tools: Sequence[ToolCall]
    ) -> tuple[str, list[str]]:
        """Let the agent call tools, of which the results still have to be given."""
        id = self.next_id
        call_ids = [self.call_id(self._calls + number) for number in range(1, len(tools) + 1)]
        self._calls += len(tools)
        parts = [verbatim(id, kind, text) for kind, text in utterances]
        for tool, call_id in zip(tools, call_ids, strict=True):
            arguments = json.dumps(tool.arguments, separators=(",", ":"))
            parts.append(verbatim(id, "tool_call", arguments, name=tool.name, call_id=call_id))
        return self._add("assistant", parts), call_ids

    def result(self, tool: ToolCall, call_id: str) -> str:
        """Give what a tool returns, and the message's id."""
        part = verbatim(
            self.next_id, "tool_result", tool.result,
            name=tool.name, call_id=call_id, is_error=tool.failed,
        )  # fmt: skip
        return self._add("tool", [part])

    def again(self, message: Message) -> str:
        """Say a message again, word by word, and give the copy's id; calls are not repeated."""
        id = self.next_id
        parts = [verbatim(id, part.type, part.text) for part in message.parts]
        self.copies.append((message.id, self._add(message.role, parts, message.meta)))
        return id

    @property
    def tip(self) -> str:
        """Id of the message that the next one follows; "" at the start."""
        return self._tip

    def rewind(self, to: str) -> None:
        """Let the user go back to a message, or over to one of another branch."""
        self.events.append(Rewind(to))
        self._tip = to

    def path(self) -> set[str]:
        """Ids of the messages on the way to here."""
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
        """Stretch what comes, so that with the calls that are left the tokens are reached."""
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
    """How the agent uses a fact: what it says, or the tool that it calls."""

    text: str = ""
    call: ToolCall | None = None


class World:
    """Says what is said, and does what is done, of the size that it is told.

    A scenario with something peculiar about it subclasses this and overrides what is peculiar.
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
        """Do something peculiar before the user speaks in a turn, from 0; by itself, nothing.

        It may add messages and rewinds to the draft, and leave it where the user can speak.
        """

    def request(self, left: float) -> str:
        """What the user asks, in a turn of about so many tokens."""
        self.writer.refocus()
        if "user" in self.draft.profile.sizes:
            length = self.draft.length("user", left / 2)
            return self.writer.prose(self.domain.requests, length)
        return self.writer.one(self.domain.requests)

    def prose(self, characters: int) -> str:
        """What the agent says or thinks."""
        return self.writer.prose(self.domain.sentences, characters)

    def act(self, left: float) -> list[ToolCall]:
        """What the agent does, with so many tokens left; nothing, if it answers.

        An answer instead of an act takes all that is left of the turn.
        """
        talks = self.domain.answers > 0 and self.rng.random() < self.domain.answers
        if talks or not self._weights:
            return []
        pair = self.rng.random() < self.shares["pair"]
        names = self.rng.choices(list(self._weights), list(self._weights.values()), k=1 + pair)
        return [self._call(name, left / len(names)) for name in names]

    def display(self, left: float) -> ToolCall:
        """A call whose result shows any fact, at the end, where one still has to be shown."""
        return self._call(self.rng.choice(self._showing), left, fails=False)

    def resume(self, fact: PlannedFact) -> str:
        """How the user comes back to a fact, which is not said once more."""
        area, nth = fact.key.removesuffix(f" {fact.thing}"), fact.thing.split(" ")[0]
        template = self.rng.choice(self.domain.resumes[fact.kind])
        return template.format(key=fact.key, area=area, thing=fact.thing, nth=nth)

    def say(self, fact: PlannedFact) -> Used:
        """What the agent says to use a fact, where it calls no tool."""
        texts = [use for use in self.domain.uses_of(fact.kind) if isinstance(use, str)]
        return Used(self._filled(self.rng.choice(texts or phrases().says[fact.kind]), fact))

    def use(self, fact: PlannedFact, left: float) -> Used:
        """How the agent uses a fact: its value stands in what it says, or in an argument."""
        use = self.rng.choice(self.domain.uses_of(fact.kind))
        if isinstance(use, str):
            return Used(self._filled(use, fact))
        name, templates = use
        arguments = {key: self._filled(template, fact) for key, template in templates.items()}
        return Used(call=ToolCall(name, arguments, self.result(name, left)))

    def _filled(self, template: str, fact: PlannedFact) -> str:
        return self.writer.fill(template.replace("{value}", "\0")).replace("\0", fact.value)

    def shows(self, call: ToolCall, kind: FactType) -> bool:
        """Whether a fact of a type may stand in what a call returns."""
        return not call.failed and self.domain.tools[call.name].shows

    def room(self, call: ToolCall) -> tuple[int, float]:
        """How many facts have room in a result, and how many tokens ahead they may be due."""
        return 1, 0.0

    def show(self, call: ToolCall, fact: PlannedFact, line: str) -> str:
        """The result of a call with the line that states a fact in it."""
        return self.placed(call.result, line)[0]

    def placed(self, result: str, line: str) -> tuple[str, int]:
        """Put a line somewhere into a result, and say where it begins there."""
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
        """What a tool returns."""
        tool = self.domain.tools[name]
        head = [self.writer.fill(tool.head)] if tool.head else []
        length = self.draft.length(name, left) - sum(map(len, head))
        return "\n".join([*head, self.writer.lines(tool.lines, length)])
