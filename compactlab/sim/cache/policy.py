"""The contract of a cache policy: by which rules a provider stores and finds prefixes."""

from __future__ import annotations

from abc import ABC, abstractmethod

import msgspec

from compactlab.sim.prompt import Prompt
from compactlab.sim.spec import spec_of


class Lookup(msgspec.Struct, frozen=True):
    """What a cache did for one request.

    Parameters
    ----------
    read
        Tokens read: those of the longest stored prefix that was found.
    write_5m, write_1h
        Tokens written, by lifetime of the entry.
    missed
        Pairs of a cause and a token count, ascending: up to there the prompt would have been read
        but for that cause.
    """

    read: int = 0
    write_5m: int = 0
    write_1h: int = 0
    missed: tuple[tuple[str, int], ...] = ()


class Cache(ABC):
    """What one model's cache holds for one session."""

    @abstractmethod
    def request(self, prompt: Prompt, at: float, ttl: str = "") -> Lookup:
        """Answer a request and store what its prompt leaves.

        Parameters
        ----------
        prompt
            The prompt; it is not changed.
        at
            When the request starts, in seconds. Never earlier than the request before.
        ttl
            The lifetime that the client asks for, ``5m`` or ``1h``; "" for the policy's own.
        """


class CachePolicy(ABC):
    """The rules of a provider's cache. Subclasses are frozen dataclasses, named by their spec."""

    @property
    def spec(self) -> str:
        """The policy's name with its figures."""
        return spec_of(self)

    @abstractmethod
    def open(self) -> Cache:
        """Start an empty cache."""

    @abstractmethod
    def lifetime(self, ttl: str = "") -> float:
        """Seconds that an entry lives unread; infinite where none expires, 0 where none is."""
