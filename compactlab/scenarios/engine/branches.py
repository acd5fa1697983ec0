"""Plan a conversation with branches: which facts are stated on a branch that is abandoned later.

All facts that replace, depend on or withdraw each other are first planned on branch 0, because a
plan cannot span two branches. Then some independent facts are moved to other branches, and some
facts of branch 0 are replaced there until the user goes back.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from compactlab.scenarios.engine.domain import WORDS, Domain, value
from compactlab.scenarios.engine.phrases import POLARITY
from compactlab.scenarios.engine.plan import CLOSED, PlannedFact, Planner

# Share of the facts on an abandoned branch that replace a fact of branch 0: a guess.
_TRIED = 0.4


def planned(
    rng: random.Random, domain: Domain, starts: Sequence[float], tokens: float, route: Sequence[int]
) -> tuple[Planner, list[PlannedFact]]:
    """Draw a plan: return the planner and the facts, ordered by position."""
    if not any(route):
        planner = Planner(rng, domain, starts, tokens)
        return planner, planner.facts()
    ends = [*starts[1:], tokens]
    trunk = Trunk([turn for turn, branch in enumerate(route) if not branch], starts, ends)
    own = tokens - _TRIED * (tokens - trunk.tokens)  # all other facts are on other branches
    dense = replace(domain.mix, density=domain.mix.density * own / trunk.tokens)
    planner = Planner(rng, replace(domain, mix=dense), trunk.starts, trunk.tokens)
    facts = planner.facts()
    trunk.stretch(facts)
    sides = _Sides(rng, domain, facts, starts, ends)
    for branch in sorted(set(route) - {0}):
        sides.fill(branch, [turn for turn, other in enumerate(route) if other == branch])
    return planner, sorted(facts, key=lambda each: each.place)


class Trunk:
    """The turns of branch 0 as if they were consecutive: their starts and their tokens."""

    def __init__(self, turns: Sequence[int], starts: Sequence[float], ends: Sequence[float]):
        self._turns, self._begins = turns, starts
        sums = list(accumulate(ends[turn] - starts[turn] for turn in turns))
        self.starts, self.tokens = [0.0, *sums[:-1]], sums[-1]

    def stretch(self, facts: Sequence[PlannedFact]) -> None:
        """Move the facts planned for the branch to the real positions of its turns."""
        for each in facts:
            each.place, each.ends = self._real(each.place), self._real(each.ends)
            each.turn = self._turns[each.turn]
            each.restated = tuple(self._turns[turn] for turn in each.restated)
            if each.dropped >= 0:
                each.dropped = self._turns[each.dropped]

    def _real(self, place: float) -> float:
        number = bisect_right(self.starts, place) - 1
        return self._begins[self._turns[number]] + place - self.starts[number]


class _Sides:
    """Plans the facts of the other branches."""

    def __init__(
        self,
        rng: random.Random,
        domain: Domain,
        facts: list[PlannedFact],
        starts: Sequence[float],
        ends: Sequence[float],
    ) -> None:
        self._rng, self._domain, self._facts = rng, domain, facts
        self._starts, self._ends = starts, ends

    def fill(self, branch: int, turns: Sequence[int]) -> None:
        """State facts in the turns of a branch, in proportion to its tokens."""
        whole = sum(self._ends[turn] - self._starts[turn] for turn in turns)
        count = max(1, round(self._domain.mix.density * whole / 1000))
        tried = sum(self._rng.random() < _TRIED for _ in range(count))
        for each in self._chosen(self._loose(), count - tried):
            self._place(each, branch, turns)
        for each in self._chosen(self._standing(turns), tried):
            self._facts.append(self._try(each, branch, turns))

    def _chosen(self, facts: list[PlannedFact], count: int) -> list[PlannedFact]:
        return self._rng.sample(facts, min(count, len(facts)))

    def _loose(self) -> list[PlannedFact]:
        """Return the facts that no other fact depends on and that nobody withdraws."""
        parents = {each.parent for each in self._facts}
        return [
            each
            for each in self._facts
            if not (each.branch or each.old or each.newer or each.parent or each.tried)
            and each.dropped < 0
            and each.kind not in CLOSED
            and each not in parents
        ]

    def _standing(self, turns: Sequence[int]) -> list[PlannedFact]:
        """Return the user's earlier facts that stay valid beyond these turns, except rules."""
        return [
            each
            for each in self._facts
            if each.voice == "user"
            and each.turn < turns[0]
            and each.ends > self._ends[turns[-1]]
            and not each.branch
            and not each.tried
            and each.kind not in (*POLARITY, *CLOSED)
        ]

    def _place(self, fact: PlannedFact, branch: int, turns: Sequence[int]) -> None:
        fact.branch, fact.ends, fact.restated = branch, self._ends[turns[-1]], ()
        fact.turn = self._rng.choice(turns)
        start = fact.place = self._starts[fact.turn]
        if fact.voice != "user":
            fact.place += (self._ends[fact.turn] - start) * self._rng.random()

    def _try(self, old: PlannedFact, branch: int, turns: Sequence[int]) -> PlannedFact:
        """Replace a fact of branch 0 by one that is valid on this branch only."""
        template = self._domain.things[old.kind][old.thing]
        text = value(template, self._rng, self._rng.choice(WORDS))
        newer = PlannedFact(old.kind, old.key, old.thing, text, "user", 0, 0, 0, old=old)
        self._place(newer, branch, turns)
        old.tried.append(newer)
        return newer
