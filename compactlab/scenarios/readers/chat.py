"""Plain messages in the forms of OpenAI's and Anthropic's APIs.

Similar formats have their own readers, or are refused by name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import partial
from typing import Any

import msgspec

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.anthropic import MessageThreads, is_of_thread
from compactlab.scenarios.readers.blocks import (
    Block,
    Content,
    Given,
    given,
    listed,
    parts,
    result,
    result_of,
    tool_call,
)
from compactlab.scenarios.readers.counts import of_provider
from compactlab.scenarios.readers.refused import refusal
from compactlab.scenarios.readers.script import SYSTEM, Draft, Format, Script, declared, numbered
from compactlab.scenarios.readers.shapes import dict_of, is_labelled, list_of
from compactlab.scenarios.readers.times import time_of
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, verbatim

KEYS = ("messages", "traj", "history")  # keys of the messages of a conversation
_SYSTEM_ROLES = ("system", "developer")
_ROLES = (*_SYSTEM_ROLES, "user", "assistant", "tool", "function")
# Keys with text in a message; thoughts have one of three names.
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")
_SAYING = ("content", "refusal", "tool_calls", "function_call", *_THOUGHTS)
# Keys of other formats: a message with such a key is not a plain one.
_FOREIGN = {
    *(key.replace("_", "") for key in _SAYING), "arguments", "args", "audio", "blocks", "body",
    "contents", "input", "message", "output", "parts", "response", "result", "text", "toolresults",
    "value",
}  # fmt: skip
_INSIDE = {"arguments", "content", "function", "input", "text"}  # keys that such objects have
# Keys beside the messages that are read here, or are settings.
_AROUND = (
    "system", "tools", "tool_choice", "thinking", "reasoning", "output_config", "output_format",
)  # fmt: skip
_MILLISECONDS = 1e11  # a larger time is not in seconds: it would be after the year 5000
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
    content: Given = msgspec.UNSET
    id: str | None = None
    name: str | None = None
    model: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    thinking: str | None = None
    refusal: str | None = None
    tool_calls: list[_ToolCall] | None = None
    function_call: _Function | None = None
    tool_call_id: str | None = None
    tool_call_ids: list[str] | None = None


class _Envelope(msgspec.Struct):
    system: Content = None
    model: str | None = None
    tools: list[Any] | None = None


def is_anthropic(value: Any) -> bool | None:
    """Whether messages are Anthropic's or OpenAI's, by content; None if they are neither."""
    listings = list(_recognised(value))
    messages = [
        each
        for listing, _ in listings
        for each in listing
        if isinstance(each, dict)
        and each.get("role") in _ROLES
        and not each.keys().isdisjoint(_SAYING)
    ]
    if not messages:
        return None
    envelopes = [envelope for _, envelope in listings]
    values = [*envelopes, *(value for listing, _ in listings for value in listing)]
    if any("system" in each for each in envelopes) or any(map(is_of_thread, values)):
        return True
    blocks = [block for each in messages for block in list_of(each.get("content"))]
    return any(dict_of(block).get("type") in _BLOCKS for block in blocks)


def kind_of(first: list[Any]) -> str:
    """Return the API of a file's first values: ``anthropic``, ``openai``, or "" for neither.

    At least half of the values must be messages or conversations, and none of a known client.
    """
    kinds = [is_anthropic(value) for value in first]
    known = [kind for kind in kinds if kind is not None]
    if 2 * len(known) < len(kinds) or not known or refusal(first):
        return ""
    if any(is_labelled(item) for value in first for item in items(value)):
        return ""
    return "anthropic" if True in known else "openai"


def read(format: str, lines: jsonl.Lines) -> Iterator[Conversation]:
    """Yield the conversations of a file: of its one document, or of its lines."""
    alone = Script()  # messages, one per line
    threads = MessageThreads(
        partial(script, lines=lines),
        lambda into, value, model: _take_checked(into, value, lines, Call(model)),
    )
    count = 0
    for number, value in _apart(jsonl.values(lines)):
        of_thread = None
        with lines.at(number):
            of_thread = threads.take(value)
        if of_thread is not False:
            continue
        if isinstance(value, dict) and "role" in value:
            with lines.at(number):
                _take_checked(alone, value, lines)
            continue
        for item in items(value):
            one = None
            with lines.at(number, item):
                one = script(item, lines, number)
                if one.system and not one.events:
                    raise InputError("a conversation has a system prompt and no message")
            if one and one.events:
                count += 1
                yield one.conversation(numbered(lines.path.stem, count), format, lines.path)
    for one in (*threads.scripts, *([alone] if alone.events else [])):
        count += 1
        yield one.conversation(numbered(lines.path.stem, count), format, lines.path)
    if not count:
        yield alone.conversation(lines.path.stem, format, lines.path)


def _apart(values: Iterable[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    """Split lists that contain bodies of threads into single values."""
    for number, value in values:
        mixed = isinstance(value, list) and any(map(is_of_thread, value))
        yield from ((number, each) for each in (value if mixed else [value]))


def items(value: Any) -> list[Any]:
    """Split a value into conversations: a list of messages is one, other lists hold several."""
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
        listings = [item[key] for key in KEYS if isinstance(item.get(key), list)]
        return max(listings, key=bool) if listings else None, item
    return None, {}


def script(item: Any, lines: jsonl.Lines, number: int = 0) -> Script:
    """Read one conversation: a list of messages, or an object with one under `KEYS`."""
    messages, outside = _opened(item)
    if messages is None:
        raise InputError(
            f"neither a message (no role) nor a conversation (no list under {', '.join(KEYS)})"
        )
    full = [key for key in KEYS if isinstance(outside.get(key), list) and outside[key]]
    if len(full) > 1:
        raise InputError(f"there are messages under {' and '.join(full)}; one must be empty")
    lines.pass_over_fields(outside, (*KEYS, *_AROUND), "a conversation")
    envelope = msgspec.convert(outside, _Envelope)
    script = Script()
    script.system += parts(envelope.system, SYSTEM, lines)
    script.system += declared(envelope.tools)
    for message in messages:
        with lines.at(number, message):
            _take_checked(script, message, lines, Call(envelope.model or ""))
    return script


def _take_checked(script: Script, value: Any, lines: jsonl.Lines, call: Call | None = None) -> None:
    """Add a message; note arguments that are not JSON, and results that belong to no call."""
    drafts = take(script, value, lines, call=call, time=_time(dict_of(value).get("timestamp")))
    functions = [dict_of(each).get("function") for each in list_of(value.get("tool_calls"))]
    for function in (*functions, value.get("function_call")):
        text = dict_of(function).get("arguments")
        if isinstance(text, str) and text and not jsonl.is_json(text.encode("utf-8", "replace")):
            lines.note("arguments that are not JSON")
    for part in (part for draft in drafts for part in draft.parts):
        if part.type == "tool_call":
            script.asked.add(part.call_id)
        elif part.type == "tool_result" and part.call_id not in script.asked:
            # A result of role ``function`` names the function.
            if part.call_id:
                lines.note("tool result whose call is not in the log")
            elif part.name not in script.asked:
                lines.note("tool result that names no call")


def _time(stamp: Any) -> float:
    seconds = type(stamp) in (int, float) and stamp < _MILLISECONDS
    return time_of(1000 * stamp if seconds else stamp)


def take(
    script: Script,
    value: Any,
    lines: jsonl.Lines,
    *,
    call: Call | None = None,
    time: float = 0.0,
    known: Collection[str] = (),
    meta: bool = False,
) -> list[Draft]:
    """Add a message to a script; return the drafts that were added.

    ``call`` is the request of an answer; the answer's own model, id and usage take precedence.
    Fields in ``known`` are read elsewhere. ``meta``: no person typed the user message.
    """
    message = _message(value, lines, known)
    before = len(script.path)
    if message.role in _SYSTEM_ROLES:
        if script.last is None:
            script.system += parts(message.content, SYSTEM, lines)
        else:
            _add_user(script, message, listed(message.content), lines, meta=True)
    elif message.role == "user":
        _take_user(script, message, lines, meta)
    elif message.role == "assistant":
        draft, call = script.draft("assistant", message.id), call or Call()
        usage = call.usage or of_provider(value.get("usage"))
        id, model = call.id or (message.id or "" if usage else ""), message.model or call.model
        draft.call = msgspec.structs.replace(call, model=model, usage=usage, id=id)
        _say(draft, message, lines)
        script.add(draft)
    else:
        draft, name = script.draft("tool", message.id), message.name or ""
        call_id = message.tool_call_id or next(iter(message.tool_call_ids or ()), "")
        script.add(draft, result(message.content, draft.id, call_id, name=name, lines=lines))
    added = script.path[before:]
    for draft in added:
        draft.time = time
    return added


def _message(value: Any, lines: jsonl.Lines, elsewhere: Collection[str]) -> _Message:
    """Decode a message, and check that its text is in known fields."""
    message = msgspec.convert(value, _Message)
    if message.role not in _ROLES:
        raise InputError(f"{message.role!r} is not a role of a chat message")
    unread = [
        key
        for key, inner in value.items()
        if key not in _SAYING and key not in elsewhere and inner and _speaks(key, inner)
    ]
    if unread and lines.strict:
        raise InputError(f"a message holds something under {unread[0]!r}, which is not read")
    others = [key for key in _SAYING[1:] if value.get(key)]
    if message.role != "assistant" and others:
        raise InputError(f"a message of role {message.role!r} has {others[0]!r}")
    if not any(key in value for key in _SAYING):
        given(message.content, f"a message of role {message.role!r}")
    for call in value.get("tool_calls") or ():
        _check(next((call[key] for key in ("function", "custom") if call.get(key)), {}))
    _check(value.get("function_call") or {"name": ""})
    for key in unread:
        lines.pass_over(f"field {key!r} of a message", value[key])
    return message


def _speaks(key: str, value: Any) -> bool:
    if key.replace("_", "").replace("-", "").lower() in _FOREIGN:
        return True
    inside = value if isinstance(value, list) else [value]
    return any(isinstance(each, dict) and not _INSIDE.isdisjoint(each) for each in inside)


def _check(function: dict[str, Any]) -> None:
    """Check that a function has a name, and that its arguments do not contain another one."""
    if "name" not in function:
        raise InputError("a call of a tool has no function with a name")
    if not function.keys() & {"arguments", "input"} and len(function) > 1:
        raise InputError(f"a call of {function['name']!r} has no arguments")


def _take_user(script: Script, message: _Message, lines: jsonl.Lines, meta: bool) -> None:
    """Add a user message; Anthropic's also contain the results of tools."""
    rest = []
    for block in listed(message.content):
        if block.type != "tool_result":
            rest.append(block)
            continue
        draft = script.draft("tool", message.id)
        script.add(draft, result_of(block, draft.id, lines))
    _add_user(script, message, rest, lines, meta)


