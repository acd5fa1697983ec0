"""Fresh tokens by cause: why anything had to be sent that was not read from the cache.

Each fresh token has one cause, as they are listed at the end of this page; those of side calls are
among them. Together they are ``tokens_uncached`` plus ``tokens_cache_write``.
"""

from __future__ import annotations

from collections.abc import Callable

from compactlab.sim.causes import CAUSES
from compactlab.sim.metrics.metric import OVER_REQUESTS, OWN, Better, Metric
from compactlab.sim.metrics.price import ORDINARY
from compactlab.sim.metrics.reading import Reading


def _of_cause(cause: str) -> Callable[[Reading], int]:
    def fresh(reading: Reading) -> int:
        return reading.causes[cause]

    fresh.__name__ = f"fresh_{cause}"
    fresh.__doc__ = f"Fresh: {CAUSES[cause]}."
    return fresh


def _better(cause: str) -> Better:
    return "neither" if cause in ORDINARY else "lower"


METRICS = tuple(
    Metric("tokens", _better(cause), f"fresh: {meaning}", OVER_REQUESTS, OWN, _of_cause(cause))
    for cause, meaning in CAUSES.items()
)
