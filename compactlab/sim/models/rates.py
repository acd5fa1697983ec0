"""Rates: dollars per token by billing class, and what requests cost on one's own servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import NamedTuple

from compactlab.sim.core.message import Usage

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
        """All of them so many times as high."""
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
    """Rates by the size of the request, written by hand for a model that no price list has."""

    # A size and the rates of requests whose whole prompt has more tokens, descending; the last size
    # is 0, whose rates hold for an empty prompt as well.
    steps: tuple[tuple[int, Rates], ...]
    search: float | None = None  # dollars of a web search

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
    """What keeping a cache costs, where that is paid by time."""

    price: float  # dollars per million tokens and hour
    until: float  # the second since 1970 at which it ends; infinite where no end is known

    @property
    def rate(self) -> float:
        """Dollars per token and second."""
        return self.price / MILLION / HOUR


# What a request costs on one's own servers: the time for which it takes them up.
#
# Prefill computes. A token of a prompt takes two operations for each parameter of the model, and
# in each layer four for each unit of width and each token that it looks back on. So T new
# tokens behind C that the cache holds take
#
#     2 N T + 4 L d (C T + T^2 / 2)
#
# operations (own derivation, 2026-11; N parameters, L layers of width d). Tokens that are read
# cost nothing themselves, but what is new has to look back on them; so a bill grows faster than
# its tokens, and no price per token says it. The two terms are equal where a token looks back on
# N / (2 L d).
#
# Decoding reads memory. A step of all streams that run at once reads the weights once, for all of
# them together, and of each stream all it looks back on.


@dataclass(frozen=True, slots=True)
class Prefill:
    """A model on its servers, and what their time costs.

    It stands where rates by the token stand: :meth:`cost` takes a usage and gives dollars.

    Examples
    --------
    >>> small = PRESETS["8b"]
    >>> round(1 / small.prefill_seconds(1))  # tokens a second, where none is looked back on
    30906
    >>> small.kv_bytes // 1024
    128
    >>> usage = Usage(uncached=1000, cache_read=100_000, output=500)
    >>> round(small.cost(usage), 4), round(small.cost(Usage(uncached=101_000, output=500)), 4)
    (0.0037, 0.0108)
    """

    parameters: float
    layers: int
    width: int  # size of what is handed from one layer to the next
    kv_heads: int  # in each layer
    head: int  # its size
    gpus: int  # together
    flops: float  # operations per second of a GPU
    bandwidth: float  # bytes per second that a GPU reads from its memory
    dollars: float  # for one GPU, an hour
    bytes: int = 2  # of a number, in the weights and in the cache
    utilisation: float = 0.5  # share that is reached; 0.4 to 0.6 is usual in prefill
    streams: int = 16  # requests that are decoded at once and share the reading of the weights

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            if value < 0 or (value == 0 and name != "dollars"):
                raise ValueError(f"{name} is above 0, not {value}")

    @property
    def kv_bytes(self) -> int:
        """Bytes that the cache holds of a token: a key and a value in every layer."""
        return 2 * self.layers * self.kv_heads * self.head * self.bytes

    @property
    def even(self) -> float:
        """Tokens to look back on at which attention takes as many operations as all the rest."""
        return self.parameters / (2 * self.layers * self.width)

    def operations(self, new: int, cached: int = 0) -> float:
        """Operations to take in new tokens behind cached ones."""
        attention = 4 * self.layers * self.width * (cached * new + new * new / 2)
        return 2 * self.parameters * new + attention

    def prefill_seconds(self, new: int, cached: int = 0) -> float:
        """Seconds until new tokens behind cached ones are taken in, with no queue before them."""
        return self.operations(new, cached) / (self.gpus * self.flops * self.utilisation)

    def decode_seconds(self, output: int, prompt: int) -> float:
        """Seconds of the servers that writing takes: its part of the weights, and its own context.

        Each token looks back on the prompt and on half of what is written, on average.
        """
        weights = self.parameters * self.bytes / self.streams
        context = self.kv_bytes * (prompt + output / 2)
        return output * (weights + context) / (self.gpus * self.bandwidth * self.utilisation)

    def seconds(self, usage: Usage) -> float:
        """Seconds for which a request takes up the servers."""
        new = usage.prompt - usage.cache_read
        prefill = self.prefill_seconds(new, usage.cache_read)
        return prefill + self.decode_seconds(usage.output, usage.prompt)

    def cost(self, usage: Usage) -> float:
        """Dollars for a request."""
        return self._dollars(self.seconds(usage))

    def bill(self, usage: Usage) -> Bill:
        """The same by class: prefill is shared out among new tokens, and reading costs nothing.

        Examples
        --------
        >>> PRESETS["8b"].bill(Usage(uncached=1000, cache_read=100_000)).read
        0.0
        """
        new = usage.prompt - usage.cache_read
        prefill = self._dollars(self.prefill_seconds(new, usage.cache_read))
        written = prefill * usage.cache_write / new if new else 0.0
        output = self._dollars(self.decode_seconds(usage.output, usage.prompt))
        return Bill(prefill - written, 0.0, written, output)

    def _dollars(self, seconds: float) -> float:
        return seconds * self.gpus * self.dollars / 3600

    def rates(self, time: float, prompt: int) -> Prefill:
        """What holds for a request, as a price sheet would say: always the same."""
        return self


# GPUs: NVIDIA's data sheet of the H100 SXM, 989e12 operations a second in bfloat16 without
# sparsity, 3.35e12 bytes a second, 80 GB. Models: the shapes of Llama 3 8B and 70B, of which the
# project's notes on prompt caching of 2026-11 say 128 and 320 KiB a token, attention even with the
# rest at about 30 and 53 thousand tokens, and 25 to 35 and 20 to 30 thousand tokens a second.
# Dollars for an hour, utilisation, and streams at once are assumptions: put in one's own.
_on_h100 = partial(Prefill, flops=989e12, bandwidth=3.35e12, dollars=3.0)
PRESETS = {
    "8b": _on_h100(8e9, layers=32, width=4096, kv_heads=8, head=128, gpus=1),
    "70b": _on_h100(70e9, layers=80, width=8192, kv_heads=8, head=128, gpus=8),
}


# In this order the classes of cache-miss tokens stand in a prompt: what lives longer comes first
# (Anthropic's page on prompt caching, copy of 2026-08-21), and behind the last mark nothing is
# written.
_LAYOUT = ("cache_write_1h", "cache_write_5m", "uncached")


def read_instead(usage: Usage, spans: Sequence[tuple[int, int]]) -> Usage:
    """A usage of which some stretches had been read."""
    left, read, edge = {}, usage.cache_read, 0
    for name in _LAYOUT:
        size = left[name] = getattr(usage, name)
        for start, end in spans if size else ():
            within = min(end, edge + size) - max(start, edge)
            if within > 0:
                read += within
                left[name] -= within
        edge += size
    return Usage(cache_read=read, output=usage.output, storage=usage.storage, **left)
