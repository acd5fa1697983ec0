"""Sessions of Hermes Agent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.scenarios.readers.homes import places
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Usage

Transcript = Callable[..., Path]
Record = dict[str, Any]

ASKED = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"at":"."}'}}
MESSAGES: list[Record] = [
    {"role": "user", "content": "hi"},
    {
        "role": "assistant",
        "content": "I look.",
        "reasoning": "hm",
        "reasoning_content": "hm",
        "codex_reasoning_items": [{"type": "summary", "text": "hm"}],
        "tool_calls": [ASKED],
    },
    {"role": "tool", "content": "a.py", "tool_call_id": "c1", "tool_name": "ls"},
    {"role": "system", "content": "Be brief."},
    {"role": "assistant", "content": "Done.", "finish_reason": "stop"},
    {"role": "session_meta"},
]


def snapshot(messages: list[Record], **more: Any) -> Record:
    head = {"session_id": "s", "model": "gpt-x", "platform": "cli"}
    return {**head, "session_start": "2026-01-01T00:00:00", "messages": messages, **more}


def export(messages: list[Record], **more: Any) -> Record:
    head = {"id": "s", "source": "cli", "model": "gpt-x", "started_at": 100.5, "input_tokens": 9}
    return {**head, "messages": messages, **more}


def read(path: Path) -> Conversation:
    (conversation,) = transcripts.read(path)
    assert conversation.format == "hermes"
    return conversation


def test_a_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "session_s.json"
    more = {"system_prompt": "You help.", "tools": [{"name": "ls"}], "base_url": "http://x"}
    path.write_text(json.dumps(snapshot(MESSAGES, **more), indent=2))
    conversation = read(path)
    assert [part.text for part in conversation.system] == ["You help.", '[{"name":"ls"}]']
    asked, reply, result, reminder, last = conversation.messages
    assert (asked.text, asked.starts_turn, asked.time) == ("hi", True, 1767225600)
    assert [(part.type, part.text) for part in reply.parts] == [
        ("thinking", "hm"),
        ("text", "I look."),
        ("tool_call", '{"at":"."}'),
    ]
    assert (result.role, result.parts[0].name, result.text) == ("tool", "ls", "a.py")
    assert (reminder.meta, reminder.origin) == (True, "system")
    assert (reply.call, last.call) == (Call("gpt-x"), Call("gpt-x"))


def test_an_export_has_times_ids_and_rows_that_were_undone(transcript: Transcript) -> None:
    rows: list[Record] = [
        {"id": 7, "role": "user", "content": "hi", "timestamp": 101.5, "tool_calls": None},
        {"id": 8, "role": "assistant", "content": "no", "timestamp": 102.5, "active": 0},
        {"id": 9, "role": "assistant", "content": None, "tool_calls": json.dumps([ASKED])},
    ]
    conversation = read(transcript(export(rows)))
    assert [(m.id, m.time) for m in conversation.messages] == [("7", 101.5), ("9", 101.5)]
    assert conversation.messages[1].parts[0].name == "ls"


def test_segments_of_a_line_are_conversations_and_not_told_twice(transcript: Transcript) -> None:
    first = export([{"role": "user", "content": "one"}])
    second = export([{"role": "user", "content": "so far: one"}])
    whole = export([*first["messages"], *second["messages"]], segments=[first, second])
    path = transcript(whole, export([{"role": "user", "content": "other"}]))
    assert {c.id: c.messages[0].text for c in transcripts.read(path)} == {
        "story": "one",
        "story/2": "so far: one",
        "story/3": "other",
    }


def test_usage_is_read_where_an_answer_has_its_own(transcript: Transcript) -> None:
    counts = {
        "prompt_tokens": 100,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 60},
    }
    answers = [{"role": "assistant", "content": "ho", "usage": usage} for usage in (counts, None)]
    usages = [m.call.usage for m in read(transcript(snapshot(answers))).messages if m.call]
    assert usages == [Usage(40, 60, output=7), None]


def test_fields_of_later_versions_break_nothing(transcript: Transcript) -> None:
    message = {"role": "user", "content": "hi", "client_metadata": {"surface": "cli"}, "mood": "x"}
    session = snapshot([message], conversation_tags=["a"], cwd="/tmp")
    assert [m.text for m in read(transcript(session)).messages] == ["hi"]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"role": "wizard", "content": "hi"}, "'wizard' is no role of a message"),
        ({"role": "user"}, "a message of role 'user' has no content"),
        ({"role": "user", "content": "a", "reasoning": "b"}, "role 'user' has calls or thoughts"),
        ({"role": "user", "content": "a", "new_text": "b"}, "holds something under 'new_text'"),
        ({"role": "assistant", "tool_calls": [{"function": {"name": "ls"}}]}, "arguments"),
        ({"role": "assistant", "tool_calls": "[{"}, "the calls of tools are no JSON"),
        ({"role": "assistant", "usage": {"prompt_tokens": -1}}, "Expected `int` >= 0"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    transcript: Transcript, message: Record, reason: str
) -> None:
    good, bad = snapshot([{"role": "user", "content": "hi"}]), snapshot([message])
    with pytest.raises(InputError, match=rf"story\.jsonl:2: .*{reason}"):
        list(transcripts.read(transcript(good, bad), strict=True))
    whole, *rest = transcripts.read(transcript(good, bad))
    assert whole.messages[0].text == "hi"
    assert sum(each.count for read in (whole, *rest) for each in read.passed_over) == 1


def test_its_folder(tmp_path: Path) -> None:
    found = [path for _, path in places("hermes", {"HERMES_HOME": str(tmp_path)})]
    assert found == [tmp_path / name for name in ("state.db", "profiles/*/state.db", "sessions")]


def test_the_examples_are_read(shared: Path) -> None:
    files = sorted((shared / "formats" / "hermes").glob("*.json"))
    if not files:
        pytest.skip("the examples of other clients are not beside the checkout")
    for path in files:
        told = json.loads(path.read_text("utf-8"))["messages"]
        sent = [message for message in told if message["role"] != "session_meta"]
        conversation = read(path)
        assert [m.role for m in conversation.messages] == [m["role"] for m in sent]
        assert all(m["content"] in c.text for m, c in zip(sent, conversation.messages, strict=True))
