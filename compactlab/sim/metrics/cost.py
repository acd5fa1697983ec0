"""What a replay costs: money, and tokens by billing class."""

from __future__ import annotations

import math

from compactlab.sim.metrics.metric import OVER_REQUESTS, OWN, Metric
from compactlab.sim.metrics.reading import Reading


def cost_usd(reading: Reading) -> float:
    """Dollars of all calls and side calls.

    Tokens by billing class times the price of that class, at the date of the call and for the size
    of its whole prompt, from genai-prices. A call without a time is priced at the list's newest
    prices.
    """
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


_ANTHROPIC = "usage fields as Anthropic bills them, 2026-08-21"

METRICS = (
    Metric("USD", "lower", "what it costs", OVER_REQUESTS, _ANTHROPIC, cost_usd),
    Metric("USD", "lower", "the part of it that side calls cost", "sum over side calls",
           _ANTHROPIC, side_cost_usd),
    Metric("tokens", "lower", "prompt tokens at the plain input price", OVER_REQUESTS,
           _ANTHROPIC, tokens_uncached),
    Metric("tokens", "neither", "prompt tokens read from the cache", OVER_REQUESTS,
           _ANTHROPIC, tokens_cache_read),
    Metric("tokens", "lower", "prompt tokens written to the cache", OVER_REQUESTS,
           _ANTHROPIC, tokens_cache_write),
    Metric("tokens", "neither", "tokens that the model wrote", OVER_REQUESTS, _ANTHROPIC,
           tokens_output),
    Metric("tokens", "lower", "size of the largest prompt", "maximum over calls", OWN,
           prompt_tokens_peak),
)  # fmt: skip
