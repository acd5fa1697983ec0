"""Sessions of Kimi Code CLI: the wire log of one agent, protocol 1.x."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.blocks import (
    Block,
    Given,
    compact,
    given,
    opaque,
    parts,
    result,
    tool_call,
)
from compactlab.scenarios.readers.counts import Tokens
from compactlab.scenarios.readers.script import SYSTEM, Boundary, Draft, Format, Home, Script
from compactlab.scenarios.readers.unread import edit_refused, unknown_fields
from compactlab.sim.core.conversation import Conversation, SideRequest
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Part, Source, Usage, verbatim

NAME = "kimi"

Milliseconds = float | int


class _Counts(msgspec.Struct, rename="camel"):
    input_other: Tokens = 0
    input_cache_read: Tokens = 0
    input_cache_creation: Tokens = 0
    output: Tokens = 0


class _Origin(msgspec.Struct):
    kind: str = ""
    name: str | None = None


class _Message(msgspec.Struct, rename="camel"):
    role: str
    content: Any = msgspec.UNSET
    id: str | None = None
    tool_calls: list[dict[str, Any]] = []
    tool_call_id: str | None = None
    origin: _Origin | None = None
    is_error: bool | None = None


class _Result(msgspec.Struct, rename="camel"):
    output: Any = msgspec.UNSET
    note: str | None = None
    is_error: bool | None = None


class _Event(msgspec.Struct, rename="camel"):
    type: str
    uuid: str | None = None
    step_uuid: str | None = None
    part: dict[str, Any] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    args: Any = msgspec.UNSET
    result: _Result | None = None
    usage: _Counts | None = None


class _Record(msgspec.Struct, rename="camel"):
    type: str
    time: Milliseconds | None = None
    message: _Message | None = None
    event: _Event | None = None
    model: str | None = None
    model_alias: str | None = None
    thinking_effort: str | bool | None = None
    system_prompt: str | None = None
    tools: Any = None
    usage: _Counts | None = None
    usage_scope: str | None = None
    source: str | None = None
    count: int | None = None
    summary: str | None = None
    context_summary: str | None = None
    compacted_count: int | None = None
    tokens_before: Tokens | None = None
    kept_user_message_count: int | None = None
    kept_head_user_message_count: int | None = None


_RECORD = msgspec.json.Decoder(_Record)
_COMMON = {"type", "time", "agentId"}
# Ignored records: prompts repeated in the appended message, the client's state, and traces of
# requests.
_LEFT_OUT = {"metadata", "mcp.tools_discovered", "context.undone"}  # the last two describe an undo
# An unknown record with such a name changes the context without text.
_EDITS = re.compile(r"splice|rewind|revert|restore|truncat|edit|remove|replace|undo|drop")
_LEFT_OUT_ALL = (
    "goal.", "permission.", "plan_mode.", "plugin.", "runtime.", "swarm_mode.", "task.",
    "token_counting.", "tools.", "turn.",
)  # fmt: skip
_KNOWN = {
    "config.update": {"systemPrompt", "modelAlias", "subagentNames"},
    "profile.bind": {"systemPrompt", "modelAlias", "activeToolNames", "subagentNames"},
    "llm.tools_snapshot": {"tools"},
    "llm.request": {"model", "modelAlias", "systemPrompt", "turnStep", "toolSelect"},
    "usage.record": {"model", "usage"},
    "full_compaction.begin": {"source", "instruction"},
    "full_compaction.complete": set[str](),
    "full_compaction.cancel": set[str](),
    "context.append_message": {"message"},
    "context.append_loop_event": {"event"},
    "context.apply_compaction": {"summary", "contextSummary"},
    "context.undo": set[str](),
    "context.clear": set[str](),
    "forked": set[str](),
}
_MESSAGE = {"role", "content", "toolCalls", "toolCallId"}
_EVENTS = {
    "step.begin": set[str](),
    "step.end": {"usage"},
    "content.part": {"part", "stepUuid"},
    "tool.call": {"toolCallId", "args", "stepUuid"},
    "tool.result": {"toolCallId", "result"},
}
_RESULT = {"output", "note"}


def _sniff(first: list[Any]) -> bool:
    head = first[0]
    if not isinstance(head, dict) or head.get("type") != "metadata":
        return False
    if not isinstance(head.get("protocol_version"), str):
        return False
    kinds = [each.get("type") for each in first[1:] if isinstance(each, dict)]
    return any(isinstance(kind, str) and "." in kind for kind in kinds)


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Yield the conversation of an agent."""
    wire = _Wire()
    for number, data in lines:
        with lines.at(number):
            fields = jsonl.decode(data, jsonl.OBJECT)
            if _is_read(fields, lines):
                wire.take(jsonl.decode(data, _RECORD))
    wire.finish()
    yield wire.script.conversation(_named(lines.path), NAME, lines.path)


