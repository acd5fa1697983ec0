"""What people, an agent and its tools say in a scenario, drawn from its domain."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from compactlab.scenarios.plot.domain import SAYS, Domain
from compactlab.scenarios.plot.draft import Draft, ToolCall
from compactlab.scenarios.plot.thread import Thread
from compactlab.scenarios.plot.writer import Writer
from compactlab.sim.conversation import FactType

Open = Callable[[str], random.Random]
"""Opens the stream of random numbers for a purpose."""


class Used(NamedTuple):
    """How the agent uses a fact: what it says, or the tool that it calls."""

    said: str = ""
    call: ToolCall | None = None


class World:
    """Says what is said, and does what is done, of the size that it is told.

    A scenario with something peculiar about it subclasses this and overrides what is peculiar.

    Parameters
    ----------
    domain
        What it is about.
    draft
        The conversation so far.
    open
        Opens streams of random numbers.
    """

    def __init__(self, domain: Domain, draft: Draft, open: Open) -> None:
        self.domain, self.draft = domain, draft
        self.rng = open("story")
        self.writer = Writer(open("texts"), domain.words, domain.pools, domain.focus, domain.often)
        self.shares = draft.profile.shares
        known = draft.profile.tools
        self._weights = {name: known.get(name, tool.share) for name, tool in domain.tools.items()}
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

    def resume(self, fact: Thread) -> str:
        """How the user comes back to a fact, which is not said once more."""
        area, nth = fact.key.removesuffix(f" {fact.thing}"), fact.thing.split(" ")[0]
        template = self.rng.choice(self.domain.resumes[fact.kind])
        return template.format(key=fact.key, area=area, thing=fact.thing, nth=nth)

    def say(self, fact: Thread) -> Used:
        """What the agent says to use a fact, where it calls no tool."""
        said = [use for use in self.domain.uses_of(fact.kind) if isinstance(use, str)]
        return Used(self._filled(self.rng.choice(said or SAYS[fact.kind]), fact))

    def use(self, fact: Thread, left: float) -> Used:
        """How the agent uses a fact: its value stands in what it says, or in an argument."""
        use = self.rng.choice(self.domain.uses_of(fact.kind))
        if isinstance(use, str):
            return Used(self._filled(use, fact))
        name, templates = use
        arguments = {key: self._filled(template, fact) for key, template in templates.items()}
        return Used(call=ToolCall(name, arguments, self.result(name, left)))

    def _filled(self, template: str, fact: Thread) -> str:
        return self.writer.fill(template.replace("{value}", "\0")).replace("\0", fact.value)

    def shows(self, call: ToolCall, kind: FactType) -> bool:
        """Whether a fact of a type may stand in what a call returns."""
        return not call.failed and self.domain.tools[call.name].shows

    def room(self, call: ToolCall) -> tuple[int, float]:
        """How many facts have room in a result, and how many tokens ahead they may be due."""
        return 1, 0.0

    def show(self, call: ToolCall, fact: Thread, line: str) -> str:
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
