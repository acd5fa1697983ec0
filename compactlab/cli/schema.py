"""``compactlab schema``: what an experiment file may say, for editors."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from compactlab.cli.disclosing import say, write_file

Schema = dict[str, Any]
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TEXT: Schema = {"type": "string", "minLength": 1}


@click.command()
@click.option(
    "-o", "--out", type=click.Path(dir_okay=False), metavar="FILE", help="Write it there."
)
def schema(out: str | None) -> None:
    """Print the JSON Schema of an experiment file, by which an editor completes and checks it."""
    text = json.dumps(experiment_schema(), indent=2, ensure_ascii=False) + "\n"
    if out is None:
        click.echo(text, nl=False)
        return
    write_file(Path(out), text)
    say(f"wrote {out}")


def experiment_schema() -> Schema:
    """The JSON Schema (draft 2020-12) of an experiment file."""
    from compactlab.cli.experiment import Settings
    from compactlab.scenarios.catalogue import SCENARIOS, SUITE
    from compactlab.sim.experiment.tables import TABLES
    from compactlab.sim.metrics import FAMILIES, METRICS
    from compactlab.strategies.catalogue import strategies
    from compactlab.strategies.summarizers.catalogue import SUMMARIZERS, find_class

    keys = Settings.model_json_schema()["properties"]
    properties = {key: _without_null(said) for key, said in keys.items()}
    written = {name: find_class(name) for name in SUMMARIZERS}
    suite = {**SCENARIOS, SUITE: next(iter(SCENARIOS.values()))}
    seeds: Schema = {
        "title": "Seeds",
        "description": "A number of seeds, from 0 on, or a list of seeds; without it those of the "
        "experiment.",
        "anyOf": [{"type": "integer", "minimum": 1}, _listed({"type": "integer", "minimum": 0})],
    }
    one, pipeline = {"$ref": "#/$defs/strategy"}, {"$ref": "#/$defs/pipeline"}
    named = {"anyOf": [{"enum": sorted(strategies())}, _TEXT]}
    properties["strategies"]["items"] = {"anyOf": [named, one, pipeline]}
    properties["conversations"]["items"] = {
        "anyOf": [_TEXT, {"$ref": "#/$defs/files"}, {"$ref": "#/$defs/scenario"}]
    }
    properties["metrics"]["items"] = {"enum": [*(family.name for family in FAMILIES), *METRICS]}
    properties["tables"]["items"] = {"enum": list(TABLES)}
    writer: Schema = {"anyOf": [{"enum": sorted(written)}, _TEXT, {"$ref": "#/$defs/summarizer"}]}
    for key in ("type", "items", "minItems"):
        del properties["summarizer"][key]
    properties["summarizer"]["anyOf"] = [*writer["anyOf"], _listed(writer)]
    return {
        "$schema": _DIALECT,
        "title": "compactlab experiment",
        "description": "The settings of compactlab run.",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "$defs": {
            "strategy": _tables("name", strategies(), own=True),
            "pipeline": _pipeline({"anyOf": [named, one]}),
            "files": _files(seeds),
            "scenario": _tables("scenario", suite, {"seeds": seeds}),
            "summarizer": _tables("name", written),
        },
    }


def _without_null(said: Schema) -> Schema:
    """What pydantic says of a key; TOML has no null, and who wants none leaves the key out."""
    kinds = [kind for kind in said.get("anyOf", []) if kind.get("type") != "null"]
    said = {key: value for key, value in said.items() if key != "anyOf"}
    if said.get("default", "") is None:
        del said["default"]
    return {**said, **(kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {})}


def _pipeline(part: Schema) -> Schema:
    parts = _listed(part)
    parts |= {"title": "Pipeline", "description": "Its parts, asked one after the other."}
    return {
        "type": "object",
        "properties": {"pipeline": parts},
        "required": ["pipeline"],
        "additionalProperties": False,
    }


def _files(seeds: Schema) -> Schema:
    files: Schema = {
        "title": "Files",
        "description": "Transcripts, folders of them, and patterns with * or **.",
        "anyOf": [_TEXT, _listed(_TEXT)],
    }
    return {
        "type": "object",
        "properties": {"files": files, "seeds": seeds},
        "required": ["files"],
        "additionalProperties": False,
    }


def _tables(
    key: str,
    classes: Mapping[str, type],
    more: Mapping[str, Schema] | None = None,
    *,
    own: bool = False,
) -> Schema:
    """Tables that name one of some classes and give it fields; perhaps one of somebody's own."""
    names: Schema = {"title": key.capitalize(), "enum": sorted(classes)}
    names["description"] = "Its name."
    if own:
        del names["enum"]
        names["description"] = "Its name, or that of a class, path/to/file.py:Class."
        names["anyOf"] = [{"enum": sorted(classes)}, {"type": "string", "pattern": ":"}]
    cases = []
    for name, cls in sorted(classes.items()):
        then = {
            "description": (inspect.getdoc(cls) or "").partition("\n")[0],
            "properties": {key: True, **fields_schema(cls), **(more or {})},
            "additionalProperties": False,
        }
        chosen = {"properties": {key: {"const": name}}, "required": [key]}
        cases.append({"if": chosen, "then": then})
    return {"type": "object", "properties": {key: names}, "required": [key], "allOf": cases}


def fields_schema(cls: type) -> dict[str, Schema]:
    """What the fields of a class take, by name: a value, or in a grid also a list of them."""
    from compactlab.cli.grid import hints_of, schema_of

    hints, told = hints_of(cls), _told(cls)
    found = {}
    for field in dataclasses.fields(cls):
        if not field.init:
            continue
        value = schema_of(hints[field.name])
        said: Schema = {"title": field.name.replace("_", " ").capitalize()}
        said["description"] = told.get(field.name, "")
        if field.default is not dataclasses.MISSING:
            said["default"] = field.default
        found[field.name] = {**said, "anyOf": [value, _listed(value)]}
    return found


def _listed(value: Schema) -> Schema:
    return {"type": "array", "minItems": 1, "items": value}


def _told(cls: type) -> dict[str, str]:
    """What docstrings say of the fields of a class and of those above it."""
    told: dict[str, str] = {}
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
            told |= dict.fromkeys(names.split(", "), " ".join(meaning.split()))
    return told
