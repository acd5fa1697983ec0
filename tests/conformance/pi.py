"""Messages of pi and OpenClaw as this project's types, and back: conversion, no rules."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from compactlab.sim.core.message import (
    FAILED,
    Message,
    Part,
    Source,
    branched,
    compacted,
    shell,
    verbatim,
)
from compactlab.sim.core.view import Messages
from compactlab.strategies.pi.preparation import Entry, Files

ROLES = {"user": "user", "assistant": "assistant", "toolResult": "tool"}


def stringify(value: Any) -> str:
    """Write a value as JavaScript's `JSON.stringify` does."""
    text = json.dumps(_plain(value), separators=(",", ":"), ensure_ascii=False)
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 1e21 else value
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def message(original: Mapping[str, Any], id: str = "m") -> Message:
    """Convert a message of any of pi's roles; a role that pi does not know stays what it is."""
    role = original.get("role", "")
    time = (original.get("timestamp") or 0) / 1000
    parts = tuple(_parts(original, id))
    if role in ROLES:
        ended = original.get("stopReason")
        origin = ended if role == "assistant" and ended in FAILED else ""
        return Message(id, ROLES[role], parts, time, origin=origin)  # type: ignore[arg-type]
    return Message(id, "user", parts, time, meta=True, origin=role)


def messages(originals: Iterable[Mapping[str, Any]]) -> Messages:
    """Convert a history; ids are places in it."""
    return Messages(message(original, str(n)) for n, original in enumerate(originals))


def entries(originals: Sequence[Mapping[str, Any]]) -> list[Entry]:
    """Convert a session's entries; ids of their messages are places in it."""
    return [_entry(original, str(n)) for n, original in enumerate(originals)]


def _entry(original: Mapping[str, Any], place: str) -> Entry:
    id, kind = original.get("id") or "", original["type"]
    told = message_of(original)
    converted = message(told, place) if told is not None else None
    if kind == "context_edit":
        new = original["replacement"]
        parts = None if new is None else message({"role": "user", **new}, place).parts
        return Entry(id, kind, target=original["targetId"], parts=parts)
    if kind != "compaction":
        return Entry(id, kind, converted)
    files = None if original.get("fromHook") else Files()
    details = original.get("details")
    if files is not None and isinstance(details, Mapping):
        for name, paths in (("readFiles", files.read), ("modifiedFiles", files.edited)):
            listed = details.get(name)
            paths.update(dict.fromkeys(listed, "") if isinstance(listed, list) else {})
    return Entry(id, kind, converted, original.get("firstKeptEntryId") or "", files)


def message_of(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The message that an entry holds or tells of, as pi writes it; None if it is bookkeeping."""
    kind = entry["type"]
    if kind == "message":
        return entry["message"]  # type: ignore[no-any-return]
    when = datetime.fromisoformat(entry["timestamp"]) if entry.get("timestamp") else None
    time = {"timestamp": round(when.timestamp() * 1000)} if when else {}
    roles = {"custom_message": "custom", "branch_summary": "branchSummary"}
    role = {**roles, "compaction": "compactionSummary"}.get(kind)
    if role is None:
        return None
    kept = ("customType", "content", "display", "details", "summary", "fromId", "tokensBefore")
    names = kept[:4] if kind == "custom_message" else kept[4:]
    told = {name: entry[name] for name in names if name in entry}
    return {"role": role, **told, **time}


def made_up(message: Message) -> dict[str, Any]:
    """Write a result that a repair made up as pi has it."""
    part = message.parts[0]
    return {
        "role": "toolResult",
        "toolCallId": part.call_id,
        "toolName": part.name,
        "content": [{"type": "text", "text": part.text}],
        "isError": part.is_error,
        "timestamp": round(message.time * 1000),
    }


def places(kept: Sequence[Message], history: Sequence[Message]) -> list[Any]:
    """Write kept messages as the vectors do: by their place in the history."""
    place = {id(message): n for n, message in enumerate(history)}
    return [{"$msg": place[id(m)]} if id(m) in place else m for m in kept]


def _parts(original: Mapping[str, Any], id: str) -> Iterable[Part]:
    role = original.get("role")
    if role == "bashExecution":
        return _shell(original, id)
    if "summary" in original:
        told = [Part("text", original["summary"] or "", "summary", (Source(id),))]
        return branched(told) if role == "branchSummary" else compacted(told)
    content = original.get("content")
    if isinstance(content, str):
        # pi walks over the characters of an assistant's content that is no list: it finds nothing.
        return [] if role == "assistant" else [_text(content, original, id)]
    blocks = [block for block in content or () if isinstance(block, Mapping)]
    parts = [part for block in blocks for part in _block(block, original, id)]
    return parts or ([_text("", original, id)] if role == "toolResult" else [])


def _text(text: str, original: Mapping[str, Any], id: str) -> Part:
    if original.get("role") != "toolResult":
        return verbatim(id, "text", text)
    return verbatim(
        id,
        "tool_result",
        text,
        name=original.get("toolName") or "",
        call_id=original.get("toolCallId") or original.get("toolUseId") or "",
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
        answers = _text("", original, id)
        yield verbatim(id, "image", "", size=1200, name=answers.name, call_id=answers.call_id)


def _shell(original: Mapping[str, Any], id: str) -> Iterable[Part]:
    if original.get("excludeFromContext"):
        return []
    return shell(
        verbatim(id, "text", original.get("command") or ""),
        verbatim(id, "text", original.get("output") or ""),
        exit_code=original.get("exitCode"),
        cancelled=bool(original.get("cancelled")),
        full_output=(original.get("fullOutputPath") or "") if original.get("truncated") else "",
    )
