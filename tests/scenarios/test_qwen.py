"""Sessions of Qwen Code: a tree of records, usage as Gemini's API counts it, compressions."""

from __future__ import annotations

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

COUNTS = {"promptTokenCount": 100, "candidatesTokenCount": 7, "cachedContentTokenCount": 80}


def record(type: str, uuid: str, parent: str | None, *parts: Record, **more: Any) -> Record:
    role = "model" if type == "assistant" else "user"
    line = {"uuid": uuid, "parentUuid": parent, "sessionId": "s", "type": type}
    message = {"role": role, "parts": list(parts)}
    return {**line, "timestamp": "2026-01-01T00:00:01.000Z", "message": message, **more}


def system(uuid: str, parent: str | None, subtype: str, **payload: Any) -> Record:
    line = {"uuid": uuid, "parentUuid": parent, "sessionId": "s", "type": "system"}
    stamp = {"timestamp": "2026-01-01T00:00:02.000Z"}
    return {**line, **stamp, "subtype": subtype, "systemPayload": payload}


def text(words: str, **more: Any) -> Record:
    return {"text": words, **more}


def read(path: Path) -> Conversation:
    conversation, *_ = transcripts.read(path)
    assert conversation.format == "qwen"
    return conversation


def shape(conversation: Conversation) -> list[str]:
    return [
        f"<- {event.to}" if isinstance(event, Rewind) else getattr(event, "id", "compaction")
        for event in conversation.events
    ]


def test_a_session(transcript: Transcript) -> None:
    call = {"functionCall": {"id": "c1", "name": "ls", "args": {"at": "."}}}
    answer = {"functionResponse": {"id": "c1", "response": {"output": "a.py"}}}
    called = {"toolCallResult": {"status": "error", "new": [1]}}
    path = transcript(
        record("user", "a", None, text("hi")),
        record("assistant", "b", "a", text("hm", thought=True), model="x"),
        record("assistant", "b", "a", call, model="x", version="0.21", usageMetadata=COUNTS),
        system("t", "b", "ui_telemetry", uiEvent={}),
        record("tool_result", "c", "t", answer, **called),
        record("user", "d", "c", text("It is done."), subtype="notification"),
        record("assistant", "e", "d", text("ok")),
    )
    conversation = read(path)
    assert shape(conversation) == ["a", "b", "c", "d", "e"]
    hi, reply, result, note, done = conversation.messages
    assert [part.type for part in reply.parts] == ["thinking", "tool_call"]
    assert reply.call == Call("x", Usage(20, 80, output=7), version="qwen 0.21", id="b")
    assert (result.role, result.text) == ("tool", "a.py")
    assert (result.parts[0].name, result.parts[0].is_error) == ("ls", True)
    assert (hi.meta, note.meta) == (False, True)
    assert done.call == Call(id="e")


@pytest.mark.parametrize(("total", "output"), [(112, 12), (107, 7), (0, 12)])
def test_thoughts_are_output_once(transcript: Transcript, total: int, output: int) -> None:
    counts = {**COUNTS, "thoughtsTokenCount": 5, "totalTokenCount": total}
    answer = record("assistant", "b", "a", text("ho"), usageMetadata=counts)
    (call,) = read(transcript(record("user", "a", None, text("hi")), answer)).calls
    assert call.call
    assert call.call.usage == Usage(20, 80, output=output)


def test_a_record_with_another_parent_is_a_rewind(transcript: Transcript) -> None:
    path = transcript(
        record("user", "a", None, text("one")),
        record("assistant", "b", "a", text("1")),
        system("r", "a", "rewind", truncatedCount=1),
        record("user", "c", "r", text("two")),
    )
    assert "|".join(shape(read(path))) == "a|b|<- a|c"


def test_a_compression_inserts_its_history(transcript: Transcript) -> None:
    history = [
        {"role": "user", "parts": [text("so far")]},
        {"role": "model", "parts": [text("1")]},
    ]
    info = {"originalTokenCount": 900, "newTokenCount": 90}
    path = transcript(
        record("user", "a", None, text("one")),
        record("assistant", "b", "a", text("1")),
        system("c", "b", "chat_compression", info=info, compressedHistory=history),
        record("user", "d", "c", text("two")),
    )
    conversation = read(path)
    assert "|".join(shape(conversation)) == "a|b|compaction|d"
    (compaction,) = conversation.compactions
    (summary,), (kept,) = (message.parts for message in compaction.inserted)
    assert (summary.kind, [each.id for each in summary.sources]) == ("summary", ["a", "b"])
    assert (kept.kind, [each.id for each in kept.sources]) == ("verbatim", ["b"])
    assert compaction.tokens_before == 900


