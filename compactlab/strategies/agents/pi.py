"""pi: the coding agent beneath OpenClaw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from compactlab.sim.strategy import Strategy
from compactlab.strategies.agents.agent import Agent
from compactlab.strategies.auto_compact import AutoCompact


@dataclass(frozen=True)
class Pi(Agent):
    """pi's own compaction, with its own reserve and nothing around it.

    Parameters
    ----------
    version
        Of the package; see ``auto_compact``.
    """

    version: Literal["0.49.3", "0.58.0", "0.73.1"] = "0.73.1"

    def steps(self) -> tuple[Strategy, ...]:
        """One strategy."""
        return (AutoCompact(reserve_tokens_floor=0, version=self.version),)