def _named(path: Path) -> str:
    """Return the ids of session and agent from the folders, because all logs have the same name."""
    _, agents, _, session = [path.stem, path.parent.parent.name, "", path.parent.parent.parent.name]
    if path.stem != "wire" or agents != "agents":
        return path.stem
    agent = path.parent.name
    return session if agent == "main" else f"{session}#{agent}"


def _is_read(fields: dict[str, Any], lines: jsonl.Lines) -> bool:
    """Return whether a record is read; an unknown one is counted."""
    kind = msgspec.convert(fields.get("type"), str)
    if kind in _LEFT_OUT or kind.startswith(_LEFT_OUT_ALL):
        return False
    known = _KNOWN.get(kind)
    if known is None:
        told = next(unknown_fields(fields, _COMMON), None)
        if kind.startswith("context.") and (told or "event" in fields or _EDITS.search(kind)):
            seen = f"the record {kind!r}, which is not known and seems to change the context"
            raise edit_refused(f"Kimi Code wrote {seen}", "log")
        lines.pass_over(f"record {kind!r}", fields)
        return False
    lines.pass_over_fields(fields, _COMMON | known, f"a record of type {kind!r}")
    message, event = fields.get("message"), fields.get("event")
    lines.pass_over_fields(message, _MESSAGE, "a message")
    if kind == "context.append_loop_event" and isinstance(event, dict):
        return _is_read_event(event, lines)
    return True


def _is_read_event(event: dict[str, Any], lines: jsonl.Lines) -> bool:
    kind = str(event.get("type"))
    known = _EVENTS.get(kind)
    if known is None:
        lines.pass_over(f"event {kind!r}", event)
        return False
    lines.pass_over_fields(event, known, f"an event of type {kind!r}")
    lines.pass_over_fields(event.get("result"), _RESULT, "a result")
    return True


