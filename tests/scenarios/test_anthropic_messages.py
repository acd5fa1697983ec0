"""Anthropic's messages, alone or as the body of a request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import Conversation, Rewind
from compactlab.sim.core.errors import InputError, RefusedError
from compactlab.sim.core.message import Usage

TEXT = {"type": "text", "text": "wet"}
CALL = {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "sky"}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "wet", "is_error": True}


def passed_over(conversation: Conversation) -> int:
    """How much of a file was not understood."""
    return sum(one.count for one in conversation.passed_over)


def read(path: Path, value: Any) -> Conversation:
    path.write_text(json.dumps(value))
    (conversation,) = transcripts.read(path)
    assert conversation.format == "anthropic-messages"
    return conversation


def test_a_user_message_may_hold_results_and_text(tmp_path: Path) -> None:
    text = {"type": "text", "text": "And now?"}
    messages = [
        {"role": "user", "content": "Is it raining?"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, CALL]},
        {"role": "user", "content": [RESULT, {**RESULT, "content": [text]}, text]},
    ]
    question, call, first, second, more = read(tmp_path / "rain.json", messages).messages
    assert question.starts_turn
    assert [part.type for part in call.parts] == ["thinking", "tool_call"]
    assert call.parts[1].text == '{"at":"sky"}'
    assert (first.role, first.parts[0].name, first.parts[0].is_error) == ("tool", "look", True)
    assert second.text == "And now?"
    assert (more.role, more.text, more.starts_turn) == ("user", "And now?", True)


def test_the_body_of_a_request(tmp_path: Path) -> None:
    body = {
        "model": "claude-x",
        "system": [{"type": "text", "text": "You help.", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "look", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
        "max_tokens": 100,
    }
    conversation = read(tmp_path / "body.json", body)
    prompt, tools = conversation.system
    assert prompt.text == "You help."
    assert (tools.name, tools.text) == (
        "tools",
        '[{"name":"look","input_schema":{"type":"object"}}]',
    )
    (reply,) = conversation.calls
    assert reply.call is not None
    assert reply.call.model == "claude-x"


def test_rare_blocks_are_parts_too(tmp_path: Path) -> None:
    found = {"type": "web_search_result", "title": "Rain", "url": "https://rain", "page_age": "1"}
    ran = {"type": "bash_code_execution_result", "stdout": "wet", "return_code": 0}
    blocks = [
        {"type": "redacted_thinking", "data": "gAAA"},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [found]},
        {"type": "bash_code_execution_tool_result", "tool_use_id": "s2", "content": ran},
        {"type": "fallback", "from": {"model": "x"}},
        {"type": "something_new", "text": "of which the words are known"},
        {"type": "text", "text": ""},
    ]
    messages = [{"role": "assistant", "content": blocks}]
    (message,) = read(tmp_path / "rare.json", messages).messages
    assert [(part.type, part.kind, part.name) for part in message.parts] == [
        ("thinking", "opaque", "redacted_thinking"),
        ("tool_call", "verbatim", "web_search"),
        ("tool_result", "verbatim", "web_search"),
        ("tool_result", "verbatim", ""),
        ("text", "opaque", "fallback"),
        ("text", "verbatim", ""),
    ]
    assert message.parts[2].text == "Rain\nhttps://rain"
    assert '"stdout":"wet"' in message.parts[3].text


FILE = {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (
            {"title": "Weather", "source": {"type": "text", "data": "It rains."}},
            "Weather\nIt rains.",
        ),
        (
            {"source": {"type": "content", "content": [TEXT]}, "context": "of today"},
            "of today\nwet",
        ),
        ({"title": "Weather", "source": FILE}, "Weather"),
        ({"source": FILE}, ""),
    ],
)
def test_a_document_has_its_words(tmp_path: Path, document: dict[str, Any], words: str) -> None:
    asked = {"role": "user", "content": [{"type": "document", **document}, TEXT]}
    thought = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]}
    first, _ = read(tmp_path / "rain.json", [asked, thought]).messages[0].parts
    assert (first.text, first.kind) == (words, "verbatim" if words else "opaque")


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        ({"type": "something_new"}, "a content block of type 'something_new' is not known"),
        ({"type": "text"}, "a content block of type 'text' has no text"),
        ({"type": "thinking", "signature": "x"}, "'thinking' has no thinking"),
        ({"type": "tool_use", "id": "c", "name": "ls"}, "'tool_use' has no input"),
        ({"type": "tool_use", "id": "c", "input": {}}, "'tool_use' has no name"),
        ({"type": "x_tool_result", "tool_use_id": "c"}, "'x_tool_result' has no content"),
        ({"type": "document", "source": {"type": "cloud"}}, "'document' has no source"),
        ({**CALL, "type": "tool-call"}, "a content block of type 'tool-call' is not known"),
    ],
)
def test_a_block_without_its_words_is_an_error_or_counted(
    tmp_path: Path, block: dict[str, Any], reason: str
) -> None:
    path = tmp_path / "rain.jsonl"
    lines = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [block, CALL]}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InputError, match=f"rain.jsonl:2: .*{reason}"):
        list(transcripts.read(path, strict=True))
    (conversation,) = transcripts.read(path)
    assert passed_over(conversation) == 1
    user, answer = conversation.messages  # the rest of the message is whole
    assert (user.text, [part.type for part in answer.parts]) == ("hi", ["tool_call"])


# Threads, of which a body holds only what is new


USAGE = {"input_tokens": 3, "cache_read_input_tokens": 40, "output_tokens": 5}


def said_by_model(id: str, text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"id": id, "type": "message", "role": "assistant", "model": "claude-x",
            "content": content, "usage": USAGE}  # fmt: skip


def asks(text: str, **thread: str) -> dict[str, Any]:
    return {"model": "claude-x", "thread": thread, "messages": [{"role": "user", "content": text}]}


THREAD = [
    {**asks("hi", type="create"), "system": "You help."},
    said_by_model("msg_1", "hello"),
    asks("and now?", type="continue", previous_message_id="msg_1"),
    said_by_model("msg_2", "rain"),
]


@pytest.mark.parametrize("as_lines", [True, False])
def test_a_thread_is_joined_from_its_bodies_and_their_answers(
    tmp_path: Path, as_lines: bool
) -> None:
    path = tmp_path / "rain.jsonl"
    path.write_text("\n".join(map(json.dumps, THREAD)) if as_lines else json.dumps(THREAD))
    (conversation,) = transcripts.read(path)
    assert conversation.format == "anthropic-messages"
    assert [m.text for m in conversation.messages] == ["hi", "hello", "and now?", "rain"]
    assert [part.text for part in conversation.system] == ["You help."]
    calls = [answer.call for answer in conversation.calls if answer.call]
    assert [call.id for call in calls] == ["msg_1", "msg_2"]
    assert [call.usage for call in calls] == [Usage(3, 40, output=5)] * 2


def test_a_thread_that_is_continued_twice_goes_back(tmp_path: Path) -> None:
    again = asks("or then?", type="continue", previous_message_id="msg_1")
    path = tmp_path / "rain.jsonl"
    path.write_text("\n".join(map(json.dumps, [*THREAD, again, said_by_model("msg_3", "sun")])))
    (conversation,) = transcripts.read(path)
    assert [e.to for e in conversation.events if isinstance(e, Rewind)] == ["msg_1"]
    assert [m.text for m in conversation.messages][-2:] == ["or then?", "sun"]


@pytest.mark.parametrize("records", [THREAD[2:], THREAD[:1] + THREAD[2:]])
def test_a_thread_without_its_beginning_is_refused(
    tmp_path: Path, records: list[dict[str, Any]]
) -> None:
    path = tmp_path / "rain.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    with pytest.raises(RefusedError, match="a continued thread of Anthropic's Messages API"):
        list(transcripts.read(path))
