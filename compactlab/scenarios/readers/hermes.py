"""Sessions of Hermes Agent: its database, its snapshots of a session, and its exports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from compactlab.scenarios.readers import database, jsonl
from compactlab.scenarios.readers.blocks import Given, compact, given, parts, result, tool_call
from compactlab.scenarios.readers.counts import Tokens, within
from compactlab.scenarios.readers.database import Database, Record, plain
from compactlab.scenarios.readers.script import (
    SYSTEM,
    Draft,
    Format,
    Home,
    Script,
    declared,
    nothing,
    numbered,
    stored,
)
from compactlab.scenarios.readers.shapes import dict_of, first_is, is_session
from compactlab.scenarios.readers.times import since_1970
from compactlab.scenarios.readers.unread import unknown_fields
from compactlab.sim.core.conversation import Conversation, SideRequest
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Part, Source, Usage, verbatim

NAME = "hermes"

Time = float | int | str | None


class _Details(msgspec.Struct):
    cached_tokens: Tokens | None = None


class _Counts(msgspec.Struct):
    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None
    prompt_tokens_details: _Details | None = None


class _Function(msgspec.Struct):
    name: str
    arguments: Any


class _ToolCall(msgspec.Struct):
    function: _Function
    id: str | None = None
    call_id: str | None = None


class _Message(msgspec.Struct, rename={"summary": "_compressed_summary"}):
    role: str
    content: Given = msgspec.UNSET
    id: int | str | None = None
    timestamp: Time = None
    tool_calls: list[_ToolCall] | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    usage: _Counts | None = None
    active: int | bool | None = None
    compacted: int | bool | None = None  # it was in the context until a compaction
    summary: int | bool | None = None

    @property
    def key(self) -> bytes:
        return msgspec.json.encode(
            (self.role, self.content, self.tool_calls, self.tool_call_id, self.timestamp)
        )


class _Session(msgspec.Struct):
    messages: list[Record]
    model: str | None = None
    system_prompt: str | None = None
    tools: list[Any] | None = None
    session_start: Time = None
    started_at: Time = None


_LEFT_OUT = "session_meta"  # a marker of the gateway, which is not sent
_SESSION = {*_Session.__struct_fields__, "segments", "model_config", "tool_call_count"}
# Data for a provider's own API that repeats the message or is encrypted.
_REPEATED = {"api_content", "codex_message_items", "codex_reasoning_items", "reasoning_details"}
_MESSAGE = {*_Message.__struct_fields__, *_REPEATED, "_compressed_summary"}
# Columns of the database that hold no text of the conversation.
_MESSAGE |= {"platform_message_id", "display_kind", "display_metadata", "effect_disposition"}
_CALL = {"function", "id", "call_id", "response_item_id"}


def _is_own(head: Record) -> bool:
    tables = head.get("sqlite")
    if not isinstance(tables, dict):
        return is_session(head)
    return all(columns <= {*tables.get(name, ())} for name, columns in _TABLES.items())


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Read the conversations of a file: one of each session, or of each segment of one."""
    if database.is_database(lines.path):
        with database.opened(lines.path) as opened:
            rows = opened.rows("SELECT id FROM sessions ORDER BY started_at, id")
            sessions = [(plain(id), opened) for (id,) in rows if isinstance(id, bytes)]
            yield from stored(lines, opened, sessions, partial(_stored, lines))
        return
    count = 0
    for number, value in jsonl.values(lines):
        scripts: list[Script] = []
        with lines.at(number):
            # Newer versions keep the segments before and after each compaction.
            segments = value.get("segments") if isinstance(value, dict) else None
            sessions = msgspec.convert(segments, list[Any]) if segments else [value]
            scripts = [_script(session, lines, number) for session in sessions]
        for script in scripts:
            if script.last is None:
                continue
            count += 1
            yield script.conversation(numbered(lines.path.stem, count), NAME, lines.path)
    if not count:
        raise nothing(lines)


def _stored(lines: jsonl.Lines, id: str, opened: Database) -> Conversation | None:
    row = _session_of_database(opened, id)
    row["messages"] = list(_messages_of_database(opened, id))
    script = _whole(row, lines)
    script.side_requests += _requests_of_database(opened, row)
    if script.last is None:
        return None
    name, inside = f"{lines.path.stem}/{id}", row["continues"]
    return script.conversation(name, NAME, lines.path, inside=inside)


def _whole(row: Record, lines: jsonl.Lines) -> Script:
    named = {key: row.get(key) for key in ("messages", "model", "system_prompt", "started_at")}
    script = _script(named, lines, 0)
    script.locate(row.get("cwd"))
    parent = row.get("parent_session_id") or ""
    continues = row["continues"] or row["forked"]
    script.subagent = bool(parent) and not continues
    script.parent = parent if continues else ""
    return script


