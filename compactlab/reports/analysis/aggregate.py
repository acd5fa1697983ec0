"""How figures of runs become those of a strategy."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import reduce
from hashlib import blake2b
from itertools import chain, pairwise
from operator import add
from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray

from compactlab.reports.analysis.calls import MISSED, Calls, changed
from compactlab.sim.cache.causes import CAUSES
from compactlab.sim.metrics import METRICS
from compactlab.sim.metrics.memory import LAGS
from compactlab.sim.metrics.metric import Aggregation
from compactlab.sim.store.parquet import NO_ROWS
from compactlab.sim.store.results import StoredMetrics
from compactlab.sim.store.run import Run

Floats = NDArray[np.float64]

# How figures of runs become those of a strategy: amounts add up, shares do not.

_RULES: dict[Aggregation, Callable[[list[float]], float]] = {
    "sum": math.fsum,
    "mean": fmean,
    "median": median,
    "maximum": max,
    "minimum": min,
}
_HOW: dict[Aggregation, str] = {
    "sum": "sum over conversations",
    "mean": "mean over the conversations that have a value",
    "median": "median over the conversations that have a value",
    "maximum": "maximum over conversations",
    "minimum": "minimum over conversations",
}
# Rules by which a single conversation decides the figure.
EXTREMES: tuple[Aggregation, ...] = ("maximum", "minimum")
# Metrics that are computed from numerators and denominators, not from the values of the runs.
POOLED = {
    "prefix_reuse": "tokens read over prompt tokens, each summed over all calls",
    "over_window": "overflows over calls, each summed over conversations",
}


def replays(runs: Iterable[Run]) -> list[list[Run]]:
    """The runs of each conversation; several if it was replayed with several seeds."""
    by_conversation: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        by_conversation.setdefault((run.scenario, run.conversation), []).append(run)
    return list(by_conversation.values())


def figures_of(runs: Sequence[Run]) -> dict[str, float | None]:
    """The figures of a strategy: runs are aggregated by conversation first, then over all."""
    groups = replays(runs)
    figures = _alone(runs[0]) if len(runs) == 1 else _together(groups)
    figures["prefix_reuse"] = _reuse(groups)
    calls = figures["calls"]
    figures["over_window"] = (figures["overflows"] or 0) / calls if calls else None
    return figures


def _alone(run: Run) -> dict[str, float | None]:
    """The figures of a single run."""
    known = {name: run.metrics.get(name) for name in METRICS}
    return {name: None if value is None else float(value) for name, value in known.items()}


def _together(groups: Sequence[Sequence[Run]]) -> dict[str, float | None]:
    figures: dict[str, float | None] = {}
    starts = np.cumsum([0, *map(len, groups)]).tolist()
    numbers = values_of([run for group in groups for run in group], METRICS)
    for metric, column in zip(METRICS, numbers.T, strict=True):
        rule = METRICS[metric].aggregation
        inner = _RULES[rule] if rule in EXTREMES else fmean
        known = ~np.isnan(column)
        if len(column) == len(groups):
            values = column[known].tolist()
        else:
            samples = (
                column[start:end][known[start:end]].tolist() for start, end in pairwise(starts)
            )
            values = [float(inner(each)) for each in samples if each]
        figures[metric] = _RULES[rule](values) if values else None
    return figures


def values_of(runs: Sequence[Run], metrics: Collection[str]) -> Floats:
    """Runs by metrics; NaN where there is no value."""
    held = [run.metrics for run in runs if isinstance(run.metrics, StoredMetrics)]
    if held and len(held) == len(runs):
        first = held[0]
        if all(each.columns is first.columns for each in held):
            places = np.array([each.row for each in held])
            nothing = np.full(len(runs), np.nan)
            columns = (first.columns.get(name) for name in metrics)
            return np.stack([nothing if c is None else c[places] for c in columns], axis=1)
    rows = [[run.metrics.get(name) for name in metrics] for run in runs]
    return np.array(rows, np.float64).reshape(len(runs), len(metrics))


def digest_of(runs: Sequence[Run]) -> bytes:
    """A digest of all metrics of runs: equal if all values are equal to the last bit."""
    values = values_of(runs, METRICS)
    # Zero and "no value" have several bit patterns each.
    values = np.where(np.isnan(values), np.nan, values + 0.0)
    return blake2b(np.ascontiguousarray(values).data, digest_size=16).digest()


def causes_of(runs: Sequence[Run]) -> Counter[str]:
    """Cache-miss tokens of a strategy by cause, including those of summary calls."""
    groups = replays(runs)
    calls = Calls(list(chain.from_iterable(groups)))
    counts: Counter[str] = Counter()
    for cause in CAUSES:
        means = _means(calls.totals(f"cache_miss_{cause}"), groups)
        counts[cause] = int(np.rint(means).sum())
    return counts


def acted(runs: Sequence[Run], unchanged: Sequence[Run | None]) -> NDArray[np.bool_]:
    """Which runs sent other prompts than keep_all; calls that changed nothing do not count."""
    edits = values_of(runs, ("rewrites", "tokens_added"))
    acted: NDArray[np.bool_] = ((edits != 0) & ~np.isnan(edits)).any(axis=1)
    pairs = [(n, run) for n, run in enumerate(unchanged) if run is not None and not acted[n]]
    acted[[n for n, _ in pairs]] = changed([runs[n] for n, _ in pairs], [run for _, run in pairs])
    return acted


def combined_by(metric: str) -> str:
    """How a strategy's figure is computed from its runs, in words."""
    return POOLED[metric] if metric in POOLED else _HOW[METRICS[metric].aggregation]


