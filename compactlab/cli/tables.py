"""What a table among conversations, strategies or summarisers of an experiment file may say."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, Field, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from compactlab.cli.fields import fields_schema, wording
from compactlab.scenarios.catalogue import SCENARIOS, SUITE
from compactlab.strategies.catalogue import strategies
from compactlab.strategies.summarizers.catalogue import SUMMARIZERS, find_class

# What only the JSON Schema says: what a file may have before it is written out, and names.


@dataclass(frozen=True)
class InFile:
    """What a file may have, where a run takes it written out."""

    kind: Any

    def __get_pydantic_json_schema__(
        self, _: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The schema of what a file may have."""
        return handler(TypeAdapter(self.kind).core_schema)


def list_in_file(kind: Any, *, alone: bool = False) -> InFile:
    """A list of something in a file, or also one alone."""
    several = Annotated[list[kind], Field(min_length=1)]
    return InFile(kind | several if alone else several)


def names(known: Callable[[], Iterable[str]], **other: Any) -> Callable[[JsonSchemaValue], None]:
    """Names that an editor completes, and which other texts there may be: none, if not said."""

    def extra(schema: JsonSchemaValue) -> None:
        text = {key: schema.pop(key) for key in ("type", "minLength") if key in schema}
        listed = {"enum": list(known())}
        schema |= {"anyOf": [listed, text | other]} if other else listed

    return extra


def _text_like(known: Callable[[], Iterable[str]]) -> Any:
    """A spec: mostly a name."""
    return Annotated[str, Field(json_schema_extra=names(known, type="string", minLength=1))]


def _cases(key: str, known: Callable[[], Mapping[str, type]]) -> Callable[[JsonSchemaValue], None]:
    """Which fields a table has, by the name in it."""

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
    return {name: find_class(name) for name in sorted(SUMMARIZERS)}


def scenarios() -> dict[str, type]:
    """All scenarios, and the suite, which has the fields of any."""
    return dict(sorted({**SCENARIOS, SUITE: next(iter(SCENARIOS.values()))}.items()))


# The tables. Their first keys say what they are; those that name a class have its fields besides.

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
    """Any of them."""


class StrategyTable(
    Table, title="Strategy", extra="allow", json_schema_extra=_cases("name", strategies)
):
    """A strategy and its fields."""

    name: _Name = Field(
        description="Its name, or that of a class, path/to/file.py:Class.",
        json_schema_extra=names(lambda: sorted(strategies()), pattern=":"),
    )


AnyStrategy = _text_like(lambda: sorted(strategies())) | StrategyTable


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

    name: _Name = Field(description="Its name.", json_schema_extra=names(_summarizers))


AnySummarizer = _text_like(_summarizers) | SummarizerTable