def _script(value: Any, lines: jsonl.Lines, number: int) -> Script:
    session = msgspec.convert(value, _Session)
    for key, inner in unknown_fields(value, _SESSION):
        # Definitions of tools are sent as complete JSON.
        lines.pass_over(f"field {key!r} of a session", compact(inner))
    script = Script()
    if session.system_prompt:
        script.system.append(verbatim(SYSTEM, "text", session.system_prompt))
    script.system += declared(session.tools)
    start = _seconds(session.session_start) or _seconds(session.started_at)
    messages = []
    for each in session.messages:
        with lines.at(number, each):
            message = _message(each, lines)
            seen = message.active not in (0, False) or message.compacted
            if message.role != _LEFT_OUT and seen:
                messages.append((each, message))
    compacted = any(message.compacted for _, message in messages)
    keys = [message.key if compacted else b"" for _, message in messages]
    drafts: dict[bytes, Draft] = {}
    head: list[_Message] = []  # copies of messages that a compaction kept before its summary
    for index, (each, message) in enumerate(messages):
        with lines.at(number, each):
            if message.summary and script.last:
                kept = drafts.get(keys[index + 1]) if index + 1 < len(keys) else None
                _compact(script, message, kept, head)
                head = []
            elif keys[index] in drafts:
                head.append(message)
            elif draft := _take(script, message, session.model or "", start):
                head = []
                if keys[index]:
                    drafts[keys[index]] = draft
    return script


def _compact(script: Script, message: _Message, kept: Draft | None, head: list[_Message]) -> None:
    """Record an in-place compaction: first messages, a summary, and the messages from one on."""
    time = _seconds(message.timestamp)
    boundary = script.compact(time, kept=kept)
    for each in head:
        copy = script.draft("tool" if each.role == "tool" else "user", "", time, True)
        boundary.insert(copy, parts(each.content, copy.id))
    draft = script.draft("user", None if message.id is None else str(message.id), time, True)
    said = parts(given(message.content, "a summary"), draft.id)
    covered = boundary.covered or (Source(script.path[0].id),)
    boundary.insert(draft, [Part("text", p.text, "summary", covered) for p in said if p.text])


def _message(value: Record, lines: jsonl.Lines) -> _Message:
    calls = value.get("tool_calls")
    if isinstance(calls, str):  # as in the database
        try:
            value = {**value, "tool_calls": json.loads(calls or "[]")}
        except ValueError:
            raise InputError("the calls of tools are no JSON") from None
    message = msgspec.convert(value, _Message)
    if message.role != _LEFT_OUT or "content" in value:
        lines.pass_over_fields(value, _MESSAGE, "a message")
    if message.role not in ("assistant", _LEFT_OUT):
        others = (message.tool_calls, message.reasoning, message.reasoning_content)
        if any(others):
            raise InputError(f"a message of role {message.role!r} has calls or thoughts")
    for call in value.get("tool_calls") or ():
        lines.pass_over_fields(call, _CALL, "a call of a tool")
    return message


def _take(script: Script, message: _Message, model: str, start: float) -> Draft | None:
    time = _seconds(message.timestamp) or start
    id = None if message.id is None else str(message.id)
    whose = f"a message of role {message.role!r}"
    if message.role == "assistant":
        draft = script.draft("assistant", id, time, call=Call(model, _usage(message.usage)))
        _say(draft, message)
    elif message.role == "tool":
        draft = script.draft("tool", id, time)
        content, call_id = given(message.content, whose), message.tool_call_id or ""
        draft.parts = result(content, draft.id, call_id, name=message.tool_name or "")
    elif message.role in ("user", "system"):
        meta = message.role == "system"
        if meta and script.last is None:
            script.system += parts(given(message.content, whose), SYSTEM)
            return None
        draft = script.draft("user", id, time, meta, origin="system" if meta else "")
        draft.parts = parts(given(message.content, whose), draft.id)
    else:
        raise InputError(f"{message.role!r} is not a role of a message")
    return script.add(draft) if draft.parts or draft.call else None


def _say(draft: Draft, message: _Message) -> None:
    thoughts = (message.reasoning_content, message.reasoning)
    for thought in dict.fromkeys(filter(None, thoughts)):  # fields may repeat a text
        draft.parts.append(verbatim(draft.id, "thinking", thought))
    if not message.tool_calls and not draft.parts:
        given(message.content, "a message of role 'assistant'")
    draft.parts += parts(message.content, draft.id)
    for call in message.tool_calls or []:
        name, arguments = call.function.name, call.function.arguments
        draft.parts.append(tool_call(draft.id, name, arguments, call.call_id or call.id))


