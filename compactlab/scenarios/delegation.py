"""A synthetic session of an agent that delegates work, to test the memory of open work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from compactlab.scenarios.engine.domain import DomainFile
from compactlab.scenarios.engine.story import Story
from compactlab.scenarios.engine.world import ToolCall, World
from compactlab.sim.core.conversation import FactType

_STARTS = "delegate"  # the tool that starts an agent and returns its name


class _Lead(World):
    """The world of an agent whose tool starts other agents."""

    def shows(self, call: ToolCall, kind: FactType) -> bool:
        """Only the tool that starts an agent states its handle; see :meth:`World.shows`."""
        return super().shows(call, kind) and (call.name == _STARTS) == (kind == "handle")


@dataclass(frozen=True)
class Delegation(Story):
    """A user has an agent run a garden's season: it works, delegates, asks and finishes tasks.

    It shows the four failures of docs/concepts.md. The user requests tasks (open loops); four in
    five end in a fact of type done, with which the agent reports the result. The tool that starts
    an agent or a job returns its handle, which the agent uses to ask for it until the user reports
    its return. The agent asks questions (proposals), which the user closes some turns later, with
    or without an answer. An instruction file at the start states constraints, prohibitions and
    procedures, some of which the user replaces later. Sizes, waits and shares are guesses
    (``profiles/research.toml``).

    Examples
    --------
    >>> made = Delegation(tokens=20_000).conversation(seed=1)
    >>> made.id, made.turns, len([fact for fact in made.facts if not fact.decoy])
    ('delegation-1', 8, 5)
    """

    profile: str = "research"
    domain = DomainFile("delegation")
    world: ClassVar[type[World]] = _Lead
