"""A stand-in for the time to the first token: simulated, and only what depends on the cache.

What is fresh must be computed, looking back on all that stands before it; what is read need not.
The seconds are those of ``compactlab.sim.prefill`` for a model of 70 billion parameters on
eight H100, whatever the model of the run is: its figures and their sources stand there. Networks,
queues and loading a stored prefix are left out, as nothing is known of them; so figures are good
for comparing strategies, and not for promising seconds.
"""

from __future__ import annotations

import math

from compactlab.sim.metrics.metric import Metric
from compactlab.sim.metrics.reading import Reading
from compactlab.sim.prefill import PRESETS

_SERVERS = PRESETS["70b"]


def ttft_proxy_p50(reading: Reading) -> float | None:
    """Seconds of prefill that half of the calls stay within.

    A stand-in for the time to the first token, simulated: (2 N T + 4 L d (C T + T²/2)) operations
    for T fresh tokens behind C read ones, at half of what eight H100 are capable of, with N = 70
    billion, L = 80, d = 8192. What is read costs nothing but to be looked back on. Side calls that
    a user waits for are not in it.
    """
    return _percentile(reading, 0.50)


def ttft_proxy_p95(reading: Reading) -> float | None:
    """Seconds of prefill that 19 of 20 calls stay within."""
    return _percentile(reading, 0.95)


def _percentile(reading: Reading, share: float) -> float | None:
    """The least of the figures that so many do not exceed."""
    reads = (step.usage.cache_read for step in reading.trace.steps)
    seconds = sorted(map(_SERVERS.prefill_seconds, reading.fresh, reads))
    return seconds[math.ceil(share * len(seconds)) - 1] if seconds else None


_PREFILL = "operations of a transformer of 70 billion parameters, compactlab.sim.prefill"

METRICS = (
    Metric("seconds", "lower", "prefill that half of the calls stay within, a proxy",
           "median over calls", _PREFILL, ttft_proxy_p50),
    Metric("seconds", "lower", "prefill that 19 of 20 calls stay within, a proxy",
           "95th percentile over calls", _PREFILL, ttft_proxy_p95),
)  # fmt: skip
