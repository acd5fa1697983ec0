"""Memory that an agent writes in an extra turn: facts that it knows, or quotations."""

from __future__ import annotations

import random
import re
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from compactlab.sim.core.conversation import Conversation, FactType
from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.core.notes import Remembered, Topic
from compactlab.sim.facts.evidence import Witness
from compactlab.sim.facts.ledger import Ledger, ledger_of
from compactlab.sim.replay.summarize import Count, Summarizer, SummaryRequest, TurnRequest, Written
from compactlab.strategies.summarizers.units import (
    AHEAD,
    ASKED,
    BINDING,
    DECIDED,
    WRONG,
    Unit,
    words,
)

# This is a simulation, not a model's text. A writer sees what the agent sees, so that content lost
# before the turn cannot come back. It chooses notes as it chooses the content of summaries.


class Unbound(Summarizer):
    """Writes nothing until it is bound to a conversation: it needs draws or future needs."""

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        raise UsageError(f"{self.label}: bind it to a conversation first")


@dataclass(frozen=True, eq=False)
class Bound(Summarizer):
    """Has the conversation and the seed; subclasses make the summaries."""

    conversation: Conversation
    seed: int
    name: str  # the spec of the unbound summariser

    @property
    def spec(self) -> str:
        """The spec of the unbound summariser."""
        return self.name

    @cached_property
    def ledger(self) -> Ledger:
        """The facts of the conversation."""
        return ledger_of(self.conversation)

    @cached_property
    def witness(self) -> Witness:
        """Finds the facts in parts."""
        return Witness(self.ledger)

    @cached_property
    def place(self) -> dict[str, int]:
        """The index of each message in the script, by id."""
        return {id: index for index, id in enumerate(self.ledger.messages)}


# Topics worth keeping (section 6.4.3 of the Signet specification), by types of facts.
_TOPICS: dict[FactType, Topic] = {
    "decision": "decision",
    "constraint": "decision",
    "prohibition": "decision",
    "procedure": "decision",
    "preference": "user",
    "entity": "user",
    "artifact": "progress",
    "tool_detail": "progress",
    "open_loop": "action",
    "goal": "action",
    "done": "progress",
    "handle": "action",
    "proposal": "action",
}


class Knowing(Bound):
    """Knows the facts: its notes are facts, chosen by the same model as those of its summaries."""

    @abstractmethod
    def told(
        self, request: SummaryRequest, purpose: str | int, count: Count
    ) -> Iterable[tuple[int, Part]]:
        """Return facts that a request states, as lines.

        Parameters
        ----------
        request
            The visible messages, and the available tokens.
        purpose
            The name of the draws: ``note``, or the round of a summary.
        count
            Counts the tokens of a text.

        Returns
        -------
        iterable of tuple
            The number of each fact and its line, the most important first; quoted messages have
            negative numbers.
        """

    def answer(self, messages: Sequence[Message], silent: str) -> str:
        """Answer an extra turn that permits silence."""
        return silent

    def write(self, messages: Sequence[Message], request: TurnRequest, count: Count) -> Written:
        """Note visible facts that no visible note contains, as many as fit."""
        notes = [part for m in messages for part in m.parts if part.kind == "memory"]
        evidence = self.witness.parts(notes)
        known = self.ledger.held(evidence.verbatim) | evidence.key
        quoted = {source.id for part in notes for source in part.sources}
        seen = SummaryRequest(tuple(messages), request.max_tokens)
        new = (
            (number, part)
            for number, part in self.told(seen, "note", count)
            if (part.sources[0].id not in quoted if number < 0 else not known >> number & 1)
        )
        items = tuple(
            Remembered(self._topic(number), part.text, part.sources)
            for number, part in fitting(new, request.max_tokens, count).items()
        )
        return Written(self.answer(messages, request.silent), items)

    def _topic(self, number: int) -> Topic:
        """Return the topic of a fact's type; a quoted message is about the user."""
        return _TOPICS[self.ledger.facts[number].kind] if number >= 0 else "user"


_Told = TypeVar("_Told", Part, Unit)


def fitting(offers: Iterable[tuple[int, _Told]], room: int, count: Count) -> dict[int, _Told]:
    """Take items while they fit, in the given order, and sort them by number."""
    taken = {}
    for number, told in offers:
        if (tokens := count(told.text)) <= room:
            room -= tokens
            taken[number] = told
    return dict(sorted(taken.items()))


_SAVED = "I have noted what matters of this session."
_LOUD = ("{silent} {saved}", "{saved}\n\n{silent}", "{saved}")


def loud(dice: random.Random, silent: str) -> str:
    """Answer with more than the token for silence: after it, before it, or instead of it."""
    return dice.choice(_LOUD).format(silent=silent, saved=_SAVED)


# A sentence has the topic of its first cue; people and agents have different cues. Without a cue, a
# person's sentence is about the user, and the agent's is about the state of the work.
_CUES: dict[str, dict[Topic, re.Pattern[str]]] = {
    "user": {
        "decision": words(*DECIDED, *BINDING),
        "user": words("I", "I'm", "me", "my", "we", "our", "us", "prefer"),
        "progress": words(*WRONG, "wrong", "bug"),
        "action": words(*ASKED),
    },
    "assistant": {
        "decision": words(*DECIDED, "never"),
        "progress": words("done", "fixed", "added", "implemented", "finished", "pass(?:es|ed)?",
                          *WRONG, "stuck", "cannot", "can't"),
        "action": words("todo", *AHEAD),
    },
}  # fmt: skip
_ELSE: dict[str, Topic] = {"user": "user", "assistant": "progress"}


def noted(messages: Iterable[Message]) -> frozenset[Source]:
    """Return the sources of visible notes."""
    parts = (part for message in messages for part in message.parts if part.kind == "memory")
    return frozenset(source for part in parts for source in part.sources)


def is_spoken(unit: Unit) -> bool:
    """Whether a message is unchanged from the script, and a person's or the agent's."""
    return unit.exact and unit.type == "text" and unit.role in _CUES


def topic_of(unit: Unit) -> Topic:
    """Return the topic of a sentence, by its words or its speaker."""
    cues = _CUES[unit.role].items()
    return next((topic for topic, cue in cues if cue.search(unit.text)), _ELSE[unit.role])
