"""The figures of a run: pure functions of a trace and its conversation, in one table.

Each file of metrics ends with its own; here they are joined, in families.
"""

from __future__ import annotations

from collections.abc import Iterable

from compactlab.sim.conversation import Conversation
from compactlab.sim.metrics import (
    behaviour,
    chance,
    continuity,
    corruption,
    cost,
    drift,
    flush,
    forward,
    fresh,
    immediate,
    instructions,
    latency,
    memory,
    memory_age,
    notes,
    occupancy,
    order,
    pending,
    recency,
    references,
    reuse,
    rework,
    structure,
    summaries,
    survival,
    waste,
)
from compactlab.sim.metrics.metric import Family, Metric
from compactlab.sim.metrics.reading import Reading
from compactlab.sim.trace import Trace

__all__ = ["FAMILIES", "METRICS", "Family", "Metric", "Reading", "figures", "measure"]

FAMILIES = (
    Family("money", "Money, and the tokens that it is paid for", cost.METRICS + waste.METRICS),
    Family("cache", "What the cache gives back, and what rewriting takes", reuse.METRICS),
    Family("time", "Time to the first token", latency.METRICS),
    Family("behaviour", "What the strategy did", behaviour.METRICS),
    Family(
        "memory",
        "What is forgotten",
        memory.METRICS + immediate.METRICS + memory_age.METRICS + chance.METRICS,
    ),
    Family(
        "facts",
        "In which state facts are, and how long they last",
        instructions.METRICS + corruption.METRICS + survival.METRICS + occupancy.METRICS,
    ),
    Family(
        "continuity",
        "How smoothly the work goes on",
        recency.METRICS
        + forward.METRICS
        + structure.METRICS
        + pending.METRICS
        + references.METRICS
        + order.METRICS
        + continuity.METRICS
        + summaries.METRICS
        + drift.METRICS,
    ),
    Family("rework", "What forgetting costs in the closed loop", rework.METRICS),
    Family("flush", "Flushes of memory", flush.METRICS + notes.METRICS),
    Family("fresh", "Fresh tokens by cause", fresh.METRICS),
)
METRICS: dict[str, Metric] = {m.name: m for family in FAMILIES for m in family.metrics}


def measure(
    trace: Trace, conversation: Conversation, names: Iterable[str] | None = None
) -> dict[str, float | None]:
    """Compute the figures of a run.

    Parameters
    ----------
    trace
        What happened.
    conversation
        The script that was replayed.
    names
        Which metrics; all by default.

    Returns
    -------
    dict
        Value by metric; None where it has none.
    """
    return figures(Reading(trace, conversation), names)


def figures(reading: Reading, names: Iterable[str] | None = None) -> dict[str, float | None]:
    """Compute the figures of a run from a reading that one has.

    Parameters
    ----------
    reading
        A trace with its conversation. What several metrics need is computed once.
    names
        Which metrics, so that a caller may leave out what is dear to compute; all by default.

    Returns
    -------
    dict
        Value by metric, in the order asked for; None where it has none.

    Raises
    ------
    KeyError
        If there is no metric of a name.
    """
    return {name: METRICS[name].compute(reading) for name in (METRICS if names is None else names)}
