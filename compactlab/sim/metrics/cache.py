"""Tokens of a prompt that the cache returns, and tokens that rewriting sends again."""

from __future__ import annotations

from statistics import median

from compactlab.sim.metrics.metric import OVER_CALLS, SIGNED, metric
from compactlab.sim.metrics.run_data import RunData

_PAPER = "share of cached prompt tokens, arXiv 2601.06007"
_AUDIT = "rebuilt tokens of claude-cache-audit 0.1, on cache-miss tokens"
_REUSE = "one less cache-miss tokens over prompt tokens, each summed over calls"


@metric("share", "higher", _REUSE, _PAPER, label="cache hit rate")
def prefix_reuse(data: RunData) -> float | None:
    """Share of all prompt tokens that were read from the cache.

    1 less the sum of cache-miss tokens over the sum of prompt tokens. The upper bound is the value
    of a client that never edits its history and never pauses.
    """
    total = sum(data.prompts)
    return 1 - sum(data.cache_misses) / total if total else None


@metric("tokens", "lower", OVER_CALLS, _AUDIT)
def tokens_rewritten(data: RunData) -> int:
    """Cache-miss tokens that the previous prompt already held.

    At each call but the first: the tokens of the previous prompt less the tokens read now, from 0
    to the cache-miss tokens now. Expired tokens count, because they had been paid for before.
    """
    pairs = zip(data.prompts, data.trace.steps[1:], data.cache_misses[1:], strict=False)
    return sum(
        min(max(before - s.usage.cache_read, 0), cache_misses) for before, s, cache_misses in pairs
    )


@metric(
    "tokens",
    "lower",
    "median over compactions",
    limits=SIGNED,
    aggregation="median",
    label="cache-write spike after compaction",
)
def write_spike(data: RunData) -> float | None:
    """Cache-miss tokens of a compaction's call above the median of the five calls before.

    At each compaction: the cache-miss tokens of its call, less the median of the cache-miss tokens
    of the five calls before (fewer at the start). A spike can be negative: if a strategy cuts at
    every call, the calls before are compactions, too.
    """
    return _median([peak - base for peak, base in data.spikes])


@metric("tokens", "lower", "maximum over compactions", limits=SIGNED, aggregation="maximum")
def write_spike_max(data: RunData) -> float | None:
    """Maximum of the cache-miss tokens of a compaction's call above the five calls before."""
    return max((peak - base for peak, base in data.spikes), default=None)


@metric("ratio", "lower", "median over compactions whose base is not 0", aggregation="median")
def write_spike_ratio(data: RunData) -> float | None:
    """Ratio of the cache-miss tokens of a compaction's call to those of the five calls before.

    The cache-miss tokens divided by the median in ``write_spike``, if that is not 0.
    """
    return _median([peak / base for peak, base in data.spikes if base])


@metric("ratio", "lower", "maximum over compactions whose base is not 0", aggregation="maximum")
def write_spike_ratio_max(data: RunData) -> float | None:
    """Maximum ratio of the cache-miss tokens of a compaction's call to the five calls before."""
    return max((peak / base for peak, base in data.spikes if base), default=None)


def _median(values: list[float]) -> float | None:
    return median(values) if values else None
