"""Which settings to try: coarse values first, then between the neighbours of the best."""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from compactlab.reports.tune.settings import Model
from compactlab.reports.tune.tuned import TRIGGER, Target, Tuned, Variant, client_of
from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.core.spec import build
from compactlab.sim.experiment.foreign import Foreign
from compactlab.sim.metrics.memory import LONG
from compactlab.sim.replay.strategy import Pipeline, Strategy

# How many triggers, the largest, are tried at once. Smaller ones follow singly while the smallest
# costs no more than this factor over the cheapest.
AT_ONCE, _RISE = 3, 1.25
_SIZE = 1000  # values from here on are sizes, which can be refined

# The smaller part of a golden section. Each new value reduces the range to 0.618 of it, which is
# optimal for an unknown function with one minimum (Kiefer 1953, Proceedings of the American
# Mathematical Society 4:502).
_SECTION = (3 - 5**0.5) / 2
# Values closer than this ratio are equivalent: a compaction moves by one call.
FINEST = 1.08
_DIGITS = 2  # of the first values; later ones have one more
_LEAST = 5  # the largest value is at least this many times the smallest, if possible


def rounded(value: float, digits: int = _DIGITS + 1) -> int:
    """A number of tokens that people would write.

    Examples
    --------
    >>> rounded(123_456), rounded(98_765, 2), rounded(7)
    (123000, 99000, 7)
    """
    size = int(10 ** max(0, math.floor(math.log10(value)) + 1 - digits))
    return round(value / size) * size


def coarse(low: float, high: float, count: int) -> list[int]:
    """Values in a geometric sequence from ``low`` to ``high``.

    Examples
    --------
    >>> coarse(30_000, 160_000, 4)
    [30000, 52000, 92000, 160000]
    >>> coarse(50_000, 50_000, 4)
    [50000]
    """
    if high <= low or count < 2:
        return [rounded(high, _DIGITS)]
    step = (high / low) ** (1 / (count - 1))
    return sorted({rounded(low * step**index, _DIGITS) for index in range(count)})


def span(first_prompt: float, highest: float) -> tuple[float, float]:
    """The range of triggers: from well above the first prompt of a session to the highest.

    Below 1.5 times the first prompt there is almost nothing to compact.

    Examples
    --------
    >>> span(22_000, 167_000), span(60_000, 167_000), span(90_000, 100_000)
    ((33400.0, 167000), (90000.0, 167000), (100000, 100000))
    """
    return min(max(highest / _LEAST, 1.5 * first_prompt), highest), highest


def around(value: float) -> list[int] | list[float]:
    """Values around a default, for a field without given values.

    Examples
    --------
    >>> around(5), around(0.3)
    ([1, 2, 5, 10, 20], [0.075, 0.15, 0.3, 0.6, 1.2])
    """
    every = [value / 4, value / 2, value, value * 2, value * 4]
    if isinstance(value, int):
        return sorted({max(1, math.floor(each)) for each in every})
    return [round(each, 6) for each in every]


def next_value(costs: Mapping[float, float], margin: float) -> int | None:
    """The next value between the neighbours of the best one; None if the grid is fine enough.

    Parameters
    ----------
    costs
        Known costs by value; infinite if not allowed.
    margin
        If both neighbours cost less than this share more than the best, the minimum is flat and
        needs no refinement.

    Returns
    -------
    int or None
        The golden section of the wider side, on a logarithmic scale.

    Examples
    --------
    >>> next_value({50_000: 9.0, 100_000: 7.0, 160_000: 8.0}, 0.02)
    76700
    >>> next_value({50_000: 7.1, 100_000: 7.0, 160_000: 7.1}, 0.02) is None
    True
    """
    values = sorted(costs)
    finite = [value for value in values if math.isfinite(costs[value])]
    if not finite:
        return None
    best = min(finite, key=lambda value: (costs[value], -value))
    index = values.index(best)
    sides = [values[at] for at in (index - 1, index + 1) if 0 <= at < len(values)]
    if all(costs[side] <= costs[best] * (1 + margin) for side in sides):
        return None
    return _between(best, sides, set(values))


