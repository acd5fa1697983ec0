"""The settings in the key of a stored prefix, in addition to its text."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from compactlab.sim.cache.policy import Settings
from compactlab.sim.cache.prompt import Prompt


class Salt:
    """Numbers that represent settings, for the blocks of the current prompt."""

    def __init__(self) -> None:
        self._known: dict[Settings, tuple[int, int, int]] = {}
        self._now = (0, 0, 0)
        self._tools = self._front = 0
        self._settings: Settings | None = None
        self.plain = True  # whether all settings have their first values

    def take(self, settings: Settings, prompt: Prompt) -> None:
        """Set the current request's settings and prompt."""
        self._tools, self._front = prompt.tools, prompt.front
        if settings is self._settings:
            return
        self._settings = settings
        now = self._known.get(settings)
        if now is None:
            tools, system, messages = settings
            now = self._known[settings] = (
                _number(tools),
                _number(tools, system),
                _number(tools, system, messages),
            )
        self._now = now
        self.plain = not any(now)

    def of(self, block: int) -> int:
        """Return the number for a block of the current prompt."""
        if block >= self._front:
            return self._now[2]
        return self._now[0] if block < self._tools else self._now[1]

    def names(self, prompt: Prompt) -> Callable[[int], int]:
        """Return a function from a block to the key of its prefix, including settings."""
        if self.plain:
            return prompt.key
        return lambda block: prompt.key(block) ^ self.of(block)


def _number(*settings: str) -> int:
    """Return a number for settings; 0 if all have their first values."""
    if not any(settings):
        return 0
    digest = hashlib.blake2b(repr(settings).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")
