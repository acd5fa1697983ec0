"""The figures of a run: pure functions of a trace and its conversation, in one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from compactlab.sim.causes import CAUSES
from compactlab.sim.conversation import Conversation
from compactlab.sim.metrics import behaviour, continuity, cost, flush, latency, waste
from compactlab.sim.metrics.price import ORDINARY
from compactlab.sim.metrics.reading import Reading
from compactlab.sim.trace import Trace

__all__ = ["METRICS", "Metric", "Reading", "figures", "measure"]


@dataclass(frozen=True)
class Metric:
    """One figure of a run.

    Parameters
    ----------
    unit
        What it is counted in.
    better
        Which direction is good; ``neither`` for what only describes.
    meaning
        What it says, in one line.
    of_run
        How the figure of a run is put together from its calls and compactions.
    source
        Whose definition it is.
    compute
        The function; None where it has no value.
    """

    unit: str
    better: Literal["lower", "higher", "neither"]
    meaning: str
    of_run: str
    source: str
    compute: Callable[[Reading], float | None]

    @property
    def name(self) -> str:
        """Its name in tables and files: that of its function."""
        return self.compute.__name__


_OWN = "own, docs/metrics.md"
_ANTHROPIC = "usage fields as Anthropic bills them, 2026-08-21"
_PAPER = "share of cached prompt tokens, arXiv 2601.06007"
_AUDIT = "rebuilt tokens of claude-cache-audit 0.1, on fresh tokens"
_SLIPSTREAM = "the recorded future as ground truth, arXiv 2605.08580"
_LOST = "premium of a rebuild, as several tools reckon it, on fresh tokens"
_KVLEAK = "dead writes of kvleak 0.12"
_BREAK_EVEN = "break-even turns, as the project's notes on metrics define them"
_PREFILL = "operations of a transformer of 70 billion parameters, compactlab.sim.prefill"
_SIGNET = "Signet specification, section 6.4"

_SUM = "sum over calls and side calls"
_CALLS = "sum over calls"


def _wanted(cause: str) -> Literal["lower", "neither"]:
    return "neither" if cause in ORDINARY else "lower"


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("USD", "lower", "what it costs", _SUM, _ANTHROPIC, cost.cost_usd),
        Metric("USD", "lower", "the part of it that side calls cost", "sum over side calls",
               _ANTHROPIC, cost.side_cost_usd),
        Metric("tokens", "lower", "prompt tokens at the plain input price", _SUM,
               _ANTHROPIC, cost.tokens_uncached),
        Metric("tokens", "neither", "prompt tokens read from the cache", _SUM,
               _ANTHROPIC, cost.tokens_cache_read),
        Metric("tokens", "lower", "prompt tokens written to the cache", _SUM,
               _ANTHROPIC, cost.tokens_cache_write),
        Metric("tokens", "neither", "tokens that the model wrote", _SUM, _ANTHROPIC,
               cost.tokens_output),
        Metric("tokens", "lower", "size of the largest prompt", "maximum over calls",
               _OWN, cost.prompt_tokens_peak),
        Metric("share", "higher", "prompt tokens that were read from the cache",
               "one less fresh tokens over prompt tokens, each summed over calls",
               _PAPER, cost.prefix_reuse),
        Metric("tokens", "lower", "fresh tokens that the prompt before had held already", _CALLS,
               _AUDIT, cost.tokens_rewritten),
        Metric("tokens", "lower", "fresh tokens of a compaction's call above the five calls before",
               "median over compactions", _OWN, cost.write_spike),
        Metric("tokens", "lower", "the same, at its worst", "maximum over compactions",
               _OWN, cost.write_spike_max),
        Metric("ratio", "lower", "fresh tokens of a compaction's call over the five calls before",
               "median over compactions whose base is not 0", _OWN, cost.write_spike_ratio),
        Metric("ratio", "lower", "the same, at its worst",
               "maximum over compactions whose base is not 0", _OWN, cost.write_spike_ratio_max),
        Metric("USD", "lower", "what fresh tokens that need not be cost more than reading them",
               _SUM, _LOST, waste.premium_usd),
        Metric("USD", "lower", "the requests that make summaries",
               "sum over side calls of that purpose", _ANTHROPIC, waste.summary_cost_usd),
        Metric("tokens", "lower", "prompts and answers of the requests that make summaries",
               "sum over side calls of that purpose", _ANTHROPIC, waste.tokens_summary),
        Metric("tokens", "lower", "written to the cache and read by no later request", _SUM,
               _KVLEAK, waste.tokens_dead_writes),
        Metric("USD", "lower", "what writing those cost more than only sending them", _SUM,
               _KVLEAK, waste.dead_writes_usd),
        Metric("USD", "lower", "what compactions' calls paid above reading for what they changed",
               "sum over compactions", _LOST, waste.spike_premium_usd),
        Metric("calls", "lower", "calls after which a compaction has paid for itself",
               "median over compactions", _BREAK_EVEN, waste.break_even_calls),
        Metric("share", "higher", "compactions that paid for themselves before the next one",
               "mean over compactions", _BREAK_EVEN, waste.paid_back),
        Metric("seconds", "lower", "prefill that half of the calls stay within, a proxy",
               "median over calls", _PREFILL, latency.ttft_proxy_p50),
        Metric("seconds", "lower", "prefill that 19 of 20 calls stay within, a proxy",
               "95th percentile over calls", _PREFILL, latency.ttft_proxy_p95),
        Metric("tokens", "neither", "prompt tokens of what the strategy put in", _CALLS, _OWN,
               behaviour.tokens_added),
        Metric("calls", "neither", "requests of the script", "count", _OWN, behaviour.calls),
        Metric("calls", "lower", "calls whose prompt is not the last one plus what is new", _CALLS,
               _OWN, behaviour.rewrites),
        Metric("calls", "neither", "calls whose prompt lacks content that had been sent", _CALLS,
               _OWN, behaviour.compactions),
        Metric("calls", "lower", "calls whose prompt is larger than the window", _CALLS,
               _OWN, behaviour.overflows),
        Metric("share", "lower", "calls whose prompt is larger than the window",
               "overflows over calls", _OWN, behaviour.over_window),
        Metric("share", "higher", "of the last ten messages, what the prompt ends with (VRC@10)",
               "mean over compactions", _OWN, continuity.verbatim_recency),
        Metric("share", "higher", "of what the next five actions use, what is in context (FNC@5)",
               "sum of what is in context over sum of what is used, of all calls",
               _SLIPSTREAM, continuity.forward_need),
        Metric("share", "higher", "messages without a fault that a provider would reject",
               "one less faults over messages, each summed over calls",
               _OWN, continuity.structural_validity),
        Metric("share", "higher", "compactions before which memory was flushed, in the same cycle",
               "mean over compactions", _SIGNET, flush.flushed_compactions),
        Metric("tokens", "neither", "tokens that came between a flush and its compaction",
               "median over compactions with a flush", _SIGNET, flush.flush_margin),
        Metric("tokens", "lower", "tokens that a user was shown of the answers to flushes",
               "sum over flushes", _SIGNET, flush.flush_heard),
        *(Metric("tokens", _wanted(cause), f"fresh: {CAUSES[cause]}", _SUM, _OWN, compute)
          for cause, compute in waste.FRESH.items()),
    )
}  # fmt: skip


def measure(trace: Trace, conversation: Conversation) -> dict[str, float | None]:
    """Compute all figures of a run.

    Parameters
    ----------
    trace
        What happened.
    conversation
        The script that was replayed.

    Returns
    -------
    dict
        Value by metric; None where it has none.
    """
    return figures(Reading(trace, conversation))


def figures(reading: Reading) -> dict[str, float | None]:
    """Compute all figures of a run from a reading that one has."""
    return {name: metric.compute(reading) for name, metric in METRICS.items()}
