"""What a request of a trace costs, and what it would have cost had its tokens been others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

from compactlab.sim.causes import CAUSES
from compactlab.sim.message import Usage
from compactlab.sim.model import Model
from compactlab.sim.pricing import Charge
from compactlab.sim.trace import SideCall, Step

Billed = Step | SideCall


class Prices(Protocol):
    """Who knows what requests cost."""

    def rates(self, call: Billed) -> Charge:
        """The prices of a request, at its date and size."""

    def model(self, name: str) -> Model:
        """A model that a call names."""

    def stores(self, call: Billed) -> bool:
        """Whether anything of a request can be read, or could have been."""


# Causes of what had to be sent for the first time: nobody could have read it.
ORDINARY = frozenset({"cold_start", "append"})
# Causes that lie in what a strategy made of the prompt.
EDITS = frozenset({"compaction", "history_edit", "system_changed"})
AVOIDABLE = frozenset(CAUSES) - ORDINARY

# In this order the classes of fresh tokens stand in a prompt: what lives longer comes first
# (Anthropic's page on prompt caching, copy of 2026-08-21), and behind the last mark nothing is
# written.
_LAYOUT = ("cache_write_1h", "cache_write_5m", "uncached")


def above_reading(prices: Prices, call: Billed, causes: Collection[str] = AVOIDABLE) -> float:
    """What the fresh tokens of some causes cost more than reading them would have.

    Parameters
    ----------
    prices
        What requests cost.
    call
        A request. Its causes stand in the order of its prompt.
    causes
        Which; by default all of what had been sent before, and of what only a strategy asked for.

    Returns
    -------
    float
        Dollars; 0 where nothing can be read.
    """
    if call.causes.keys().isdisjoint(causes) or not prices.stores(call):
        return 0.0
    spans, edge = [], 0
    for cause, tokens in call.causes.items():
        if cause in causes:
            spans.append((edge, edge + tokens))
        edge += tokens
    rates = prices.rates(call)
    return rates.cost(call.usage) - rates.cost(read_instead(call.usage, spans))


def read_instead(usage: Usage, spans: Sequence[tuple[int, int]]) -> Usage:
    """A usage of which some stretches had been read.

    Parameters
    ----------
    usage
        The usage of a request.
    spans
        First and last (not included) of the fresh tokens of each stretch, counted from where the
        request stopped reading.

    Examples
    --------
    >>> read_instead(Usage(uncached=5, cache_write_5m=20), [(10, 22)])
    Usage(uncached=3, cache_read=12, cache_write_5m=10, cache_write_1h=0, output=0, storage=0)
    """
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


def above_input(prices: Prices, call: Billed, unread: int) -> float:
    """What writing the last so many of its written tokens cost more than only sending them."""
    if not unread:
        return 0.0
    usage = call.usage
    short = min(unread, usage.cache_write_5m)
    plain = msgspec.structs.replace(
        usage,
        cache_write_5m=usage.cache_write_5m - short,
        cache_write_1h=usage.cache_write_1h - (unread - short),
        uncached=usage.uncached + unread,
    )
    rates = prices.rates(call)
    return rates.cost(usage) - rates.cost(plain)


def if_larger(prices: Prices, call: Billed, tokens: int) -> float:
    """What a request would have cost more with so many more tokens to read.

    Where nothing is stored they would have been sent as all the others.
    """
    usage, rates = call.usage, prices.rates(call)
    name = "cache_read" if prices.stores(call) else "uncached"
    larger = msgspec.structs.replace(usage, **{name: getattr(usage, name) + tokens})
    return rates.cost(larger) - rates.cost(usage)
