"""Grids: a table of an experiment file that stands for each combination of its lists."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import product
from math import prod
from types import NoneType, UnionType
from typing import Any, Literal, Protocol, Union, get_args, get_origin, get_type_hints

from compactlab.cli.toml_file import Faults, Place, quoted
from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.core.isolation import isolated
from compactlab.sim.experiment.foreign import PATIENCE
from compactlab.sim.replay.strategy import Pipeline, Strategy

# Type hints of fields: which values of a file they take, and how JSON Schema says so.

_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
_JSON = {int: "integer", float: "number", bool: "boolean", str: "string"}


def hints_of(cls: type) -> dict[str, Any]:
    """The hints of a class's fields.

    Raises
    ------
    UsageError
        If they cannot be told, as somebody's own may not.
    """
    try:
        return get_type_hints(cls)
    except Exception as error:
        raise UsageError(f"the types of {cls.__name__}'s fields cannot be told: {error}") from None


def takes_list(hint: Any) -> bool:
    """Whether a list is one value of a field.

    Examples
    --------
    >>> takes_list(tuple[str, ...]), takes_list(int), takes_list(tuple[int, int] | None)
    (True, False, True)
    """
    if get_origin(hint) in (Union, UnionType):
        return any(map(takes_list, get_args(hint)))
    kind = get_origin(hint) or hint
    return isinstance(kind, type) and kind is not str and issubclass(kind, Sequence | Set)


def misfits(value: Any, hint: Any, place: Place) -> Iterator[tuple[Place, str]]:
    """What of a value does not fit a hint, by its place.

    A hint that is of another kind than those of built-in fields takes anything; the class itself
    judges it.
    """
    if get_origin(hint) in (Union, UnionType):
        kinds = [kind for kind in get_args(hint) if kind is not NoneType]
        if all(any(misfits(value, kind, place)) for kind in kinds):
            yield place, f"must be {' or '.join(map(_word, kinds))}, not {quoted(value)}"
    elif takes_list(hint):
        if isinstance(value, list):
            yield from _misfits_inside(value, get_args(hint), place)
        else:
            yield place, f"must be a list, not {quoted(value)}"
    elif not _fits(value, hint):
        yield place, f"must be {_word(hint)}, not {quoted(value)}"


def _misfits_inside(value: list[Any], kinds: Any, place: Place) -> Iterator[tuple[Place, str]]:
    if len(kinds) > 1 and kinds[-1] is not Ellipsis:
        if len(value) != len(kinds):
            yield place, f"must be a list of {len(kinds)}, not {quoted(value)}"
            return
    else:
        kinds = (kinds[:1] or (Any,)) * len(value)
    for number, (each, kind) in enumerate(zip(value, kinds, strict=True)):
        yield from misfits(each, kind, (*place, number))


def _fits(value: Any, hint: Any) -> bool:
    if get_origin(hint) is Literal:
        return any(value == each and type(value) is type(each) for each in get_args(hint))
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
    return hint not in (bool, str) or isinstance(value, hint)


def _word(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(map(repr, get_args(hint)))
    return "a list" if takes_list(hint) else _WORDS.get(hint, str(hint))


def schema_of(hint: Any) -> dict[str, Any]:
    """The JSON Schema of the values that a hint takes.

    Examples
    --------
    >>> schema_of(tuple[str, float])["prefixItems"]
    [{'type': 'string'}, {'type': 'number'}]
    """
    kinds = get_args(hint)
    if get_origin(hint) is Literal:
        return {"enum": list(kinds)}
    if get_origin(hint) in (Union, UnionType):
        return {"anyOf": [schema_of(kind) for kind in kinds if kind is not NoneType]}
    if not takes_list(hint):
        return {"type": _JSON[hint]} if hint in _JSON else {}
    if len(kinds) > 1 and kinds[-1] is not Ellipsis:
        each = [schema_of(kind) for kind in kinds]
        return {"type": "array", "prefixItems": each, "minItems": len(each), "maxItems": len(each)}
    return {"type": "array", "items": schema_of(kinds[0]) if kinds else {}}


# Grids: a table of an experiment file that stands for each combination of its lists.

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
    axes
        By field the values, by their places in the file.
    make
        Builds it of a spec and of its values.
    """

    place: Place
    name: str
    axes: Mapping[str, Mapping[Place, Any]]
    make: Callable[[str, Mapping[str, Any]], Any]

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
    return Grid(place, name, axes, lambda text, values: cls(**values))


def read_apart(
    name: str,
    table: Mapping[str, Any],
    place: Place,
    faults: Faults,
    *,
    find: Callable[[], type],
    make: Callable[[str], Any],
) -> Grid:
    """Read the values of the fields of a class that shall not be loaded into this process.

    Parameters
    ----------
    name, table, place, faults
        As for :func:`read_grid`.
    find
        Finds the class, in a process of its own.
    make
        Builds what stands for it here, of a spec.

    Raises
    ------
    UsageError
        If it cannot be found.
    """

    def read() -> tuple[Mapping[str, Mapping[Place, Any]], list[tuple[Place, str]]]:
        found = Faults()
        return read_grid(name, find(), table, place, found).axes, list(found)

    outcome = isolated(read, PATIENCE)
    if outcome.value is None:
        raise UsageError(outcome.fault)
    axes, found = outcome.value
    for fault in found:
        faults.add(*fault)

    def made(text: str, values: Mapping[str, Any]) -> Any:
        try:
            return make(text)
        except UsageError as error:
            # The name of the class stands in front of what it says.
            raise UsageError(str(error).partition(": ")[2] or str(error)) from None

    return Grid(place, name, axes, made)


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
