"""What of the bill goes beyond reading and appending, and whether compactions earn it back."""

from __future__ import annotations

import math
from statistics import fmean, median

from compactlab.sim.metrics.metric import OVER_REQUESTS, Metric
from compactlab.sim.metrics.price import above_input
from compactlab.sim.metrics.reading import Reading
from compactlab.sim.trace import SideCall


def premium_usd(reading: Reading) -> float:
    """Dollars for fresh tokens, those that had to come once not among them, above reading them."""
    return math.fsum(reading.premiums)


def summary_cost_usd(reading: Reading) -> float:
    """Dollars of the requests that make summaries."""
    return math.fsum(map(reading.cost, _summaries(reading)))


def tokens_summary(reading: Reading) -> int:
    """Prompt and answer of the requests that make summaries."""
    return sum(call.usage.prompt + call.usage.output for call in _summaries(reading))


def _summaries(reading: Reading) -> list[SideCall]:
    return [call for call in reading.side_calls if call.purpose == "summary"]


def tokens_dead_writes(reading: Reading) -> int:
    """Tokens that were written to the cache and that no later request has read."""
    return sum(reading.dead)


def dead_writes_usd(reading: Reading) -> float:
    """Dollars that writing them cost above sending them."""
    both = zip(reading.requests, reading.dead, strict=True)
    return math.fsum(above_input(reading, request, dead) for request, dead in both)


def spike_premium_usd(reading: Reading) -> float:
    """Dollars that compactions' calls paid above reading for what the strategy made fresh."""
    return math.fsum(each.premium for each in reading.paybacks)


def break_even_calls(reading: Reading) -> float | None:
    """Median of the calls after which a compaction has paid for itself."""
    return median(each.break_even for each in reading.paybacks) if reading.paybacks else None


def paid_back(reading: Reading) -> float | None:
    """Share of the compactions that have paid for themselves before the next one."""
    return fmean(each.paid for each in reading.paybacks) if reading.paybacks else None


_ANTHROPIC = "usage fields as Anthropic bills them, 2026-08-21"
_LOST = "premium of a rebuild, as several tools reckon it, on fresh tokens"
_KVLEAK = "dead writes of kvleak 0.12"
_BREAK_EVEN = "break-even turns, as the project's notes on metrics define them"

METRICS = (
    Metric("USD", "lower", "what fresh tokens that need not be cost more than reading them",
           OVER_REQUESTS, _LOST, premium_usd),
    Metric("USD", "lower", "the requests that make summaries",
           "sum over side calls of that purpose", _ANTHROPIC, summary_cost_usd),
    Metric("tokens", "lower", "prompts and answers of the requests that make summaries",
           "sum over side calls of that purpose", _ANTHROPIC, tokens_summary),
    Metric("tokens", "lower", "written to the cache and read by no later request", OVER_REQUESTS,
           _KVLEAK, tokens_dead_writes),
    Metric("USD", "lower", "what writing those cost more than only sending them", OVER_REQUESTS,
           _KVLEAK, dead_writes_usd),
    Metric("USD", "lower", "what compactions' calls paid above reading for what they changed",
           "sum over compactions", _LOST, spike_premium_usd),
    Metric("calls", "lower", "calls after which a compaction has paid for itself",
           "median over compactions", _BREAK_EVEN, break_even_calls),
    Metric("share", "higher", "compactions that paid for themselves before the next one",
           "mean over compactions", _BREAK_EVEN, paid_back),
)  # fmt: skip
