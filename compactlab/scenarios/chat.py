"""Plain messages as one sends them to a provider: what OpenAI's and Anthropic's have in common."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from compactlab.scenarios import jsonl
from compactlab.scenarios.blocks import Block, Content, compact, listed, parts, result
from compactlab.scenarios.script import SYSTEM, Draft, Script
from compactlab.sim.conversation import Conversation
from compactlab.sim.errors import InputError
from compactlab.sim.message import Call, verbatim

KEYS = ("messages", "traj", "history")  # under which a conversation keeps its messages
_SYSTEM_ROLES = ("system", "developer")
_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking")


class _Function(msgspec.Struct):
    name: str = ""
    arguments: Any = None
    input: Any = None


class _ToolCall(msgspec.Struct):
    id: str | None = None
    function: _Function | None = None
    custom: _Function | None = None


class _Message(msgspec.Struct):
    role: str
    content: Content = None
    id: str | None = None
    name: str | None = None
    model: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[_ToolCall] | None = None
    function_call: _Function | None = None
    tool_call_id: str | None = None
    tool_call_ids: list[str] | None = None


class _Envelope(msgspec.Struct):
    system: Content = None
    model: str | None = None
    tools: list[Any] | None = None


def is_anthropic(value: Any) -> bool | None:
    """Tell the two kinds of messages apart by content; None if it is neither."""
    found = list(_recognised(value))
    listed_ones = [message for listing, _ in found for message in listing]
    messages = [m for m in listed_ones if isinstance(m, dict) and "role" in m]
    if not messages:
        return None
    if any("system" in envelope for _, envelope in found):
        return True
    contents = [m.get("content") for m in messages]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return any(isinstance(block, dict) and block.get("type") in _BLOCKS for block in blocks)


def read(path: Path, lenient: bool, format: str) -> Iterator[Conversation]:
    """Yield the conversations of a file: of its one document, or of its lines.

    Raises
    ------
    InputError
        If something in it is neither a message nor a conversation.
    """
    lines = jsonl.Lines(path, lenient)
    alone = Script()  # of messages that stand one a line
    count = 0
    for number, value in jsonl.values(lines):
        if isinstance(value, dict) and "role" in value:
            with lines.at(number):
                _take(alone, msgspec.convert(value, _Message), "")
            continue
        for item in items(value):
            found = None
            with lines.at(number):
                found = script(item)
            if found and found.events:
                count += 1
                numbered = _numbered(path.stem, count)
                yield found.conversation(numbered, format, path, skipped=lines.skipped())
    if alone.events or not count:
        numbered = _numbered(path.stem, count + 1)
        yield alone.conversation(numbered, format, path, skipped=lines.skipped())


def items(value: Any) -> list[Any]:
    """Split a value into conversations: a list of messages is one, other lists hold many."""
    if isinstance(value, list) and not any(isinstance(i, dict) and "role" in i for i in value):
        return value
    return [value]


def _recognised(value: Any) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    if isinstance(value, dict) and "role" in value:
        yield [value], {}
        return
    for item in items(value):
        messages, envelope = _opened(item)
        if messages is not None:
            yield messages, envelope


def _opened(item: Any) -> tuple[list[Any] | None, dict[str, Any]]:
    if isinstance(item, list):
        return item, {}
    if isinstance(item, dict):
        listing = next((item[key] for key in KEYS if isinstance(item.get(key), list)), None)
        return listing, item
    return None, {}


def script(item: Any) -> Script:
    """Read one conversation: a list of messages, or an object with one under `KEYS`.

    Raises
    ------
    InputError
        If it is neither, or a message has no known role.
    """
    messages, outside = _opened(item)
    if messages is None:
        raise InputError(f"a conversation needs a list under one of {', '.join(KEYS)}")
    envelope = msgspec.convert(outside, _Envelope)
    script = Script()
    script.system += parts(envelope.system, SYSTEM)
    if envelope.tools:
        script.system.append(verbatim(SYSTEM, "text", compact(envelope.tools), name="tools"))
    for message in msgspec.convert(messages, list[_Message]):
        _take(script, message, envelope.model or "")
    return script


def _take(script: Script, message: _Message, model: str) -> None:
    if message.role in _SYSTEM_ROLES:
        if script.last is None:
            script.system += parts(message.content, SYSTEM)
        else:
            _add_user(script, message, listed(message.content), meta=True)
    elif message.role == "user":
        _take_user(script, message)
    elif message.role == "assistant":
        draft = script.draft("assistant", message.id)
        draft.call = Call(message.model or model)
        _say(draft, message)
        script.add(draft)
    elif message.role in ("tool", "function"):
        draft = script.draft("tool", message.id)
        call_id = message.tool_call_id or next(iter(message.tool_call_ids or ()), "")
        draft.parts = result(message.content, draft.id, call_id, name=message.name or "")
        script.add(draft)
    else:
        raise InputError(f"{message.role!r} is no role of a chat message")


def _take_user(script: Script, message: _Message) -> None:
    """Take a user message; Anthropic's hold the results of tools, too."""
    rest = []
    for block in listed(message.content):
        if block.type != "tool_result":
            rest.append(block)
            continue
        draft = script.draft("tool", message.id)
        failed = bool(block.is_error)
        draft.parts = result(block.content, draft.id, block.tool_use_id or "", error=failed)
        script.add(draft)
    _add_user(script, message, rest, meta=False)


def _add_user(script: Script, message: _Message, blocks: list[Block], meta: bool) -> None:
    draft = script.draft("user", message.id, meta=meta)
    draft.parts = parts(blocks, draft.id)
    if draft.parts:
        script.add(draft)


def _say(draft: Draft, message: _Message) -> None:
    if message.reasoning_content:
        draft.parts.append(verbatim(draft.id, "thinking", message.reasoning_content))
    draft.parts += parts(message.content, draft.id)
    calls = message.tool_calls or []
    if message.function_call:
        calls = [*calls, _ToolCall(message.function_call.name, message.function_call)]
    for call in calls:
        asked = call.function or call.custom or _Function()
        arguments = compact(asked.input if asked.arguments is None else asked.arguments)
        part = verbatim(draft.id, "tool_call", arguments, name=asked.name, call_id=call.id or "")
        draft.parts.append(part)


def _numbered(stem: str, count: int) -> str:
    return stem if count == 1 else f"{stem}/{count}"
