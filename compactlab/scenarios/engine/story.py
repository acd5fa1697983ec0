"""A scenario whose conversations are planned and written by the engine."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from compactlab.scenarios.engine.branches import planned
from compactlab.scenarios.engine.domain import Domain
from compactlab.scenarios.engine.generator import Generator, repeat
from compactlab.scenarios.engine.phrases import Phrasing
from compactlab.scenarios.engine.profile import Profile, find_profile
from compactlab.scenarios.engine.world import Draft, Open, World
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Part
from compactlab.sim.core.spec import snake_case
from compactlab.sim.core.stream import stream
from compactlab.sim.experiment.sources import Scenario

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
        """Make the conversation; see :class:`compactlab.sim.experiment.sources.Scenario`."""
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