def _reuse(groups: Sequence[Sequence[Run]]) -> float | None:
    """The cache hit rate over all prompt tokens: long conversations weigh more, as on the bill."""
    # In sequence: a sum of floats depends on its order.
    read, missed = (reduce(add, each.tolist(), 0.0) for each in read_and_missed(groups))
    return read / (read + missed) if read + missed else None


def read_and_missed(groups: Sequence[Sequence[Run]]) -> tuple[Floats, Floats]:
    """Prompt tokens read from the cache, and prompt tokens missed, by conversation."""
    calls = Calls(list(chain.from_iterable(groups)))
    return _means(calls.totals("cache_read"), groups), _means(calls.totals(*MISSED), groups)


def _means(tokens: NDArray[np.int64], groups: Sequence[Sequence[Run]]) -> Floats:
    """Means over the replays of each conversation."""
    sizes = np.array([len(group) for group in groups], np.intp)
    means: Floats = np.add.reduceat(tokens, np.cumsum(sizes) - sizes) / sizes
    return means


# What is missed at the distance, with the run's own summaries and with those of null summarisers.

OWN, JUNK, RANDOM, ORACLE = "", "junk", "random", "oracle"
CONTROLS = (JUNK, RANDOM, ORACLE)


def missed(runs: Sequence[Run], lag: int) -> dict[str, list[float]]:
    """The share of the needs beyond a distance that is missed, by summariser and by conversation.

    Conversations without such needs are left out, and summarisers without all other conversations.
    """
    counts = [each for group in replays(runs) if (each := _misses(group, lag)).get(OWN, (0, 0))[0]]
    return {
        writer: [each[writer][1] / each[writer][0] for each in counts]
        for writer in (OWN, *CONTROLS)
        if counts and all(each.get(writer, (0, 0))[0] for each in counts)
    }


def _misses(runs: Iterable[Run], lag: int) -> dict[str, tuple[int, int]]:
    """Needs and misses of a conversation by summariser, all replays together."""
    counts: dict[str, tuple[int, int]] = {}
    for writer, step, needs, met in _needs(runs):
        if step >= lag:
            before, misses = counts.get(writer, (0, 0))
            counts[writer] = before + needs, misses + needs - met
    return counts


def _needs(runs: Iterable[Run]) -> Iterator[tuple[str, int, int, int]]:
    """For each step of the distance: the summariser, the step's start, needs, and needs met."""
    for run in runs:
        if len(rows := run.rows.get("lags", NO_ROWS)):
            columns = (rows[name] for name in ("summaries", "lag", "needs", "met"))
            yield from zip(*columns, strict=True)


def recall_by_lag(runs: Sequence[Run]) -> dict[str, list[float | None]]:
    """Recall at each step of the distance, by summariser; None without needs.

    Each is the mean over conversations with needs at that distance.
    """
    shares: dict[str, dict[int, list[float]]] = {OWN: {}}
    for group in replays(runs):
        counts: dict[tuple[str, int], list[int]] = {}
        for writer, lag, needs, met in _needs(group):
            count = counts.setdefault((writer, lag), [0, 0])
            count[0] += needs
            count[1] += met
        for (writer, lag), (needs, met) in counts.items():
            if needs:
                shares.setdefault(writer, {}).setdefault(lag, []).append(met / needs)
    return {
        writer: [fmean(steps[lag]) if lag in steps else None for lag in LAGS]
        for writer, steps in shares.items()
    }


def memory_of(runs: Sequence[Run], lag: int, *, summarises: bool) -> dict[str, float | None]:
    """Exposure (the share missed without content) and the share of it that summaries preserve."""
    shares = {writer: fmean(each) for writer, each in missed(runs, lag).items()}
    junk = shares.get(JUNK)
    figures: dict[str, float | None] = {"exposure": junk}
    for writer, name in ((OWN, "preserved"), (RANDOM, "preserved_random"),
                         (ORACLE, "preserved_oracle")):  # fmt: skip
        told = summarises and junk and writer in shares
        figures[name] = 1 - shares[writer] / junk if told and junk else None
    return figures
