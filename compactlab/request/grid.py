"""Grids: a table of an experiment file that stands for each combination of its lists."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from math import prod
from typing import Any, Protocol

from compactlab.request.fields import adapter, hints_of, takes_list
from compactlab.request.toml_file import Fault, Faults, Place, each_of
from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.core.isolation import isolated
from compactlab.sim.experiment.foreign import PATIENCE
from compactlab.sim.replay.strategy import Pipeline, Strategy

EMPTY = "an empty list leaves nothing to run"

Point = tuple[str, Any]  # a spec, and what was built by it


class Choice(Protocol):
    """Something that stands for some specs."""

    @property
    def size(self) -> int:
        """For how many."""

    def points(self, faults: Faults) -> Iterator[Point]:
        """Each spec with what it builds; what cannot be built is a fault."""


@dataclasses.dataclass(frozen=True)
class Fixed:
    """One spec, as somebody wrote it."""

    text: str
    made: Any
    size: int = 1

    def points(self, faults: Faults) -> Iterator[Point]:
        """Only itself."""
        yield self.text, self.made


@dataclasses.dataclass(frozen=True)
class Grid:
    """A class, and the values that its fields take in turn."""

    place: Place
    name: str
    axes: Mapping[str, Mapping[Place, Any]]  # by field the values, by their places in the file
    make: Callable[[str, Mapping[str, Any]], Any]  # builds it of a spec and of its values

    @property
    def size(self) -> int:
        """How many combinations there are."""
        return prod(map(len, self.axes.values()))

    def points(self, faults: Faults) -> Iterator[Point]:
        """Each combination; the first field varies slowest."""
        for chosen in product(*(axis.items() for axis in self.axes.values())):
            values = {f: value for f, (_, value) in zip(self.axes, chosen, strict=True)}
            inside = ", ".join(f"{field}={value!r}" for field, value in values.items())
            text = f"{self.name}({inside})" if inside else self.name
            try:
                made = self.make(text, values)
            except (UsageError, ValueError, TypeError) as error:
                places = {f: at for f, (at, _) in zip(self.axes, chosen, strict=True)}
                faults.add(*self._blamed(str(error), places))
                continue
            yield text, made

    def _blamed(self, message: str, places: Mapping[str, Place]) -> tuple[Place, str]:
        """The value that a message is about, which by custom begins with the field's name."""
        field, _, rest = message.partition(" ")
        return (places[field], rest) if field in places else (self.place, message)


@dataclasses.dataclass(frozen=True)
class Pipe:
    """Pipelines: each combination of the points of its parts."""

    place: Place
    parts: tuple[Choice, ...]

    @property
    def size(self) -> int:
        """How many combinations there are."""
        return prod(part.size for part in self.parts)

    def points(self, faults: Faults) -> Iterator[Point]:
        """Each combination; the first part varies slowest."""
        points = [list(part.points(faults)) for part in self.parts]
        for chosen in product(*points):
            steps: tuple[Strategy, ...] = tuple(made for _, made in chosen)
            try:
                made = steps[0] if len(steps) == 1 else Pipeline(steps)
            except UsageError as error:
                # Without the spec before it, which is another one at each point.
                faults.add(self.place, str(error).rpartition(": ")[2])
                continue
            yield " + ".join(text for text, _ in chosen), made


def read_grid(
    name: str,
    cls: type,
    table: Mapping[str, Any],
    place: Place,
    faults: Faults,
) -> Grid | None:
    """The grid of a dataclass, by a table's values of its fields; None, if any of them is wrong."""
    axes, messages = _axes(cls, table, place)
    faults.extend(messages)
    return None if messages else Grid(place, name, axes, lambda text, values: cls(**values))


def read_apart(
    name: str,
    table: Mapping[str, Any],
    place: Place,
    faults: Faults,
    *,
    find: Callable[[], type],
    make: Callable[[str], Any],
) -> Grid | None:
    """The grid of a class that shall not be loaded into this process.

    ``find`` finds the class, in a process of its own; ``make`` builds what stands for it here, of
    a spec. Raises a UsageError, if it cannot be found.
    """
    outcome = isolated(lambda: _axes(find(), table, place), PATIENCE)
    if outcome.value is None:
        raise UsageError(outcome.fault)
    axes, messages = outcome.value
    faults.extend(messages)

    def made(text: str, values: Mapping[str, Any]) -> Any:
        try:
            return make(text)
        except UsageError as error:
            # The name of the class stands in front of what it says.
            raise UsageError(str(error).partition(": ")[2] or str(error)) from None

    return None if messages else Grid(place, name, axes, made)


Axes = dict[str, dict[Place, Any]]


def _axes(cls: type, table: Mapping[str, Any], place: Place) -> tuple[Axes, list[Fault]]:
    """The values of fields, by field and by place; and those that do not fit."""
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
    """Whether a list holds values of a field, and is not one itself."""
    if not isinstance(value, list) or not takes_list(hint):
        return isinstance(value, list)
    return bool(value) and all(isinstance(each, list) for each in value)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