def _between(best: float, sides: Sequence[float], known: set[float]) -> int | None:
    """The golden section of the wider side that is new and not too fine."""
    for side in sorted(sides, key=lambda side: -abs(math.log(side / best))):
        value = rounded(best * (side / best) ** _SECTION)
        apart = min(max(value, each) / min(value, each) for each in (best, side))
        if value not in known and apart >= FINEST:
            return value
    return None


# The request.


@dataclass(frozen=True)
class Axis:
    """A field to tune, with the values to try; without any, they are chosen."""

    field: str
    values: tuple[Any, ...] = ()

    @classmethod
    def parsed(cls, text: str) -> Axis:
        """Read ``trigger`` or ``files=0,5,10``.

        Examples
        --------
        >>> Axis.parsed("files=0,5"), Axis.parsed("trigger")
        (Axis(field='files', values=(0, 5)), Axis(field='trigger', values=()))
        """
        name, equals, rest = text.partition("=")
        return cls(name.strip(), tuple(_value(text, each) for each in rest.split(",") if equals))


def _value(text: str, written: str) -> Any:
    try:
        return ast.literal_eval(written.strip())
    except (ValueError, SyntaxError):
        raise UsageError(
            f"--over {text}: {written.strip()!r} is not a value: write FIELD=VALUE,VALUE with "
            "numbers in digits alone, True, False, or text in quotes"
        ) from None


@dataclass(frozen=True)
class Search:
    """The width and resolution of the search."""

    # The fields, tuned in order: each at the best values of those before it. If values are given,
    # no others are tried.
    over: tuple[Axis, ...] = (Axis(TRIGGER),)
    # Numbers of values of each field and strategy: at first, and in all.
    first: int = 6
    points: int = 12
    # Whether strategies are alternatives: those that cost significantly more are not refined.
    race: bool = False
    sessions: int = 40  # maximum number of sessions per window: the longest
    since: float = 0.0  # only sessions with a call after that time, in seconds since 1970
    project: str = ""  # only sessions of that project

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(axis.field for axis in self.over)

    @property
    def named(self) -> bool:
        """Whether all values are given."""
        return all(axis.values for axis in self.over)


# The search of a strategy: proposes settings, and uses their results for the next ones.


def proposals(
    strategy: Strategy, model: Model, search: Search, low: float, high: float
) -> Generator[list[Variant], Tuned | None, None]:
    """Propose settings of a strategy, round by round, until more would gain nothing.

    Parameters
    ----------
    strategy, model
        The strategy, and the model that its settings depend on.
    search
        The width and resolution of the search.
    low, high
        The range of triggers, in tokens.

    Yields
    ------
    list of Variant
        Settings to run; the caller sends back all results so far, or None without any.
    """
    known = {strategy.spec: Variant(strategy, {})}
    fixed: Mapping[str, Any] = {}  # the values of earlier fields
    tuned: Tuned | None = None
    for axis in search.over:
        values: Sequence[Any] = axis.values
        smaller: list[int] = []
        if not values and axis.field == TRIGGER:
            client = client_of(strategy.spec)
            highest = min(high, client.highest(model)) if client else high
            smaller = coarse(min(low, highest), highest, search.first)
            values = tuple(smaller.pop() for _ in range(min(AT_ONCE, len(smaller))))
        values = values or usual_values(strategy, axis.field)
        while True:
            made = [variant(strategy, {**fixed, axis.field: v}, model.window) for v in values]
            new = {each.spec: each for each in made if each.spec not in known}
            if not new:
                break
            known |= new
            tuned = yield [*new.values()]
            tried = sum(_but(axis.field, each.values) == fixed for each in known.values())
            values = ()
            if tuned and not tuned.dropped and not axis.values and tried < search.points:
                values = _next(tuned, axis.field, fixed, smaller)
        if tuned and tuned.candidate is not None:
            fixed = dict(tuned.tried[tuned.candidate].values)


