"""OpenAI's Codex CLI."""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.sim.strategy import Strategy
from compactlab.strategies.agents.agent import Agent
from compactlab.strategies.user_words import UserWords


@dataclass(frozen=True)
class Codex(Agent):
    """Codex CLI with local compaction: the user's words, and a summary after them.

    After codex-rs at 0100b10 (2026). Left out: compaction by the provider's own endpoint, whose
    result nobody can read, and the route without a summary.

    Parameters
    ----------
    limit
        Tokens at which it compacts, if that is less than nine tenths of the window; 0 for none.
    """

    limit: int = 0

    def __post_init__(self) -> None:
        if self.limit < 0:
            raise ValueError(f"limit must not be negative, not {self.limit}")
        super().__post_init__()

    def steps(self) -> tuple[Strategy, ...]:
        """One strategy."""
        return (UserWords(limit=self.limit),)