def test_a_sidechain_is_a_conversation_of_its_own(transcript: Transcript) -> None:
    aside = {"isSidechain": True, "agentId": "g"}
    path = transcript(
        record("user", "a", None, text("hi")),
        record("user", "x", None, text("Look."), **aside),
        record("assistant", "b", "a", text("ho")),
        record("assistant", "y", "x", text("I see."), **aside),
    )
    first, second = transcripts.read(path)
    assert [shape(first), shape(second)] == [["a", "b"], ["x", "y"]]
    assert second.id == f"{path.stem}#sidechain-1"


def test_a_session_cut_off_in_front_starts_inside(transcript: Transcript) -> None:
    assert read(transcript(record("user", "b", "gone", text("go on")))).starts_inside
    assert not read(transcript(record("user", "a", None, text("begin")))).starts_inside


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (record("wizard", "x", "a", text("hi")), ":2: record 'wizard' is not known"),
        ({**record("user", "x", "a"), "message": {}}, ":2: a record of type 'user' has no parts"),
        (record("user", "x", "a", {"hologram": 1}), ":2: a part of a content is of no known kind"),
        (
            {**record("user", "x", "a", text("hi")), "type": "system"},
            ":2: message of a record of type .system",
        ),
        (record("user", "x", "x", text("hi")), ":2: 'x' hangs from 'x'"),
        (system("x", "a", "omen", text="ho"), ":2: record 'omen' is not known"),
        (system("x", "a", "agent_bootstrap", history=[]), ":2: record 'agent_bootstrap'"),
        ({**record("user", "x", "a", text("hi")), "new_text": "ho"}, ":2: .* under 'new_text'"),
        (
            record("assistant", "x", "a", usageMetadata={"promptTokenCount": -1}),
            ":2: not as expected",
        ),
    ],
)
def test_what_is_wrong_is_named(transcript: Transcript, line: Record, reason: str) -> None:
    path = transcript(record("user", "a", None, text("hi")), line)
    with pytest.raises(InputError, match=reason):
        list(transcripts.read(path, strict=True))
    (passed,) = read(path).passed_over
    assert passed.count == 1
    assert read(path).starts_inside == ("bootstrap" in reason)


def test_a_compression_that_is_not_understood_is_refused(transcript: Transcript) -> None:
    line = system("x", "a", "chat_compression", info={})
    with pytest.raises(RefusedError, match=r":2: Qwen Code .* --lenient"):
        read(transcript(record("user", "a", None, text("hi")), line))


def test_a_branch_repeats_the_records_of_its_session(transcript: Transcript) -> None:
    origin = {"forkedFrom": {"sessionId": "parent", "messageUuid": "b"}}
    path = transcript(
        record("user", "a", None, text("hi"), **origin),
        record("assistant", "b", "a", text("ho"), **origin),
        record("user", "c", "b", text("on")),
        record("assistant", "d", "c", text("On.")),
        system("e", "d", "ui_telemetry", uiEvent={"input_token_count": 9}),
    )
    conversation = read(path)
    assert conversation.parent == "parent"
    calls = [message.call for message in conversation.calls if message.call]
    assert [(call.id, call.inherited) for call in calls] == [("b", True), ("d", False)]
    assert not conversation.passed_over


def test_the_examples_are_read(shared: Path) -> None:
    files = sorted((shared / "formats" / "qwen").glob("*.jsonl"))
    if not files:
        pytest.skip("the examples of other clients are not beside the checkout")
    messages = {}
    for path in files:
        try:
            messages[path.name] = len([*read(path).messages])
        except InputError as error:
            # Two records in one line, and stamps that were cut out, are no JSON and no times.
            assert error.line == 1, error  # noqa: PT017
    assert len(messages) >= 4, messages
    assert all(messages.values()), messages
