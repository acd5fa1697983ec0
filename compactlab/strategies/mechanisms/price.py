"""The current price of a request, from its cached, uncached and output tokens."""

from __future__ import annotations

from collections.abc import Callable

from compactlab.sim.core.message import Usage
from compactlab.sim.models.pricing import prices_of
from compactlab.sim.replay.host import Host

Price = Callable[[int, int, int], float]
"""Dollars for a request, by its tokens: read, missed, answered."""


def price_of(host: Host) -> Price:
    """Return the price of requests now; uncached tokens are billed as in the last request.

    A client writes entries for an hour or for five minutes, or a provider charges nothing for
    writes; the last usage shows which.
    """
    last = host.reported or Usage()
    kinds = ("cache_write_1h", "cache_write_5m", "uncached")
    kind = next((kind for kind in kinds if getattr(last, kind)), "uncached")

    def price(read: int, missed: int, output: int) -> float:
        usage = Usage(cache_read=read, output=output, **{kind: missed})
        return prices_of(host.model).rates(host.now, usage.prompt).cost(usage)

    return price
