"""A simulated proxy for the time to the first token: the part that depends on the cache."""

from __future__ import annotations

import math

from compactlab.sim.metrics.metric import metric
from compactlab.sim.metrics.run_data import RunData
from compactlab.sim.models.rates import PRESETS

ABOUT = (
    "Cache-miss tokens must be computed, with attention to all tokens before them; tokens read "
    "from the cache need not. The seconds come from `compactlab.sim.models.rates` for a model of "
    "70 billion parameters on eight H100, for every model of a run; that module has the figures "
    "and their sources. Networks, queues and loading a stored prefix are unknown and left out. So "
    "the figures compare strategies; they do not predict seconds."
)

_SERVERS = PRESETS["70b"]
_PREFILL = "operations of a transformer of 70 billion parameters, compactlab.sim.models.rates"


@metric("seconds", "lower", "median over calls", _PREFILL, aggregation="median")
def ttft_proxy_p50(data: RunData) -> float | None:
    """Median seconds of prefill: a proxy for the time to the first token.

    Simulated: (2 N T + 4 L d (C T + T²/2)) operations for T new tokens after C read ones, at half
    of the peak rate of eight H100, with N = 70 billion, L = 80, d = 8192. For read tokens, only the
    attention of new tokens to them counts. Side calls that a user waits for are not included.
    """
    return _percentile(data, 0.50)


@metric("seconds", "lower", "95th percentile over calls", _PREFILL, aggregation="median")
def ttft_proxy_p95(data: RunData) -> float | None:
    """95th percentile of the seconds of prefill: a proxy for the time to the first token."""
    return _percentile(data, 0.95)


def _percentile(data: RunData, share: float) -> float | None:
    """The smallest figure that the given share does not exceed."""
    reads = (step.usage.cache_read for step in data.trace.steps)
    seconds = sorted(map(_SERVERS.prefill_seconds, data.cache_misses, reads))
    return seconds[math.ceil(share * len(seconds)) - 1] if seconds else None
