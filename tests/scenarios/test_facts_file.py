"""Facts that somebody wrote down about a conversation in another file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from inline_snapshot import snapshot

from compactlab.scenarios.readers.native import Labelled, read_facts
from compactlab.sim.core.conversation import Conversation, Fact, Need
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Message, Source, verbatim
from tests.lines import refusal, refusals


def said(id: str, text: str, role: Any = "user") -> Message:
    call = Call() if role == "assistant" else None
    return Message(id, role, (verbatim(id, "text", text),), call=call)


TALK = Conversation(
    "c",
    "native",
    (
        said("u1", "We deploy to eu-west-3."),
        said("a1", "Fine.", "assistant"),
        said("u2", "To eu-west-3, I said, and not to eu-west-31."),
    ),
)


def read(tmp_path: Path, *lines: Any) -> tuple[tuple[Fact, ...], tuple[Need, ...]]:
    return read_all(tmp_path, *lines)[:2]


def read_all(tmp_path: Path, *lines: Any) -> Labelled:
    file = tmp_path / "facts.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return read_facts(file, TALK)


def test_lines_of_the_native_format(tmp_path: Path) -> None:
    fact = {"type": "fact", "id": "f", "fact": "decision", "key": "k", "value": "v",
            "origin": [{"id": "u1", "part": 0, "start": 3}]}  # fmt: skip
    needs = {"type": "need", "fact": "f", "at": "a1"}, {"type": "need", "fact": "f", "at": ""}
    found = read(tmp_path, fact, *needs)
    assert found == (
        (Fact("f", "decision", "k", "v", (Source("u1", 0, 3),)),),
        (Need("f", "a1"), Need("f", "")),
    )


def test_plain_objects_need_no_more_than_a_value(tmp_path: Path) -> None:
    facts, needs = read(tmp_path, {"value": "eu-west-3"})
    assert facts == (Fact("f1", "entity", "", "eu-west-3", (Source("u1"), Source("u2"))),)
    assert needs == ()


def test_plain_objects_may_say_more(tmp_path: Path) -> None:
    plain = {"type": "decision", "key": "deploy", "value": "eu-west-3", "variants": ["Paris"],
             "origin": "u2", "needed": 2}  # fmt: skip
    facts, needs = read(
        tmp_path, plain, {"value": "eu-west-31", "origin": ["u2"], "needed": ["a1"]}
    )
    assert facts[0] == Fact(
        "f1", "decision", "deploy", "eu-west-3", (Source("u2"),), variants=("Paris",)
    )
    assert needs == (Need("f1", ""), Need("f1", ""), Need("f2", "a1"))


def test_where_a_fact_is_stated_is_found_by_its_words(tmp_path: Path) -> None:
    (fact,), _ = read(tmp_path, {"key": "deploy", "value": "eu-west-3"})
    assert fact.origin == (Source("u1"),)


def test_a_list_is_as_good_as_lines(tmp_path: Path) -> None:
    file = tmp_path / "facts.json"
    file.write_text(json.dumps([{"value": "eu-west-3"}, {"value": "x", "decoy": True}], indent=1))
    facts = read_facts(file, TALK).facts
    assert [(fact.id, fact.decoy, len(fact.origin)) for fact in facts] == [
        ("f1", False, 2),
        ("f2", True, 0),
    ]


BAD_LINES: list[Any] = [
    {"value": 7},
    {"key": "k"},
    {"value": "eu-west-3", "colour": "red"},
    {"value": "eu-west-3", "type": "rumour"},
    {"value": "eu-west-3", "origin": "u9"},
    {"value": "eu-west-3", "origin": [["u1"]]},
    {"value": "eu-west-3", "origin": 5},
    {"value": "eu-west-3", "origin": {"id": "u1", "part": 3}},
    {"value": "eu-west-3", "needed": -1},
    {"value": "eu-west-3", "needed": 10**9},
    {"value": "eu-west-3", "needed": ["u1"]},
    {"value": "eu-west-3", "id": 7},
    {"type": "need", "fact": "f9", "at": ""},
    "eu-west-3",
]


def test_a_bad_line_is_named(tmp_path: Path, golden: Any) -> None:
    good = {"value": "eu-west-3", "id": "good"}
    golden(
        "faults/facts.txt",
        refusals(InputError, lambda line: read(tmp_path, good, line), BAD_LINES, tmp_path),
    )


def test_a_fact_without_literal_text_is_left_out_and_named(tmp_path: Path) -> None:
    told = read_all(
        tmp_path,
        {"value": "Berlin", "needed": 2},
        {"value": "eu-west-3", "supersedes": ["f1"], "depends_on": ["f1", "f4"], "needed": 1},
        {"value": " ", "id": "bare", "origin": "u1"},
        {"value": "eu-west-31"},
        {"type": "need", "fact": "bare", "at": ""},
    )
    assert [fact.id for fact in told.facts] == ["f2", "f4"]
    assert (told.facts[0].supersedes, told.facts[0].depends_on) == ((), ("f4",))
    assert told.needs == (Need("f2", ""),)
    assert told.left_out == ("f1", "bare")


def test_facts_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    fact, file = {"value": "eu-west-3"}, tmp_path / "facts.json"

    def listed(*facts: Any) -> Labelled:
        file.write_text(json.dumps(facts, indent=1))
        return read_facts(file, TALK)

    told = [
        refusal(InputError, lambda: read(tmp_path, {"value": "Berlin"}, {"value": "Paris"})),
        refusal(InputError, lambda: read(tmp_path, *[{**fact, "id": "f"}] * 2)),
        refusal(InputError, lambda: listed(fact, {"value": 7})),
        refusal(InputError, listed),
        refusal(InputError, lambda: read_facts(tmp_path / "no.json", TALK)),
    ]
    assert told == snapshot(
        [
            "facts.jsonl: no message of the conversation says any of its 2 facts",
            "facts.jsonl:2: there is a fact 'f' already",
            "facts.json: item 2: a fact is an object with a value",
            "facts.json: there is no fact in it",
            "no.json: No such file or directory",
        ]
    )
