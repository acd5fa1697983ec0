"""Rates: dollars per token by billing class, and the cost of requests on self-hosted servers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import NamedTuple

from compactlab.sim.core.message import Usage

MILLION = 1_000_000
HOUR = 3600.0


class Bill(NamedTuple):
    """Dollars of a request by class: plain input, reads, writes (with storage), output."""

    input: float
    read: float
    write: float
    output: float


@dataclass(frozen=True, slots=True)
class Rates:
    """Dollars per token, by billing class; storage per token and second."""

    uncached: float
    cache_read: float
    cache_write_5m: float
    cache_write_1h: float
    output: float
    storage: float = 0.0

    def cost(self, usage: Usage) -> float:
        """Return the dollars of a request.

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
        """Return the dollars by class; their sum is :meth:`cost`, except for rounding.

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
    """Rates by prompt size, given by hand for a model that no price list has, until a day."""

    # Descending sizes, with the rates of requests whose whole prompt has more tokens. The last size
    # is 0; its rates apply to an empty prompt, too.
    steps: tuple[tuple[int, Rates], ...]
    search: float | None = None  # dollars of a web search
    source: str = ""
    asof: str = ""  # the day on which the source was read
    until: float = math.inf  # in seconds since 1970
    then: Tiers | None = None  # those after that

    def rates(self, time: float, prompt: int) -> Rates:
        """Return the rates of a request with this many prompt tokens.

        Examples
        --------
        >>> small, large = Rates(1, 1, 1, 1, 1), Rates(2, 2, 2, 2, 2)
        >>> tiers = Tiers(((200_000, large), (0, small)))
        >>> [tiers.rates(0, prompt).uncached for prompt in (0, 200_000, 200_001)]
        [1, 1, 2]
        >>> promotion = Tiers(((0, small),), until=9, then=tiers)
        >>> [promotion.rates(time, 300_000).uncached for time in (8, 9)]
        [1, 2]
        """
        if self.then is not None and time >= self.until:
            return self.then.rates(time, prompt)
        return step_of(self.steps, prompt)

    def sizes(self, time: float) -> list[int]:
        """Return the prompt sizes above which other rates apply; 0 for those of small requests."""
        if self.then is not None and time >= self.until:
            return self.then.sizes(time)
        return sorted(start for start, _ in self.steps)


def step_of(steps: Sequence[tuple[int, Rates]], prompt: int) -> Rates:
    """Return the rates for a prompt, from rates by size in descending order."""
    for start, rates in steps:
        if prompt > start:
            return rates
    return steps[-1][1]


@dataclass(frozen=True)
class StorageRate:
    """The price of holding a cache, if it is paid by time."""

    price: float  # dollars per million tokens and hour
    until: float  # end of validity in seconds since 1970; infinite if none is known

    @property
    def rate(self) -> float:
        """The dollars per token and second."""
        return self.price / MILLION / HOUR


# The cost of a request on self-hosted servers: the time that it occupies them.
#
# Prefill is compute-bound. A prompt token takes two operations per parameter of the model. In each
# layer it takes four more per unit of width and per token that it attends to. So T new tokens after
# C cached ones take
#
#     2 N T + 4 L d (C T + T^2 / 2)
#
# operations (own derivation, 2026-11; N parameters, L layers of width d). Cached tokens cost
# nothing themselves, but new tokens attend to them. So a bill grows faster than its tokens, and no
# price per token expresses it. The two terms are equal if a token attends to N / (2 L d) tokens.
#
# Decoding is memory-bound. A step of all concurrent streams reads the weights once for all of them,
# and the whole context of each stream.


@dataclass(frozen=True, slots=True)
class Prefill:
    """A model on its servers, with the price of their time.

    It can be used in place of token rates: :meth:`cost` takes a usage and returns dollars.

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
    width: int  # hidden size
    kv_heads: int  # key-value heads per layer
    head: int  # size of a head
    gpus: int  # total number
    flops: float  # operations per second of a GPU
    bandwidth: float  # bytes per second that a GPU reads from its memory
    dollars: float  # per GPU and hour
    bytes: int = 2  # per number, in the weights and in the cache
    utilisation: float = 0.5  # share of the peak; 0.4 to 0.6 is usual in prefill
    streams: int = 16  # concurrent requests, which share the reading of the weights

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            if value < 0 or (value == 0 and name != "dollars"):
                raise ValueError(f"{name} is above 0, not {value}")

    @property
    def kv_bytes(self) -> int:
        """Bytes per cached token: a key and a value in every layer."""
        return 2 * self.layers * self.kv_heads * self.head * self.bytes

    @property
    def even(self) -> float:
        """Number of attended tokens at which attention costs as much as the rest."""
        return self.parameters / (2 * self.layers * self.width)

    def operations(self, new: int, cached: int = 0) -> float:
        """Return the operations for new tokens after cached ones."""
        attention = 4 * self.layers * self.width * (cached * new + new * new / 2)
        return 2 * self.parameters * new + attention

    def prefill_seconds(self, new: int, cached: int = 0) -> float:
        """Return the prefill time of new tokens after cached ones, without a queue."""
        return self.operations(new, cached) / (self.gpus * self.flops * self.utilisation)

    def decode_seconds(self, output: int, prompt: int) -> float:
        """Return the server seconds for output: its share of the weights, and its own context.

        Each token attends to the prompt and, on average, to half of the output.
        """
        weights = self.parameters * self.bytes / self.streams
        context = self.kv_bytes * (prompt + output / 2)
        return output * (weights + context) / (self.gpus * self.bandwidth * self.utilisation)

    def seconds(self, usage: Usage) -> float:
        """Return the seconds that a request occupies the servers."""
        new = usage.prompt - usage.cache_read
        prefill = self.prefill_seconds(new, usage.cache_read)
        return prefill + self.decode_seconds(usage.output, usage.prompt)

    def cost(self, usage: Usage) -> float:
        """Return the dollars of a request."""
        return self._dollars(self.seconds(usage))

    def bill(self, usage: Usage) -> Bill:
        """Return the dollars by class: prefill is split among new tokens; reads are free.

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
        """Return the rates of a request, like a price sheet: always this object."""
        return self


# GPUs: NVIDIA's data sheet of the H100 SXM, 989e12 operations per second in bfloat16 without
# sparsity, 3.35e12 bytes per second, 80 GB. Models: the shapes of Llama 3 8B and 70B. For them the
# project's notes on prompt caching of 2026-11 give 128 and 320 KiB per token, equal attention and
# other costs at about 30 and 53 thousand tokens, and 25 to 35 and 20 to 30 thousand tokens per
# second. Dollars per hour, utilisation and streams are assumptions: set your own.
_on_h100 = partial(Prefill, flops=989e12, bandwidth=3.35e12, dollars=3.0)
PRESETS = {
    "8b": _on_h100(8e9, layers=32, width=4096, kv_heads=8, head=128, gpus=1),
    "70b": _on_h100(70e9, layers=80, width=8192, kv_heads=8, head=128, gpus=8),
}


# The order of the classes of cache-miss tokens in a prompt: longer lifetimes come first
# (Anthropic's page on prompt caching, copy of 2026-08-21), and nothing after the last mark is
# written.
_LAYOUT = ("cache_write_1h", "cache_write_5m", "uncached")


def read_instead(usage: Usage, spans: Sequence[tuple[int, int]]) -> Usage:
    """Return a usage in which some ranges are cache reads."""
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