class _Wire:
    def __init__(self) -> None:
        self.script = Script()
        self._model = self._effort = ""
        self._context: list[Draft | None] = []  # None for a summary
        self._open: dict[str, Draft] = {}
        self._last: Draft | None = None  # the newest step; its usage may follow
        self._waiting: set[str] = set()  # tool calls without a result
        self._deferred: list[Draft] = []
        self._source = ""
        self._snapshot = False
        self._compacting = False
        self._uuids: dict[str, str] = {}  # uuids of steps, by message id
        self._summary: SideRequest | None = None  # the request of the next summary

    def take(self, record: _Record) -> None:
        time = (record.time or 0) / 1000
        self._model = record.model or self._model or record.model_alias or ""
        if record.thinking_effort is not None:
            self._effort = str(record.thinking_effort)
        if record.type in ("config.update", "profile.bind"):
            if (text := record.system_prompt) and not self.script.events:
                tools = [part for part in self.script.system if part.name == "tools"]
                self.script.system[:] = [verbatim(SYSTEM, "text", text), *tools]
        elif record.type == "llm.tools_snapshot" and not self._snapshot:
            self._snapshot = True
            self.script.system.append(verbatim(SYSTEM, "text", compact(record.tools), name="tools"))
        elif record.type == "usage.record":
            if record.usage_scope == "session" or (self._compacting and not record.usage_scope):
                self._bill(record.usage, time)
            else:
                self._count(self._last, record.usage)
        elif record.type.startswith("full_compaction."):
            if not record.type.endswith(".complete"):  # it may come before the summary is applied
                self._settle()
            self._compacting = record.type.endswith(".begin")
            self._source = record.source or "" if self._compacting else ""
        elif record.type == "forked":
            self._fork()
        elif record.type.startswith("context."):
            self._change(record, time)

    def _change(self, record: _Record, time: float) -> None:
        if record.type == "context.append_message":
            self._append(self._message(record.message, time))
        elif record.type == "context.append_loop_event":
            self._event(record.event, time)
        elif record.type == "context.apply_compaction":
            self._compact(record, time)
        elif record.type == "context.undo":
            self._undo(record.count or 0)
        elif record.type == "context.clear":
            self._go_to(None)
            self._context = []

    def finish(self) -> None:
        """Add postponed messages; in a log without counts, answers become calls, too."""
        self._waiting.clear()
        self._flush()
        self._settle()
        drafts = [each for each in self.script.events if isinstance(each, Draft)]
        if not any(draft.call for draft in drafts):
            for draft in drafts:
                if draft.role == "assistant":
                    draft.call = Call(self._model, thinking=self._effort)

    def _message(self, message: _Message | None, time: float) -> Draft:
        if message is None:
            raise InputError("there is no message in a record that appends one")
        if message.role not in ("user", "assistant", "tool", "system"):
            raise InputError(f"{message.role!r} is not a role of a message")
        role: Any = "user" if message.role == "system" else message.role
        origin = message.origin or _Origin()
        delegated = (origin.kind, origin.name) == _DELEGATED
        self.script.subagent |= delegated
        typed = origin.kind in ("", "user") or delegated
        meta = role == "user" and (not typed or message.role == "system")
        named = origin.kind if meta else ""
        draft = self.script.draft(role, message.id, time, meta, origin=named)
        content = _content(given(message.content, f"a message of role {message.role!r}"))
        if role == "tool":
            failed = bool(message.is_error)
            draft.parts = result(content, draft.id, message.tool_call_id or "", error=failed)
        else:
            draft.parts = parts(content, draft.id)
        for call in message.tool_calls:
            id = str(call.get("id") or "")
            draft.parts.append(_asked(draft.id, call.get("name"), call.get("arguments"), id))
        return draft

    def _append(self, draft: Draft) -> None:
        """Add a message; while a tool is running, the client postpones it."""
        if self._waiting:
            self._deferred.append(draft)
        elif draft.parts:
            self._context.append(self.script.add(draft))

    def _flush(self) -> None:
        if not self._waiting:
            deferred, self._deferred = self._deferred, []
            for draft in deferred:
                self._append(draft)

    def _event(self, event: _Event | None, time: float) -> None:
        if event is None:
            raise InputError("there is no event in a record that appends one")
        if event.type == "step.begin":
            self._waiting.clear()  # a new request: postponed messages are sent
            self._flush()
            self._last = self._open[event.uuid or ""] = self.script.draft("assistant", None, time)
            self._uuids[self._last.id] = event.uuid or ""
        elif event.type == "step.end":
            step = self._open.pop(event.uuid or "", None)
            if step:
                step.time = max(step.time, time)
            self._count(step, event.usage)
            self._flush()
        elif event.type == "content.part":
            step = self._step(event, time)
            step.parts += parts(_content([event.part or {}]), step.id)
        elif event.type == "tool.call":
            step = self._step(event, time)
            step.parts.append(_asked(step.id, event.name, event.args, event.tool_call_id))
            self._waiting.add(event.tool_call_id or "")
        elif event.type == "tool.result":
            self._result(event, time)

    def _step(self, event: _Event, time: float) -> Draft:
        """Return the step of an event; its first content makes it a message."""
        key = event.step_uuid or next(reversed(self._open), "")
        step = self._open.get(key)
        if step is None:
            step = self._open[key] = self.script.draft("assistant", None, time)
        if step.depth < 0:
            self._context.append(self.script.add(step))
            self._last = step
        step.time = max(step.time, time)
        return step

    def _result(self, event: _Event, time: float) -> None:
        told = event.result or _Result()
        draft = self.script.draft("tool", None, time)
        content = _content(given(told.output, "the result of a tool"))
        id, failed = event.tool_call_id or "", bool(told.is_error)
        draft.parts = result(content, draft.id, id, error=failed)
        if told.note:
            main = draft.parts[0]
            text = f"{main.text}\n{told.note}" if main.text else told.note
            draft.parts[0] = msgspec.structs.replace(main, text=text)
        self._context.append(self.script.add(draft))
        self._waiting.discard(id)
        self._flush()

    def _count(self, step: Draft | None, counts: _Counts | None) -> None:
        """Set the usage of a step, which is logged at its end and once more after it."""
        if step is None or counts is None or step.call:
            return
        step.call = self._call(counts, self._uuids.get(step.id, ""))
        if step.depth < 0:
            step.parts = [opaque(step.id, "text", "empty", counts.output)]
            self._context.append(self.script.add(step))

    def _call(self, counts: _Counts, id: str = "") -> Call:
        read, written = counts.input_cache_read, counts.input_cache_creation
        usage = Usage(counts.input_other, read, written, output=counts.output)
        return Call(self._model, usage, thinking=self._effort, id=id)

    def _bill(self, counts: _Counts | None, time: float) -> None:
        """Record the usage of a request outside of steps: of a summary, or a side request.

        Such a record counts one request, not the whole session (UsageRecorder of Kimi Code).
        """
        if counts is None:
            return
        self._settle()
        purpose = "summary" if self._compacting else "session"
        request = SideRequest(purpose, self._call(counts), time)
        if self._compacting:
            self._summary = request
        else:
            self.script.side_requests.append(request)

    def _settle(self) -> None:
        if self._summary is not None:
            self.script.side_requests.append(self._summary)
            self._summary = None

    def _fork(self) -> None:
        """Mark all content so far as a copy of another session's."""
        script, replace = self.script, msgspec.structs.replace
        for each in script.events:
            if isinstance(each, Draft | Boundary) and each.call:
                each.call = replace(each.call, inherited=True)
        script.side_requests = [
            replace(each, call=replace(each.call, inherited=True)) for each in script.side_requests
        ]

    def _compact(self, record: _Record, time: float) -> None:
        """Record a compaction that keeps the user's messages, or in older logs the last ones."""
        summary = record.context_summary or record.summary
        if summary is None:
            why = "Kimi Code wrote a compaction with no summary that is known"
            raise edit_refused(why, "log")
        count, before = record.kept_user_message_count, record.tokens_before or 0
        rest = self._context[record.compacted_count or 0 :] if count is None else []
        first = next((each for each in rest if each and self.script.has(each)), None)
        boundary = self.script.compact(
            time, kept=first, restored="verbatim", trigger=self._source, tokens_before=before
        )
        if self._summary is not None:
            boundary.call, self._summary = self._summary.call, None
        head = record.kept_head_user_message_count or 0
        said = [each for each in self._context if each and each.role == "user" and not each.meta]
        tail = max((count or 0) - head, 0)
        kept = [*said[:head], *(said[max(len(said) - tail, head) :] if tail else [])]
        for draft in kept:
            again = self.script.draft("user", None, time, meta=True)
            again.parts = [
                verbatim(again.id, part.type, part.text, size=part.size) for part in draft.parts
            ]
            boundary.inserted.append(again)
        told = self.script.draft("user", None, time, meta=True, origin="compaction_summary")
        sources = boundary.covered or (Source(told.id),)
        boundary.insert(told, [Part("text", summary, "summary", sources)])
        self._context = [*kept, None, *rest]

    def _undo(self, count: int) -> None:
        """Undo the last prompts, at most back to the last compaction."""
        floor = max((at for at, each in enumerate(self._context) if each is None), default=-1) + 1
        prompts = [
            at
            for at, each in enumerate(self._context)
            if at >= floor and each and each.role == "user" and not each.meta
        ]
        if 0 < count <= len(prompts):
            at = prompts[-count]
            first = self._context[at]
            self._go_to(first.before if first else None)
            del self._context[at:]

    def _go_to(self, to: Draft | None) -> None:
        self._waiting.clear()
        for draft in self._deferred:  # they are in the context, but not in any prompt yet
            if draft.parts:
                self.script.add(draft)
        self._deferred.clear()
        self._open.clear()
        self._last = None
        if to is not self.script.last:
            self.script.rewind(to)


