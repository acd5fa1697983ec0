"""A synthetic session of a research assistant: searches, long pages, tables, notes."""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.scenarios.engine.domain import DomainFile
from compactlab.scenarios.engine.story import Story


@dataclass(frozen=True)
class ResearchAssistant(Story):
    """A person has an agent read up on a subject: search, open long pages, tables, take notes.

    Most tokens are results of tools, pages of thousands of tokens among them, and a third of the
    facts stands only there. Sizes, waits and shares are guesses (see ``profiles/research.toml``),
    the texts are made up. Facts come at 0.36 for a thousand tokens, and decoys on top.

    Examples
    --------
    >>> made = ResearchAssistant(tokens=20_000).conversation(seed=1)
    >>> made.id, made.turns, len([fact for fact in made.facts if not fact.decoy])
    ('research_assistant-1', 8, 7)
    """

    profile: str = "research"
    domain = DomainFile("research_assistant")