def _but(field: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != field}


def _next(tuned: Tuned, field: str, fixed: Mapping[str, Any], smaller: list[int]) -> Sequence[Any]:
    """The next value of a field: a smaller one, or one between known ones."""
    costs = _costs(tuned, field, fixed)
    if len(costs) < 2 or (field != TRIGGER and min(costs) < _SIZE):
        return ()
    # Small triggers are the most expensive to run: if a compaction leaves more than the trigger,
    # every call compacts. So the search descends while costs may improve.
    if smaller and costs[min(costs)] <= min(costs.values()) * _RISE < math.inf:
        return (smaller.pop(),)
    value = next_value(costs, tuned.target.margin / 2)
    return () if value is None else (value,)


def _costs(tuned: Tuned, field: str, fixed: Mapping[str, Any]) -> dict[float, float]:
    """The cost by value of a field; infinite if not allowed."""
    costs: dict[float, float] = {}
    for each, allowed in zip(tuned.tried, tuned.choice.allowed(), strict=True):
        value = each.size if field == TRIGGER else each.values.get(field)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if _but(field, each.values) == fixed:
            cost = each.recovery if allowed else math.inf
            costs[value] = min(cost, costs.get(value, math.inf))
    return costs


def tokens_of(trigger: float, window: int) -> float:
    """A trigger in tokens."""
    return float(trigger * window if trigger <= 1 else trigger)


def variant(strategy: Strategy, values: Mapping[str, Any], window: int) -> Variant:
    """A strategy with other values of some fields.

    Raises a UsageError if a field does not exist or a value is invalid.
    """
    if isinstance(strategy, Foreign | Pipeline):
        raise UsageError(
            f"{strategy.spec}: only a single built-in strategy can be tuned; for others, list the "
            "settings in an experiment file (compactlab new experiment)"
        )
    for name in values:
        _check_field(strategy, name)
    arguments = {name: getattr(strategy, name) for name in _fields(strategy)} | dict(values)
    trigger = values.get(TRIGGER)
    size = tokens_of(trigger, window) if isinstance(trigger, int | float) else None
    return Variant(build(type(strategy), arguments), values, size)


def _fields(strategy: Strategy) -> list[str]:
    return [each.name for each in fields(strategy) if each.init]  # type: ignore[arg-type]


def _check_field(strategy: Strategy, name: str) -> None:
    if name not in (names := _fields(strategy)):
        raise UsageError(f"{strategy.label}: {unknown('field', name, names)}")


def usual_values(strategy: Strategy, field: str) -> Sequence[Any]:
    """Values of a field without given ones: all that exist, or those around the default."""
    _check_field(strategy, field)
    hint = get_type_hints(type(strategy)).get(field)
    value = getattr(strategy, field, None)
    if get_origin(hint) is Literal:
        return get_args(hint)
    if isinstance(value, bool):
        return (False, True)
    if isinstance(value, int | float) and value > 0:
        return around(value)
    raise UsageError(f"--over {field}: name the values to try, e.g. {field}=10,20,40")


def check(strategies: Sequence[Strategy], search: Search, target: Target) -> None:
    """Raise an error before any run if the request is invalid."""
    if not strategies:
        raise UsageError("name a strategy to tune, e.g. claude_code")
    for name, count in Counter(each.spec for each in strategies).items():
        if count > 1:
            raise UsageError(f"{name} is named {count} times")
    if target.lag is not None and target.lag not in LONG:
        raise UsageError(f"a lag is one of {', '.join(map(str, LONG))}, not {target.lag}")
    for strategy in strategies:
        for axis in search.over:
            values = axis.values or ((100_000,) if axis.field == TRIGGER else ())
            for value in values or usual_values(strategy, axis.field):
                variant(strategy, {axis.field: value}, 0)
