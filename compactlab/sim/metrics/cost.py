"""What a replay costs: money, tokens by billing class, and what rewriting adds."""

from __future__ import annotations

import math
from statistics import median

from compactlab.sim.metrics.reading import Reading


def cost_usd(reading: Reading) -> float:
    """Dollars of all calls and side calls."""
    return math.fsum(reading.costs) + side_cost_usd(reading)


def side_cost_usd(reading: Reading) -> float:
    """Dollars of the side calls."""
    return math.fsum(map(reading.cost, reading.side_calls))


def tokens_uncached(reading: Reading) -> int:
    """Prompt tokens at the plain input price."""
    return reading.usage.uncached


def tokens_cache_read(reading: Reading) -> int:
    """Prompt tokens read from the cache."""
    return reading.usage.cache_read


def tokens_cache_write(reading: Reading) -> int:
    """Prompt tokens written to the cache."""
    return reading.usage.cache_write


def tokens_output(reading: Reading) -> int:
    """Tokens that the model wrote."""
    return reading.usage.output


def prompt_tokens_peak(reading: Reading) -> int | None:
    """Tokens of the largest prompt."""
    return max(reading.prompts, default=None)


def prefix_reuse(reading: Reading) -> float | None:
    """Share of all prompt tokens that were read from the cache."""
    total = sum(reading.prompts)
    return 1 - sum(reading.fresh) / total if total else None


def tokens_rewritten(reading: Reading) -> int:
    """Fresh tokens that the prompt before had held already."""
    pairs = zip(reading.prompts, reading.trace.steps[1:], reading.fresh[1:], strict=False)
    return sum(min(max(before - s.usage.cache_read, 0), fresh) for before, s, fresh in pairs)


def spikes(reading: Reading) -> list[tuple[int, float]]:
    """For each compaction: fresh tokens of its call, and the median of the five calls before."""
    return reading.spikes


def write_spike(reading: Reading) -> float | None:
    """Median of the spikes."""
    return _median([peak - base for peak, base in spikes(reading)])


def write_spike_max(reading: Reading) -> float | None:
    """Largest of the spikes."""
    return max((peak - base for peak, base in spikes(reading)), default=None)


def write_spike_ratio(reading: Reading) -> float | None:
    """Median of the spike ratios."""
    return _median([peak / base for peak, base in spikes(reading) if base])


def write_spike_ratio_max(reading: Reading) -> float | None:
    """Largest of the spike ratios."""
    return max((peak / base for peak, base in spikes(reading) if base), default=None)


def _median(values: list[float]) -> float | None:
    return median(values) if values else None
