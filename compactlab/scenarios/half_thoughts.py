"""A synthetic chat with somebody who thinks aloud, breaks off and takes thoughts up again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from compactlab.scenarios.engine.domain import DomainFile
from compactlab.scenarios.engine.story import Story


@dataclass(frozen=True)
class HalfThoughts(Story):
    """A person thinks aloud about a story they write, a line at a time, and breaks off.

    The texture that a recency buffer is for: a thought (an open loop) is left half-finished and
    taken up again some messages later, "as I was saying"; the assistant offers three options, and
    "the second one" is chosen when other things have been said. So three quarters of all needs come
    within 1,500 tokens, some turns later, and those of thoughts and options come when the
    person refers back to them: the fact is the antecedent, labelled. The others are spread as
    elsewhere.

    People talk, and the few tools return less than a tenth of the tokens, not the 40 to 85 % of
    agents that work. Sizes, waits and shares are guesses (see ``profiles/aloud.toml``), the texts
    are made up. The last turns, for what is stated late, are forty, as turns are short.

    Examples
    --------
    >>> made = HalfThoughts(tokens=20_000).conversation(seed=1)
    >>> made.id, made.turns, len([fact for fact in made.facts if not fact.decoy])
    ('half_thoughts-1', 154, 8)
    """

    profile: str = "aloud"
    domain = DomainFile("half_thoughts")
    results: ClassVar[tuple[float, float]] = (0.02, 0.30)
