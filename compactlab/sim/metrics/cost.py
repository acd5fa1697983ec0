"""What a replay costs: money, and tokens by billing class."""

from __future__ import annotations

import math

from compactlab.sim.metrics.metric import OVER_CALLS, OVER_REQUESTS, OWN, Metric
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


def cost_input_usd(reading: Reading) -> float:
    """Dollars of what calls sent at the plain input price, without side calls.

    With ``cost_read_usd``, ``cost_write_usd``, ``cost_output_usd`` and ``side_cost_usd`` it is
    ``cost_usd``. On servers of one's own, prefill is shared out among the tokens that were fresh.
    """
    return reading.bill.input


def cost_read_usd(reading: Reading) -> float:
    """Dollars of what calls read from the cache, without side calls."""
    return reading.bill.read


def cost_write_usd(reading: Reading) -> float:
    """Dollars of what calls wrote to the cache, and of storing it, without side calls."""
    return reading.bill.write


def cost_output_usd(reading: Reading) -> float:
    """Dollars of what the model answered, without side calls."""
    return reading.bill.output


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
    Metric("USD", "lower", "the part of it that plain input costs", OVER_CALLS, _ANTHROPIC,
           cost_input_usd),
    Metric("USD", "lower", "the part of it that reading the cache costs", OVER_CALLS, _ANTHROPIC,
           cost_read_usd),
    Metric("USD", "lower", "the part of it that writing and storing the cache costs", OVER_CALLS,
           _ANTHROPIC, cost_write_usd),
    Metric("USD", "neither", "the part of it that answers cost", OVER_CALLS, _ANTHROPIC,
           cost_output_usd),
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
