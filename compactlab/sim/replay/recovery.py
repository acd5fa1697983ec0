"""The agent's reaction to forgotten facts in the closed loop: it fetches, asks, or errs.

A script is an open loop: the agent's actions do not depend on the prompt. In the closed loop, each
call is preceded by the recovery of the facts that it needs and the prompt lacks. Recovery costs
calls, tokens and room in the context, which may cause the next compaction. It is a simulation: no
model decides, and random events are drawn from streams that all strategies share.

Recovery starts no turn. A question is a tool call that the user answers, and a correction continues
the current turn. Otherwise, strategies that cut at turns would get additional turns by forgetting,
and forgetting would look cheap.
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

# Share of episodes in which agents broke a rule that a compaction had dropped: "Governance Decay",
# arXiv 2606.22528, 1,323 episodes of 7 model families; 0 % if the rule had survived.
UNBOUND = 0.38
# Most characters that a memory search returns: OpenClaw's limit for injected notes, 2026.2.17.
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
        Probability that a stale or mutated value is used as it is and corrected afterwards.
        Otherwise the agent notices, and the fact counts as lost. 0 is the best case, 1 the worst.
    unbound
        Probability that the agent continues without a lost constraint or prohibition that it cannot
        fetch, instead of asking.

    Raises
    ------
    ValueError
        If a value is not a probability.
    """

    misuse: float = 1.0
    unbound: float = UNBOUND

    def __post_init__(self) -> None:
        for name in ("misuse", "unbound"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be from 0 to 1, not {getattr(self, name)}")

    @property
    def best(self) -> ClosedLoop:
        """The best case: every wrong value is noticed."""
        return ClosedLoop(0.0, self.unbound)

    @property
    def spec(self) -> str:
        """Its name with its parameters."""
        return spec_of(self, "closed")


class Act(NamedTuple):
    """The agent's action on one fact."""

    # ``fetch`` (repeat a tool call, or get offloaded content), ``recall`` (search the memory),
    # ``ask`` (the user) or ``misuse``.
    what: str
    messages: tuple[Message, ...]  # each message with a call answers a request


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
        """Record messages and content that were created outside the prompt."""
        for message in created:
            self.tracker.hear(message)
        self.stored.update(outside.stored)
        self.tracker.remember(outside.notes)
        self._notes += outside.notes

    def act(self, view: View, answer: Message, tried: set[int], now: float) -> Act | None:
        """Return the next action before a call; None if nothing more can be done."""
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
        """Return the ids of the needed facts that a call still lacks after all actions."""
        missing = self._missing(self.tracker.states, answer.id)
        return tuple(self.ledger.facts[number].id for number in missing)

    def _missing(self, states: States, answer: str) -> list[int]:
        """Return the facts that a call needs and lacks; tokens without text are not judged."""
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
        """Return a part of the prompt with a handle that leads to a fact."""
        if not self.stored:
            return None
        parts = (part for message in view.messages for part in message.parts if part.handle)
        return next((part for part in parts if self.tracker.witness.pointed(part) & fact), None)

    def _without(self, id: str, fact: Fact, answer: Message, now: float) -> Act | None:
        """Handle a fact that cannot be fetched: ask the user, or continue without it."""
        binds = fact.polarity in _BINDING or fact.kind in _BOUND
        if binds and self._drawn("unbound", fact, answer) < self.loop.unbound:
            return None
        # The user cannot be asked for inferred facts.
        if not self.ledger.declared or not fact.origin:
            return None
        question = _json({"question": _ASKS.format(key=fact.key or "that")})
        asks = _message(f"{id}-asks", _framing("tool_call", question, _ASK, f"{id}-call"), now)
        parts = self._restated(fact, "tool_result", _ASK, f"{id}-call")
        return Act("ask", (asks, Message(f"{id}-reply", "tool", parts, now)))

    def _drawn(self, what: str, fact: Fact, answer: Message) -> float:
        return self.chance(f"{what} {fact.id} {answer.id}").random()

    def _misused(self, id: str, fact: Fact, answer: Message, now: float) -> Iterator[Message]:
        """Yield a wrong action as long as the right one, the user's correction, and the undo."""
        wrong = "\n".join(part.text for part in answer.parts if part.type != "thinking")
        yield _message(f"{id}-wrong", _framing("text", wrong), now)
        corrected = self._restated(fact, "text")
        yield Message(f"{id}-correction", "user", corrected, now, meta=True)
        yield _message(f"{id}-undone", _framing("text", _UNDOES), now)

    def _restated(
        self, fact: Fact, type: PartType, name: str = "", call_id: str = ""
    ) -> tuple[Part, ...]:
        """Return the original statements, repeated by the user."""
        return tuple(
            Part(type, text, "recovered", (source,), name, call_id)
            for source in fact.origin
            for text in self.tracker.witness.texts(source)
        )

    def _called(self, id: str, fact: Fact, now: float) -> tuple[Message, ...]:
        """Repeat the tool call, with the same result."""
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
        """Search the memory for the fact's subject; return the best notes, up to a limit."""
        query = fact.key or fact.value
        matches = [self._notes[n] for n in ranked(query, [note.text for note in self._notes])]
        text = "\n".join(note.text for note in matches)[:RECALLED_CHARS]
        sources = tuple(dict.fromkeys(source for note in matches for source in note.sources))
        back = Part("tool_result", text, "memory" if sources else "synthetic", sources)
        return _tool(id, "memory_search", {"query": query}, back, now)


def _tool(
    id: str, name: str, arguments: Mapping[str, str], back: Part, now: float
) -> tuple[Message, ...]:
    """Return a tool call with its result."""
    asks = _message(f"{id}-asks", _framing("tool_call", _json(arguments), name, f"{id}-call"), now)
    part = msgspec.structs.replace(back, name=name, call_id=f"{id}-call")
    return asks, Message(f"{id}-result", "tool", (part,), now)


def _message(id: str, part: Part, now: float) -> Message:
    """Return an assistant message that answers a request."""
    return Message(id, "assistant", (part,), now, call=_ANSWER)


def _framing(type: PartType, text: str, name: str = "", call_id: str = "") -> Part:
    return Part(type, text, "synthetic", (), name, call_id)


def _json(arguments: Mapping[str, str]) -> str:
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
