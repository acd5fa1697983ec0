"""What a replay costs, what of it goes beyond reading and appending, and what compactions save."""

from __future__ import annotations

import math
from statistics import fmean, median

from compactlab.sim.metrics.metric import OVER_CALLS, OVER_REQUESTS, OWN, Metric
from compactlab.sim.metrics.run_data import RunData, above_input

# What a replay costs: money, and tokens by billing class.


def cost_usd(data: RunData) -> float:
    """Dollars of all calls and side calls.

    Tokens by billing class times the price of that class, at the date of the call and for the size
    of its whole prompt, from genai-prices. A call without a time is priced at the list's newest
    prices.
    """
    return math.fsum(data.costs) + side_cost_usd(data)


def side_cost_usd(data: RunData) -> float:
    """Dollars of the side calls."""
    return math.fsum(map(data.cost, data.side_calls))


def cost_input_usd(data: RunData) -> float:
    """Dollars of what calls sent at the plain input price, without side calls.

    With ``cost_read_usd``, ``cost_write_usd``, ``cost_output_usd`` and ``side_cost_usd`` it is
    ``cost_usd``. On servers of one's own, prefill is shared out among the cache-miss tokens.
    """
    return data.bill.input


def cost_read_usd(data: RunData) -> float:
    """Dollars of what calls read from the cache, without side calls."""
    return data.bill.read


def cost_write_usd(data: RunData) -> float:
    """Dollars of what calls wrote to the cache, and of storing it, without side calls."""
    return data.bill.write


def cost_output_usd(data: RunData) -> float:
    """Dollars of what the model answered, without side calls."""
    return data.bill.output


def tokens_uncached(data: RunData) -> int:
    """Prompt tokens at the plain input price."""
    return data.usage.uncached


def tokens_cache_read(data: RunData) -> int:
    """Prompt tokens read from the cache."""
    return data.usage.cache_read


def tokens_cache_write(data: RunData) -> int:
    """Prompt tokens written to the cache."""
    return data.usage.cache_write


def tokens_output(data: RunData) -> int:
    """Tokens that the model wrote."""
    return data.usage.output


def prompt_tokens_peak(data: RunData) -> int | None:
    """Tokens of the largest prompt."""
    return max(data.prompts, default=None)


_ANTHROPIC = "usage fields as Anthropic bills them, 2026-08-21"

COST = (
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


# What of the bill goes beyond reading and appending, and whether compactions earn it back.


def avoidable_cost_usd(data: RunData) -> float:
    """Avoidable cache cost: what cache-miss tokens cost above reading them, in dollars.

    The cache-miss tokens of all causes but ``cold_start`` and ``append``, in calls and side calls:
    what they cost less what reading them would have cost, at the prices of the call's model, date
    and size. Each token is priced in the class it was billed in; in a prompt, what is written for
    an hour stands first, then what is written for five minutes, then what is not written. It is
    what would have been saved if nothing had ever expired or moved, and nothing been asked for
    beside the script. 0 where nothing is stored, as nothing could have been read there.
    """
    return math.fsum(data.avoidable_costs)


def summary_cost_usd(data: RunData) -> float:
    """Dollars of the requests that make summaries.

    The side calls of purpose ``summary`` alone: prompts and answers. Extra turns, such as flushes
    of memory, are in ``side_cost_usd`` beside them.
    """
    return math.fsum(map(data.cost, data.summaries))


def tokens_summary(data: RunData) -> int:
    """Prompt and answer of the requests that make summaries."""
    return sum(call.usage.prompt + call.usage.output for call in data.summaries)


def tokens_dead_writes(data: RunData) -> int:
    """Tokens that were written to the cache and that no later request has read.

    Of what a call *k* wrote, that is live which any later request *j*, a side call or not, has
    read: up to the largest, over all *j* to the same model, of the smaller of what *j* read and
    what the prompts of *k* and *j* share. The rest was written for nothing. The last call of a
    session always writes for nobody. Who goes back to an older branch and reads it brings it back
    to life. What expired unread, was written again and then read counts as read: it is the same
    text, and its second price stands under ``ttl_expired``.
    """
    return sum(data.dead)


def dead_writes_usd(data: RunData) -> float:
    """Dollars that writing them cost above sending them.

    Above the plain input price, that is, for they would have been sent in any case.
    """
    both = zip(data.requests, data.dead, strict=True)
    return math.fsum(above_input(data, request, dead) for request, dead in both)


def spike_avoidable_cost_usd(data: RunData) -> float:
    """Avoidable cache cost of compactions' calls, in dollars, that the strategy caused.

    At each compaction's call, the part of ``avoidable_cost_usd`` whose cause lies in the prompt's
    change (``compaction``, ``history_edit``, ``system_changed``): the summary, and all that moved.
    What had expired by then in any case is not the compaction's to pay.
    """
    return math.fsum(each.avoidable_cost for each in data.paybacks)


def break_even_calls(data: RunData) -> float | None:
    """Median of the calls after which a compaction has paid for itself.

    For each compaction: its avoidable cost (see ``spike_avoidable_cost_usd``) and the summaries
    that were asked for since the compaction before, over what it saves per call. *Saved per call*:
    the prompt before, with all that came to the log since, less the prompt after, at the read price
    of each call from the compaction's own to the last before the next compaction (at the input
    price, where nothing is stored); the mean of these. What a larger prompt would have cost more
    when it expired, or for passing into a dearer tier, is not counted, so break-even is told rather
    too late than too early; thinking of earlier turns that the model itself drops at that call
    counts as removed, though it would have gone in any case. Infinite if nothing is saved (null in
    JSON and CSV).
    """
    return median(each.break_even for each in data.paybacks) if data.paybacks else None


def paid_back(data: RunData) -> float | None:
    """Share of the compactions that have paid for themselves before the next one.

    A compaction has *paid back* if as many calls followed, its own among them, as it breaks even
    after. Strategies that cut at every call never do: each cut is judged by one call alone.
    """
    return fmean(each.paid for each in data.paybacks) if data.paybacks else None


_LOST = "premium of a rebuild, as several tools compute it, on cache-miss tokens"
_KVLEAK = "dead writes of kvleak 0.12"
_BREAK_EVEN = "break-even turns, as the project's notes on metrics define them"

WASTE = (
    Metric("USD", "lower", "avoidable cache cost: what was sent before, above reading it",
           OVER_REQUESTS, _LOST, avoidable_cost_usd),
    Metric("USD", "lower", "the requests that make summaries",
           "sum over side calls of that purpose", _ANTHROPIC, summary_cost_usd),
    Metric("tokens", "lower", "prompts and answers of the requests that make summaries",
           "sum over side calls of that purpose", _ANTHROPIC, tokens_summary),
    Metric("tokens", "lower", "written to the cache and read by no later request", OVER_REQUESTS,
           _KVLEAK, tokens_dead_writes),
    Metric("USD", "lower", "what writing those cost more than only sending them", OVER_REQUESTS,
           _KVLEAK, dead_writes_usd),
    Metric("USD", "lower", "what compactions' calls paid above reading for what they changed",
           "sum over compactions", _LOST, spike_avoidable_cost_usd),
    Metric("calls", "lower", "calls after which a compaction has paid for itself",
           "median over compactions", _BREAK_EVEN, break_even_calls),
    Metric("share", "higher", "compactions that paid for themselves before the next one",
           "mean over compactions", _BREAK_EVEN, paid_back),
)  # fmt: skip
