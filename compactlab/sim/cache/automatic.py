"""What automatic caches have in common: no marks, no write price, entries that die when idle."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from compactlab.sim.cache.longest_prefix import LongestPrefix
from compactlab.sim.cache.policy import Cache, CachePolicy
from compactlab.sim.cache.prefixes import Prefixes


@dataclass(frozen=True)
class Automatic(CachePolicy):
    """A provider that stores every prompt by itself and reads the longest common prefix.

    A changed setting misses all that stands behind its level. The lifetime that a request asks
    for is not heard: there is nothing to ask for.

    Parameters
    ----------
    grid
        Tokens: reads are multiples of that.
    minimum
        Tokens below which nothing is read.
    idle
        Seconds that a prefix lives after the start of the last request that touched it.
    loss
        Share of requests that find nothing, because they are routed elsewhere.

    Raises
    ------
    ValueError
        If a figure is impossible.
    """

    grid: int = 1
    minimum: int = 0
    idle: float = 0.0
    loss: float = 0.0

    def __post_init__(self) -> None:
        if self.grid < 1:
            raise ValueError(f"grid is at least 1 token, not {self.grid}")
        if self.minimum < 0 or self.idle < 0:
            raise ValueError("minimum and idle are not negative")
        if not 0 <= self.loss <= 1:
            raise ValueError(f"loss is a share between 0 and 1, not {self.loss}")

    def open(self) -> Cache:
        """Start an empty cache."""
        held = Prefixes(idle=self.idle)
        return LongestPrefix(held, grid=self.grid, minimum=self.minimum, gone="ttl_expired")

    def lifetime(self, ttl: str = "") -> float:
        """Seconds that an entry lives unread."""
        return self.idle

    def shortened(self, share: float) -> Self:
        """The same rules with a lifetime of such a share."""
        return replace(self, idle=self.idle * share)
