"""How many tokens a history may take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens that are left for the history, after OpenClaw's planner (pull request 17345).

    Parameters
    ----------
    window, reserve, static
        Tokens of the model's window, of the reserve for the answer, of system prompt and prompt.
    share
        Share of what is left that the history may take, 0.1 to 1.
    dynamic_ratio
        Share of the window that is held back for what is not known yet, 0 to 0.5.
    min_dynamic
        Tokens held back at least.
    """

    window: int
    reserve: int
    static: int
    share: float = 1.0
    dynamic_ratio: float = 0.08
    min_dynamic: int = 1200

    # What the planner leaves aside, because its token counts are estimates.
    SAFETY: ClassVar[float] = 0.9

    @property
    def available(self) -> int:
        """Tokens left before share and safety; may be negative."""
        dynamic = max(self.min_dynamic, int(self.window * self.dynamic_ratio))
        return self.window - self.reserve - self.static - dynamic

    @property
    def tokens(self) -> int:
        """Tokens that the history may take; at least 1."""
        return max(1, int(self.available * self.SAFETY * self.share))
