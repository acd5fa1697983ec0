"""Small logs, each read and billed as a person who read them says it is right."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript
from compactlab.scenarios.readers.homes import VARIABLES
from compactlab.sim.core.conversation import Compaction, Conversation, Rewind
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Message, Part
from tests.cli.conftest import Outcome, called

Json = dict[str, Any]

CORPUS = Path(__file__).parent
EXPECTED: dict[str, Json] = {
    path.parent.name: json.loads(path.read_text("utf-8"))
    for path in sorted(CORPUS.glob("*/expected.json"))
}
CLASSES = ("uncached", "read", "write_5m", "write_1h", "output")


def copied(name: str, to: Path) -> Path:
    """The files of a case, without what is expected of them; a database is made of its SQL."""
    shutil.copytree(CORPUS / name, to, ignore=shutil.ignore_patterns("expected.json", "*.sql"))
    for script in (CORPUS / name).rglob("*.sql"):
        database = to / script.relative_to(CORPUS / name).with_suffix("")
        with sqlite3.connect(database) as connection:
            connection.executescript(script.read_text("utf-8"))
        connection.close()
    return to


@pytest.mark.parametrize("name", EXPECTED)
def test_a_case_is_read(name: str, tmp_path: Path) -> None:
    expected = EXPECTED[name]
    folder = copied(name, tmp_path / "case")
    if expected["refused"]:
        (path,) = (path for path in folder.rglob("*") if path.is_file())
        with pytest.raises(InputError, match=expected["refused"]):
            every([path])
        return
    paths, _ = transcript.find([folder])
    conversations = every(paths)
    assert len(conversations) == expected["conversations"]
    events = [event for each in conversations for event in each.events]
    compactions = [event for event in events if isinstance(event, Compaction)]
    if expected["compactions"] is not None:
        assert len(compactions) == expected["compactions"]
        assert sum(isinstance(event, Rewind) for event in events) == expected["rewinds"]
    passed = [one for each in conversations for one in each.passed_over]
    assert_passed_over([(one.kind, one.count) for one in passed], expected["passed_over"])
    if "said" in expected:
        whole = "\n".join(part.text for each in conversations for part in parts(each))
        lost = sum(len(text) for text in expected["said"] if text not in whole)
        assert lost <= sum(one.characters for one in passed)
    if "kept" in expected:
        (conversation,) = conversations
        assert list(kept(conversation)) == expected["kept"]
    if "kept_from" in expected:
        assert [event.kept_from for event in compactions] == expected["kept_from"]
    if "last_prompt" in expected:
        (conversation,) = conversations
        prompt = last_prompt(conversation)
        assert set(expected["last_prompt"]["has"]) <= prompt
        assert not set(expected["last_prompt"]["lacks"]) & prompt


def every(paths: list[Path]) -> list[Conversation]:
    """All conversations of some files."""
    return [conversation for path in paths for conversation in transcript.read(path)]


def parts(conversation: Conversation) -> Iterator[Part]:
    """All parts of a script's messages."""
    for message in conversation.messages:
        yield from message.parts


def contexts(conversation: Conversation) -> Iterator[tuple[object, list[Message]]]:
    """Each event of a script, with what stood in the context before it."""
    context: list[Message] = []
    known: dict[str, list[Message]] = {"": []}
    for event in conversation.events:
        yield event, context
        if isinstance(event, Compaction):
            ids = [message.id for message in context]
            tail = context[ids.index(event.kept_from) :] if event.kept_from in ids else []
            context = [*event.inserted, *tail]
        elif isinstance(event, Rewind):
            context = known[event.to]
        else:
            context = known[event.id] = [*context, event]
    yield None, context


def kept(conversation: Conversation) -> Iterator[list[str]]:
    """What each compaction left word for word."""
    steps = list(contexts(conversation))
    for (event, before), (_, after) in pairwise(steps):
        if isinstance(event, Compaction):
            texts = {message.text for message in after}
            yield [message.text for message in before if message.text in texts]


