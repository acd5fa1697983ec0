"""Fields and tables of an experiment file, checked by their type hints."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, reduce
from itertools import product
from math import prod
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    Strict,
    TypeAdapter,
    ValidationError,
    WrapValidator,
)
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError
from pydantic_core.core_schema import NullableSchema, WithDefaultSchema

from compactlab.request.toml_file import KIND, Fault, Faults, Place, each_of
from compactlab.scenarios.catalogue import SCENARIOS, SUITE
from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.core.isolation import isolated
from compactlab.sim.experiment.foreign import PATIENCE
from compactlab.sim.replay.strategy import Pipeline, Strategy
from compactlab.strategies.catalogue import STRATEGIES
from compactlab.strategies.summarizers.catalogue import SUMMARIZERS

# Fields of strategies, scenarios and summarisers: their values and their JSON Schema.

_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def hints_of(cls: type) -> dict[str, Any]:
    """The hints of a class's fields; raises a UsageError if a user's class has invalid ones."""
    try:
        return get_type_hints(cls)
    except Exception as error:
        raise UsageError(f"the types of {cls.__name__}'s fields cannot be read: {error}") from None


def takes_list(hint: Any) -> bool:
    """Whether a single value of a field is a list.

    Examples
    --------
    >>> takes_list(tuple[str, ...]), takes_list(int), takes_list(tuple[int, int] | None)
    (True, False, True)
    """
    if get_origin(hint) in (Union, UnionType):
        return any(map(takes_list, get_args(hint)))
    kind = get_origin(hint) or hint
    return isinstance(kind, type) and kind is not str and issubclass(kind, Sequence | Set)


def wording(words: str) -> WrapValidator:
    """Describe the valid values in words, in any error raised inside."""

    def check(value: Any, inner: Callable[[Any], Any]) -> Any:
        try:
            return inner(value)
        except ValidationError:
            raise _no(words) from None

    return WrapValidator(check)


def _no(words: str) -> PydanticCustomError:
    return PydanticCustomError(KIND, "must be {words}", {"words": words})


@cache
def adapter(hint: Any) -> TypeAdapter[Any]:
    """The validator of a file's values for a hint."""
    return TypeAdapter(_in_toml(hint), config=ConfigDict(strict=True))


def _in_toml(hint: Any) -> Any:
    """The hint for values in TOML: without None, and with lists for all collections.

    A hint of an unknown kind accepts anything; the class itself validates it.
    """
    kinds = [kind for kind in get_args(hint) if kind is not NoneType]
    if hint in _WORDS or get_origin(hint) is Literal:
        return hint
    if get_origin(hint) in (Union, UnionType):
        either: Any = reduce(or_, map(_in_toml, kinds))
        return Annotated[either, wording(" or ".join(map(_word, kinds)))] if kinds[1:] else either
    if not takes_list(hint):
        return Any
    if not kinds[1:] or kinds[-1] is Ellipsis:
        each = _in_toml(kinds[0]) if kinds else Any
        return Annotated[tuple.__class_getitem__((each, ...)), Strict(False)]
    several = tuple.__class_getitem__(tuple(map(_in_toml, kinds)))
    return Annotated[several, Strict(False), BeforeValidator(_of_length(len(kinds)))]


def _of_length(length: int) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if isinstance(value, list) and len(value) != length:
            raise _no(f"a list of {length}")
        return value

    return check


def _word(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(map(repr, get_args(hint)))
    return "a list" if takes_list(hint) else _WORDS.get(hint, str(hint))


class TomlSchema(GenerateJsonSchema):
    """Writes schemas of TOML files, which have no null: an absent key stands for None."""

    def nullable_schema(self, schema: NullableSchema) -> JsonSchemaValue:
        """The schema without null."""
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        """The schema with its default, unless that is None."""
        if schema.get("default") is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def normalize_name(self, name: str) -> str:
        """The name of a table: its class without the suffix "Table"."""
        return super().normalize_name(name).removesuffix("Table").lower()


def fields_schema(cls: type) -> dict[str, JsonSchemaValue]:
    """The schemas of a class's fields: a value, or in a grid also a list of values."""
    hints, meanings = hints_of(cls), _meanings(cls)
    properties = {}
    for field in dataclasses.fields(cls):
        if field.init:
            value = adapter(hints[field.name]).json_schema()
            several = {"type": "array", "minItems": 1, "items": value}
            properties[field.name] = {
                "title": field.name.replace("_", " ").capitalize(),
                "description": meanings.get(field.name, ""),
                **({} if field.default is dataclasses.MISSING else {"default": field.default}),
                "anyOf": [value, several],
            }
    return properties


def _meanings(cls: type) -> dict[str, str]:
    """The descriptions of fields in the docstrings of a class and its bases."""
    meanings: dict[str, str] = {}
    for each in reversed(cls.__mro__):
        section = re.search(
            r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)",
            inspect.cleandoc(each.__doc__ or ""),
            re.DOTALL | re.MULTILINE,
        )
        entries: Iterable[tuple[str, str]] = re.findall(
            r"^(\w[\w, ]*)\n((?:[ ]+.*\n?|\n)+)", section[1] if section else "", re.MULTILINE
        )
        for names, meaning in entries:
            meanings |= dict.fromkeys(names.split(", "), " ".join(meaning.split()))
    return meanings


