"""One figure of a run: its meaning and its computation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import cleandoc
from typing import Literal

from compactlab.sim.metrics.run_data import RunData

Better = Literal["lower", "higher", "neither"]

# Sources and aggregations that many metrics share.
OWN = "own, docs/metrics.md"
OVER_REQUESTS = "sum over calls and side calls"
OVER_CALLS = "sum over calls"


@dataclass(frozen=True)
class Metric:
    """One figure of a run.

    Parameters
    ----------
    unit
        Its unit.
    better
        Which direction is good; ``neither`` for descriptive figures.
    meaning
        Its meaning, in one line.
    of_run
        How the figure of a run is computed from its calls and compactions.
    source
        The source of the definition.
    compute
        The function; it returns None where it has no value. Its docstring is the definition.
    """

    unit: str
    better: Better
    meaning: str
    of_run: str
    source: str
    compute: Callable[[RunData], float | None]

    @property
    def name(self) -> str:
        """Its name in tables and files: that of its function."""
        return self.compute.__name__

    @property
    def definition(self) -> str:
        """How exactly it is computed: the docstring of its function."""
        return cleandoc(self.compute.__doc__ or "")


@dataclass(frozen=True)
class Family:
    """Metrics that belong together."""

    name: str  # one word
    title: str  # as a heading
    metrics: tuple[Metric, ...]  # in the order of tables
    about: str = ""  # what is said of all of them
