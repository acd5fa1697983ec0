"""A conversation in the making: its messages, its clock, its labels, and how long things get.

The figures were measured on eight recorded Claude Code and pi sessions, 2026-11 (2,211 calls,
2,058 tool results, 202 pauses of the user).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal, NamedTuple

from compactlab.scenarios.coding_rules import Rule
from compactlab.sim.conversation import Fact, Need
from compactlab.sim.message import Call, Message, Part, Role, Source, verbatim
from compactlab.sim.stream import stream

_CHARACTERS = 3.7  # of these texts to a token of o200k
_LARGEST = 12_500  # tokens of one result: the 99th percentile of files that were read

# Log-normal: median in tokens, and sigma from the ninth decile.
_SIZES = {
    "text": (20, 1.62),
    "thinking": (32, 1.60),
    "read": (588, 1.42),
    "grep": (188, 1.46),
    "bash": (85, 1.67),
    "edit": (245, 1.04),
    "write": (990, 1.06),
}
# Log-normal: median in seconds and sigma, until the model has answered, until a tool is done,
# until the user speaks again. Medians are measured; sigma is from the ninth decile for tools
# (8.6 s), but set by hand for answers (p90 8.9 s and p99 44 s give 0.6 and 1.0) and for the user
# (p90 410 s, p99 1,485 s and 12 % above 300 s give 1.4, 1.3 and 1.3).
_WAITS = {"assistant": (4.1, 0.7), "tool": (0.9, 1.76), "user": (68.0, 1.3)}
# Some pauses are a meal or a night, so that no cache outlives them. None was among the 202, one
# of nine hours among the tools: the share is set, not measured. Pareto with exponent 1.
_BREAK, _BREAK_FROM, _LONGEST = 0.03, 1_800.0, 57_600.0

Said = tuple[Literal["text", "thinking"], str]


class ToolCall(NamedTuple):
    """A call of a tool, and what it returns."""

    name: str
    arguments: Mapping[str, str | int]
    result: str
    failed: bool = False


class Draft:
    """What was said so far, when, and which facts were stated and used.

    Parameters
    ----------
    seed
        The seed of the conversation.
    name
        The scenario's name, for the streams of random numbers.

    Attributes
    ----------
    messages, facts, needs
        What the conversation is made of.
    rules
        The facts that hold now, by key: a newer one takes the place of an older.
    """

    def __init__(self, seed: int, name: str) -> None:
        self.messages: list[Message] = []
        self.facts: list[Fact] = []
        self.needs: list[Need] = []
        self.rules: dict[str, Fact] = {}
        self._sizes = stream(seed, name, "sizes")
        self._gaps = stream(seed, name, "gaps")
        self._characters = 0
        self._calls = 0
        self._clock = 1_767_603_600.0  # Monday, 2026-01-05, 9:00 UTC

    @property
    def tokens(self) -> float:
        """About how many tokens its messages have."""
        return self._characters / _CHARACTERS

    def length(self, what: str, most: float = _LARGEST) -> int:
        """Draw how many characters something gets, of at most so many tokens."""
        median, sigma = _SIZES[what]
        drawn = median * self._sizes.lognormvariate(0, sigma)
        return int(min(drawn, most, _LARGEST) * _CHARACTERS)

    def ask(self, text: str, rules: list[Rule]) -> None:
        """Let the user lay down rules and ask for something."""
        said = " ".join([*(rule.said for rule in rules), text])
        id = self._id
        self._add("user", [verbatim(id, "text", said)])
        for number, rule in enumerate(rules, len(self.facts) + 1):
            start = said.index(rule.said)
            old = self.rules.get(rule.key)
            fact = Fact(
                f"f{number}",
                rule.kind,
                rule.key,
                rule.value,
                origin=(Source(id, 0, start, start + len(rule.said)),),
                polarity=rule.polarity,
                supersedes=(old.id,) if old else (),
            )
            self.rules[rule.key] = fact
            self.facts.append(fact)

    def answer(self, text: str) -> None:
        """Let the agent end its turn."""
        self._add("assistant", [verbatim(self._id, "text", text)])

    def call(self, said: list[Said], tools: list[ToolCall], used: Mapping[str, str]) -> None:
        """Let the agent call tools, using facts (id: how), and add what they return."""
        id = self._id
        call_ids = [f"call_{self._calls + number}" for number in range(1, len(tools) + 1)]
        self._calls += len(tools)
        parts = [verbatim(id, kind, text) for kind, text in said]
        for tool, call_id in zip(tools, call_ids, strict=True):
            arguments = json.dumps(tool.arguments, separators=(",", ":"))
            parts.append(verbatim(id, "tool_call", arguments, name=tool.name, call_id=call_id))
        self._add("assistant", parts)
        self.needs += [Need(fact, id, how) for fact, how in used.items()]
        for tool, call_id in zip(tools, call_ids, strict=True):
            result = verbatim(
                self._id, "tool_result", tool.result,
                name=tool.name, call_id=call_id, is_error=tool.failed,
            )  # fmt: skip
            self._add("tool", [result])

    @property
    def _id(self) -> str:
        """Id of the next message."""
        return f"m{len(self.messages) + 1}"

    def _add(self, role: Role, parts: list[Part]) -> None:
        call = Call() if role == "assistant" else None
        if self.messages:
            self._clock = round(self._clock + self._wait(role), 3)
        self.messages.append(Message(self._id, role, tuple(parts), self._clock, call=call))
        self._characters += sum(len(part.text) for part in parts)

    def _wait(self, role: Role) -> float:
        median, sigma = _WAITS[role]
        if role == "user" and self._gaps.random() < _BREAK:
            wait = _BREAK_FROM * self._gaps.paretovariate(1)
        else:
            wait = median * self._gaps.lognormvariate(0, sigma)
        return min(wait, _LONGEST)
