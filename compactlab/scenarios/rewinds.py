"""A synthetic session with rewinds: variants are tried, abandoned and resumed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from compactlab.scenarios.engine.domain import Domain, DomainFile
from compactlab.scenarios.engine.story import Story
from compactlab.scenarios.engine.world import Draft, Open, World

# Consecutive turns on branch 0 and on another branch; and the probability that an old branch is
# resumed instead of a new one. All guesses.
_STRAIGHT, _ASIDE, _TAKEN_UP = (2, 4), (1, 2), 0.4


class _Variants(World):
    """The first request on a new branch is a variant."""

    def __init__(self, domain: Domain, draft: Draft, open: Open) -> None:
        super().__init__(domain, draft, open)
        self._known = {0}

    def request(self, left: float) -> str:
        asked = super().request(left)
        if self.draft.branch in self._known:
            return asked
        self._known.add(self.draft.branch)
        return f"{self.writer.one(self.domain.texts['forks'])} {asked}"


@dataclass(frozen=True)
class Rewinds(Story):
    """A user works on a timetable with an agent, tries variants, and goes back.

    A third of the turns is on branches that are abandoned. Facts stated there are valid and needed
    only there. Four in ten of them replace a fact of the trunk, which is valid and needed again
    after the rewind. In four of ten cases the user resumes an old branch. ``tokens`` counts all
    messages: a prompt has at most about two thirds of them. Sizes, waits and shares are guesses
    (``profiles/rewinds.toml``).

    Examples
    --------
    >>> made = Rewinds(tokens=20_000).conversation(seed=1)
    >>> made.id, made.turns, len(made.events) - len(made.messages)
    ('rewinds-1', 8, 3)
    """

    profile: str = "rewinds"
    domain = DomainFile("rewinds")
    world: ClassVar[type[World]] = _Variants

    def route(self, rng: random.Random, turns: int) -> Sequence[int]:
        """Return the branch of each turn; see :meth:`Story.route`."""
        route = [0] * rng.randint(1, 2)
        asides: list[int] = []
        while len(route) < turns:
            # The first branch is resumed early, so that short sessions contain a resumed branch,
            # too.
            again = len(asides) == 1 or (len(asides) > 1 and rng.random() < _TAKEN_UP)
            asides.append(rng.choice(asides) if again else max(asides, default=0) + 1)
            route += [asides[-1]] * rng.randint(*_ASIDE)
            route += [0] * (rng.randint(*_STRAIGHT) if len(asides) > 1 else 1)
        return [*route[: turns - 1], 0]
