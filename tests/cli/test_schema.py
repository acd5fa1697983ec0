"""`compactlab schema`: what it says of experiment files is what the command takes."""

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.cli.schema import experiment_schema
from compactlab.request.fields import fields_schema
from compactlab.request.file import ExperimentSettings
from compactlab.scenarios.catalogue import SCENARIOS
from compactlab.sim.core.errors import InputError
from compactlab.strategies.catalogue import STRATEGIES
from compactlab.strategies.summarizers.catalogue import SUMMARIZERS

SCHEMA = experiment_schema()
WRITERS = st.one_of(
    st.sampled_from([*sorted(SUMMARIZERS), "lexrank(tokens=9)"]),
    st.fixed_dictionaries(
        {"name": st.sampled_from(["lexrank", "lead"])},
        optional={"tokens": st.one_of(st.integers(0, 9), st.lists(st.integers(1, 9), max_size=2))},
    ),
)
KINDS: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": int | float,
}
# What the small judge below knows; a schema that says more would not be judged.
SAID = {
    *("type", "enum", "const", "minimum", "exclusiveMinimum", "maximum", "pattern", "minLength"),
    *("items",),
    *("prefixItems", "minItems", "maxItems", "properties", "required", "additionalProperties"),
    *("anyOf", "allOf", "if", "then", "$ref", "$defs", "$schema", "title", "description"),
    "default",
}


