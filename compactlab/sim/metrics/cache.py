"""Cache reads, causes of cache misses, and the time that they take."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import median

from compactlab.sim.cache.causes import CAUSES, ORDINARY
from compactlab.sim.metrics.metric import OVER_CALLS, OVER_REQUESTS, OWN, SIGNED, Better, Metric
from compactlab.sim.metrics.run_data import RunData
from compactlab.sim.models.rates import PRESETS

# Tokens of a prompt that the cache returns, and tokens that rewriting sends again.


def prefix_reuse(data: RunData) -> float | None:
    """Share of all prompt tokens that were read from the cache.

    1 less the sum of cache-miss tokens over the sum of prompt tokens. The upper bound is the value
    of a client that never edits its history and never pauses.
    """
    total = sum(data.prompts)
    return 1 - sum(data.cache_misses) / total if total else None


def tokens_rewritten(data: RunData) -> int:
    """Cache-miss tokens that the previous prompt already held.

    At each call but the first: the tokens of the previous prompt less the tokens read now, at least
    0 and at most the tokens that missed the cache now. Tokens whose stored prefix expired count,
    because they had been paid for before.
    """
    pairs = zip(data.prompts, data.trace.steps[1:], data.cache_misses[1:], strict=False)
    return sum(
        min(max(before - s.usage.cache_read, 0), cache_misses) for before, s, cache_misses in pairs
    )


def spikes(data: RunData) -> list[tuple[int, float]]:
    """For each compaction: cache misses of its call, and the median of the five calls before."""
    return data.spikes


def write_spike(data: RunData) -> float | None:
    """Median of the spikes.

    At each compaction: the cache-miss tokens of its call, less the median of the cache-miss tokens
    of the five calls before (fewer at the start). A spike can be negative: if a strategy cuts at
    every call, the calls before are compactions, too.
    """
    return _median([peak - base for peak, base in spikes(data)])


def write_spike_max(data: RunData) -> float | None:
    """Largest of the spikes."""
    return max((peak - base for peak, base in spikes(data)), default=None)


def write_spike_ratio(data: RunData) -> float | None:
    """Median of the spike ratios.

    The cache-miss tokens divided by that median, instead of less it; left out where the median is
    0.
    """
    return _median([peak / base for peak, base in spikes(data) if base])


def write_spike_ratio_max(data: RunData) -> float | None:
    """Largest of the spike ratios."""
    return max((peak / base for peak, base in spikes(data) if base), default=None)


def _median(values: list[float]) -> float | None:
    return median(values) if values else None


_PAPER = "share of cached prompt tokens, arXiv 2601.06007"
_AUDIT = "rebuilt tokens of claude-cache-audit 0.1, on cache-miss tokens"

REUSE = (
    Metric("share", "higher", "prompt tokens that were read from the cache",
           "one less cache-miss tokens over prompt tokens, each summed over calls",
           _PAPER, prefix_reuse),
    Metric("tokens", "lower", "cache misses that the previous prompt already held", OVER_CALLS,
           _AUDIT, tokens_rewritten),
    Metric("tokens", "lower", "cache misses of a compaction's call above the five calls before",
           "median over compactions", OWN, write_spike, SIGNED),
    Metric("tokens", "lower", "the same, at its worst", "maximum over compactions",
           OWN, write_spike_max, SIGNED),
    Metric("ratio", "lower", "cache misses of a compaction's call over the five calls before",
           "median over compactions whose base is not 0", OWN, write_spike_ratio),
    Metric("ratio", "lower", "the same, at its worst",
           "maximum over compactions whose base is not 0", OWN, write_spike_ratio_max),
)  # fmt: skip


# Cache-miss tokens by cause.

ABOUT_CACHE_MISSES = (
    "Each cache-miss token has one cause; the end of this page lists them. Side calls are "
    "included. The sum over all causes is `tokens_uncached` plus `tokens_cache_write`."
)


def _of_cause(cause: str) -> Callable[[RunData], int]:
    def cache_misses(data: RunData) -> int:
        return data.causes[cause]

    cache_misses.__name__ = f"cache_miss_{cause}"
    cache_misses.__doc__ = f"Cache misses: {CAUSES[cause]}."
    return cache_misses


def _better(cause: str) -> Better:
    return "neither" if cause in ORDINARY else "lower"


CACHE_MISS = tuple(
    Metric(
        "tokens", _better(cause), f"cache misses: {meaning}", OVER_REQUESTS, OWN, _of_cause(cause)
    )
    for cause, meaning in CAUSES.items()
)


# A proxy for the time to the first token: simulated, and only the part that depends on the cache.

ABOUT_LATENCY = (
    "Cache-miss tokens must be computed, with attention to all tokens before them; tokens read "
    "from the cache need not. The seconds come from `compactlab.sim.models.rates` for a model of "
    "70 billion parameters on eight H100, for every model of a run; that module has the figures "
    "and their sources. Networks, queues and loading a stored prefix are unknown and left out. So "
    "the figures compare strategies; they do not predict seconds."
)

_SERVERS = PRESETS["70b"]


def ttft_proxy_p50(data: RunData) -> float | None:
    """Seconds of prefill that half of the calls stay within.

    A proxy for the time to the first token, simulated: (2 N T + 4 L d (C T + T²/2)) operations for
    T new tokens after C read ones, at half of the peak rate of eight H100, with N = 70 billion, L =
    80, d = 8192. Tokens that are read cost only the attention of new tokens to them. Side calls
    that a user waits for are not included.
    """
    return _percentile(data, 0.50)


def ttft_proxy_p95(data: RunData) -> float | None:
    """Seconds of prefill that 19 of 20 calls stay within."""
    return _percentile(data, 0.95)


def _percentile(data: RunData, share: float) -> float | None:
    """The least of the figures that so many do not exceed."""
    reads = (step.usage.cache_read for step in data.trace.steps)
    seconds = sorted(map(_SERVERS.prefill_seconds, data.cache_misses, reads))
    return seconds[math.ceil(share * len(seconds)) - 1] if seconds else None


_PREFILL = "operations of a transformer of 70 billion parameters, compactlab.sim.models.rates"

LATENCY = (
    Metric("seconds", "lower", "prefill time, median, a proxy",
           "median over calls", _PREFILL, ttft_proxy_p50),
    Metric("seconds", "lower", "prefill time, 95th percentile, a proxy",
           "95th percentile over calls", _PREFILL, ttft_proxy_p95),
)  # fmt: skip
