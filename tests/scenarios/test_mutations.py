"""Transcripts with anything anywhere: a reader reads them or says where it cannot."""

from __future__ import annotations

import copy
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers import transcript as transcripts
from compactlab.scenarios.readers.script import Format
from compactlab.sim.core.errors import InputError
from tests.cli.conftest import called
from tests.corpus.stories import FULL, MARKED

STORIES = MARKED | FULL

NUMBERS = st.integers(-5, 10**30) | st.floats(allow_nan=False, allow_infinity=False)
LEAVES = st.none() | st.booleans() | NUMBERS | st.text(max_size=5) | st.just("u")
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "content", "role"]), inner, max_size=3)
    ),
    max_leaves=4,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """List every place in a value: its container, and its key or index there."""
    if isinstance(value, dict | list):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        return [place for key in keys for place in [(value, key), *places(value[key])]]
    return []


@st.composite
def mutated(draw: st.DrawFn, story: list[Any]) -> list[Any]:
    changed = copy.deepcopy(story)
    for _ in range(draw(st.integers(1, 3))):
        container, key = draw(st.sampled_from(places(changed)))
        alone = container is changed and len(changed) == 1
        if alone or draw(st.booleans()):
            container[key] = draw(ANYTHING)
        else:
            del container[key]
        if not places(changed):
            break
    return changed


# But for what is no JSON, and what stands in databases alone (`test_database.py`).
_OTHERS = {"aider", "openclaw"}
READERS = {each.name: each for each in transcripts.FORMATS if each.name not in _OTHERS}


def test_there_is_a_story_in_every_format(tmp_path: Path) -> None:
    told = "tests/corpus/stories has a good file of every format: `=== FORMAT: every word marked`"
    assert MARKED.keys() == READERS.keys(), told
    for format, story in STORIES.items():
        path = tmp_path / "story.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in story))
        conversations = list(transcripts.read(path))
        assert {c.format for c in conversations} == {format}
        assert not any(c.passed_over for c in conversations)


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS.keys())
@settings(max_examples=150)
@given(data=st.data(), strict=st.booleans())
def test_anything_anywhere_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, reader: Format, data: st.DataObject, strict: bool
) -> None:
    records = data.draw(mutated(STORIES[reader.name]))
    path = tmp_path_factory.mktemp("mutated") / "story.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    with suppress(InputError):
        transcripts.find([path])
    try:
        conversations = list(reader.read(jsonl.Lines(path, strict)))
    except InputError as error:
        whole = re.search(r"no (messages|conversation)|without any text", error.message)
        assert error.path == str(path)  # noqa: PT017
        assert error.line or whole  # noqa: PT017
        return
    for conversation in conversations:
        ids = [m.id for m in conversation.messages]
        assert len(set(ids)) == len(ids)
        assert all(message.parts for message in conversation.messages)
        assert conversation.digest


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS.keys())
@settings(max_examples=30)
@given(data=st.data())
def test_no_command_ends_with_a_fault_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, reader: Format, data: st.DataObject
) -> None:
    records = data.draw(mutated(STORIES[reader.name]))
    path = tmp_path_factory.mktemp("mutated") / "story.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    for words in (
        ("inspect", path),
        ("audit", path),
        ("explain", path, "--strategies", "keep_all"),
    ):
        done = called(*words)
        assert done.code in (0, 1, 2), done.said
        assert "the reader" not in done.said, done.said  # the net, which is for what nobody knows