def _usage(counts: _Counts | None) -> Usage | None:
    """Return the usage of an answer, which only older versions record."""
    if counts is None or counts.prompt_tokens is None:
        return None
    details = counts.prompt_tokens_details or _Details()
    return within(counts.prompt_tokens, counts.completion_tokens or 0, details.cached_tokens or 0)


def _seconds(time: Time) -> float:
    if not time:
        return 0.0
    return since_1970(time) if isinstance(time, str) else float(time)


# The database, ``state.db``: sessions in the form of an export, with their usage.

_TABLES = {
    "sessions": {"id", "model", "started_at"},
    "messages": {"id", "session_id", "role", "content", "tool_calls"},
}
# Prefix of content that is JSON instead of text.
_JSON = "\0json:"
_CLASSES = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
_MOST = 10_000  # most requests that a total is divided into


def _session_of_database(database: Database, id: str) -> Record:
    """Return a session in the form of an export, without its messages."""
    (row,) = database.records("sessions", "id = ?", id)
    if not row.get("system_prompt") and "system_prompts" in database.tables:
        query = "SELECT prompt FROM system_prompts WHERE hash = ?"
        for (prompt,) in database.rows(query, row.get("system_prompt_hash")):
            row["system_prompt"] = plain(prompt)
    parent, marks = row.get("parent_session_id"), _decoded(row.get("model_config"))
    ended = ""
    if parent and "end_reason" in row:
        query = "SELECT end_reason FROM sessions WHERE id = ?"
        ended = next((plain(reason) for (reason,) in database.rows(query, parent)), "")
    branched = bool(marks.get("_branched_from")) or ended == "branched"
    row["continues"] = ended == "compression" and not branched
    row["forked"] = branched
    return row


def _messages_of_database(database: Database, id: str) -> Iterator[Record]:
    """Yield the messages of a session, in the order in which they were written."""
    for row in database.records("messages", "session_id = ?", id, order="id"):
        content = row.get("content")
        if isinstance(content, str) and content.startswith(_JSON):
            row["content"] = json.loads(content.removeprefix(_JSON))
        yield {key: value for key, value in row.items() if value is not None or key == "content"}


def _requests_of_database(database: Database, row: Record) -> Iterator[SideRequest]:
    """Yield the usage of a session: by model and task, or as one sum.

    A sum is divided by its number of calls, so that no call is as large as the sum.
    """
    id = row["id"]
    rest = _used(row)
    calls = _number(row.get("api_call_count"))
    if "session_model_usage" in database.tables:
        for each in database.records("session_model_usage", "session_id = ?", id):
            task = each.get("task") or ""
            if not task:
                rest = [a - b for a, b in zip(rest, _used(each), strict=True)]
                calls -= _number(each.get("api_call_count"))
            start = each.get("first_seen") or row["started_at"]
            yield from _divided(each, task, f"{id}/{task}", start)
    if min(rest) >= 0:
        left = dict(zip(_CLASSES, rest, strict=True))
        whole = {**row, **left, "api_call_count": calls}
        yield from _divided(whole, "", f"{id}/rest", row["started_at"])


def _divided(row: Record, task: str, id: str, time: Any) -> Iterator[SideRequest]:
    counts, model = _used(row), str(row.get("model") or "")
    number = max(1, min(_number(row.get("api_call_count")), _MOST))
    provider = row.get("billing_provider") or ""
    for share in range(number if any(counts) else 0):
        uncached, read, write, output = ((n + share) // number for n in counts)
        usage = Usage(uncached, read, write, output=output)
        name = f"{id}/{provider}/{model}/{share}"
        moment = float(time) if isinstance(time, int | float) else 0.0
        yield SideRequest(task or "session", Call(model, usage, id=name), moment)


def _used(row: Record) -> list[int]:
    """Return tokens by class; the input leaves out cache reads, the output includes reasoning."""
    return [_number(row.get(key)) for key in _CLASSES]


def _number(value: Any) -> int:
    return min(value, 10**15) if isinstance(value, int) and value > 0 else 0


def _decoded(text: Any) -> Record:
    try:
        value = json.loads(text or "{}")
    except (ValueError, TypeError, RecursionError):
        return {}
    return dict_of(value)


# Homes: hermes_constants.py, hermes_state.py (2026-09); of each profile: codeburn PR 544; on
# Windows `%LOCALAPPDATA%\hermes` (second-hand).
FORMAT = Format(
    NAME,
    "sessions of Hermes Agent: its database, snapshots (JSON), exports (JSONL)",
    first_is(_is_own),
    read,
    homes=(
        Home(
            "hermes",
            ("HERMES_HOME",),
            ("~/.hermes", "{data}/hermes"),
            ("state.db", "profiles/*/state.db", "sessions"),
        ),
    ),
)