# Tables of conversations, strategies or summarisers in an experiment file.

# For the JSON Schema only: the form of values before expansion, and known names.


@dataclass(frozen=True)
class InFile:
    """The form of a value in a file, if a run takes it expanded."""

    kind: Any

    def __get_pydantic_json_schema__(
        self, _: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The schema of the value in a file."""
        return handler(TypeAdapter(self.kind).core_schema)


def list_in_file(kind: Any, *, alone: bool = False) -> InFile:
    """A list in a file; with ``alone``, a single item may replace it."""
    several = Annotated[list[kind], Field(min_length=1)]
    return InFile(kind | several if alone else several)


def names(known: Callable[[], Iterable[str]], **other: Any) -> Callable[[JsonSchemaValue], None]:
    """Add names for completion in editors; ``other`` describes further valid texts."""

    def extra(schema: JsonSchemaValue) -> None:
        text = {key: schema.pop(key) for key in ("type", "minLength") if key in schema}
        listed = {"enum": list(known())}
        schema |= {"anyOf": [listed, text | other]} if other else listed

    return extra


def _text_like(known: Callable[[], Iterable[str]]) -> Any:
    """A spec, usually a name."""
    return Annotated[str, Field(json_schema_extra=names(known, type="string", minLength=1))]


def _cases(key: str, known: Callable[[], Mapping[str, type]]) -> Callable[[JsonSchemaValue], None]:
    """The fields of a table, by the name in it."""

    def extra(schema: JsonSchemaValue) -> None:
        schema["allOf"] = [
            {
                "if": {"properties": {key: {"const": name}}, "required": [key]},
                "then": {
                    "description": (inspect.getdoc(cls) or "").partition("\n")[0],
                    "properties": {**schema["properties"], key: True, **fields_schema(cls)},
                    "additionalProperties": False,
                },
            }
            for name, cls in sorted(known().items())
        ]

    return extra


def _summarizers() -> dict[str, type]:
    return dict(sorted(SUMMARIZERS.usable().items()))


def scenarios() -> dict[str, type]:
    """All scenarios and the suite, which has the fields that all scenarios share."""
    known = SCENARIOS.usable()
    return dict(sorted({**known, SUITE: next(iter(known.values()))}.items()))


# The tables. Their first key is their kind; tables that name a class also have its fields.

Text = Annotated[str, Field(min_length=1)]
_Name = Annotated[Text, wording("a name")]
_Seeds = Annotated[
    Annotated[int, Field(ge=1)] | Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)],
    wording("a number of seeds from 1 on, or a list of seeds"),
    Field(
        description="A number of seeds, from 0 on, or a list of seeds; without it those of the "
        "experiment."
    ),
]


class Table(BaseModel, extra="forbid", strict=True):
    """The base of all tables."""


class StrategyTable(
    Table, title="Strategy", extra="allow", json_schema_extra=_cases("name", STRATEGIES.usable)
):
    """A strategy and its fields."""

    name: _Name = Field(
        description="Its name, or that of a class, path/to/file.py:Class.",
        json_schema_extra=names(lambda: sorted(STRATEGIES), pattern=":"),
    )


AnyStrategy = _text_like(lambda: sorted(STRATEGIES)) | StrategyTable


class PipelineTable(Table, title="Pipeline"):
    """The parts of a pipeline."""

    pipeline: Annotated[
        list[Any], list_in_file(AnyStrategy), Field(min_length=1), wording("a list of parts")
    ] = Field(description="Its parts, asked one after the other.")


class FilesTable(Table, title="Files"):
    """Transcripts, perhaps with seeds of their own."""

    files: Annotated[Any, list_in_file(Text, alone=True)] = Field(
        description="Transcripts, folders of them, and patterns with * or **."
    )
    seeds: _Seeds | None = None


class ScenarioTable(
    Table, title="Scenario", extra="allow", json_schema_extra=_cases("scenario", scenarios)
):
    """A scenario and its parameters, perhaps with seeds of its own."""

    scenario: _Name = Field(description="Its name.", json_schema_extra=names(scenarios))
    seeds: _Seeds | None = None


class SummarizerTable(
    Table, title="Summarizer", extra="allow", json_schema_extra=_cases("name", _summarizers)
):
    """A summariser and its fields."""

    name: _Name = Field(
        description="Its name, or that of a class, path/to/file.py:Class.",
        json_schema_extra=names(_summarizers, pattern=":"),
    )


AnySummarizer = _text_like(_summarizers) | SummarizerTable


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
