"""What `codex exec --json` prints: texts, tools, and what a turn took."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Usage

Transcript = Callable[..., Path]
Record = dict[str, Any]

BEGIN: list[Record] = [{"type": "thread.started", "thread_id": "t"}, {"type": "turn.started"}]


def done(type: str, id: str = "item_0", /, **item: Any) -> Record:
    return {"type": "item.completed", "item": {"id": id, "type": type, **item}}


def took(input: int, cached: int, output: int, **more: int) -> Record:
    counts = {"input_tokens": input, "cached_input_tokens": cached, "output_tokens": output}
    return {"type": "turn.completed", "usage": {**counts, **more}}


def read(path: Path) -> Conversation:
    (conversation,) = transcripts.read(path)
    assert conversation.format == "codex-exec"
    return conversation


def test_a_turn_of_one_request_is_a_call(transcript: Transcript) -> None:
    path = transcript(*BEGIN, done("agent_message", text="Sorted."), took(24_763, 24_448, 122))
    conversation = read(path)
    (answer,) = conversation.calls
    assert answer.text == "Sorted."
    assert answer.call == Call("", Usage(315, 24_448, output=122))  # no model is named
    assert conversation.starts_inside
    assert not conversation.passed_over


def test_a_turn_of_several_requests_is_billed_by_the_side(transcript: Transcript) -> None:
    path = transcript(
        *BEGIN,
        done("reasoning", text="hm"),
        {"type": "item.started", "item": {"id": "i", "type": "command_execution", "command": "ls"}},
        done("command_execution", "i", command="ls", aggregated_output="a\n", exit_code=1),
        done("file_change", changes=[{"path": "a", "kind": "add"}], status="completed"),
        done(
            "mcp_tool_call", server="m", tool="t", arguments={"at": 1}, error={"message": "no"}
        ),
        done("web_search", query="zstd"),
        done("agent_message", text="Done."),
        took(100, 60, 5, cache_write_input_tokens=30),
    )  # fmt: skip
    conversation = read(path)
    assert [message.role for message in conversation.messages] == ["assistant", "tool"] * 4 + [
        "assistant"
    ]
    first, listed, *_ = conversation.messages
    assert [part.type for part in first.parts] == ["thinking", "tool_call"]
    assert (listed.text, listed.parts[0].is_error) == ("a\n", True)
    names = [message.parts[0].name for message in conversation.messages if message.role == "tool"]
    assert names == ["command_execution", "file_change", "m.t", "web_search"]
    assert all(message.call and message.call.usage is None for message in conversation.calls)
    (side,) = conversation.side_requests
    assert (side.purpose, side.call.usage) == ("turn", Usage(10, 60, 30, output=5))


def test_usage_is_the_total_of_the_thread(transcript: Transcript) -> None:
    """A thread that is resumed counts on (openai/codex#17539)."""
    path = transcript(
        *BEGIN, done("agent_message", text="One."), took(100, 0, 5),
        *BEGIN, done("agent_message", text="Two."), took(250, 90, 12),
        *BEGIN, done("agent_message", text="Three."), took(40, 0, 2),
    )  # fmt: skip
    assert [message.call.usage for message in read(path).calls if message.call] == [
        Usage(100, output=5),
        Usage(60, 90, output=7),
        Usage(40, output=2),
    ]


def test_each_thread_is_a_conversation(transcript: Transcript) -> None:
    other = {"type": "thread.started", "thread_id": "u"}
    path = transcript(
        *BEGIN, done("agent_message", text="One."), took(9, 0, 1),
        other, done("agent_message", text="Two."), took(7, 0, 1),
    )  # fmt: skip
    one, two = transcripts.read(path)
    assert (one.id, two.id) == ("story", "story/2")
    assert [m.call.usage for m in two.calls if m.call] == [Usage(7, output=1)]


def test_what_failed_is_no_call(transcript: Transcript) -> None:
    failed = {"type": "turn.failed", "error": {"message": "no credit"}}
    started = {"type": "item.started", "item": {"id": "i", "type": "web_search", "query": "x"}}
    conversation = read(transcript(*BEGIN, {"type": "error", "message": "busy"}, started, failed))
    assert [(m.text, m.origin) for m in conversation.messages if m.origin] == [
        ("busy", "error"),
        ("no credit", "error"),
    ]
    assert [message.parts[0].name for message in conversation.calls] == ["web_search"]


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (done("poem", text="o"), "item 'poem' is not known"),
        ({"type": "request_user_input", "questions": ["o"]}, "event 'request_user_input'"),
        (done("agent_message"), "an item of type 'agent_message' has no text"),
        (done("agent_message", text="", new_text="o"), "something under 'new_text'"),
    ],
)
def test_what_is_not_known_is_counted(transcript: Transcript, event: Record, reason: str) -> None:
    path = transcript(*BEGIN, event, done("agent_message", text="Hi."))
    assert [one.count for one in read(path).passed_over] == [1]
    with pytest.raises(InputError, match=reason):
        list(transcripts.read(path, strict=True))
