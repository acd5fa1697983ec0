"""The contract of a cache policy: a provider's rules for storing and finding prefixes."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import NamedTuple, Self

import msgspec

from compactlab.sim.cache.prompt import Prompt
from compactlab.sim.core.spec import spec_of


class Settings(NamedTuple):
    """The settings of a request other than its text, by the level that they affect.

    A prompt is tools, then system, then messages. A stored level is only found under the settings
    of that level and of those before it. The table is in Anthropic's page on prompt caching (copy
    of 2026-08-21).

    Parameters
    ----------
    tools
        Settings that affect everything: the set of tools and its format.
    system
        Settings that do not affect tools: the client's version, search, citations, speed.
    messages
        Settings that affect messages only: tool choice, thinking mode and budget, effort.
    """

    tools: str = ""
    system: str = ""
    messages: str = ""


PLAIN = Settings()
"""The settings of a client that never changes them."""


class Request(msgspec.Struct, frozen=True):
    """A request for a cache.

    Parameters
    ----------
    prompt
        The prompt; it is not changed.
    at
        The start of the request, in seconds. Never earlier than the previous request.
    ttl
        The lifetime that the client requests, ``5m`` or ``1h``; "" for the policy's own.
    settings
        The settings other than its text.
    latency
        Seconds until its answer begins: its writes cannot be read before that.
    lost
        Whether the request misses all entries, because it was routed elsewhere.
    mark
        Number of leading messages before an own mark of the client, in addition to those of the
        policy; 0 for none. Ignored by providers without marks.
    marked
        Whether the client marks anything at all. Ignored by providers without marks.
    """

    prompt: Prompt
    at: float
    ttl: str = ""
    settings: Settings = PLAIN
    latency: float = 0.0
    lost: bool = False
    mark: int = 0
    marked: bool = True


class Lookup(msgspec.Struct, frozen=True):
    """The result of a cache for one request.

    Parameters
    ----------
    read
        Tokens read: the longest stored prefix that was found.
    write_5m, write_1h
        Tokens written, by lifetime of the entry; 0 where writing is free.
    missed
        Pairs of a cause and a token count, ascending: without the cause, the prompt would have been
        read up to that count.
    storage
        Token-seconds of a cache that is paid by time, charged to this request.
    """

    read: int = 0
    write_5m: int = 0
    write_1h: int = 0
    missed: tuple[tuple[str, int], ...] = ()
    storage: int = 0


class Cache(ABC):
    """The cache of one model, for one session or several that share it."""

    @abstractmethod
    def request(self, request: Request) -> Lookup:
        """Look up a request and store its prompt."""


class CachePolicy(ABC):
    """The rules of a provider's cache. Subclasses are frozen dataclasses, named by their spec.

    Impossible values raise a ValueError.
    """

    @property
    def spec(self) -> str:
        """The policy's name with its parameters."""
        return spec_of(self)

    @property
    def loss(self) -> float:
        """Share of requests that find nothing, because they are routed elsewhere."""
        return 0.0

    @abstractmethod
    def open(self) -> Cache:
        """Return an empty cache."""

    @abstractmethod
    def lifetime(self, ttl: str = "") -> float:
        """Return the seconds that an unread entry lives: infinite without expiry, 0 for NoCache."""

    @abstractmethod
    def shortened(self, share: float) -> Self:
        """Return the same rules with lifetimes (or, without them, capacities) times a share."""


class Expiring(CachePolicy):
    """A policy whose entries expire after ``idle`` seconds (its field) without a touch."""

    idle: float

    def lifetime(self, ttl: str = "") -> float:
        return self.idle

    def shortened(self, share: float) -> Self:
        return replace(self, idle=self.idle * share)  # type: ignore[type-var]


@dataclass(slots=True)
class Stored:
    """A stored prefix: time of the last touch, and time from which it can be read."""

    touched: float
    visible: float


@dataclass(frozen=True)
class NoCache(CachePolicy):
    """No cache: nothing is stored."""

    def open(self) -> Cache:
        return _Nothing()

    def lifetime(self, ttl: str = "") -> float:
        return 0.0

    def shortened(self, share: float) -> NoCache:
        return self


class _Nothing(Cache):
    def request(self, request: Request) -> Lookup:
        return Lookup(missed=(("no_cache", request.prompt.sent),))


_UPTO = itemgetter(1)


def ascending(read: int, *causes: tuple[str, int]) -> tuple[tuple[str, int], ...]:
    """Return the causes that reach beyond the read tokens and beyond each other, ascending.

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
