"""Rates: dollars per token, by billing class; and prices that somebody wrote down by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from compactlab.sim.message import Usage

MILLION = 1_000_000
HOUR = 3600.0


class Bill(NamedTuple):
    """Dollars of a request by class: plain input, reads, writes with storage, and the answer."""

    input: float
    read: float
    write: float
    output: float


@dataclass(frozen=True, slots=True)
class Rates:
    """Dollars per token, by billing class; of storage, per token and second."""

    uncached: float
    cache_read: float
    cache_write_5m: float
    cache_write_1h: float
    output: float
    storage: float = 0.0

    def cost(self, usage: Usage) -> float:
        """Dollars for a request.

        Examples
        --------
        >>> Rates(2.0, 0.2, 2.5, 4.0, 10.0).cost(Usage(uncached=1, cache_read=10, output=1))
        14.0
        """
        return (
            usage.uncached * self.uncached
            + usage.cache_read * self.cache_read
            + usage.cache_write_5m * self.cache_write_5m
            + usage.cache_write_1h * self.cache_write_1h
            + usage.output * self.output
            + usage.storage * self.storage
        )

    def bill(self, usage: Usage) -> Bill:
        """The same by class: together, but for rounding, what :meth:`cost` says.

        Examples
        --------
        >>> Rates(2.0, 0.2, 2.5, 4.0, 10.0).bill(Usage(uncached=1, cache_read=10, output=1))
        Bill(input=2.0, read=2.0, write=0.0, output=10.0)
        """
        return Bill(
            usage.uncached * self.uncached,
            usage.cache_read * self.cache_read,
            usage.cache_write_5m * self.cache_write_5m
            + usage.cache_write_1h * self.cache_write_1h
            + usage.storage * self.storage,
            usage.output * self.output,
        )

    def times(self, factor: float) -> Rates:
        """All of them so many times as high.

        Examples
        --------
        >>> Rates(2.0, 0.5, 2.5, 4.0, 10.0).times(0.5)
        Rates(uncached=1.0, cache_read=0.25, cache_write_5m=1.25, cache_write_1h=2.0, output=5.0, \
storage=0.0)
        """
        return Rates(
            self.uncached * factor,
            self.cache_read * factor,
            self.cache_write_5m * factor,
            self.cache_write_1h * factor,
            self.output * factor,
            self.storage * factor,
        )


@dataclass(frozen=True)
class Tiers:
    """Rates by the size of the request, written by hand for a model that no price list has.

    Parameters
    ----------
    steps
        Pairs of a size and the rates of requests whose whole prompt has more tokens than that,
        descending; the last size is 0, whose rates hold for an empty prompt as well.
    """

    steps: tuple[tuple[int, Rates], ...]

    def rates(self, time: float, prompt: int) -> Rates:
        """The rates of a request, at whatever time, with so many tokens of prompt in all.

        Examples
        --------
        >>> small, large = Rates(1, 1, 1, 1, 1), Rates(2, 2, 2, 2, 2)
        >>> tiers = Tiers(((200_000, large), (0, small)))
        >>> [tiers.rates(0, prompt).uncached for prompt in (0, 200_000, 200_001)]
        [1, 1, 2]
        """
        return step_of(self.steps, prompt)

    def sizes(self, time: float) -> list[int]:
        """Tokens of prompt above which other rates hold; 0 for those of small requests."""
        return sorted(start for start, _ in self.steps)


def step_of(steps: Sequence[tuple[int, Rates]], prompt: int) -> Rates:
    """Of rates by size, largest size first, those that hold for a prompt."""
    for start, rates in steps:
        if prompt > start:
            return rates
    return steps[-1][1]


@dataclass(frozen=True)
class StorageRate:
    """What keeping a cache costs, where that is paid by time.

    Parameters
    ----------
    price
        Dollars per million tokens and hour.
    until
        The second since 1970 at which it ends; infinite where no end is known.
    """

    price: float
    until: float

    @property
    def rate(self) -> float:
        """Dollars per token and second."""
        return self.price / MILLION / HOUR
