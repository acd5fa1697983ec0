"""A made-up session of a coding agent, with sizes and pauses as recorded sessions have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from compactlab.scenarios.coding_world import CodingWorld
from compactlab.scenarios.engine.domain import DomainFile
from compactlab.scenarios.engine.story import Story
from compactlab.scenarios.engine.world import World


@dataclass(frozen=True)
class CodingAgent(Story):
    """A person has an agent work on a repository: read, search, edit, test, commit.

    Sizes of results, texts and arguments, how uneven turns are and the time between messages are
    drawn from distributions measured on eight recorded Claude Code and pi sessions, 2026-11 (see
    ``profiles/coding.toml``); the texts are made up. The repository is a model: what was edited
    reads edited later, and tasks, files and functions come back. The system prompt and the tools
    are opaque parts of 12,500 tokens. Facts come at 0.36 for a thousand tokens, and decoys on top.

    Examples
    --------
    >>> script = CodingAgent(turns=2, tokens=8_000).conversation(seed=7)
    >>> script.id, script.turns, len([fact for fact in script.facts if not fact.decoy])
    ('coding_agent-7', 2, 3)
    """

    tokens: int = 120_000
    profile: str = "coding"

    domain = DomainFile("coding_agent")
    world: ClassVar[type[World]] = CodingWorld
