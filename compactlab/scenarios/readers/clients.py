"""Transcripts of clients that are not read: they are told by what is in them, and refused by name.

A shape is what a value must have: keys, each with the type or the very text that stands there, or
with a shape in its turn. The shapes are from files of these clients, as of 2026-11.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Shape = Mapping[str, Any]

SHAPES: tuple[tuple[str, Shape], ...] = (
    ("Cursor", {"role": str, "message": {"content": list}}),
    ("Qwen Code", {"uuid": str, "sessionId": str, "message": {"parts": list}}),
    ("Qwen Code", {"uuid": str, "sessionId": str, "systemPayload": dict}),
    ("Gemini CLI", {"sessionId": str, "projectHash": str}),
    ("Gemini CLI", {"role": "gemini", "parts": list}),
    ("Gemini's API", {"role": "model", "parts": list}),
    ("Copilot CLI", {"type": "session.start", "data": dict}),
    ("Droid", {"type": "session_start", "id": str}),
    ("Droid", {"type": "message", "role": str, "text": str}),
    ("Grok", {"type": "assistant", "model_id": str}),
    ("Grok", {"type": "user", "prompt_index": int}),
    ("Hermes", {"session_id": str, "platform": str, "messages": list}),
    ("Kimi", {"type": "metadata", "protocol_version": str}),
    ("Antigravity", {"step_index": int, "source": str, "status": str}),
    ("OpenCode", {"sessionID": str, "role": str, "time": dict}),
    ("OpenCode", {"sessionID": str, "messageID": str}),
    ("Copilot CLI", {"type": "assistant.message", "data": dict}),
    ("Codex before its lines had a payload", {"record_type": "state"}),
    ("OpenAI's Responses API", {"type": "function_call", "call_id": str, "arguments": str}),
)


def client_of(first: list[Any]) -> str:
    """The client, not read, that the first values of a file are of; "" if they are of none known.

    Examples
    --------
    >>> client_of([{"type": "session.start", "data": {}}])
    'Copilot CLI'
    """
    values = [each for value in first for each in (value, *_within(value))]
    return next((name for name, shape in SHAPES if any(_fits(v, shape) for v in values)), "")


def _within(value: Any) -> list[Any]:
    """The messages of a document."""
    lists = value.values() if isinstance(value, dict) else [value]
    return [each for found in lists if isinstance(found, list) for each in found]


def _fits(value: Any, shape: Any) -> bool:
    if isinstance(shape, type):
        return isinstance(value, shape)
    if isinstance(shape, Mapping):
        return isinstance(value, dict) and all(
            key in value and _fits(value[key], inner) for key, inner in shape.items()
        )
    return bool(value == shape)
