"""Gemini CLI."""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.sim.strategy import Strategy
from compactlab.strategies.agents.agent import Agent
from compactlab.strategies.fraction_split import FractionSplit


@dataclass(frozen=True)
class GeminiCli(Agent):
    """Gemini CLI: at half of the window the older part becomes a snapshot that is verified.

    After v0.61 (2026). Left out: masking of tool outputs by a service of its own, and the newer
    profiles, which render the context anew.

    Parameters
    ----------
    threshold
        Share of the window at which it compresses.
    """

    threshold: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1:
            raise ValueError(f"threshold must be above 0 and at most 1, not {self.threshold}")
        super().__post_init__()

    def steps(self) -> tuple[Strategy, ...]:
        """One strategy."""
        return (FractionSplit(threshold=self.threshold),)
