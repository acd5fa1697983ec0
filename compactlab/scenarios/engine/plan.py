"""The plan of the facts of a conversation: where each is stated and what happens to it.

The plan is drawn before any text is written, so that it is the same in both families of phrases.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from math import fsum

from compactlab.scenarios.engine.domain import POLARITY, WORDS, Domain, Voice, polarity_of, value
from compactlab.sim.core.conversation import Fact, FactType
from compactlab.sim.core.message import Source


@dataclass(eq=False)
class PlannedFact:
    """A planned fact: when it is stated, and what happens to it later."""

    kind: FactType
    key: str
    thing: str
    value: str
    voice: Voice  # who states it
    turn: int  # of a fact of the user: from 0
    place: float  # tokens before its statement; for a fact of the user, before its turn
    ends: float  # tokens after which it is no longer valid
    old: PlannedFact | None = None  # the fact that it replaces
    parent: PlannedFact | None = None  # the fact that it depends on
    newer: PlannedFact | None = None  # the fact that replaces it
    dropped: int = -1  # turn in which it is withdrawn or closed; -1 for none
    id: str = ""
    origin: list[Source] = field(default_factory=list)
    handle: str = ""
    withdrawn_at: str = ""
    restated: tuple[int, ...] = ()  # turns in which the user states it again, if it is valid
    branch: int = 0  # branch on which it is stated; branch 0 is never abandoned
    tried: list[PlannedFact] = field(default_factory=list)  # its replacements on other branches
    # Whether it was stated, and withdrawn, on the current path.
    stated: bool = False
    withdrawn: bool = False

    @property
    def holds(self) -> bool:
        """Whether it was stated on the current path, and neither replaced nor withdrawn."""
        replaced = self.newer is not None and self.newer.stated
        return self.stated and not (
            replaced or self.withdrawn or any(each.stated for each in self.tried)
        )

    def go_to(self, path: Collection[str]) -> None:
        """Move to the path of these messages."""
        self.stated = any(source.id in path for source in self.origin)
        self.withdrawn = self.withdrawn_at in path

    def fact(self) -> Fact:
        closed = self.withdrawn_at if self.kind in CLOSED else ""
        return Fact(
            self.id,
            self.kind,
            self.key,
            self.value,
            origin=tuple(self.origin),
            polarity=polarity_of(self.kind),
            supersedes=(self.old.id,) if self.old else (),
            depends_on=(self.parent.id,) if self.parent else (),
            deleted_at="" if closed else self.withdrawn_at,
            scope=closed or "session",
            handle=self.handle,
        )


FIRST = 0.1  # the first stratum: a tenth of the tokens
_SLACK = 3  # turns
# Types that are valid until the user closes them: a task, an agent's job, an open question.
CLOSED: tuple[FactType, ...] = ("open_loop", "handle", "proposal")
# Types that never depend on another fact.
_ALONE = (*POLARITY, *CLOSED, "tool_detail")


class Planner:
    """Draws a plan for turns that begin at ``starts`` (in tokens), of ``tokens`` in all."""

    def __init__(
        self, rng: random.Random, domain: Domain, starts: Sequence[float], tokens: float
    ) -> None:
        self._rng, self._domain, self._mix = rng, domain, domain.mix
        self._starts, self._tokens = starts, tokens
        self._keys: set[str] = set()
        self._followed: set[str] = set()  # values that others depend on, and the dependent ones
        self._kinds = dict(domain.kinds)
        rules = [kind for kind in POLARITY if kind in self._kinds]
        for kind in rules:
            self._kinds[kind] = sum(domain.kinds[rule] for rule in rules) / len(rules)
        self._late = max(len(starts) - self._mix.late, len(starts) * 3 // 4)

    def facts(self) -> list[PlannedFact]:
        """Draw the stated facts, ordered by position."""
        mix, rng = self._mix, self._rng
        stated = max(1, round(mix.density * self._tokens / 1000))
        replaced = self._rounded(mix.superseded * stated)
        dependent = self._rounded(mix.dependent * stated)
        first = self._first(max(1, round((stated - replaced - dependent) / (1 + self._ended()))))
        self._gather(first)
        free = [each for each in first if each.kind not in CLOSED and self._later(each)]
        rng.shuffle(free)
        newer = self._revised(free, replaced)
        parents = [n.old for n in newer if n.old and n.voice == "user" and " " not in n.value]
        following = [self._follow(rng.choice(parents)) for _ in range(dependent) if parents]
        chained = newer if mix.chain[1] > 1 else []
        rest = [each for each in (*free, *chained) if each.newer is None and self._later(each)]
        if chained:
            rng.shuffle(rest)
        for each in rest[: self._rounded(mix.deleted * stated)]:
            self._drop(each)
        finished = self._close([each for each in first if each.kind in CLOSED])
        if mix.restated:
            for each in (*first, *newer):
                self._restate(each)
        return sorted([*first, *newer, *following, *finished], key=lambda each: each.place)

    def decoys(self, stated: int) -> list[Fact]:
        """Draw facts of the same form that nobody states."""
        count = -int(-self._mix.decoys * stated // 1)
        kinds = self._apportioned(count)
        made = (self._thing(kind, self._rng.choice(WORDS)) for kind in kinds)
        return [
            Fact(f"d{n}", kind, key, value, polarity=polarity_of(kind), decoy=True)
            for n, (kind, (key, value, _)) in enumerate(zip(kinds, made, strict=True), 1)
        ]

    def _ended(self) -> float:
        """Return the number of facts about finished tasks per fact that is stated first."""
        whole = fsum(self._kinds.values())
        return self._mix.finished * self._kinds.get("open_loop", 0.0) / whole

    def _close(self, facts: Sequence[PlannedFact]) -> list[PlannedFact]:
        """Let the user close open loops; some tasks end in a fact of their own."""
        finished = []
        for each in facts:
            share = self._mix.finished if each.kind == "open_loop" and self._later(each) else 0.0
            if share and self._rng.random() < share:
                finished.append(self._finish(each))
            else:
                self._drop(each)
        return finished

    def _finish(self, task: PlannedFact) -> PlannedFact:
        """Finish a task: the agent states that it is done, and its result."""
        turn = self._turn_after(task)
        place = self._starts[turn]
        place += (self._tokens - place) * self._rng.random() ** 2
        text = value(self._domain.things["done"][task.thing], self._rng, self._rng.choice(WORDS))
        kind: FactType = "done"
        voice = self._domain.voice_of(kind)
        done = replace(
            task, kind=kind, value=text, voice=voice, turn=self._turn_of(place), place=place,
            old=task, origin=[],
        )  # fmt: skip
        task.newer, task.ends = done, place
        return done

    def _first(self, count: int) -> list[PlannedFact]:
        kinds = self._apportioned(count)
        self._rng.shuffle(kinds)
        models = self._models(kinds)
        made: list[PlannedFact] = []
        words: list[str] = []
        for number, (kind, stratum) in enumerate(zip(kinds, self._strata(count), strict=True)):
            model = models.get(number)
            words.append(self._rng.choice(WORDS) if model is None else words[model])
            thing = "" if model is None else made[model].thing
            key, text, thing = self._thing(kind, words[-1], thing)
            voice = self._domain.voice_of(kind)
            # The user closes an open loop, which needs another turn.
            early = "middle" if stratum == "last" and kind in CLOSED else stratum
            instructs = stratum != "last" and self._domain.instructs(kind, voice)
            turn, place = (0, 0.0) if instructs else self._placed(voice, early)
            made.append(PlannedFact(kind, key, thing, text, voice, turn, place, self._tokens))
        return made

    def _gather(self, facts: list[PlannedFact]) -> None:
        """Let the options of one choice be stated together: same area, same position."""
        rng = self._rng
        for kind, things in self._domain.together.items():
            alike = [each for each in facts if each.kind == kind]
            for start in range(0, len(alike), len(things)):
                options = alike[start : start + len(things)]
                self._keys -= {option.key for option in options}
                area = options[0].key.removesuffix(f" {options[0].thing}")
                while any(f"{area} {thing}" in self._keys for thing in things):
                    area = f"{rng.choice(self._domain.areas)}-{area}"
                for option, thing in zip(options, things, strict=False):
                    option.key, option.thing = f"{area} {thing}", thing
                    option.value = value(self._domain.things[kind][thing], rng, rng.choice(WORDS))
                    option.turn, option.place = options[0].turn, options[0].place
                    self._keys.add(option.key)

    def _revised(self, free: list[PlannedFact], count: int) -> list[PlannedFact]:
        """Replace this many facts, in chains of replacements."""
        low, high = self._mix.chain
        newer: list[PlannedFact] = []
        for first in self._replaceable(free, count):
            long = high > 1 and first.kind not in POLARITY
            more = min(self._rng.randint(low, high) if long else 1, count - len(newer))
            last = first
            while more and self._later(last):
                more -= 1
                last = self._replace(last, more)
                newer.append(last)
        return newer

    def _replaceable(self, free: list[PlannedFact], count: int) -> list[PlannedFact]:
        """Choose facts to replace: as many demands as prohibitions, to keep the balance."""
        rules = [[each for each in free if each.kind == kind] for kind in POLARITY]
        share = sum(map(len, rules)) / max(1, len(free))
        pairs = min(self._rounded(count * share / 2), count // 2, *map(len, rules))
        rest = [each for each in free if each.kind not in POLARITY]
        # A fact can only depend on an earlier one of a person, whose value is one word.
        rest.sort(key=lambda each: each.voice != "user" or " " in each.value)
        return [*(each for rule in rules for each in rule[:pairs]), *rest][:count]

    def _models(self, kinds: list[FactType]) -> dict[int, int]:
        """Choose facts, except those of rules, that get near-duplicates."""
        free = [number for number, kind in enumerate(kinds) if kind not in POLARITY]
        models: dict[int, int] = {}
        for _ in range(max(1, self._rounded(self._mix.twins * len(kinds) / 2))):
            if len(free) < 2:
                break
            model, twin = free.pop(0), free.pop()
            kinds[twin] = kinds[model]
            models[twin] = model
        return models

    def _thing(self, kind: FactType, word: str, thing: str = "") -> tuple[str, str, str]:
        """Draw the key and value of a fact, and the name of its thing."""
        rng, things = self._rng, self._domain.things[kind]
        thing = thing or rng.choice(list(things))
        key = f"{rng.choice(self._domain.areas)} {thing}"
        while key in self._keys:
            key = f"{rng.choice(self._domain.areas)}-{key}"
        self._keys.add(key)
        return key, value(things[thing], rng, word), thing

    def _apportioned(self, count: int) -> list[FactType]:
        """Draw this many types in proportion to their weights, from a random start."""
        whole, at = fsum(self._kinds.values()), self._rng.random()
        bounds, kinds = [0.0], list(self._kinds)
        for weight in self._kinds.values():
            bounds.append(bounds[-1] + weight / whole * count)
        marks = (at + step for step in range(count))
        return [kinds[min(bisect_right(bounds, mark), len(kinds)) - 1] for mark in marks]

    def _strata(self, count: int) -> list[str]:
        first, last = (self._rounded(share * count) for share in (self._mix.first, self._mix.last))
        strata = ["first"] * first + ["last"] * last
        strata += ["middle"] * (count - len(strata))
        self._rng.shuffle(strata)
        return strata[:count]

    def _placed(self, voice: Voice, stratum: str) -> tuple[int, float]:
        """Draw a position in a stratum: the turn, and the tokens before it."""
        starts, whole = self._starts, self._tokens
        early = FIRST * whole
        late = max(starts[self._late], early)
        if voice != "user":
            low, high = {"first": (0, early), "middle": (early, late), "last": (late, whole)}[
                stratum
            ]
            place = low + (high - low) * self._rng.random()
            return self._turn_of(place), place
        turns = {
            "first": [turn for turn, start in enumerate(starts) if start < early],
            "middle": [turn for turn in range(self._late) if starts[turn] >= early],
            "last": list(range(self._late, len(starts))),
        }
        turn = self._rng.choice(turns[stratum] or turns["last"])
        return turn, starts[turn]

    def _turn_of(self, place: float) -> int:
        return bisect_right(self._starts, place) - 1

    def _later(self, fact: PlannedFact) -> bool:
        """Whether the user has a later turn."""
        return fact.turn + 1 < len(self._starts)

    def _turn_after(self, fact: PlannedFact, more: int = 0) -> int:
        """Draw a later turn that leaves room for ``more`` further replacements."""
        left = len(self._starts) - 1 - fact.turn
        return self._rng.randint(fact.turn + 1, fact.turn + max(1, left // (more + 1)))

    def _replace(self, old: PlannedFact, more: int = 0) -> PlannedFact:
        turn = self._turn_after(old, more)
        place = self._starts[turn]
        if old.voice != "user":
            place += (self._tokens - place) * self._rng.random() ** 2
            turn = self._turn_of(place)
        template = self._domain.things[old.kind][old.thing]
        text = value(template, self._rng, self._rng.choice(WORDS))
        newer = replace(old, value=text, turn=turn, place=place, old=old, origin=[])
        old.newer, old.ends = newer, place
        return newer

    def _follow(self, parent: PlannedFact) -> PlannedFact:
        """Plan a fact whose value contains that of another fact, which is replaced later."""
        assert parent.newer is not None
        self._followed.add(parent.value)
        kinds = [kind for kind in self._kinds if kind not in (*_ALONE, *self._domain.together)]
        kind = self._rng.choice(kinds)
        key, _, thing = self._thing(kind, "")
        turn = self._rng.randint(parent.turn, parent.newer.turn - 1)
        text = parent.value
        while text in self._followed:
            text = f"{parent.value}/{self._rng.choice(WORDS)}"
        self._followed.add(text)
        start = self._starts[turn]
        return PlannedFact(kind, key, thing, text, "user", turn, start, parent.ends, parent=parent)

    def _drop(self, fact: PlannedFact) -> None:
        if self._later(fact):
            turn = self._turn_after(fact)
            # A tool or the agent may state it one turn late: too late for another turn.
            on_time = fact.voice == "user" or fact.kind == "open_loop"
            if on_time or fact.turn + _SLACK < len(self._starts):
                fact.dropped, fact.ends = turn, self._starts[turn]

    def _restate(self, fact: PlannedFact) -> None:
        """Let the user state a fact again while it is valid; open loops are only closed."""
        ends = fact.dropped if fact.dropped >= 0 else len(self._starts)
        turns = range(fact.turn + 1, fact.newer.turn if fact.newer else ends)
        by_user = fact.voice == "user" and fact.kind not in CLOSED
        if by_user and turns and self._rng.random() < self._mix.restated:
            times = min(self._rng.randint(1, 2), len(turns))
            fact.restated = tuple(self._rng.sample(turns, times))

    def _rounded(self, number: float) -> int:
        """Round up or down at random, so that the mean equals the number."""
        return int(number + self._rng.random())