def last_prompt(conversation: Conversation) -> set[str]:
    """The texts of the messages that the last call was sent."""
    *_, prompt = (
        {message.text for message in context}
        for event, context in contexts(conversation)
        if isinstance(event, Message) and event.call
    )
    return prompt


def assert_passed_over(passed: list[tuple[str, int]], expected: dict[str, int] | None) -> None:
    """Compare counts by kind; after a ~ stands what a kind's name holds, whatever it is called."""
    if expected is None:
        return
    counts: dict[str, int] = {}
    for kind, count in passed:
        (name,) = {n for n in expected if n[:1] == "~" and n[1:] in kind} or {kind}
        counts[name] = counts.get(name, 0) + count
    assert counts == expected


@pytest.mark.parametrize("name", EXPECTED)
def test_a_case_is_billed(name: str, tmp_path: Path) -> None:
    folder = copied(name, tmp_path / "case")
    done = called("audit", "--sums", "--format", "json", folder)
    expected = EXPECTED[name]
    if expected["refused"]:
        assert done.code == 2
        assert expected["refused"] in done.err
        return
    assert_billed(done, expected)
    for zone, days in expected.get("days_in", {}).items():
        spent = json.loads(called("audit", "--sums", "--format", "json", "--tz", zone, folder).out)[
            "spent"
        ]
        assert {each["day"]: each["calls"] for each in spent["by_day"]} == days


@pytest.mark.parametrize("name", [name for name, each in EXPECTED.items() if "home" in each])
def test_a_home_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / EXPECTED[name]["home"]
    folder.parent.mkdir(parents=True, exist_ok=True)
    copied(name, folder)
    assert_billed(called("audit", "--sums", "--format", "json"), EXPECTED[name])


def assert_billed(done: Outcome, expected: Json) -> None:
    """Compare what was spent: by purpose and in all, with the remarks."""
    assert done.code == 0, done.err
    data = json.loads(done.out)
    spent = data["spent"]
    assert data["failures"] == []
    purposes = {each["purpose"]: billed(each) for each in spent["by_purpose"]}
    if expected.get("sums_only"):
        # The answers are parts of what was billed for the session.
        sums = {name: sum(each[name] for each in purposes.values()) for name in CLASSES}
        wanted = {name: sum(each[name] for each in expected["bill"].values()) for name in CLASSES}
        assert sums == wanted
    else:
        rel, more = (0.5, 3) if expected["estimated"] else (0, 0)
        assert purposes.keys() == expected["bill"].keys()
        for purpose, bill in expected["bill"].items():
            counts = {key: count for key, count in bill.items() if key != "usd"}
            shown = {key: purposes[purpose][key] for key in counts}
            assert shown == pytest.approx(counts, rel=rel, abs=more)
            assert purposes[purpose]["usd"] == near(bill["usd"], expected)
        assert purposes.get("answer", {}).get("requests", 0) == expected["calls"]
    assert spent["total_usd"] == near(expected["usd"], expected)
    assert spent["at_least"] == expected["at_least"]
    assert (spent["estimated_output_tokens"] > 0) == expected["estimated"]
    passed = [(each["kind"], each["count"]) for each in data["not_understood"]]
    assert_passed_over(passed, expected["passed_over"])
    if "unpriced" in expected:
        assert spent["unpriced_calls"] == expected["unpriced"]
    for rows, name in (("days", "day"), ("sessions", "session")):
        if rows in expected:
            calls = {each[name]: each["calls"] for each in spent[f"by_{name}"] if each["calls"]}
            assert calls == expected[rows]


def billed(row: Json) -> Json:
    """A line of the bill in the words of `expected.json`."""
    tokens = {name: row[f"{name}_tokens"] for name in CLASSES}
    return {
        **tokens,
        "requests": row["calls"],
        "searches": row["searches"],
        "usd": row["total_usd"],
    }


def near(usd: float | None, expected: Json) -> Any:
    """Dollars, but for rounding; where output was counted from texts, a few tokens more or less."""
    return None if usd is None else pytest.approx(usd, rel=1e-3 if expected["estimated"] else 1e-6)
