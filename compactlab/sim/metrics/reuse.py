"""What of a prompt the cache gives back, and what rewriting adds to be sent anew."""

from __future__ import annotations

from statistics import median

from compactlab.sim.metrics.metric import OVER_CALLS, OWN, Metric
from compactlab.sim.metrics.reading import Reading


def prefix_reuse(reading: Reading) -> float | None:
    """Share of all prompt tokens that were read from the cache.

    1 less the sum of fresh tokens over the sum of prompt tokens. An upper bound is what a client
    that never edits its history and never pauses would reach.
    """
    total = sum(reading.prompts)
    return 1 - sum(reading.fresh) / total if total else None


def tokens_rewritten(reading: Reading) -> int:
    """Fresh tokens that the prompt before had held already.

    At each call but the first: the prompt before, less what was read now, not below 0 and not above
    what was fresh now. Tokens whose stored prefix expired count, as they had been paid for before.
    """
    pairs = zip(reading.prompts, reading.trace.steps[1:], reading.fresh[1:], strict=False)
    return sum(min(max(before - s.usage.cache_read, 0), fresh) for before, s, fresh in pairs)


def spikes(reading: Reading) -> list[tuple[int, float]]:
    """For each compaction: fresh tokens of its call, and the median of the five calls before."""
    return reading.spikes


def write_spike(reading: Reading) -> float | None:
    """Median of the spikes.

    At each compaction: the fresh tokens of its call, less the median of the fresh tokens of the
    five calls before (fewer at the start). A spike can be negative: a strategy that cuts at every
    call has no calm calls to compare with.
    """
    return _median([peak - base for peak, base in spikes(reading)])


def write_spike_max(reading: Reading) -> float | None:
    """Largest of the spikes."""
    return max((peak - base for peak, base in spikes(reading)), default=None)


def write_spike_ratio(reading: Reading) -> float | None:
    """Median of the spike ratios.

    The same over that median, instead of less it; left out where the median is 0.
    """
    return _median([peak / base for peak, base in spikes(reading) if base])


def write_spike_ratio_max(reading: Reading) -> float | None:
    """Largest of the spike ratios."""
    return max((peak / base for peak, base in spikes(reading) if base), default=None)


def _median(values: list[float]) -> float | None:
    return median(values) if values else None


_PAPER = "share of cached prompt tokens, arXiv 2601.06007"
_AUDIT = "rebuilt tokens of claude-cache-audit 0.1, on fresh tokens"

METRICS = (
    Metric("share", "higher", "prompt tokens that were read from the cache",
           "one less fresh tokens over prompt tokens, each summed over calls",
           _PAPER, prefix_reuse),
    Metric("tokens", "lower", "fresh tokens that the prompt before had held already", OVER_CALLS,
           _AUDIT, tokens_rewritten),
    Metric("tokens", "lower", "fresh tokens of a compaction's call above the five calls before",
           "median over compactions", OWN, write_spike),
    Metric("tokens", "lower", "the same, at its worst", "maximum over compactions",
           OWN, write_spike_max),
    Metric("ratio", "lower", "fresh tokens of a compaction's call over the five calls before",
           "median over compactions whose base is not 0", OWN, write_spike_ratio),
    Metric("ratio", "lower", "the same, at its worst",
           "maximum over compactions whose base is not 0", OWN, write_spike_ratio_max),
)  # fmt: skip
