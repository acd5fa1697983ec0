"""The declaration of a metric, beside the function that computes it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from inspect import cleandoc
from types import ModuleType
from typing import Any, Literal, TypeVar

from compactlab.sim.metrics.run_data import RunData

Better = Literal["lower", "higher", "neither"]
Aggregation = Literal["sum", "mean", "median", "maximum", "minimum"]

# Sources and aggregations that many metrics share.
OWN = "own, docs/metrics.md"
SIMULATED = "own, docs/metrics.md; closed loop, simulated"
OVER_REQUESTS = "sum over calls and summary calls"
OVER_CALLS = "sum over calls"
# Larger values are errors: a million sessions of a million tokens per call have less.
MOST = 1e15
# Relative rounding error of sums in another order.
_SLACK = 1e-9
_SHOWN = 30


@dataclass(frozen=True)
class Range:
    """The valid values of a figure, including both ends."""

    low: float = 0.0
    high: float = MOST
    endless: bool = False  # whether it may also be positive infinity

    def holds(self, value: float) -> bool:
        """Whether a value is in it; NaN is not.

        Examples
        --------
        >>> Range(0, 1).holds(0.5), Range(0, 1).holds(5), Range().holds(math.inf)
        (True, False, False)
        """
        if self.low - _SLACK <= value <= self.high + _SLACK:
            return True
        return self.endless and value == math.inf

    def __str__(self) -> str:
        """Describe it in words that follow "must be"."""
        words = f"from {self.low:g} to {self.high:g}"
        return f"{words}, or infinite" if self.endless else words


SIGNED = Range(-MOST)
ENDLESS = Range(endless=True)
_BY_UNIT = {"share": Range(0.0, 1.0)}
# Figures of these units add up over conversations; all others are averaged.
_AMOUNTS = ("USD", "tokens", "calls", "compactions", "summaries", "seconds")


@dataclass(frozen=True)
class Metric:
    """One figure of a run, as :func:`metric` declares it."""

    name: str
    unit: str
    better: Better
    of_run: str
    source: str
    definition: str
    compute: Callable[[RunData], float | None]
    aggregation: Aggregation
    range: Range
    label: str

    @property
    def meaning(self) -> str:
        """Its meaning in one line: the first of its definition."""
        return self.definition.partition("\n")[0].replace("``", "").removesuffix(".")

    def fault(self, value: float) -> str:
        """The reason why a value is invalid; "" if it is valid."""
        if self.range.holds(value):
            return ""
        shown = repr(value)
        if len(shown) > _SHOWN:
            shown = f"{shown[:_SHOWN]}... ({len(shown):,} digits)"
        return f"{self.name} must be {self.range}, not {shown}"


@dataclass(frozen=True)
class Member:
    """One of several metrics that a function computes, each with another argument."""

    name: str
    value: Any  # the function's second argument
    words: str = ""  # replacement of {} in the docstring; by default the value
    # Where members differ.
    better: Better | None = None
    label: str = ""


_Function = TypeVar("_Function", bound=Callable[..., float | None])
_declared: dict[str, list[Metric]] = {}  # by the module of the function


def metric(
    unit: str,
    better: Better,
    of_run: str,
    source: str = OWN,
    *,
    label: str = "",
    limits: Range | None = None,
    aggregation: Aggregation | None = None,
    members: Iterable[Member] = (),
) -> Callable[[_Function], _Function]:
    """Declare that a function computes a metric; tables, glossary and checks follow.

    The function returns None where the metric has no value. Its name is the metric's name, its
    docstring the definition, and the first line of that the meaning.

    Parameters
    ----------
    unit
        Its unit.
    better
        Which direction is good; ``neither`` for descriptive figures.
    of_run
        How a run's figure follows from its calls and compactions.
    source
        The source of the definition.
    label
        The head of its column in tables of strategies; its name, if there is none.
    limits
        The valid values; by default those of its unit: a share is from 0 to 1, others are finite
        and not negative.
    aggregation
        How figures of conversations become that of a strategy; by default amounts add up, and
        others are averaged.
    members
        The metrics, if the function computes several.
    """

    def declare(function: _Function) -> _Function:
        definition = cleandoc(function.__doc__ or "")
        for member in members or (Member(function.__name__, None),):
            _declared.setdefault(function.__module__, []).append(
                Metric(
                    member.name,
                    unit,
                    member.better or better,
                    of_run,
                    source,
                    definition.replace("{}", member.words or str(member.value)),
                    _computed(function, member.value) if members else function,
                    aggregation or ("sum" if unit in _AMOUNTS else "mean"),
                    limits or _BY_UNIT.get(unit, Range()),
                    member.label or label or member.name.replace("_", " "),
                )
            )
        return function

    return declare


def _computed(
    function: Callable[[RunData, Any], float | None], value: Any
) -> Callable[[RunData], float | None]:
    return lambda data: function(data, value)


class Family:
    """The metrics of some files, in the order of tables."""

    def __init__(self, name: str, title: str, *files: ModuleType, about: str = "") -> None:
        self.name = name  # one word
        self.title = title  # as a heading
        self.about = about  # a note on all of them
        self.metrics = tuple(metric for file in files for metric in _declared[file.__name__])
