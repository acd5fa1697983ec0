"""Cost of a replay, avoidable cost, and savings from compactions."""

from __future__ import annotations

import math
from statistics import fmean, median

from compactlab.sim.core.errors import ModelError
from compactlab.sim.metrics.metric import ENDLESS, OVER_CALLS, OVER_REQUESTS, OWN, SIGNED, metric
from compactlab.sim.metrics.run_data import RunData
from compactlab.sim.replay.recording import billed, priced
from compactlab.sim.replay.replay import RECORDED

_ANTHROPIC = "usage fields as Anthropic bills them, 2026-08-21"
_KVLEAK = "dead writes of kvleak 0.12"
_LOST = "premium of a rebuild, as several tools compute it, on cache-miss tokens"

# The cost of a replay: money, and tokens by billing class.


@metric("USD", "lower", OVER_REQUESTS, _ANTHROPIC, label="cost")
def cost_usd(data: RunData) -> float:
    """Cost of all requests: calls and summary calls.

    Tokens of each billing class times the price of that class, at the date of the call and for the
    size of its whole prompt, from genai-prices. A call without a time has the newest prices.
    """
    return math.fsum(data.costs) + side_cost_usd(data)


@metric("USD", "lower", "sum over summary calls", _ANTHROPIC, label="summary calls")
def side_cost_usd(data: RunData) -> float:
    """Cost of the summary calls, part of ``cost_usd``."""
    return math.fsum(map(data.cost, data.side_calls))


@metric("USD", "lower", OVER_CALLS, _ANTHROPIC)
def cost_input_usd(data: RunData) -> float:
    """Cost of tokens sent at the plain input price, part of ``cost_usd``; no summary calls.

    The sum of this, ``cost_read_usd``, ``cost_write_usd``, ``cost_output_usd`` and
    ``side_cost_usd`` is ``cost_usd``. On self-hosted servers, the cost of prefill is distributed
    over the cache-miss tokens.
    """
    return data.bill.input


@metric("USD", "lower", OVER_CALLS, _ANTHROPIC)
def cost_read_usd(data: RunData) -> float:
    """Cost of tokens read from the cache, part of ``cost_usd``; no summary calls."""
    return data.bill.read


@metric("USD", "lower", OVER_CALLS, _ANTHROPIC)
def cost_write_usd(data: RunData) -> float:
    """Cost of writing the cache and of storing it, part of ``cost_usd``; no summary calls."""
    return data.bill.write


@metric("USD", "neither", OVER_CALLS, _ANTHROPIC)
def cost_output_usd(data: RunData) -> float:
    """Cost of the model's answers, part of ``cost_usd``; no summary calls."""
    return data.bill.output


@metric("USD", "neither", OVER_REQUESTS)
def recorded_usd(data: RunData) -> float | None:
    """Cost by the log's own usage, as ``compactlab audit`` reports it.

    It covers all requests, including compactions and side requests. If output was counted before an
    answer had ended, it is counted by its text. It has a value only if the recorded models are
    replayed, every call has usage, and every request a price.
    """
    if not _is_recorded(data):
        return None
    find = data.trace.catalogue.billed
    dollars: list[float] = []
    try:
        for request in billed(data.conversation, lambda name: find(name).tokenizer):
            bill, searches = priced(request, find(request.call.model))
            dollars += [*bill, searches]
    except ModelError:
        return None
    return math.fsum(dollars) if dollars else None


@metric("USD", "neither", OVER_CALLS)
def recorded_input_usd(data: RunData) -> float | None:
    """Cost of the log's own prompts, the reference for the deviation of a replay."""
    if not _is_recorded(data):
        return None
    calls = {message.id: message.call for message in data.conversation.calls}
    dollars = []
    for step in data.trace.steps:
        call = calls[step.answer]
        if call is not None and call.usage is not None:
            bill = data.prices(step.model, step.time, call.usage.prompt).bill(call.usage)
            dollars.append(math.fsum(bill) - bill.output)
    return math.fsum(dollars) if dollars else None


def _is_recorded(data: RunData) -> bool:
    """Whether the recorded models are replayed, and every call has its usage."""
    if data.trace.header.model != RECORDED:
        return False
    known = {m.id for m in data.conversation.calls if m.call is not None and m.call.usage}
    return all(step.answer in known for step in data.trace.steps)


@metric("tokens", "neither", "sum over records")
def tokens_passed_over(data: RunData) -> int:
    """Tokens in unknown records of the log, which the bill lacks."""
    return sum(each.tokens for each in data.conversation.passed_over)


@metric("tokens", "lower", OVER_REQUESTS, _ANTHROPIC)
def tokens_uncached(data: RunData) -> int:
    """Prompt tokens at the plain input price."""
    return data.usage.uncached


@metric("tokens", "neither", OVER_REQUESTS, _ANTHROPIC)
def tokens_cache_read(data: RunData) -> int:
    """Prompt tokens read from the cache."""
    return data.usage.cache_read


