"""Chats of Gemini CLI: the document, and the lines that grow, are taken back, and are rewritten."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import Conversation, Rewind
from compactlab.sim.core.errors import InputError, RefusedError
from compactlab.sim.core.message import Call, Usage

Transcript = Callable[..., Path]
Record = dict[str, Any]

HEADER = {"sessionId": "s", "projectHash": "ab", "startTime": "2026-01-01T00:00:00.000Z"}
TOKENS = {"input": 100, "output": 7, "cached": 80, "thoughts": 5, "tool": 2, "total": 114}


def message(type: str, id: str, content: Any, second: int = 0, **more: Any) -> Record:
    stamp = f"2026-01-01T00:00:{second:02}.000Z"
    return {"id": id, "timestamp": stamp, "type": type, "content": content, **more}


def user(id: str, words: str, second: int = 0) -> Record:
    return message("user", id, [{"text": words}], second)


def answer(id: str, words: str, second: int = 0, **more: Any) -> Record:
    return message("gemini", id, words, second, **{"model": "gemini-3-pro", **more})


def tool(id: str, response: Any, **more: Any) -> Record:
    result = [{"functionResponse": {"id": id, "name": "ls", "response": response}}]
    return {"id": id, "name": "ls", "args": {"at": id}, "result": result, **more}


def read(path: Path) -> Conversation:
    (conversation,) = transcripts.read(path)
    assert conversation.format == "gemini"
    return conversation


def shape(conversation: Conversation) -> list[str]:
    return [
        f"<- {event.to}" if isinstance(event, Rewind) else getattr(event, "id", "compaction")
        for event in conversation.events
    ]


def test_a_document_with_usage_to_the_token(tmp_path: Path) -> None:
    calls = [tool("c1", {"output": "a.py"}, status="success"), tool("c2", {"error": "no"})]
    thoughts = [{"subject": "Look", "description": "At it."}]
    messages = [
        user("u", "hi", 1),
        message("info", "i", "An update is there."),
        answer("g", "well", 5, thoughts=thoughts, tokens=TOKENS, toolCalls=calls),
        answer("h", "done", 9, tokens=None),
    ]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({**HEADER, "messages": messages, "new": [1]}, indent=1))
    conversation = read(path)
    hi, reply, first, second, done = conversation.messages
    assert [part.type for part in reply.parts] == ["thinking", "text", "tool_call", "tool_call"]
    assert [part.text for part in reply.parts] == [
        "Look\nAt it.",
        "well",
        '{"at":"c1"}',
        '{"at":"c2"}',
    ]
    assert reply.call == Call("gemini-3-pro", Usage(22, 80, output=12), id="g")
    assert (first.role, first.text, first.parts[0].is_error) == ("tool", "a.py", False)
    assert (second.parts[0].name, second.text, second.parts[0].is_error) == ("ls", "no", True)
    assert done.call is None
    assert reply.time - hi.time == 4


def test_a_message_grows_where_it_first_stood(transcript: Transcript) -> None:
    grown = answer("g", "", tokens=TOKENS, toolCalls=[tool("c1", {"output": "a.py"})])
    path = transcript(
        HEADER,
        user("u", "hi"),
        answer("g", ""),
        {"$set": {"lastUpdated": "2026-01-01T00:00:00.000Z"}},
        grown,
        answer("h", "done", tokens=TOKENS),
    )
    conversation = read(path)
    assert [m.role for m in conversation.messages] == ["user", "assistant", "tool", "assistant"]
    assert len([*conversation.calls]) == 2


def test_a_rewind_takes_back_its_message_and_all_after_it(transcript: Transcript) -> None:
    path = transcript(
        HEADER,
        user("u", "one"),
        answer("g", "1"),
        user("v", "two"),
        answer("h", "2"),
        {"$rewindTo": "v"},
        user("w", "two again"),
        {"$rewindTo": "unknown"},
        user("x", "from the start"),
    )
    assert "|".join(shape(read(path))) == "u|g|v|h|<- g|w|<- |x"


def test_a_compression_is_a_compaction_and_a_context_in_front_is_none(
    transcript: Transcript,
) -> None:
    first = [user("c", "<session_context>today"), user("u", "one")]
    summary = message("user", "s", [{"text": "so far"}], 7)
    result = message("user", "r", [{"functionResponse": {"id": "c1", "response": {}}}])
    path = transcript(
        HEADER,
        user("u", "one"),
        {"$set": {"messages": first}},
        answer("g", "1", toolCalls=[tool("c1", {"output": "a.py"})]),
        user("v", "two"),
        {"$set": {"messages": [summary, result, user("v", "two")]}},
        answer("h", "2"),
    )
    conversation = read(path)
    assert "|".join(shape(conversation)) == "c|u|g|m4|v|compaction|h"
    context, *_ = conversation.messages
    (compaction,) = conversation.compactions
    ((part,),) = (each.parts for each in compaction.inserted)
    assert (context.meta, compaction.kept_from) == (True, "v")
    assert (part.kind, part.text) == ("summary", "so far")
    assert [source.id for source in part.sources] == ["c", "u", "g", "m4"]


def test_a_chat_without_tokens_has_calls_without_usage(transcript: Transcript) -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    history = [
        {"role": "user", "parts": [{"text": "Look."}, image]},
        {"role": "model", "parts": [{"text": "I see."}], "ts": 1},
    ]
    conversation = read(transcript({"history": history, "meta": {"model": "x"}}))
    look, _ = conversation.messages
    assert [part.type for part in look.parts] == ["text", "image"]
    assert [call.call for call in conversation.calls] == [Call()]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (message("wizard", "x", "hi"), ":2: message 'wizard' is not known"),
        ({**user("x", "hi"), "new_text": "ho"}, ":2: a message holds something under 'new_text'"),
        (message("user", "x", [{"hologram": {}}]), ":2: a part of a content is of no known kind"),
        ({"id": "x", "type": "user"}, ":2: a message of type 'user' has no content"),
        (answer("x", "hi", tokens={"input": -1}), ":2: not as expected"),
        ({**user("x", "hi"), "timestamp": "noon"}, ":2: not as expected"),
    ],
)
def test_what_is_wrong_is_named(transcript: Transcript, record: Record, reason: str) -> None:
    path = transcript(HEADER, record, user("u", "hi"))
    with pytest.raises(InputError, match=reason):
        list(transcripts.read(path, strict=True))
    conversation = read(path)
    assert [passed.count for passed in conversation.passed_over] == [1]
    assert conversation.messages[-1].text == "hi"


def test_a_change_that_is_not_understood_is_refused(transcript: Transcript) -> None:
    with pytest.raises(RefusedError, match=r":3: Gemini CLI .*'\$patch'.* --lenient"):
        read(transcript(HEADER, user("u", "hi"), {"$patch": 1}))


def test_a_message_of_a_document_is_passed_over_alone(tmp_path: Path) -> None:
    messages = [
        user("u", "hi"),
        answer("g", "lost", tokens={"input": -1, "tokens": 7}),
        user("v", "on"),
    ]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({**HEADER, "kind": "subagent", "messages": messages}))
    conversation = read(path)
    assert [m.text for m in conversation.messages] == ["hi", "on"]
    assert conversation.subagent
    (passed,) = conversation.passed_over
    assert (passed.kind, passed.tokens) == ("message that is not as expected", 7)
    assert passed.characters >= len("lost")


def test_the_examples_are_read(shared: Path) -> None:
    files = sorted((shared / "formats" / "gemini").glob("*.json*"))
    if not files:
        pytest.skip("the examples of other clients are not beside the checkout")
    calls = {path.name: len([*read(path).calls]) for path in files}
    assert all(calls.values()), calls
