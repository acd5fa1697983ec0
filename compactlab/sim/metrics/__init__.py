"""The figures of a run: pure functions of a trace and its conversation, in one table.

Each file of metrics ends with its own; here they are joined, in families.
"""

from __future__ import annotations

from collections.abc import Iterable

from compactlab.sim.core.conversation import Conversation
from compactlab.sim.metrics import (
    behaviour,
    cache,
    continuity,
    cost,
    decoys,
    drift,
    flush,
    in_progress,
    lag,
    memory,
    recency,
    recovery,
    structure,
    summaries,
    survival,
    thrash,
)
from compactlab.sim.metrics.metric import Family, Metric
from compactlab.sim.metrics.run_data import RunData
from compactlab.sim.replay.trace import Trace

__all__ = ["FAMILIES", "METRICS", "Family", "Metric", "RunData", "figures", "measure"]

FAMILIES = (
    Family("money", "Money and tokens", cost.COST + cost.WASTE),
    Family("cache", "Cache reads and rewrites", cache.REUSE),
    Family("time", "Time to the first token", cache.LATENCY, cache.ABOUT_LATENCY),
    Family("behaviour", "What the strategy did", behaviour.METRICS),
    Family("thrash", "Compaction after compaction", thrash.METRICS, thrash.ABOUT),
    Family(
        "memory",
        "What is forgotten",
        lag.METRICS + memory.MEMORY + memory.IMMEDIATE + memory.BY_AGE + decoys.METRICS,
    ),
    Family(
        "facts",
        "States of facts, and their survival",
        memory.INSTRUCTIONS
        + in_progress.METRICS
        + memory.CORRUPTION
        + survival.METRICS
        + memory.OCCUPANCY,
    ),
    Family(
        "continuity",
        "Continuity of the work",
        recency.METRICS
        + continuity.FORWARD
        + structure.METRICS
        + continuity.PENDING
        + continuity.REFERENCES
        + continuity.ORDER
        + continuity.WEAKEST
        + summaries.METRICS
        + drift.METRICS,
    ),
    Family(
        "recovery", "What forgetting costs in the closed loop", recovery.METRICS, recovery.ABOUT
    ),
    Family("flush", "Flushes of memory", flush.FLUSH + flush.NOTES),
    Family(
        "cache_misses", "Cache-miss tokens by cause", cache.CACHE_MISS, cache.ABOUT_CACHE_MISSES
    ),
)
METRICS: dict[str, Metric] = {m.name: m for family in FAMILIES for m in family.metrics}


def measure(
    trace: Trace, conversation: Conversation, names: Iterable[str] | None = None
) -> dict[str, float | None]:
    """Compute the figures of a run."""
    return figures(RunData(trace, conversation), names)


def figures(data: RunData, names: Iterable[str] | None = None) -> dict[str, float | None]:
    """Compute the figures of a run from a reading that one has."""
    return {name: METRICS[name].compute(data) for name in (METRICS if names is None else names)}
