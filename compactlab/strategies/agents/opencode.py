"""OpenCode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from compactlab.sim.strategy import Strategy
from compactlab.strategies.agents.agent import Agent
from compactlab.strategies.memory_flush import MemoryFlush
from compactlab.strategies.prune_then_summarize import PruneThenSummarize


@dataclass(frozen=True)
class Opencode(Agent):
    """OpenCode: old outputs are erased, then all but the tail is summarised.

    After its source at 31e22f6 (2026). Whether it prunes by default changed between versions.
    Left out: plug-ins, but for the reminder that a memory's plug-in adds to the request.

    Parameters
    ----------
    prune
        Whether old outputs are erased.
    rides
        ``fresh`` (its ``prepend``) or ``live`` (its ``suffix``).
    memory_plugin
        Whether a plug-in reminds the compactor of a memory.
    """

    prune: bool = True
    rides: Literal["live", "fresh"] = "fresh"
    memory_plugin: bool = False

    def steps(self) -> tuple[Strategy, ...]:
        """The plug-in, if there is one, and the compaction."""
        hook = (MemoryFlush(profile="hook"),) if self.memory_plugin else ()
        return (*hook, PruneThenSummarize(prune=self.prune, rides=self.rides))
