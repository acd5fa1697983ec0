"""A prefix cache on self-hosted servers, like vLLM's: pages of 16 tokens, LRU eviction.

vLLM's automatic prefix caching, as of 2026-11: a page of 16 tokens is identified by its tokens and
all tokens before it. Only full pages are stored. The last token of a prompt is always computed.
Unused pages are evicted in the order of their last use, the deepest of a request first. Nothing
expires by age.

Simplifications: requests of several sessions are sequential, so no page is held by two at once and
none is stored twice. A prompt larger than the whole cache keeps its first pages, where vLLM would
not admit it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from compactlab.sim.cache.policy import Cache, CachePolicy
from compactlab.sim.cache.prefixes import LongestPrefix, Prefixes


@dataclass(frozen=True)
class Paged(CachePolicy):
    """A model on your own servers: any common prefix, in pages, until they are evicted.

    Parameters
    ----------
    capacity
        Cached tokens of all sessions together. The default is an assumption: beside the weights of
        a 70B model (140 GB), eight GPUs of 80 GB filled to nine tenths have room for 1.3 million
        tokens of 320 KiB; some of that is in use.
    page
        Tokens of a page; 16 is vLLM's default.
    """

    capacity: int = 1_000_000
    page: int = 16

    def __post_init__(self) -> None:
        if self.page < 1:
            raise ValueError(f"page is at least 1 token, not {self.page}")
        if self.capacity < 0:
            raise ValueError("capacity is not negative")

    def open(self) -> Cache:
        """Return an empty cache."""
        held = Prefixes(capacity=self.capacity // self.page, page=self.page)
        return LongestPrefix(held, grid=self.page, minimum=0, gone="eviction")

    def lifetime(self, ttl: str = "") -> float:
        """Return infinity: nothing expires."""
        return math.inf

    def shortened(self, share: float) -> Paged:
        """Return the same rules with the capacity multiplied by a share."""
        return replace(self, capacity=int(self.capacity * share))
