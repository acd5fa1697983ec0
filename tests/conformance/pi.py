"""Messages of pi and OpenClaw as this project's types, and back: conversion, no rules."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from compactlab.sim.message import Message, Part, Source, frame, verbatim
from compactlab.sim.view import Messages

ROLES = {"user": "user", "assistant": "assistant", "toolResult": "tool"}


def stringify(value: Any) -> str:
    """Write a value as JavaScript's `JSON.stringify` does."""
    return json.dumps(_plain(value), separators=(",", ":"), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() else value
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def message(original: Mapping[str, Any], id: str = "m") -> Message:
    """Convert a message of any of pi's roles; a role that pi does not know stays what it is."""
    role = original.get("role", "")
    time = (original.get("timestamp") or 0) / 1000
    parts = tuple(_parts(original, id))
    if role in ROLES:
        return Message(id, ROLES[role], parts, time)  # type: ignore[arg-type]
    return Message(id, "user", parts, time, meta=True, origin=role)


def messages(originals: Iterable[Mapping[str, Any]]) -> Messages:
    """Convert a history; ids are places in it."""
    return Messages(message(original, str(n)) for n, original in enumerate(originals))


def places(kept: Sequence[Message], history: Sequence[Message]) -> list[Any]:
    """Write kept messages as the vectors do: by their place in the history."""
    place = {id(message): n for n, message in enumerate(history)}
    return [{"$msg": place[id(m)]} if id(m) in place else m for m in kept]


def _parts(original: Mapping[str, Any], id: str) -> Iterable[Part]:
    role = original.get("role")
    if role == "bashExecution":
        return _shell(original, id)
    if "summary" in original:
        return [Part("text", original["summary"] or "", "summary", (Source(id),))]
    content = original.get("content")
    if isinstance(content, str):
        # pi walks over the characters of an assistant's content that is no list: it finds nothing.
        return [] if role == "assistant" else [_text(content, original, id)]
    blocks = [block for block in content or () if isinstance(block, Mapping)]
    return [part for block in blocks for part in _block(block, original, id)]


def _text(text: str, original: Mapping[str, Any], id: str) -> Part:
    if original.get("role") != "toolResult":
        return verbatim(id, "text", text)
    return verbatim(
        id,
        "tool_result",
        text,
        name=original.get("toolName") or "",
        call_id=original.get("toolCallId") or "",
        is_error=original.get("isError") is True,
    )


def _block(block: Mapping[str, Any], original: Mapping[str, Any], id: str) -> Iterable[Part]:
    kind = block.get("type")
    if kind == "text":
        yield _text(block.get("text") or "", original, id)
    elif kind == "thinking":
        yield verbatim(id, "thinking", block.get("thinking") or "")
    elif kind in ("toolCall", "toolUse", "functionCall"):
        arguments = stringify(block.get("arguments")) if "arguments" in block else ""
        call_id = block.get("id")
        known = call_id if isinstance(call_id, str) else ""
        yield verbatim(id, "tool_call", arguments, name=block.get("name") or "", call_id=known)
    elif kind == "image":
        yield verbatim(id, "image", "", size=1200)


def _shell(original: Mapping[str, Any], id: str) -> Iterable[Part]:
    # The reader frames these; here the frames do not matter but for what is serialised.
    command, output = original.get("command") or "", original.get("output") or ""
    end = "`\n```\n" if output else "`\n(no output)"
    return [
        frame("Ran `"),
        verbatim(id, "text", command),
        frame(end),
        verbatim(id, "text", output),
        frame("\n```" if output else ""),
    ]