_DELEGATED = ("system_trigger", "subagent")  # the origin of a subagent's task


def _content(value: Any) -> Given:
    """Convert content blocks, some of which have different names here."""
    if not isinstance(value, list):
        return msgspec.convert(value, str | None)
    blocks: list[dict[str, Any]] = []
    for part in msgspec.convert(value, list[dict[str, Any]]):
        if part.get("type") == "think":
            blocks.append({"type": "thinking", "thinking": part.get("think")})
        elif part.get("type") == "audio_url":
            blocks.append({"type": "audio"})
        elif part.get("type") == "image_url":
            blocks.append({"type": "image_url", "image_url": part.get("imageUrl")})
        else:
            blocks.append(part)
    return msgspec.convert(blocks, list[Block])


def _asked(id: str, name: Any, arguments: Any, call_id: str | None) -> Part:
    if not isinstance(name, str) or not name:
        raise InputError("a call of a tool has no name")
    return tool_call(id, name, None if arguments is msgspec.UNSET else arguments, call_id)


# Homes: as harbor 0.25.0 reads them.
_HOMES = (Home("kimi", ("KIMI_CODE_HOME",), ("~/.kimi-code",), ("sessions",)),)
FORMAT = Format(
    NAME, "sessions of Kimi Code CLI (wire.jsonl, protocol 1.x)", _sniff, read, homes=_HOMES
)
