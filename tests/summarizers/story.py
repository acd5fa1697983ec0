"""A made-up session of which it is known what it states, for summarisers that know the facts."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from compactlab.sim.core.conversation import Conversation, Fact, Need
from compactlab.sim.core.message import Call, Message, Part, Source, verbatim
from compactlab.sim.core.stream import stream

SHAPES = {
    "is": "{key} is {value} here.",
    "must": "{key} must be {value}.",
    "must_not": "{key} must not be {value}.",
}


@dataclass
class Story:
    """Says one thing after another, and keeps the books."""

    id: str = "story"
    messages: list[Message] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    needs: list[Need] = field(default_factory=list)

    def say(self, text: str, role: Any = "user", **more: Any) -> str:
        id = f"m{len(self.messages)}"
        call = Call() if role == "assistant" else None
        self.messages.append(Message(id, role, (verbatim(id, "text", text),), call=call, **more))
        return id

    def state(self, key: str, value: str, polarity: Any = "is", **more: Any) -> Fact:
        """Say a fact; what stands in the message beside it is nothing to the point."""
        said = SHAPES[polarity].format(key=key, value=value)
        text = f"Well. {said} Onwards!"
        id = self.say(text)
        origin = Source(id, 0, text.index(said), text.index(said) + len(said))
        kind = {"is": "decision", "must": "constraint", "must_not": "prohibition"}[polarity]
        name = f"f{len(self.facts)}"
        made = Fact(name, kind, key, value, (origin,), polarity, **more)  # type: ignore[arg-type]
        self.facts.append(made)
        return made

    def need(self, fact: Fact) -> str:
        at = self.say("So that is what I do.", "assistant")
        self.needs.append(Need(fact.id, at))
        return at

    def told(self) -> Conversation:
        return Conversation(
            self.id, "story", tuple(self.messages), (), tuple(self.facts), tuple(self.needs), seed=0
        )


def token(seed: int, name: str) -> str:
    """A value that nobody guesses."""
    return f"{stream(seed, 'value', name).getrandbits(48):012x}"


def many(seed: int, id: str = "story", facts: int = 30) -> Story:
    """A session of facts of all polarities, and as many that take the place of others."""
    story = Story(f"{id}-{seed}")
    for number in range(facts):
        polarity = ("is", "must", "must_not")[number % 3]
        story.state(f"item {number}", token(seed, f"new {number}"), polarity)
    for number in range(facts):
        name = f"thing {number}"
        old = story.state(name, token(seed, f"old {number}"))
        story.state(name, token(seed, f"newer {number}"), supersedes=(old.id,))
    story.facts.append(Fact("decoy", "decision", "ghost", token(seed, "decoy"), decoy=True))
    return story


def fate(fact: Fact, facts: Iterable[Fact], parts: Iterable[Part]) -> str:
    """What the lines of a summary show of a fact, by key and value alone: as a person reads."""
    older = {each.value for each in facts if each.id in fact.supersedes}
    word = {"is": "", "must": "(must)", "must_not": "(must not)"}[fact.polarity]
    for part in parts:
        for line in part.text.split("\n"):
            head, _, value = line.partition(": ")
            key, _, polarity = head.partition(" (")
            if key == fact.key:
                right = f"({polarity}" == word if polarity else not word
                if value == fact.value and right:
                    return "intact"
                return "stale" if value in older else "mutated"
    return "lost"
