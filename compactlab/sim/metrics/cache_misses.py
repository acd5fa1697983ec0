"""Cache-miss tokens by cause."""

from __future__ import annotations

from compactlab.sim.cache.causes import CAUSES, ORDINARY
from compactlab.sim.metrics.metric import OVER_REQUESTS, Member, metric
from compactlab.sim.metrics.run_data import RunData

ABOUT = (
    "Each cache-miss token has one cause; the end of this page lists them. Side calls are "
    "included. The sum over all causes is `tokens_uncached` plus `tokens_cache_write`."
)
_CAUSES = [
    Member(f"cache_miss_{cause}", cause, meaning, "neither" if cause in ORDINARY else "lower")
    for cause, meaning in CAUSES.items()
]


@metric("tokens", "lower", OVER_REQUESTS, members=_CAUSES)
def _cache_misses(data: RunData, cause: str) -> int:
    """Cache misses: {}."""
    return data.causes[cause]
