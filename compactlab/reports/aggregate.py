"""How figures of runs become those of a strategy: amounts add up, shares do not."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, median
from typing import Literal

from compactlab.reports.calls import causes, total
from compactlab.sim.metrics import METRICS
from compactlab.sim.run import Run

Rule = Literal["sum", "mean", "median", "maximum"]

_RULES: dict[Rule, Callable[[list[float]], float]] = {
    "sum": math.fsum,
    "mean": fmean,
    "median": median,
    "maximum": max,
}
_HOW: dict[Rule, str] = {
    "sum": "sum over conversations",
    "mean": "mean over the conversations that have a value",
    "median": "median over the conversations that have a value",
    "maximum": "maximum over conversations",
}
_MEDIANS = {
    "write_spike",
    "write_spike_ratio",
    "flush_margin",
    "break_even_calls",
    "ttft_proxy_p50",
    "ttft_proxy_p95",
    "calls_to_recover",
    "verbatim_tail_messages",
    "verbatim_tail_tokens",
}
# What adds up over conversations; everything else is a mean of them.
_AMOUNTS = ("USD", "tokens", "calls", "compactions", "summaries")
# What is not put together from the runs' own values, but from what those are shares of.
POOLED = {
    "prefix_reuse": "tokens read over prompt tokens, each summed over all calls",
    "over_window": "overflows over calls, each summed over conversations",
}


def replays(runs: Iterable[Run]) -> list[list[Run]]:
    """The runs of each conversation: several where it was replayed with several seeds.

    Only conversations are independent of each other, so replays of one are averaged first.
    """
    found: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        found.setdefault((run.scenario, run.conversation), []).append(run)
    return list(found.values())


def figures_of(runs: Sequence[Run]) -> dict[str, float | None]:
    """The figures of a strategy, from its runs: of each conversation first, then of all."""
    groups = replays(runs)
    figures = _alone(runs[0]) if len(runs) == 1 else _together(runs, groups)
    figures["prefix_reuse"] = _reuse(groups)
    calls = figures["calls"]
    figures["over_window"] = (figures["overflows"] or 0) / calls if calls else None
    return figures


def _alone(run: Run) -> dict[str, float | None]:
    """The figures of one run, which is its own sum, mean and median."""
    known = {name: run.metrics.get(name) for name in METRICS}
    return {name: None if value is None else float(value) for name, value in known.items()}


def _together(runs: Iterable[Run], groups: Sequence[Sequence[Run]]) -> dict[str, float | None]:
    figures: dict[str, float | None] = {}
    computed = {name for run in runs for name in run.metrics}
    for metric in METRICS:
        if metric not in computed:
            figures[metric] = None
            continue
        rule = rule_of(metric)
        inner = max if rule == "maximum" else fmean
        found = [[v for run in group if (v := run.metrics.get(metric)) is not None]
                 for group in groups]  # fmt: skip
        values = [float(inner(each)) for each in found if each]
        figures[metric] = _RULES[rule](values) if values else None
    return figures


def causes_of(runs: Sequence[Run]) -> Counter[str]:
    """Fresh tokens of a strategy by cause, those of side calls among them."""
    found: Counter[str] = Counter()
    for group in replays(runs):
        for cause, tokens in causes(group).items():
            found[cause] += round(tokens / len(group))
    return found


def together(metric: str) -> str:
    """How the figure of a strategy is put together from its runs, in words."""
    return POOLED[metric] if metric in POOLED else _HOW[rule_of(metric)]


def _reuse(groups: Iterable[Sequence[Run]]) -> float | None:
    """Share of all prompt tokens that were read: a long conversation weighs as on the bill."""
    read = fresh = 0.0
    for group in groups:
        own = read_and_fresh(group)
        read, fresh = read + own[0], fresh + own[1]
    return read / (read + fresh) if read + fresh else None


def read_and_fresh(group: Sequence[Run]) -> tuple[float, float]:
    """Prompt tokens of a conversation that were read from the cache, and that were not."""
    written = (total(run, "uncached", "cache_write_5m", "cache_write_1h") for run in group)
    return fmean(total(run, "cache_read") for run in group), fmean(written)


def rule_of(metric: str) -> Rule:
    """By which rule conversations are put together: amounts add up, shares do not."""
    if metric in ("prompt_tokens_peak", "write_spike_max", "write_spike_ratio_max"):
        return "maximum"
    if metric in _MEDIANS:
        return "median"
    return "sum" if METRICS[metric].unit in _AMOUNTS else "mean"
