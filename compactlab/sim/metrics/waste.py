"""What of the bill goes beyond reading and appending, and whether compactions earn it back."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import fmean, median

from compactlab.sim.causes import CAUSES
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


def _of_cause(cause: str) -> Callable[[Reading], int]:
    def fresh(reading: Reading) -> int:
        return reading.causes[cause]

    fresh.__name__ = f"fresh_{cause}"
    fresh.__doc__ = f"Fresh tokens of that cause: {CAUSES[cause]}."
    return fresh


# Of each cause, the function that counts its fresh tokens.
FRESH = {cause: _of_cause(cause) for cause in CAUSES}
