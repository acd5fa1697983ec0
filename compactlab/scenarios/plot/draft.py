"""A conversation in the making: its messages, its clock, and what they state and use."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from compactlab.scenarios.plot.profile import Profile
from compactlab.sim.conversation import Event, Need, Rewind
from compactlab.sim.message import Call, Message, Part, Role, verbatim
from compactlab.sim.stream import stream
from compactlab.sim.tokens import Tokenizer

_START = 1_767_603_600.0  # Monday, 2026-01-05, 9:00 UTC

_COUNT = Tokenizer()
_USUAL, _TRUST = 3.7, 200  # characters to a token, before so many have been written
_SETTLED = 10  # calls after which what was seen outweighs what was thought of their sizes
_TIGHTEST, _WIDEST = 0.1, 100.0

Said = tuple[Literal["text", "thinking"], str]


class ToolCall(NamedTuple):
    """A call of a tool, and what it returns."""

    name: str
    arguments: Mapping[str, str | int]
    result: str
    failed: bool = False


class Draft:
    """What was said so far, and when.

    Parameters
    ----------
    seed
        The seed of the conversation.
    name
        The scenario's name, for the streams of random numbers.
    profile
        How long things get and take.
    calls, tokens
        How often the agent is to be called, and how many tokens there are then; with 0 calls, as
        often as it comes. Whatever is drawn from the profile is stretched alike to that end.

    Attributes
    ----------
    tokens
        How many (o200k) its messages have, of which
    returned
        so many are results of tools.
    events
        Messages, and what a scenario puts between them.
    needs
        Which call uses which fact.
    copies
        Messages that were said again, and their copies, by id.
    branch
        On which branch the conversation is.
    """

    def __init__(
        self, seed: int, name: str, profile: Profile, calls: int = 0, tokens: float = 0
    ) -> None:
        self.events: list[Event] = []
        self.needs: list[Need] = []
        self.copies: list[tuple[str, str]] = []
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

    def say(self, role: Role, said: Sequence[Said], meta: bool = False) -> str:
        """Let somebody say something, and give the message's id."""
        id = self.next_id
        return self._add(role, [verbatim(id, kind, text) for kind, text in said], meta)

    def call(self, said: Sequence[Said], tools: Sequence[ToolCall]) -> tuple[str, list[str]]:
        """Let the agent call tools, of which the results still have to be given.

        Returns
        -------
        tuple
            The message's id, and those of the calls.
        """
        id = self.next_id
        call_ids = [self.call_id(self._calls + number) for number in range(1, len(tools) + 1)]
        self._calls += len(tools)
        parts = [verbatim(id, kind, text) for kind, text in said]
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
        found, id = set[str](), self._tip
        while id:
            found.add(id)
            id = self._before[id]
        return found

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
