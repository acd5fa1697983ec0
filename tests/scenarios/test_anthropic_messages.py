"""Anthropic's messages, alone or as the body of a request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from compactlab.scenarios import transcript as transcripts
from compactlab.sim.conversation import Conversation

CALL = {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "sky"}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "wet", "is_error": True}


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
    blocks = [
        {"type": "redacted_thinking", "data": "gAAA"},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "x"}]},
        {"type": "something_new"},
        {"type": "text", "text": ""},
    ]
    messages = [{"role": "assistant", "content": blocks}]
    (message,) = read(tmp_path / "rare.json", messages).messages
    assert [(part.type, part.kind, part.name) for part in message.parts] == [
        ("thinking", "opaque", "redacted_thinking"),
        ("tool_call", "verbatim", "web_search"),
        ("tool_result", "verbatim", "web_search"),
        ("text", "opaque", "something_new"),
    ]
