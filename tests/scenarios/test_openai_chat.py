"""OpenAI's chat messages, in all the wrappings that people keep them in."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError

Transcript = Callable[..., Path]

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": "Is it raining?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "look", "arguments": '{"at": "sky"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "wet"},
    {"role": "assistant", "content": "It is."},
]


def passed_over(conversation: Conversation) -> int:
    """How much of a file was not understood."""
    return sum(one.count for one in conversation.passed_over)


def read(path: Path, strict: bool = False) -> list[Conversation]:
    conversations = list(transcripts.read(path, strict=strict))
    assert {conversation.format for conversation in conversations} == {"openai-chat"}
    return conversations


def document(path: Path, value: Any, indent: int | None = None) -> Path:
    path.write_text(json.dumps(value, indent=indent))
    return path


def test_what_is_in_a_conversation(tmp_path: Path) -> None:
    (conversation,) = read(document(tmp_path / "rain.json", CHAT))
    question, call, result, reply = conversation.messages
    assert [part.text for part in conversation.system] == ["You help."]
    assert [m.id for m in conversation.messages] == ["m1", "m2", "m3", "m4"]
    assert question.starts_turn
    part = call.parts[0]
    assert (part.type, part.name, part.text, part.call_id) == (
        "tool_call",
        "look",
        '{"at": "sky"}',
        "c1",
    )
    assert (result.role, result.parts[0].name, result.text) == ("tool", "look", "wet")
    assert conversation.calls == (call, reply)
    assert {message.time for message in conversation.messages} == {0.0}
    assert conversation.id == "rain"


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    ("value", "count"),
    [
        (CHAT, 1),
        ({"messages": CHAT, "model": "gpt-x"}, 1),
        ({"history": CHAT, "trajectory": [{"action": "ls"}]}, 1),
        ([{"traj": CHAT, "reward": 1.0}, {"traj": CHAT}], 2),
        ([CHAT, CHAT, CHAT], 3),
    ],
)
def test_all_wrappings_hold_the_same(
    tmp_path: Path, value: Any, count: int, indent: int | None
) -> None:
    conversations = read(document(tmp_path / "chat.json", value, indent))
    assert len({conversation.digest for conversation in conversations}) <= 2
    assert [c.id for c in conversations] == ["chat", "chat/2", "chat/3"][:count]
    assert all(len(conversation.calls) == 2 for conversation in conversations)


def test_lines_are_messages_or_conversations(transcript: Transcript) -> None:
    (alone,) = read(transcript(*CHAT))
    several = read(transcript({"messages": CHAT}, CHAT, {"traj": CHAT}))
    assert {c.digest for c in several} == {alone.digest}
    assert [c.id for c in several] == ["story", "story/2", "story/3"]


def test_the_model_is_the_message_s_or_the_wrapping_s(transcript: Transcript) -> None:
    chat = [CHAT[1], {**CHAT[4], "model": "own"}, CHAT[4]]
    (conversation,) = read(transcript({"messages": chat, "model": "gpt-x"}))
    assert [m.call.model for m in conversation.calls if m.call] == ["own", "gpt-x"]


def test_odd_messages(transcript: Transcript) -> None:
    path = transcript(
        {"role": "user", "content": [{"type": "text", "text": "see"}, image("data:x;base64,AA")]},
        {"role": "assistant", "content": ""},
        {"role": "developer", "content": "Be brief."},
        {"role": "assistant", "reasoning_content": "hm", "content": "Yes", "refusal": None},
        {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
        {"role": "tool", "tool_call_ids": ["c9"], "content": [{"type": "text", "text": "2"}]},
    )
    (conversation,) = read(path)
    seen, empty, rule, thought, called, one, two = conversation.messages
    assert [part.type for part in seen.parts] == ["text", "image"]
    assert empty.parts[0].kind == "opaque"
    assert (rule.role, rule.meta) == ("user", True)
    assert [part.type for part in thought.parts] == ["thinking", "text"]
    assert called.parts[0].name == one.parts[0].name == "f"
    assert two.parts[0].call_id == "c9"


def image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"role": "wizard", "content": "x"}, "'wizard' is no role"),
        ({"role": "user", "content": 5}, "not as expected"),
        ({"content": "x"}, "a conversation needs a list"),
        ({"role": "user"}, "a message of role 'user' has no content"),
        (
            {"role": "user", "text": "x"},
            "a message holds something under 'text', which is not read",
        ),
        ({"role": "user", "content": "x", "parts": ["y"]}, "something under 'parts'"),
        ({"role": "assistant", "content": "x", "toolCalls": [{}]}, "something under 'toolCalls'"),
        ({"role": "assistant", "content": "x", "calls": [{"function": {}}]}, "under 'calls'"),
        ({"role": "assistant", "tool_calls": [{"id": "c"}]}, "no function with a name"),
        ({"role": "assistant", "function_call": {"name": "f", "params": "x"}}, "no arguments"),
        ({"role": "tool", "content": "x", "tool_calls": [{}]}, "'tool' has 'tool_calls'"),
        ([{"role": "system", "content": "x"}], "a system prompt and no message"),
        ({"messages": [CHAT[1]], "history": [CHAT[1]]}, "messages under messages and history"),
    ],
)
def test_a_bad_message_is_named_or_counted(transcript: Transcript, bad: Any, reason: str) -> None:
    path = transcript(CHAT[1], bad)
    with pytest.raises(InputError, match=rf"story\.jsonl:2: .*{reason}"):
        read(path, strict=True)
    assert [passed_over(c) for c in read(path)] == [1]


def test_one_bad_conversation_among_many(tmp_path: Path) -> None:
    path = document(tmp_path / "many.json", [CHAT, [{"role": "user", "content": 5}], CHAT])
    with pytest.raises(InputError, match=r"many\.json:1: not as expected"):
        read(path, strict=True)
    assert [passed_over(c) for c in read(path)] == [0, 1]


def test_what_is_said_has_several_names(transcript: Transcript) -> None:
    path = transcript(
        CHAT[1],
        {"role": "assistant", "content": None, "reasoning": "hm", "thinking": "hm", "id": "a"},
        {"role": "assistant", "content": None, "refusal": "I will not.", "usage": {"total": 3}},
        {"role": "assistant", "content": "", "tool_calls": None, "metadata": {"title": "a talk"}},
    )
    _, thought, refused, empty = read(path)[0].messages
    assert [(part.type, part.text) for part in thought.parts] == [("thinking", "hm")]
    assert refused.text == "I will not."
    assert empty.parts[0].kind == "opaque"


def test_the_messages_of_cline_are_read_without_what_it_adds_to_them(
    transcript: Transcript,
) -> None:
    added = {"ts": 1767225600000, "modelInfo": {"modelId": "x"}, "metrics": {"cost": 0.1}}
    answer = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "ho"}]
    asked = {"role": "user", "content": [{"type": "text", "text": "hi"}], "ts": 1767225600000}
    path = transcript([asked, {"role": "assistant", "content": answer, **added}])
    (conversation,) = transcripts.read(path)
    assert conversation.format == "cline"
    assert [m.text for m in conversation.messages] == ["hi", "hm\nho"]
    assert [m.call.usage for m in conversation.messages if m.call] == [None]
