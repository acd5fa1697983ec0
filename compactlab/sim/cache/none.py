"""No cache at all: every token of every prompt is paid for."""

from __future__ import annotations

from dataclasses import dataclass

from compactlab.sim.cache.policy import Cache, CachePolicy, Lookup, Request


@dataclass(frozen=True)
class NoCache(CachePolicy):
    """Nothing is stored; what was sent before is fresh again, by the cause ``no_cache``."""

    def open(self) -> Cache:
        """Start an empty cache, which stays empty."""
        return _Nothing()

    def lifetime(self, ttl: str = "") -> float:
        """Nothing lives."""
        return 0.0

    def shortened(self, share: float) -> NoCache:
        """Nothing lives shorter."""
        return self


class _Nothing(Cache):
    def request(self, request: Request) -> Lookup:
        return Lookup(missed=(("no_cache", request.prompt.sent),))
