"""Grids: a table of an experiment file that stands for every combination of its lists."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from compactlab.request.fields import adapter, hints_of, takes_list
from compactlab.request.toml_file import Fault, Faults, Place, each_of
from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.core.isolation import isolated
from compactlab.sim.experiment.foreign import PATIENCE
from compactlab.sim.replay.strategy import Pipeline, Strategy

EMPTY = "an empty list leaves nothing to run"

Point = tuple[str, Any]  # a spec, and the object that it builds


@dataclasses.dataclass(frozen=True)
class Choice:
    """A value that stands for one or more specs."""

    size: int  # number of specs
    # Each spec with its object; a spec that cannot be built is a fault.
    points: Callable[[Faults], Iterable[Point]]


def fixed(text: str, made: Any) -> Choice:
    """A single spec."""
    return Choice(1, lambda faults: [(text, made)])


def pipe(place: Place, parts: Sequence[Choice]) -> Choice:
    """Pipelines: every combination of the specs of its parts; the first part varies slowest."""

    def points(faults: Faults) -> Iterator[Point]:
        for chosen in product(*[list(part.points(faults)) for part in parts]):
            steps: tuple[Strategy, ...] = tuple(made for _, made in chosen)
            try:
                made = steps[0] if len(steps) == 1 else Pipeline(steps)
            except UsageError as error:
                # Without the previous spec, which differs at each point.
                faults.add(place, str(error).rpartition(": ")[2])
                continue
            yield " + ".join(text for text, _ in chosen), made

    return Choice(prod(part.size for part in parts), points)


def read_grid(
    name: str,
    cls: type,
    table: Mapping[str, Any],
    place: Place,
    faults: Faults,
) -> Choice | None:
    """The grid of a dataclass from a table of its fields; None if any value is invalid."""
    found = _axes(cls, table, place)
    return _grid(name, place, found, faults, lambda text, values: cls(**values))


def read_apart(
    name: str,
    table: Mapping[str, Any],
    place: Place,
    faults: Faults,
    *,
    find: Callable[[], type],
    make: Callable[[str], Any],
) -> Choice | None:
    """The grid of a class that must not be loaded into this process.

    ``find`` finds the class in a separate process; ``make`` builds its stand-in here from a spec.
    Raises a UsageError if it cannot be found.
    """
    outcome = isolated(lambda: _axes(find(), table, place), PATIENCE)
    if outcome.value is None:
        raise UsageError(outcome.fault)

    def made(text: str, values: Mapping[str, Any]) -> Any:
        try:
            return make(text)
        except UsageError as error:
            # The message begins with the name of the class.
            raise UsageError(str(error).partition(": ")[2] or str(error)) from None

    return _grid(name, place, outcome.value, faults, made)


def _grid(
    name: str,
    place: Place,
    found: tuple[Axes, list[Fault]],
    faults: Faults,
    make: Callable[[str, Mapping[str, Any]], Any],
) -> Choice | None:
    """Every combination of the values of fields; the first field varies slowest."""
    axes, messages = found
    faults.extend(messages)

    def points(faults: Faults) -> Iterator[Point]:
        for chosen in product(*(axis.items() for axis in axes.values())):
            values = {f: value for f, (_, value) in zip(axes, chosen, strict=True)}
            inside = ", ".join(f"{field}={value!r}" for field, value in values.items())
            text = f"{name}({inside})" if inside else name
            try:
                yield text, make(text, values)
            except (UsageError, ValueError, TypeError) as error:
                # Messages begin with the name of their field.
                field, _, rest = str(error).partition(" ")
                places = {f: at for f, (at, _) in zip(axes, chosen, strict=True)}
                faults.add(*((places[field], rest) if field in places else (place, str(error))))

    return None if messages else Choice(prod(map(len, axes.values())), points)


Axes = dict[str, dict[Place, Any]]


def _axes(cls: type, table: Mapping[str, Any], place: Place) -> tuple[Axes, list[Fault]]:
    """The values of fields, by field and by place; and the invalid ones as faults."""
    faults, axes = Faults(), Axes()
    names = [field.name for field in dataclasses.fields(cls) if field.init]
    with faults.at(place):
        hints = hints_of(cls)
        for field, value in table.items():
            if field in names:
                axes[field] = _axis(value, hints[field], (*place, field), faults)
            else:
                faults.add((*place, field), unknown("field", field, names))
    return axes, list(faults)


def _axis(value: Any, hint: Any, place: Place, faults: Faults) -> dict[Place, Any]:
    """The values of a field, by their places: one, or those of a list."""
    values = each_of(value, place) if _is_grid(value, hint) else {place: value}
    if not values:
        faults.add(place, EMPTY)
    for at, each in values.items():
        with faults.at(at):
            adapter(hint).validate_python(each)
    return {at: _frozen(each) for at, each in values.items()}


def _is_grid(value: Any, hint: Any) -> bool:
    """Whether a list holds several values of a field, and is not a value itself."""
    if not isinstance(value, list) or not takes_list(hint):
        return isinstance(value, list)
    return bool(value) and all(isinstance(each, list) for each in value)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