def _add_user(
    script: Script, message: _Message, blocks: list[Block], lines: jsonl.Lines, meta: bool
) -> None:
    draft = script.draft("user", message.id, meta=meta)
    draft.parts = parts(blocks, draft.id, lines)
    if draft.parts:
        script.add(draft)


def _say(draft: Draft, message: _Message, lines: jsonl.Lines) -> None:
    thoughts = (message.reasoning_content, message.reasoning, message.thinking)
    for thought in dict.fromkeys(filter(None, thoughts)):  # several fields may have the same text
        draft.parts.append(verbatim(draft.id, "thinking", thought))
    draft.parts += parts(message.content, draft.id, lines)
    if message.refusal:
        draft.parts.append(verbatim(draft.id, "text", message.refusal))
    calls = message.tool_calls or []
    if message.function_call:
        calls = [*calls, _ToolCall(message.function_call.name, message.function_call)]
    for call in calls:
        asked = call.function or call.custom or _Function()
        arguments = asked.input if asked.arguments is None else asked.arguments
        draft.parts.append(tool_call(draft.id, asked.name, arguments, call.id))


def _is_of(kind: str, first: list[Any]) -> bool:
    return kind_of(first) == kind


OPENAI = Format(
    "openai-chat",
    "messages of OpenAI's Chat Completions (JSON or JSONL, one conversation or many)",
    partial(_is_of, "openai"),
    partial(read, "openai-chat"),
)
ANTHROPIC = Format(
    "anthropic-messages",
    "messages or request bodies of Anthropic's Messages API (JSON or JSONL)",
    partial(_is_of, "anthropic"),
    partial(read, "anthropic-messages"),
)
