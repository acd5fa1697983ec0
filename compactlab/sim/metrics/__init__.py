"""The figures of a run: pure functions of a trace and its conversation, in one table.

Each file declares its metrics (:func:`compactlab.sim.metrics.metric.metric`); here they are joined,
in families.
"""

from __future__ import annotations

from collections.abc import Iterable

from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.metrics import (
    behaviour,
    cache,
    cache_misses,
    context,
    continuity,
    cost,
    drift,
    fact_states,
    flush,
    latency,
    memory,
    recovery,
    summaries,
    survival,
    thrash,
)
from compactlab.sim.metrics.metric import Family, Metric
from compactlab.sim.metrics.run_data import RunData
from compactlab.sim.replay.trace import Trace

__all__ = [
    "FAMILIES", "METRICS", "Family", "Metric", "RunData", "figures", "measure", "metrics_named",
]  # fmt: skip

FAMILIES = (
    Family("money", "Money and tokens", cost),
    Family("cache", "Cache reads and rewrites", cache),
    Family("time", "Time to the first token", latency, about=latency.ABOUT),
    Family("behaviour", "What the strategy did", behaviour),
    Family("thrash", "Compaction after compaction", thrash, about=thrash.ABOUT),
    Family("memory", "What is forgotten", memory),
    Family("facts", "States of facts, and their survival", fact_states, survival),
    Family("continuity", "Continuity of the work", context, continuity, summaries, drift),
    Family(
        "recovery", "What forgetting costs in the closed loop", recovery, about=recovery.ABOUT
    ),
    Family("flush", "Flushes of memory", flush),
    Family("cache_misses", "Cache-miss tokens by cause", cache_misses, about=cache_misses.ABOUT),
)  # fmt: skip
METRICS: dict[str, Metric] = {m.name: m for family in FAMILIES for m in family.metrics}


def metrics_named(names: Iterable[str]) -> tuple[str, ...]:
    """Metrics by their names and by those of families, in the order of the table.

    Raises a UsageError if a name is neither a metric nor a family.

    Examples
    --------
    >>> metrics_named(["time", "cost_usd"])
    ('cost_usd', 'ttft_proxy_p50', 'ttft_proxy_p95')
    """
    families = {family.name: {metric.name for metric in family.metrics} for family in FAMILIES}
    wanted: set[str] = set()
    for name in names:
        if name not in families and name not in METRICS:
            known = (*families, *METRICS)
            raise UsageError(unknown("metric", name, known, "compactlab list metrics"))
        wanted |= families.get(name, {name})
    return tuple(name for name in METRICS if name in wanted)


def measure(
    trace: Trace, conversation: Conversation, names: Iterable[str] | None = None
) -> dict[str, float | None]:
    """Compute the figures of a run."""
    return figures(RunData(trace, conversation), names)


def figures(data: RunData, names: Iterable[str] | None = None) -> dict[str, float | None]:
    """Compute the figures of a run from its data."""
    return {name: METRICS[name].compute(data) for name in (METRICS if names is None else names)}