@metric("tokens", "lower", OVER_REQUESTS, _ANTHROPIC)
def tokens_cache_write(data: RunData) -> int:
    """Prompt tokens written to the cache."""
    return data.usage.cache_write


@metric("tokens", "neither", OVER_REQUESTS, _ANTHROPIC)
def tokens_output(data: RunData) -> int:
    """Output tokens of the model."""
    return data.usage.output


@metric("tokens", "lower", "maximum over calls", aggregation="maximum")
def prompt_tokens_peak(data: RunData) -> int | None:
    """Tokens of the largest prompt."""
    return max(data.prompts, default=None)


# Costs above reading and appending, and whether compactions break even.


@metric("USD", "lower", OVER_REQUESTS, _LOST, limits=SIGNED, label="cache waste")
def avoidable_cost_usd(data: RunData) -> float:
    """Cache waste: the cost of cache-miss tokens above reading them.

    It covers the cache-miss tokens of all causes but ``cold_start`` and ``append``, in calls and
    side calls: their cost less the cost of reading them, at the prices of the call's model, date
    and size. Each token is priced in the class it was billed in. In a prompt, tokens written for an
    hour come first, then tokens written for five minutes, then tokens that are not written. This
    amount would have been saved if no entry had expired, no content had moved, and the strategy had
    made no requests of its own. 0 if the provider has no cache.
    """
    return math.fsum(data.avoidable_costs)


@metric("USD", "lower", "sum over summary calls of that purpose", _ANTHROPIC)
def summary_cost_usd(data: RunData) -> float:
    """Cost of the requests that make summaries.

    Only the side calls of purpose ``summary``: prompts and answers. Extra turns, such as flushes of
    memory, are also part of ``side_cost_usd``, but not of this.
    """
    return math.fsum(map(data.cost, data.summaries))


@metric("tokens", "lower", "sum over summary calls of that purpose", _ANTHROPIC)
def tokens_summary(data: RunData) -> int:
    """Prompts and answers of the requests that make summaries."""
    return sum(call.usage.prompt + call.usage.output for call in data.summaries)


@metric("tokens", "lower", OVER_REQUESTS, _KVLEAK)
def tokens_dead_writes(data: RunData) -> int:
    """Never-read cache writes: tokens written to the cache that no later request reads.

    A write of call *k* is live up to the largest prefix that any later call or side call *j* reads:
    the maximum, over all *j* to the same model, of the smaller of the tokens that *j* reads and the
    prefix that the prompts of *k* and *j* share. The rest is never read. The last write of a
    session is always never read. A rewind to an older branch makes its writes live if it reads
    them. Tokens that expired, were written again and then read count as read: the text is the same,
    and the second write has the cause ``ttl_expired``.
    """
    return sum(data.dead)


@metric("USD", "lower", OVER_REQUESTS, _KVLEAK, limits=SIGNED)
def dead_writes_usd(data: RunData) -> float:
    """Cost of never-read cache writes above sending the tokens uncached.

    Only the cost above the plain input price counts, because the tokens would have been sent
    anyway.
    """
    both = zip(data.requests, data.dead, strict=True)
    return math.fsum(data.above_input(request, dead) for request, dead in both)


@metric("USD", "lower", "sum over compactions", _LOST, limits=SIGNED)
def spike_avoidable_cost_usd(data: RunData) -> float:
    """Cache waste at compactions, as far as the strategy caused it.

    At each compaction's call, the part of ``avoidable_cost_usd`` whose cause is the change of the
    prompt (``compaction``, ``history_edit``, ``system_changed``): the summary, and all content that
    moved. Entries that had expired anyway are not charged to the compaction.
    """
    return math.fsum(each.avoidable_cost for each in data.paybacks)


@metric("calls", "lower", "median over compactions", OWN, limits=ENDLESS, aggregation="median")
def break_even_calls(data: RunData) -> float | None:
    """Calls until a compaction breaks even.

    For each compaction: its avoidable cost (see ``spike_avoidable_cost_usd``) plus the cost of the
    summaries requested since the previous compaction, divided by its saving per call. *Saved per
    call*: the previous prompt with all messages added to the log since, less the new prompt, at the
    read price (without a cache, the input price); the mean over the calls from the compaction's own
    to the last before the next compaction. Two savings are not counted, so break-even is rather too
    late than too early: the higher cost of a larger prompt when it expires, and when it enters a
    more expensive tier. Thinking of earlier turns that the model drops at that call counts as
    removed, although it would have been dropped anyway. Infinite if nothing is saved (null in JSON
    and CSV).
    """
    return median(each.break_even for each in data.paybacks) if data.paybacks else None


@metric("share", "higher", "mean over compactions", OWN)
def paid_back(data: RunData) -> float | None:
    """Share of the compactions that break even before the next one.

    A compaction *pays back* if it breaks even within the calls before the next one, including its
    own. Strategies that cut at every call never pay back, because each cut has only one call.
    """
    return fmean(each.paid for each in data.paybacks) if data.paybacks else None
