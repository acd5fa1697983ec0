"""A scenario whose conversations are planned and written by the engine."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import ClassVar

from compactlab.scenarios.engine.domain import POLARITY, WORDS, Domain, Phrasing, value
from compactlab.scenarios.engine.generator import Generator, repeat
from compactlab.scenarios.engine.plan import CLOSED, PlannedFact, Planner
from compactlab.scenarios.engine.profile import Profile, find_profile
from compactlab.scenarios.engine.world import Draft, Open, World
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Part
from compactlab.sim.core.spec import snake_case
from compactlab.sim.core.stream import stream
from compactlab.sim.experiment.sources import Scenario

# On branches: all facts that replace, depend on or withdraw each other are first planned on branch
# 0, because a plan cannot span two branches. Then some independent facts are moved to other
# branches, and some facts of branch 0 are replaced there until the user goes back.

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


_FEWEST = 8  # minimum number of computed turns, which a plan needs
# Largest session that can be made: it takes some minutes and some gigabytes, and is a hundred times
# larger than any recorded one.
MOST = {"turns": 100_000, "calls": 1_000_000, "tokens": 100_000_000}


@dataclass(frozen=True)
class Story(Scenario):
    """A scenario whose facts and needs are planned, and written in the words of its domain.

    Subclasses set its subject in ``domain``, and special behaviour in ``world``.

    Parameters
    ----------
    turns
        Number of user turns, of uneven length; 0 to compute it from the tokens, at least eight.
    tokens
        Approximate tokens (o200k) of all messages, including thinking: within a quarter from 20,000
        tokens on, within a twentieth from 100,000 on. Many turns may need more tokens.
    phrasing
        The family of phrases that state the facts: rules for finding facts are written with
        ``public``, and tested on ``held_out``. Facts and their positions are the same in both.
    profile
        The distributions of sizes and waits: the name of a built-in profile, or a TOML file.
    calls
        Approximate number of calls; 0 to leave it to the profile. All sizes from the profile are
        scaled by one factor to reach it.
    """

    turns: int = 0
    tokens: int = 100_000
    phrasing: Phrasing = "public"
    profile: str = "chat"
    calls: int = 0

    domain: ClassVar[Domain]
    world: ClassVar[type[World]] = World
    draft: ClassVar[type[Draft]] = Draft
    # Share of tokens that tools return; the tests check it. A scenario with other shares, such as
    # pure dialogue, overrides it.
    results: ClassVar[tuple[float, float]] = (0.40, 0.85)
    # Intended defects of the scenario; the tests allow no others: an "orphaned result", an
    # "unanswered call", a call "answered twice", an "empty text".
    faults: ClassVar[frozenset[str]] = frozenset()

    def __post_init__(self) -> None:
        if self.turns < 0:
            raise ValueError("turns must be at least 1, or 0 for as many as go with the tokens")
        if self.calls < 0:
            raise ValueError("calls must be at least 1, or 0 for as many as go with the tokens")
        if self.tokens < 1:
            raise ValueError("tokens must be at least 1")
        for field, most in MOST.items():
            if getattr(self, field) > most:
                raise ValueError(f"{field} must be at most {most:,}: make several conversations")

    def conversation(self, seed: int) -> Conversation:
        name, domain = snake_case(type(self).__name__), self.domain

        def open(purpose: str) -> random.Random:
            return stream(seed, name, purpose)

        profile = find_profile(self.profile)
        starts = self._starts(open("turns"), profile.calls.sigma)
        route = self.route(open("route"), len(starts))
        planner, facts = planned(open("plan"), domain, starts, self.tokens, route)
        draft = self.draft(seed, name, profile, self.calls, self.tokens)
        world = self.told(draft, open)
        family = domain.family(self.phrasing)
        Generator(draft, world, facts, family, open, route=route).run(starts, self.tokens)
        repeat(facts, draft.copies)
        stated = sorted((each for each in facts if each.id), key=lambda each: int(each.id[1:]))
        return Conversation(
            id=f"{name}-{seed}",
            format=name,
            events=tuple(draft.events),
            system=tuple(
                Part("text", "", "opaque", (), name=part, size=size)
                for part, size in self.system(profile).items()
            ),
            facts=(*(each.fact() for each in stated), *planner.decoys(len(stated))),
            needs=tuple(draft.needs),
            seed=seed,
        )

    def told(self, draft: Draft, open: Open) -> World:
        """Make the world that writes the texts; override it to pass parameters of the scenario."""
        return self.world(self.domain, draft, open)

    def system(self, profile: Profile) -> Mapping[str, int]:
        """Tokens of the parts of the system prompt, whose texts are not known."""
        return profile.system

    def route(self, rng: random.Random, turns: int) -> Sequence[int]:
        """Return the branch of each turn; by default, all turns are on branch 0.

        The first and the last turn are on branch 0, which is never abandoned. Any other branch
        begins at the end of the turn before, and is left by a rewind.
        """
        return [0] * turns

    def _starts(self, rng: random.Random, sigma: float) -> list[float]:
        """Return the positions of the turns, in tokens."""
        turns = self.turns or max(_FEWEST, round(self.tokens / self.domain.turn))
        ends = list(accumulate(rng.lognormvariate(0, sigma) for _ in range(turns)))
        return [0.0, *(self.tokens * end / ends[-1] for end in ends[:-1])]
