"""JSON that others wrote: NaN and its like are named, with file and line, wherever it is read."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.reports.gate import baseline
from compactlab.scenarios.readers.native import read_facts
from compactlab.scenarios.readers.transcript import read, read_compacted
from compactlab.sim.core import json as own
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.json import JsonError, parse
from compactlab.sim.replay.client import read_churn
from compactlab.sim.store.store import Store
from tests.lines import refusal

READERS = {
    "transcript": lambda file: list(read(file)),
    "context": read_compacted,
    "facts": lambda file: read_facts(file, Conversation("x", "native", ())),
    "baseline": baseline.read,
    "churn": read_churn,
}


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_number_of_json_is_named_with_its_line(tmp_path, reader, name):
    file = tmp_path / "my.json"
    file.write_text(f'{{\n"baseline": 1, "messages": [],\n"figure": {name}}}')
    with pytest.raises(InputError) as error:
        READERS[reader](file)
    assert str(error.value).startswith(f"{file}:3: ")
    assert f"{name} is not JSON: write null or a number" in str(error.value)


def test_the_manifest_of_a_store_too(tmp_path):
    (tmp_path / "manifest.json").write_text('{"store": 6,\n"window": NaN}')
    assert refusal(InputError, lambda: Store(tmp_path).manifest()) == snapshot(
        ": no store of results (manifest.json:2: NaN is not JSON: write null or a number)"
    )


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ('{"a": 1,\n"a": 2}', "the key 'a' occurs twice", 0),
        ("[1,\n2", "Expecting ',' delimiter", 2),
        ("[" * 100_000, "it is nested too deeply", 0),
        ('["\\ud800", NaN]', "NaN is not JSON", 0),
    ],
)
def test_what_else_is_wrong_is_named(text, message, line):
    with pytest.raises(JsonError, match=message) as error:
        parse(text.encode())
    assert error.value.line == line


@pytest.mark.parametrize("reader", ["baseline", "churn"])
def test_a_file_that_is_too_large_is_refused(tmp_path, monkeypatch, reader):
    monkeypatch.setattr(own, "LARGEST", 100)
    (tmp_path / "my.json").write_text(" " * 101)
    with pytest.raises(InputError, match="in one piece"):
        READERS[reader](tmp_path / "my.json")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["NaN", "a", "é"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(VALUES)
def test_all_that_is_json_is_read_and_nothing_else(value):
    """A text that says NaN is none."""
    written = json.dumps(value, indent=1)
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        with pytest.raises(JsonError, match="is not JSON") as error:
            parse(written.encode())
        lines = written.splitlines()
        assert lines[error.value.line - 1].strip(" ,").endswith(("NaN", "Infinity"))
    else:
        assert parse(written.encode()) == value
