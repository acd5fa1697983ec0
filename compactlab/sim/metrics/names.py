"""Metrics by the names that users write: of a metric, of a family, or an earlier name."""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Iterable, Mapping
from importlib.resources import files

from compactlab.sim.core.errors import RenamedWarning, UsageError, unknown
from compactlab.sim.metrics import FAMILIES, METRICS

RENAMED: Mapping[str, Mapping[str, str]] = tomllib.loads(
    files("compactlab.sim.metrics").joinpath("renamed.toml").read_text(encoding="utf-8")
)
"""Of columns and of families: today's names by those of earlier versions. And what these meant."""

_FAMILIES = {family.name: tuple(m.name for m in family.metrics) for family in FAMILIES}


def current(name: str) -> str:
    """Today's name of a metric; a name of an earlier version gives a RenamedWarning.

    Examples
    --------
    >>> current("cost_usd")
    'cost_usd'
    """
    return name if name in METRICS else _renamed(name, RENAMED["columns"])


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
        family = name if name in _FAMILIES else _renamed(name, RENAMED["families"])
        metric = current(name) if family not in _FAMILIES else ""
        if family not in _FAMILIES and metric not in METRICS:
            known = (*_FAMILIES, *METRICS)
            raise UsageError(unknown("metric", name, known, "compactlab list metrics"))
        wanted |= {*_FAMILIES.get(family, (metric,))}
    return tuple(name for name in METRICS if name in wanted)


def other_meaning(version: str, other: str) -> str:
    """What one of two versions meant by figures whose names have stayed; "" if nothing else.

    Examples
    --------
    >>> other_meaning("0.1.0", "0.1.0")
    ''
    """
    known = RENAMED["meanings"]
    return "" if version == other else known.get(version) or known.get(other, "")


def _renamed(name: str, names: Mapping[str, str]) -> str:
    if name not in names:
        return name
    warnings.warn(f"{name} is called {names[name]} now", RenamedWarning, stacklevel=3)
    return names[name]