def accepts(schema: Any, value: Any) -> bool:
    """Whether a value is valid under a schema of draft 2020-12, as far as ours goes."""
    if isinstance(schema, bool):
        return schema
    assert set(schema) <= SAID
    if "$ref" in schema:
        return accepts(SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")], value)
    return all(judge(schema, value) for judge in (_kind, _size, _list, _object, _joined))


def _kind(schema: Any, value: Any) -> bool:
    kind = schema.get("type")
    fits = kind is None or isinstance(value, KINDS[kind])
    return (
        fits
        and (kind == "boolean" or kind is None or not isinstance(value, bool))
        and value in schema.get("enum", [value])
        and value == schema.get("const", value)
    )


def _size(schema: Any, value: Any) -> bool:
    if isinstance(value, str):
        long_enough = len(value) >= schema.get("minLength", 0)
        return long_enough and bool(re.search(schema.get("pattern", ""), value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    infinite = float("inf")
    return schema.get("minimum", -infinite) <= value <= schema.get("maximum", infinite) and (
        "exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"]
    )


def _list(schema: Any, value: Any) -> bool:
    if not isinstance(value, list):
        return True
    first = schema.get("prefixItems", [])
    kinds = [*first, *[schema.get("items", True)] * len(value[len(first) :])]
    within = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
    return within and all(accepts(kind, each) for kind, each in zip(kinds, value, strict=False))


def _object(schema: Any, value: Any) -> bool:
    if not isinstance(value, dict):
        return True
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    return set(schema.get("required", [])) <= set(value) and all(
        accepts(properties.get(key, others), each) for key, each in value.items()
    )


def _joined(schema: Any, value: Any) -> bool:
    if "if" in schema and accepts(schema["if"], value) and not accepts(schema["then"], value):
        return False
    one = any(accepts(each, value) for each in schema.get("anyOf", [True]))
    return one and all(accepts(each, value) for each in schema.get("allOf", []))


def taken(data: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> bool:
    """Whether a file that says so is an experiment."""
    file = tmp_path_factory.getbasetemp() / "drawn.toml"
    text = "\n".join(f"{key} = {toml(value)}" for key, value in data.items())
    assert tomllib.loads(text) == data
    file.write_text(text, encoding="utf-8")
    try:
        ExperimentSettings.load(file, {})
    except InputError:
        return False
    return True


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {toml(each)}' for key, each in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value)


def test_it_is_printed_and_written(compactlab, tmp_path):
    printed = compactlab("schema")
    assert printed.code == 0
    assert json.loads(printed.out) == json.loads(json.dumps(SCHEMA))
    file = tmp_path / "experiment.schema.json"
    assert compactlab("schema", "-o", file).out == f"wrote {file}\n"
    assert file.read_text("utf-8") == printed.out


def test_where_it_cannot_be_written_ends_with_2(compactlab, tmp_path):
    done = compactlab("schema", "-o", tmp_path / "no" / "where.json")
    assert done.code == 2
    assert "cannot write" in done.err


def test_it_names_every_key_with_its_meaning():
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    gated = ["rules", "rule"]  # which only the gate reads
    assert list(SCHEMA["properties"]) == [*ExperimentSettings.model_fields, *gated]
    for said in SCHEMA["properties"].values():
        assert said["title"]
        assert said["description"].endswith(".")


@pytest.mark.parametrize(
    ("what", "key", "known"),
    [
        ("strategy", "name", STRATEGIES.built_in),
        ("scenario", "scenario", (*SCENARIOS, "suite")),
        ("summarizer", "name", SUMMARIZERS.built_in),
    ],
)
def test_every_name_and_every_field_is_told(what, key, known):
    said = SCHEMA["$defs"][what]
    names = said["properties"][key]
    assert names.get("enum", names.get("anyOf", [{}])[0].get("enum")) == sorted(known)
    assert len(said["allOf"]) == len(known)
    for case in said["allOf"]:
        assert case["then"]["description"]
        for field, told in case["then"]["properties"].items():
            assert told is True or told["description"], (case["if"], field)


def test_a_field_has_its_default_and_the_values_that_it_may_have():
    said = fields_schema(STRATEGIES.find("clear_tool_results"))["gate"]
    assert said["default"] == "api"
    one = {"enum": ["api", "langchain"], "type": "string"}
    assert said["anyOf"] == [one, {"type": "array", "minItems": 1, "items": one}]


@pytest.mark.parametrize(
    "wrong",
    [
        {"colour": 1},
        {"seeds": 0},
        {"timeout": 0},
        {"timeout": 1e12},
        {"dask": "localhost"},
        {"metrics": ["mone"]},
        {"strategies": []},
        {"strategies": "keep_all"},
        {"strategies": [{"name": "keep_al"}]},
        {"strategies": [{"name": "sliding_window", "kep": 1}]},
        {"strategies": [{"name": "sliding_window", "keep": ["x"]}]},
        {"strategies": [{"pipeline": []}]},
        {"conversations": [{"scenario": "rewinds", "seeds": []}]},
        {"conversations": [{"files": []}]},
        {"summarizer": []},
        {"summarizer": 5},
        {"summarizer": {"name": "lexrank", "tokens": ["x"]}},
        {"summarizer": [{"name": "lexrank", "tokns": 1}]},
    ],
    ids=str,
)
def test_what_is_no_experiment_is_not_valid(wrong, tmp_path_factory):
    assert not accepts(SCHEMA, wrong)
    assert not taken(wrong, tmp_path_factory)


def valued(said: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values of a field, small ones, or a few of them."""
    one = next(iter(drawn(said["anyOf"][0])))
    return st.one_of(one, st.lists(one, min_size=1, max_size=3))


def drawn(kind: dict[str, Any]) -> Iterator[st.SearchStrategy[Any]]:
    if "enum" in kind:
        yield st.sampled_from(kind["enum"])
    if kind.get("type") == "array":
        yield st.lists(st.text("abc", max_size=3), max_size=2)
    yield {
        "integer": st.integers(-1, 30_000),
        "number": st.one_of(st.integers(0, 2), st.floats(0, 1)),
        "boolean": st.booleans(),
    }.get(kind.get("type", ""), st.text("ab+( '\"\\", max_size=5))


@st.composite
def files(draw: st.DrawFn) -> dict[str, Any]:
    """Experiment files, of which some are wrong."""
    tables: list[Any] = []
    for name in draw(st.lists(st.sampled_from(sorted(STRATEGIES)), min_size=1, max_size=3)):
        fields = fields_schema(STRATEGIES.find(name))
        chosen = (
            draw(st.lists(st.sampled_from(sorted(fields)), max_size=2, unique=True))
            if (fields)
            else []
        )
        tables.append({"name": name, **{field: draw(valued(fields[field])) for field in chosen}})
    scenario = {"scenario": draw(st.sampled_from([*sorted(SCENARIOS), "suite"]))}
    sizes = st.one_of(st.integers(0, 9), st.lists(st.integers(1, 9), max_size=2))
    more = draw(st.fixed_dictionaries({}, optional={"tokens": sizes, "seeds": sizes}))
    rest = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "seeds": st.integers(0, 3),
                "window": st.integers(0, 3),
                "timeout": st.integers(0, 3),
                "fail_fast": st.booleans(),
                "summarizer": st.one_of(WRITERS, st.lists(WRITERS, max_size=2)),
                "metrics": st.lists(st.sampled_from(["money", "cost_usd", "mone"])),
                "loop": st.just("open"),
            },
        )
    )
    return {"strategies": [*tables, "keep_all"], "conversations": [scenario | more], **rest}


@given(data=files())
@settings(deadline=None, max_examples=100)
def test_what_is_taken_is_valid(data, tmp_path_factory):
    if taken(data, tmp_path_factory):
        assert accepts(SCHEMA, data)
