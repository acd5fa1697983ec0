"""No word is lost: what was said is in the conversation, or in the count of what was passed over.

In good files of all formats (`MARKED` of the corpus) every word that was said is marked.
Whatever is done to such a file, the marks that are still in it are found in what is read of it, or
the characters that were passed over have room for them, or it is refused. What is strict passes
over nothing.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from tests.corpus.stories import MARKED

MARK = re.compile(r"\bw\d\d\b")
KINDS = ("type", "role")
# Other names that the same key has somewhere, or could have.
NAMES = {
    "content": ("contents", "text", "parts", "message", "Content"),
    "tool_calls": ("toolCalls", "tool-calls", "calls"),
    "text": ("content", "value", "words"),
    "summary": ("text",),
}
INSTEAD: dict[str, tuple[Any, ...]] = {
    "role": ("user", "assistant", "tool", "system", "toolResult", "human", "model", "", None),
    "type": ("text", "tool_use", "tool_result", "message", "user", "assistant", "zzz", "", None),
}
# What docs/formats.md says is left out: what a block has that is none of its type's.
LEFT_OUT = (("search_result", "tool_result"),)
# What need not be there, by the type of what it is in: under another name it cannot be told.
OPTIONAL = (
    ("document", "title"),
    ("reasoning", "content"),
    ("gemini", "thoughts"),
    ("gemini", "toolCalls"),
    (None, "summaryContent"),
    (None, "toolRequests"),
)


def write(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def marks(value: Any) -> set[str]:
    return set(MARK.findall(value if isinstance(value, str) else json.dumps(value)))


def said(conversation: Conversation) -> set[str]:
    inserted = (m for event in conversation.compactions for m in event.inserted)
    messages = [*conversation.messages, *inserted]
    parts = [part for message in messages for part in message.parts]
    return set[str]().union(*(marks(part.text) for part in (*conversation.system, *parts)))


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a value: its container, and its key or index there."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def changes(container: Any, key: Any, format: str) -> Iterator[Any]:
    """What may be done at a place, as functions of nothing that do it."""
    value = container[key]
    if isinstance(container, dict) and (container.get("type"), key) not in OPTIONAL:
        for name in (f"{key}_", *NAMES.get(key, ())):
            if name not in container:
                yield lambda name=name: container.__setitem__(name, container.pop(key))
    if key in KINDS:
        for other in INSTEAD[key]:
            if (format, key, other) in LEFT_OUT or (value, other) in LEFT_OUT:
                continue
            yield lambda other=other: container.__setitem__(key, other)
    wraps = [[value], {"value": value}, {"text": value}]
    if not (isinstance(value, dict) and "type" in value):  # a line of a type that is not known
        wraps.append({"type": "text", "text": value})
    for wrapped in wraps:
        yield lambda wrapped=wrapped: container.__setitem__(key, wrapped)
    if isinstance(value, list | dict):
        yield lambda: container.__setitem__(key, json.dumps(value))


def lost(path: Path, records: list[Any], strict: bool) -> set[str]:
    """The marks of a file that reading it loses without a word."""
    try:
        conversations = list(transcripts.read(write(path, records), strict=strict))
    except InputError:
        return set()
    passed = [each for conversation in conversations for each in conversation.passed_over]
    assert not (strict and passed)
    missing = marks(records) - set[str]().union(*map(said, conversations))
    counted = sum(each.characters for each in passed)
    return missing if sum(map(len, missing)) > counted else set()


def variants(format: str) -> Iterator[list[Any]]:
    """The good file of a format with one change, in all places in turn."""
    good = json.dumps(MARKED[format])
    places_in_all = sum(1 for _ in places(MARKED[format]))
    for index in range(places_in_all):
        number = 0
        while True:
            records = json.loads(good)  # a copy, and sooner than by `copy.deepcopy`
            container, key = next(islice(places(records), index, None))
            doing = list(changes(container, key, format))
            if number >= len(doing):
                break
            doing[number]()
            yield records
            number += 1


@pytest.mark.parametrize("format", MARKED)
def test_a_good_file_is_read_to_the_last_word(format: str, tmp_path: Path) -> None:
    conversations = list(transcripts.read(write(tmp_path / "story.jsonl", MARKED[format])))
    assert {conversation.format for conversation in conversations} == {format}
    assert set[str]().union(*map(said, conversations)) == marks(MARKED[format])
    assert len(marks(MARKED[format])) > 2


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("format", MARKED)
def test_no_change_loses_a_word_without_a_word(format: str, strict: bool, tmp_path: Path) -> None:
    silent = {
        json.dumps(records): missing
        for records in variants(format)
        if (missing := lost(tmp_path / "story.jsonl", records, strict))
    }
    assert not silent


@pytest.mark.parametrize("format", MARKED)
@settings(max_examples=60)
@given(data=st.data(), strict=st.booleans())
def test_nor_do_several_that_have_nothing_to_do_with_each_other(
    tmp_path_factory: pytest.TempPathFactory, format: str, data: st.DataObject, strict: bool
) -> None:
    records = copy.deepcopy(MARKED[format])
    changed: list[Any] = []
    for _ in range(data.draw(st.integers(2, 4))):
        container, key = data.draw(st.sampled_from(list(places(records))))
        if not any(within(container, other) or within(other, container) for other in changed):
            data.draw(st.sampled_from(list(changes(container, key, format))))()
            changed.append(container)
    assert not lost(tmp_path_factory.mktemp("words") / "story.jsonl", records, strict)


def within(one: Any, other: Any) -> bool:
    """Whether one container stands in another, or is it."""
    return one is other or any(one is inner[key] for inner, key in places(other))
