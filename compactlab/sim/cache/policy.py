"""The contract of a cache policy: by which rules a provider stores and finds prefixes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import NamedTuple, Self

import msgspec

from compactlab.sim.cache.prompt import Prompt
from compactlab.sim.core.spec import spec_of


class Settings(NamedTuple):
    """What a request is made of beside its text, by the level from which a change is felt.

    A prompt is tools, then system, then messages, and what was stored of a level is found again
    only under the settings of that level and of those before it. Anthropic's page on prompt
    caching (copy of 2026-08-21) has the table of what belongs where.

    Parameters
    ----------
    tools
        What everything hangs on: the set of tools and how it is written.
    system
        What leaves the tools alone: the client's version, search, citations, speed.
    messages
        What leaves the system alone: tool choice, thinking mode and budget, effort.
    """

    tools: str = ""
    system: str = ""
    messages: str = ""


PLAIN = Settings()
"""Those of a client that changes nothing."""


class Request(msgspec.Struct, frozen=True):
    """A request, as a cache sees it.

    Parameters
    ----------
    prompt
        The prompt; it is not changed.
    at
        When the request starts, in seconds. Never earlier than the request before.
    ttl
        The lifetime that the client asks for, ``5m`` or ``1h``; "" for the policy's own.
    settings
        What it is made of beside its text.
    latency
        Seconds until its answer begins: before that nobody can read what it writes.
    lost
        Whether the provider does not find what it holds, because the request went elsewhere.
    mark
        So many leading messages end at a mark of the client's own, beside those of the policy; 0
        for none. Where a provider has no marks it says nothing.
    """

    prompt: Prompt
    at: float
    ttl: str = ""
    settings: Settings = PLAIN
    latency: float = 0.0
    lost: bool = False
    mark: int = 0


class Lookup(msgspec.Struct, frozen=True):
    """What a cache did for one request.

    Parameters
    ----------
    read
        Tokens read: those of the longest stored prefix that was found.
    write_5m, write_1h
        Tokens written, by lifetime of the entry; 0 where writing is free.
    missed
        Pairs of a cause and a token count, ascending: up to there the prompt would have been read
        but for that cause.
    storage
        Token-seconds for which a cache that is paid by time was held for this request.
    """

    read: int = 0
    write_5m: int = 0
    write_1h: int = 0
    missed: tuple[tuple[str, int], ...] = ()
    storage: int = 0


class Cache(ABC):
    """What one model's cache holds: of one session, or of several that share it."""

    @abstractmethod
    def request(self, request: Request) -> Lookup:
        """Answer a request and store what its prompt leaves."""


class CachePolicy(ABC):
    """The rules of a provider's cache. Subclasses are frozen dataclasses, named by their spec.

    One whose figures are impossible is refused with a ValueError.
    """

    @property
    def spec(self) -> str:
        """The policy's name with its figures."""
        return spec_of(self)

    @property
    def loss(self) -> float:
        """Share of requests that find nothing, because they are routed elsewhere."""
        return 0.0

    @abstractmethod
    def open(self) -> Cache:
        """Start an empty cache."""

    @abstractmethod
    def lifetime(self, ttl: str = "") -> float:
        """Seconds that an entry lives unread; infinite where none expires, 0 where none is."""

    @abstractmethod
    def shortened(self, share: float) -> Self:
        """The same rules with lifetimes (or where there are none, capacities) of such a share."""


class Expiring(CachePolicy):
    """A policy under which what nobody has touched for ``idle`` seconds, its field, is gone."""

    idle: float

    def lifetime(self, ttl: str = "") -> float:
        """Seconds that an entry lives unread."""
        return self.idle

    def shortened(self, share: float) -> Self:
        """The same rules with a lifetime of such a share."""
        return replace(self, idle=self.idle * share)  # type: ignore[type-var]


@dataclass(slots=True)
class Stored:
    """A stored prefix: when it was last touched, and from when it can be read."""

    touched: float
    visible: float


@dataclass(frozen=True)
class NoCache(CachePolicy):
    """Nothing is stored; what was sent before misses the cache, by the cause ``no_cache``."""

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


_UPTO = itemgetter(1)


def ascending(read: int, *causes: tuple[str, int]) -> tuple[tuple[str, int], ...]:
    """Those causes that reach beyond what was read, and beyond one another.

    Examples
    --------
    >>> ascending(10, ("grid", 40), ("ttl_expired", 30), ("eviction", 10), ("ttl_expired", 20))
    (('ttl_expired', 30), ('grid', 40))
    """
    missed: list[tuple[str, int]] = []
    for cause, upto in sorted(causes, key=_UPTO):
        if upto > read:
            if missed and missed[-1][0] == cause:
                missed.pop()
            missed.append((cause, upto))
            read = upto
    return tuple(missed)
