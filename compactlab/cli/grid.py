"""Grids: a table of an experiment file that stands for each combination of its lists."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Any, Protocol

from compactlab.cli.faults import Faults, Place
from compactlab.cli.hint import hints_of, misfits, takes_list
from compactlab.sim.errors import UsageError, unknown
from compactlab.sim.strategy import Pipeline, Strategy

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
    """A class, and the values that its fields take in turn.

    Parameters
    ----------
    place
        Of its table in the file.
    name
        The class's name in specs.
    cls
        The class.
    axes
        By field the values, by their places in the file.
    """

    place: Place
    name: str
    cls: type
    axes: Mapping[str, Mapping[Place, Any]]

    @property
    def size(self) -> int:
        """How many combinations there are."""
        return prod(map(len, self.axes.values()))

    def points(self, faults: Faults) -> Iterator[Point]:
        """Each combination; the first field varies slowest."""
        for chosen in product(*(axis.items() for axis in self.axes.values())):
            values = {f: value for f, (_, value) in zip(self.axes, chosen, strict=True)}
            try:
                made = self.cls(**values)
            except (UsageError, ValueError, TypeError) as error:
                places = {f: at for f, (at, _) in zip(self.axes, chosen, strict=True)}
                faults.add(*self._blamed(str(error), places))
                continue
            inside = ", ".join(f"{field}={value!r}" for field, value in values.items())
            yield (f"{self.name}({inside})" if inside else self.name), made

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
        found = [list(part.points(faults)) for part in self.parts]
        for chosen in product(*found):
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
) -> Grid:
    """Read the values of a class's fields; those that do not fit are faults.

    Parameters
    ----------
    name
        The class's name in specs.
    cls
        A dataclass.
    table
        Values by field, without what else stands in the table.
    place
        Of the table.
    faults
        Collects what is wrong.
    """
    fields = [field.name for field in dataclasses.fields(cls) if field.init]
    axes = {}
    with faults.at(place):
        hints = hints_of(cls)
        for field, value in table.items():
            if field in fields:
                axes[field] = _axis(value, hints[field], (*place, field), faults)
            else:
                faults.add((*place, field), unknown("field", field, fields))
    return Grid(place, name, cls, axes)


def _axis(value: Any, hint: Any, place: Place, faults: Faults) -> dict[Place, Any]:
    """The values of a field, by their places: one, or those of a list."""
    values = {place: value}
    if _is_grid(value, hint):
        values = {(*place, number): each for number, each in enumerate(value)}
    if not values:
        faults.add(place, "an empty list leaves nothing to run")
    for at, each in values.items():
        for where, message in misfits(each, hint, at):
            faults.add(where, message)
    return {at: _frozen(each) for at, each in values.items()}


def _is_grid(value: Any, hint: Any) -> bool:
    """Whether a list holds values of a field, and is not one itself."""
    if not isinstance(value, list) or not takes_list(hint):
        return isinstance(value, list)
    return bool(value) and all(isinstance(each, list) for each in value)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
