"""One figure of a run: its meaning and its computation."""

from __future__ import annotations

import math
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
# Beyond it nothing can be measured: a million sessions of a million tokens a call have less.
MOST = 1e15
# Digits that the order of a sum may change.
_SLACK = 1e-9
_SHOWN = 30


@dataclass(frozen=True)
class Range:
    """Which values a figure may have, both ends among them."""

    low: float = 0.0
    high: float = MOST
    endless: bool = False  # whether it may also be infinite, upwards

    def holds(self, value: float) -> bool:
        """Whether a value is in it; no number is in none.

        Examples
        --------
        >>> Range(0, 1).holds(0.5), Range(0, 1).holds(5), Range().holds(math.inf)
        (True, False, False)
        """
        if self.low - _SLACK <= value <= self.high + _SLACK:
            return True
        return self.endless and value == math.inf

    def __str__(self) -> str:
        """In words that follow "must be"."""
        words = f"from {self.low:g} to {self.high:g}"
        return f"{words}, or infinite" if self.endless else words


SIGNED = Range(-MOST)
ENDLESS = Range(endless=True)
_BY_UNIT = {"share": Range(0.0, 1.0)}


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
    limits
        The values that it may have; None for those of its unit: a share is from 0 to 1, all else
        is finite and not negative.
    """

    unit: str
    better: Better
    meaning: str
    of_run: str
    source: str
    compute: Callable[[RunData], float | None]
    limits: Range | None = None

    @property
    def name(self) -> str:
        """Its name in tables and files: that of its function."""
        return self.compute.__name__

    @property
    def range(self) -> Range:
        """The values that the figure of a run may have."""
        return self.limits or _BY_UNIT.get(self.unit, Range())

    def fault(self, value: float) -> str:
        """Why a value cannot be the figure of a run; "" if it can."""
        if self.range.holds(value):
            return ""
        shown = repr(value)
        if len(shown) > _SHOWN:
            shown = f"{shown[:_SHOWN]}... ({len(shown):,} digits)"
        return f"{self.name} must be {self.range}, not {shown}"

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
