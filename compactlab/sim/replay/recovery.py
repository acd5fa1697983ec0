"""What an agent does in the closed loop about what it has forgotten: it fetches, asks, goes wrong.

A script is an open loop: the agent does what it did, whatever it was sent. Here its needs come
first. Before a call, whatever the call needs and the prompt does not hold is got back, and that
costs calls, tokens and room in the context, which may lead to the next compaction. It is a
simulation: no model decides, and what is decided by chance is drawn from streams that all
strategies share.

Recovery starts no turn. A question is the call of a tool that the user answers, and a correction
goes on with the turn that it is in: else strategies that cut at turns would be given one more to
cut at for having forgotten, and forgetting would look cheap.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from compactlab.sim.core.conversation import Fact
from compactlab.sim.core.message import Call, Message, Part, PartType, Source
from compactlab.sim.core.notes import Remembered, ranked
from compactlab.sim.core.spec import spec_of
from compactlab.sim.core.view import View
from compactlab.sim.facts import Ledger, States, Tracker, numbers
from compactlab.sim.replay.trace import Outside

# How often agents broke a rule that a compaction had dropped: "Governance Decay", arXiv
# 2606.22528, 1,323 episodes of 7 model families; 0 % where the rule had survived.
UNBOUND = 0.38
# Characters that a search in memory returns: OpenClaw's limit for injected notes, 2026.2.17.
RECALLED_CHARS = 4_000
_BINDING = ("must", "must_not")
_BOUND = ("constraint", "prohibition")
_ASK = "ask_user"
_ASKS = "Before I go on: what was it about {key} again?"
_UNDOES = "You are right, I have put it right."
_ANSWER = Call()


@dataclass(frozen=True)
class ClosedLoop:
    """The closed loop.

    Parameters
    ----------
    misuse
        How often a value that is stale or mutated is used as it stands, and has to be put right
        afterwards; else the agent notices, and it is as good as lost. 0 is the best case, 1 the
        worst.
    unbound
        How often the agent goes on without a constraint or prohibition that it has lost and cannot
        fetch, instead of asking.

    Raises
    ------
    ValueError
        If one is no probability.
    """

    misuse: float = 1.0
    unbound: float = UNBOUND

    def __post_init__(self) -> None:
        for name in ("misuse", "unbound"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be from 0 to 1, not {getattr(self, name)}")

    @property
    def best(self) -> ClosedLoop:
        """The same, where everything that is wrong is noticed."""
        return ClosedLoop(0.0, self.unbound)

    @property
    def spec(self) -> str:
        """Its name with its parameters."""
        return spec_of(self, "closed")


class Act(NamedTuple):
    """What the agent does about one fact."""

    # ``fetch`` (a tool's call again, or what was put away), ``recall`` (a search in memory),
    # ``ask`` (the user) or ``misuse``.
    what: str
    messages: tuple[Message, ...]  # those that have a call answer a request each


class Actor:
    """The agent in the closed loop."""

    def __init__(
        self,
        loop: ClosedLoop,
        ledger: Ledger,
        chance: Callable[[str], random.Random],
        *,
        strips: bool = False,
    ) -> None:
        self.loop, self.ledger, self.chance = loop, ledger, chance
        self.stored: dict[str, str] = {}
        self.tracker = Tracker(ledger, self.stored, strips=strips)
        self._notes: list[Remembered] = []
        self._acts = 0

    def learn(self, created: tuple[Message, ...], outside: Outside) -> None:
        """What has happened beside the prompt."""
        for message in created:
            self.tracker.hear(message)
        self.stored.update(outside.stored)
        self.tracker.remember(outside.notes)
        self._notes += outside.notes

    def act(self, view: View, answer: Message, tried: set[int], now: float) -> Act | None:
        """What to do before a call, or None if there is nothing more that can be done."""
        for number in self._missing(self.tracker.move(view), answer.id):
            if number not in tried:
                tried.add(number)
                act = self._about(self.ledger.facts[number], number, view, answer, now)
                if act is not None:
                    for message in act.messages:
                        self.tracker.hear(message)
                    return act
        return None

    def unmet(self, answer: Message) -> tuple[str, ...]:
        """Ids of the facts that a call has to do without, when all has been done."""
        missing = self._missing(self.tracker.states, answer.id)
        return tuple(self.ledger.facts[number].id for number in missing)

    def _missing(self, states: States, answer: str) -> list[int]:
        """The facts that a call needs and does not find; of tokens without text nobody knows."""
        moment = self.ledger.moments[answer]
        missing = moment.needed & ~states.kept & ~states.unknown
        return list(numbers(missing))

    def _about(
        self, fact: Fact, number: int, view: View, answer: Message, now: float
    ) -> Act | None:
        states, bit = self.tracker.states, 1 << number
        self._acts += 1
        id = f"again-{self._acts}"
        wrong = (states.outdated | states.changed) & bit
        if wrong and self._drawn("misuse", fact, answer) < self.loop.misuse:
            return Act("misuse", tuple(self._misused(id, fact, answer, now)))
        pointer = self._pointer(bit, view)
        if pointer is not None:
            back = Part("tool_result", self.stored[pointer.handle], "recovered", pointer.sources)
            return Act("fetch", _tool(id, "read", {"path": pointer.handle}, back, now))
        if fact.handle:
            return Act("fetch", self._called(id, fact, now))
        if self.tracker.memory & bit:
            return Act("recall", self._recalled(id, fact, now))
        return self._without(id, fact, answer, now)

    def _pointer(self, fact: int, view: View) -> Part | None:
        """A part of the prompt by whose handle a fact can be fetched."""
        if not self.stored:
            return None
        parts = (part for message in view.messages for part in message.parts if part.handle)
        return next((part for part in parts if self.tracker.witness.pointed(part) & fact), None)

    def _without(self, id: str, fact: Fact, answer: Message, now: float) -> Act | None:
        """Nothing can be fetched: ask the user, or go on without."""
        binds = fact.polarity in _BINDING or fact.kind in _BOUND
        if binds and self._drawn("unbound", fact, answer) < self.loop.unbound:
            return None
        # Nobody can be asked for a word that was only inferred to be needed.
        if not self.ledger.declared or not fact.origin:
            return None
        question = _json({"question": _ASKS.format(key=fact.key or "that")})
        asks = _message(f"{id}-asks", _framing("tool_call", question, _ASK, f"{id}-call"), now)
        parts = self._restated(fact, "tool_result", _ASK, f"{id}-call")
        return Act("ask", (asks, Message(f"{id}-reply", "tool", parts, now)))

    def _drawn(self, what: str, fact: Fact, answer: Message) -> float:
        return self.chance(f"{what} {fact.id} {answer.id}").random()

    def _misused(self, id: str, fact: Fact, answer: Message, now: float) -> Iterator[Message]:
        """The wrong turn, as long as the right one; the user's correction; the agent undoes it."""
        wrong = "\n".join(part.text for part in answer.parts if part.type != "thinking")
        yield _message(f"{id}-wrong", _framing("text", wrong), now)
        corrected = self._restated(fact, "text")
        yield Message(f"{id}-correction", "user", corrected, now, meta=True)
        yield _message(f"{id}-undone", _framing("text", _UNDOES), now)

    def _restated(
        self, fact: Fact, type: PartType, name: str = "", call_id: str = ""
    ) -> tuple[Part, ...]:
        """What was stated, said again by the user."""
        return tuple(
            Part(type, text, "recovered", (source,), name, call_id)
            for source in fact.origin
            for text in self.tracker.witness.texts(source)
        )

    def _called(self, id: str, fact: Fact, now: float) -> tuple[Message, ...]:
        """The call of a tool is made again, and gives what it gave."""
        result = self.ledger.messages[fact.handle]
        first = next((part for part in result.parts if part.call_id), result.parts[0])
        asked = self.ledger.calls.get(first.call_id, first)
        arguments = asked.text if asked is not first else "{}"
        parts = tuple(
            msgspec.structs.replace(
                part,
                kind="recovered",
                sources=(Source(result.id, index),),
                call_id=f"{id}-call" if part.call_id else "",
                handle="",
            )
            for index, part in enumerate(result.parts)
        )
        asking = _message(
            f"{id}-asks", _framing("tool_call", arguments, asked.name, f"{id}-call"), now
        )
        return asking, Message(f"{id}-result", "tool", parts, now)

    def _recalled(self, id: str, fact: Fact, now: float) -> tuple[Message, ...]:
        """Memory is searched for what the fact is about; the best notes come back, up to a cap."""
        query = fact.key or fact.value
        matches = [self._notes[n] for n in ranked(query, [note.text for note in self._notes])]
        text = "\n".join(note.text for note in matches)[:RECALLED_CHARS]
        sources = tuple(dict.fromkeys(source for note in matches for source in note.sources))
        back = Part("tool_result", text, "memory" if sources else "synthetic", sources)
        return _tool(id, "memory_search", {"query": query}, back, now)


def _tool(
    id: str, name: str, arguments: Mapping[str, str], back: Part, now: float
) -> tuple[Message, ...]:
    """A call of a tool, and what comes back."""
    asks = _message(f"{id}-asks", _framing("tool_call", _json(arguments), name, f"{id}-call"), now)
    part = msgspec.structs.replace(back, name=name, call_id=f"{id}-call")
    return asks, Message(f"{id}-result", "tool", (part,), now)


def _message(id: str, part: Part, now: float) -> Message:
    """The agent's answer to a request."""
    return Message(id, "assistant", (part,), now, call=_ANSWER)


def _framing(type: PartType, text: str, name: str = "", call_id: str = "") -> Part:
    return Part(type, text, "synthetic", (), name, call_id)


def _json(arguments: Mapping[str, str]) -> str:
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
