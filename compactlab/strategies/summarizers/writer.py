"""What an agent writes into its memory in an extra turn: facts that it knows, or quotations."""

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

# A simulation, not a model's writing. A writer sees what the agent sees, so what was lost before
# the turn cannot come back; and it chooses notes as it chooses what goes into a summary.


class Unbound(Summarizer):
    """Writes nothing before it is bound to a conversation: it draws, or knows what is needed."""

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        raise UsageError(f"{self.label}: bind it to a conversation first")


@dataclass(frozen=True, eq=False)
class Bound(Summarizer):
    """Knows the conversation and the seed; subclasses make the summaries."""

    conversation: Conversation
    seed: int
    name: str  # the spec of the summariser that was bound

    @property
    def spec(self) -> str:
        """The spec of the summariser that was bound."""
        return self.name

    @cached_property
    def ledger(self) -> Ledger:
        """The facts of the conversation."""
        return ledger_of(self.conversation)

    @cached_property
    def witness(self) -> Witness:
        """Reads what parts say of the facts."""
        return Witness(self.ledger)

    @cached_property
    def place(self) -> dict[str, int]:
        """The place of each message in the script, by id."""
        return {id: place for place, id in enumerate(self.ledger.messages)}


# What is worth keeping (section 6.4.3 of the Signet specification), by types of facts.
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
        """Tell facts that a request states.

        Parameters
        ----------
        request
            What is in sight, and how much room there is.
        purpose
            What for, as a name for draws: ``note``, or the round of a summary.
        count
            Counts the tokens of a text.

        Returns
        -------
        iterable of tuple
            The number of each fact and how it is told, the most important first; the number of a
            message that is quoted is below 0.
        """

    def answer(self, messages: Sequence[Message], silent: str) -> str:
        """What is answered to an extra turn in which it may be silent."""
        return silent

    def write(self, messages: Sequence[Message], request: TurnRequest, count: Count) -> Written:
        """Note facts that are in sight and in no note that is; as many as there is room for."""
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
        """Of a fact by its type; of a message that is quoted, that it tells of the user."""
        return _TOPICS[self.ledger.facts[number].kind] if number >= 0 else "user"


_Told = TypeVar("_Told", Part, Unit)


def fitting(offers: Iterable[tuple[int, _Told]], room: int, count: Count) -> dict[int, _Told]:
    """Take what there is room for, the first first, and put it in the order of its numbers."""
    taken = {}
    for number, told in offers:
        if (tokens := count(told.text)) <= room:
            room -= tokens
            taken[number] = told
    return dict(sorted(taken.items()))


_SAVED = "I have noted what matters of this session."
_LOUD = ("{silent} {saved}", "{saved}\n\n{silent}", "{saved}")


def loud(dice: random.Random, silent: str) -> str:
    """Say more than the token for silence: after it, before it, or in its place."""
    return dice.choice(_LOUD).format(silent=silent, saved=_SAVED)


# The first topic whose cue a sentence holds is its topic; what a person says has cues of its own.
# Without a cue, a person told of themselves, and the agent of where things stand.
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
    """What the notes that are in sight stand for."""
    parts = (part for message in messages for part in message.parts if part.kind == "memory")
    return frozenset(source for part in parts for source in part.sources)


def is_spoken(unit: Unit) -> bool:
    """Whether a person or the agent said it, and it stands in the script as it is."""
    return unit.exact and unit.type == "text" and unit.role in _CUES


def topic_of(unit: Unit) -> Topic:
    """The topic of a sentence, by its words or by who said it."""
    cues = _CUES[unit.role].items()
    return next((topic for topic, cue in cues if cue.search(unit.text)), _ELSE[unit.role])
