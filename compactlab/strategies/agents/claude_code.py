"""Claude Code."""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.sim.strategy import Strategy
from compactlab.strategies.agents.agent import Agent
from compactlab.strategies.full_summary import FullSummary


@dataclass(frozen=True)
class ClaudeCode(Agent):
    """Claude Code: the whole conversation becomes one summary, and files are read again.

    After its documentation and what its users found out (see ``full_summary``), 2026; its source
    is not public, so nothing is exact. Left out: the clearing of old outputs inside of the cached
    prefix, which only the provider can do; memory files, plans and skills that are attached again;
    ``/compact`` by hand.

    Parameters
    ----------
    clear_first
        Whether old outputs are cleared before anything is summarised.
    files
        Files that are read again after a compaction, at most.
    """

    clear_first: bool = True
    files: int = 5

    def steps(self) -> tuple[Strategy, ...]:
        """One strategy."""
        return (FullSummary(clear_first=self.clear_first, files=self.files),)
