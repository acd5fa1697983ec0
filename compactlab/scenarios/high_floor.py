"""A synthetic session whose system prompt and tools alone nearly fill the window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from compactlab.scenarios.engine.domain import DomainFile
from compactlab.scenarios.engine.profile import Profile
from compactlab.scenarios.engine.story import MOST, Story


@dataclass(frozen=True)
class HighFloor(Story):
    """An agent with hundreds of connected tools and long instructions does small errands.

    Tool definitions and instructions are sent with every call, and no compaction can shorten them.
    If they are above or just below a strategy's trigger, each call triggers a compaction, which
    saves almost nothing: the complaint of anthropics/claude-code issue 24179 (2026-02: 211
    compactions without progress) and openai/codex issue 35032 (2026-07: a thread 80 % full after
    each compaction). At a window of 40,000 tokens, the default exceeds the trigger of most agents.
    Sizes, waits and shares are guesses (``profiles/chat.toml``).

    Parameters
    ----------
    floor
        Tokens (o200k) of system prompt, instructions and tool definitions together.

    Examples
    --------
    >>> made = HighFloor(tokens=20_000).conversation(seed=1)
    >>> {part.name: part.size for part in made.system}
    {'system prompt': 1200, 'instructions': 5700, 'tools': 17100}
    """

    floor: int = 24_000
    domain = DomainFile("high_floor")
    results: ClassVar[tuple[float, float]] = (0.2, 0.75)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.floor <= MOST["tokens"]:
            raise ValueError(f"floor must be from 0 to {MOST['tokens']:,} tokens")

    def system(self, profile: Profile) -> Mapping[str, int]:
        """The system prompt: a quarter of the floor is instructions, the rest is mostly tools."""
        more = max(0, self.floor - sum(profile.system.values()))
        return {**profile.system, "instructions": more // 4, "tools": more - more // 4}
