"""Metrics by the names that users write: of a metric, or of a family."""

from __future__ import annotations

from collections.abc import Iterable

from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.metrics import FAMILIES, METRICS

_FAMILIES = {family.name: tuple(m.name for m in family.metrics) for family in FAMILIES}


def metrics_named(names: Iterable[str]) -> tuple[str, ...]:
    """Metrics by their names and by those of families, in the order of the table.

    Raises
    ------
    UsageError
        If there is neither a metric nor a family of a name.

    Examples
    --------
    >>> metrics_named(["time", "cost_usd"])
    ('cost_usd', 'ttft_proxy_p50', 'ttft_proxy_p95')
    """
    wanted: set[str] = set()
    for name in names:
        if name not in _FAMILIES and name not in METRICS:
            known = (*_FAMILIES, *METRICS)
            raise UsageError(unknown("metric", name, known, "compactlab list metrics"))
        wanted |= {*_FAMILIES.get(name, (name,))}
    return tuple(name for name in METRICS if name in wanted)
