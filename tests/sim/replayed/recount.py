"""The figures of memory once more, from plain lists of a fact, a call and a state: slow and plain.

Only the states of facts are those of the real thing; all else is found out anew, from the events
of the script and the steps of the trace.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from compactlab.sim.core.conversation import Conversation, Fact, Rewind
from compactlab.sim.core.message import Message
from compactlab.sim.facts.wording import Wording
from compactlab.sim.metrics import RunData
from compactlab.sim.models.model import find_model
from compactlab.sim.replay.trace import Step

KEPT = ("verbatim", "intact")
REACHED = (*KEPT, "retrievable")


@dataclass(frozen=True)
class Seen:
    """A fact at a call."""

    fact: Fact
    call: int
    state: str
    due: bool
    replaced: bool
    deleted: bool
    needed: bool
    tokens: int
    turns: int
    rounds: int


@dataclass(frozen=True)
class At:
    """A call: its step, and the messages on the way to it."""

    step: Step
    path: list[Message]
    compactions: int

    @property
    def said(self) -> set[str]:
        return {message.id for message in self.path}


class Recount:
    """A replay, looked at fact by fact."""

    def __init__(self, trace: Any, script: Conversation) -> None:
        self.trace, self.script = trace, script
        reading = RunData(trace, script)
        self.facts = {fact.id: fact for fact in script.facts}
        self.uses = {(need.fact, need.at) for need in script.needs}
        self.compacted = {step.answer: step.compaction for step in trace.steps}
        self.calls = [At(s, self.path_to(s.answer), s.compaction) for s in trace.steps]
        self.seen = [
            self.look(fact, number, call, reading.states[call].of(number))
            for call in range(len(self.calls))
            for number, fact in enumerate(script.facts)
        ]

    def path_to(self, answer: str) -> list[Message]:
        path: list[Message] = []
        ways: dict[str, list[Message]] = {"": []}
        for event in self.script.events:
            if isinstance(event, Rewind):
                path = ways[event.to]
            elif isinstance(event, Message):
                if event.id == answer:
                    return path
                path = ways[event.id] = [*path, event]
        raise AssertionError(answer)

    def look(self, fact: Fact, number: int, call: int, state: str) -> Seen:
        at = self.calls[call]
        stated = [g for g in self.script.facts if self.is_stated(g, at.said)]
        replaced = any(fact.id in self.older(g) for g in stated)
        deleted = fact.deleted_at in at.said
        there = fact in stated
        over = replaced or deleted or fact.scope in at.said or fact.decoy
        due = there and not over
        needed = due and any(
            n.fact == fact.id and n.at == at.step.answer for n in self.script.needs
        )
        origins = {source.id for source in fact.origin}
        last = max((i for i, m in enumerate(at.path) if m.id in origins), default=-1)
        since = at.path[last + 1 :]
        return Seen(
            fact, call, state, due, there and replaced and not deleted, there and deleted, needed,
            self.tokens(since), sum(m.starts_turn for m in since),
            sum(self.compacted.get(m.id, False) for m in since) + at.step.compaction,
        )  # fmt: skip

    def is_stated(self, fact: Fact, said: set[str]) -> bool:
        heard = [source.id in said for source in fact.origin]
        return all(heard) and bool(heard) if fact.whole else any(heard)

    def older(self, fact: Fact) -> set[str]:
        found = set(fact.supersedes)
        for id in fact.supersedes:
            found |= self.older(self.facts[id])
        return found

    def premises(self, fact: Fact) -> set[str]:
        found = set(fact.depends_on)
        for id in fact.depends_on:
            found |= self.premises(self.facts[id])
        return found

    def tokens(self, messages: Iterable[Message]) -> int:
        tokenizer = find_model(self.trace.steps[0].model).tokenizer
        return sum(map(tokenizer.message, messages))

    # ------------------------------------------------------------------------------- shares

    def kept(self, of: Callable[[Seen], bool], states: Iterable[str] = KEPT) -> float | None:
        """Of the facts of which something is known, what is in one of some states."""
        among = [seen for seen in self.seen if of(seen) and seen.state != "unknown"]
        return sum(seen.state in states for seen in among) / len(among) if among else None

    def lost(self, of: Callable[[Seen], bool], states: Iterable[str] = KEPT) -> float | None:
        kept = self.kept(of, states)
        return None if kept is None else 1 - kept

    def by_type(self, of: Callable[[Seen], bool], states: Iterable[str] = KEPT) -> float | None:
        kinds = {fact.kind for fact in self.script.facts}
        each = [self.lost(lambda s, k=kind: of(s) and s.fact.kind == k, states) for kind in kinds]  # type: ignore[misc]
        found = [share for share in each if share is not None]
        return sum(found) / len(found) if found else None

    def in_state(self, state: str) -> float | None:
        due = [seen for seen in self.seen if seen.due]
        return sum(seen.state == state for seen in due) / len(due) if due else None

    def leak(self) -> float | None:
        return self.kept(lambda seen: seen.deleted)

    def cascade(self) -> float | None:
        wrong = []
        for seen in self.seen:
            there = {s.fact.id: s for s in self.seen if s.call == seen.call}
            changed = [id for id in self.premises(seen.fact) if there[id].replaced]
            if seen.due and seen.state != "unknown" and changed:
                told = [
                    any(id in self.older(s.fact) and s.state in KEPT for s in there.values())
                    for id in changed
                ]
                wrong.append(seen.state in KEPT and not all(told))
        return sum(wrong) / len(wrong) if wrong else None

    def chance(self) -> float | None:
        decoys = [fact for fact in self.script.facts if fact.decoy]
        found = []
        for step, prompt in zip(self.trace.steps, self.trace.prompts(), strict=True):
            parts = [*step.system, *(part for message in prompt for part in message.parts)]
            made = [Wording(part.text) for part in parts if part.kind != "verbatim"]
            found += [any(text.says(decoy).intact for text in made) for decoy in decoys]
        return sum(found) / len(found) if found else None

    # ----------------------------------------------------------------------------- survival

    def lives(self, clock: str) -> dict[str, list[tuple[int, bool]]]:
        """By type: how long each fact was followed, and whether it was gone then."""
        found: dict[str, list[tuple[int, bool]]] = {}
        for fact in self.script.facts:
            life = self.life(fact, [seen for seen in self.seen if seen.fact is fact], clock)
            if life:
                found.setdefault(fact.kind, []).append(life)
        return found

    def life(self, fact: Fact, seen: list[Seen], clock: str) -> tuple[int, bool] | None:
        first = next((each for each in seen if each.due), None)
        if first is None or first.state == "unknown":
            return None
        created = self.clock(self.calls[first.call].path[: self.heard(fact, first.call) + 1], clock)
        now = created
        for each in seen[first.call :]:
            at = self.calls[each.call]
            if not each.due or each.state == "unknown":
                return max(0, now - created), False
            now = self.clock(at.path, clock)
            now += at.step.compaction if clock == "rounds" else 0
            if each.state not in KEPT:
                return max(0, now - created), True
        return max(0, now - created), False

    def heard(self, fact: Fact, call: int) -> int:
        """Where on the way to a call the fact was first said, the whole of it."""
        ids = [message.id for message in self.calls[call].path]
        places = [ids.index(source.id) for source in fact.origin if source.id in ids]
        return max(places) if fact.whole else min(places)

    def clock(self, path: list[Message], clock: str) -> int:
        if clock == "tokens":
            return self.tokens(path)
        return sum(self.compacted.get(message.id, False) for message in path)

    def curve(self, clock: str) -> Callable[[int], float]:
        """The mean of the types' curves."""
        lives = self.lives(clock)
        return lambda time: float(sum(product_limit(v, time) for v in lives.values()) / len(lives))


def product_limit(lives: list[tuple[int, bool]], time: int) -> Fraction:
    """The share that lives on after a time, after Kaplan and Meier, in fractions."""
    alive = Fraction(1)
    for death in sorted({t for t, died in lives if died and t <= time}):
        at_risk = sum(t >= death for t, _ in lives)
        alive *= 1 - Fraction(sum(t == death and died for t, died in lives), at_risk)
    return alive
