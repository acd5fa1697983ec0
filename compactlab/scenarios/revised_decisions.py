"""A synthetic planning session in which most decisions are revised, revoked or forgotten."""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.scenarios.engine.domain import DomainFile
from compactlab.scenarios.engine.story import Story


@dataclass(frozen=True)
class RevisedDecisions(Story):
    """A person plans an exhibition and changes their mind: the stress for what is stale.

    It departs from the usual shares of facts on purpose: 42 % of them replace an older one, in
    chains of two to four revisions (demands and prohibitions are revised once, so that they stay
    even), 15 % are taken back ("strike that"), ends of chains among them, and 12 % follow from one
    that is replaced later. Half of the others are near-duplicates. As revisions come late, six
    tenths of what they revise is stated in the first tenth of the tokens. Facts hold for a
    shorter time than elsewhere, so that their needs come sooner.

    Sizes and waits are guesses (see ``profiles/chat.toml``), the texts are made up.

    Examples
    --------
    >>> made = RevisedDecisions(tokens=20_000).conversation(seed=1)
    >>> made.id, made.turns, sum(bool(fact.supersedes) for fact in made.facts)
    ('revised_decisions-1', 13, 3)
    """

    domain = DomainFile("revised_decisions")
