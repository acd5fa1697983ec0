"""Sessions of Qwen Code: records in a tree by ``parentUuid``, with contents of Gemini's API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from compactlab.scenarios.readers import google, jsonl
from compactlab.scenarios.readers.blocks import opaque
from compactlab.scenarios.readers.counts import Tokens
from compactlab.scenarios.readers.google import Content, Metadata, Piece
from compactlab.scenarios.readers.script import Draft, Format, Home, Script, Tree
from compactlab.scenarios.readers.shapes import any_is
from compactlab.scenarios.readers.times import Moment, decoder, seconds
from compactlab.scenarios.readers.unread import edit_refused
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Usage

NAME = "qwen"

_READ = {"user", "assistant", "tool_result"}
_COMPRESSED, _BOOTSTRAP = "chat_compression", "agent_bootstrap"
# Notes of the client about itself and its user, by the beginnings of subtypes.
_NOTES = (
    "agent_launch_prompt", "agent_retry", "agent_session_ready", "at_command", "attribution_",
    "background_task_", "branch_checkpoint", "cron", "custom_title", "file_history_", "goal_",
    "managed_session_", "notification", "omni_recall", "parent_session", "rewind", "session_",
    "slash_command", "turn_result", "ui_telemetry", "user_text_elements",
)  # fmt: skip
_SAYING = {"message", "toolCallResult"}  # text fields of a record
# Subtypes of user records that a person typed.
_TYPED = ("", "mid_turn_user_message", "realtime_message")


class _Info(msgspec.Struct, rename="camel"):
    original_token_count: Tokens | None = None


class _Payload(msgspec.Struct, rename="camel"):
    info: _Info | None = None
    compressed_history: list[Content] | None = None


class _Called(msgspec.Struct):
    status: str | None = None


class _Origin(msgspec.Struct, rename="camel"):
    session_id: str = ""


class _Head(msgspec.Struct, rename="camel"):
    type: str
    uuid: str
    parent_uuid: str | None = None
    subtype: str | None = None
    timestamp: Moment | None = None
    version: str | None = None
    is_sidechain: bool | None = None
    agent_id: str | None = None
    forked_from: _Origin | None = None


class _System(_Head, rename="camel", kw_only=True):
    message: Content | None = None


class _Record(_Head, rename="camel", kw_only=True):
    message: Content
    model: str | None = None
    usage_metadata: Metadata | None = None
    tool_call_result: _Called | None = None


class _Compression(_Head, rename="camel", kw_only=True):
    system_payload: _Payload


_HEAD, _SYSTEM = decoder(_Head), decoder(_System)
_RECORD, _COMPRESSION = decoder(_Record), decoder(_Compression)


def _is_own(value: dict[str, Any]) -> bool:
    if not all(isinstance(value.get(key), str) for key in ("uuid", "sessionId", "type")):
        return False
    message = value.get("message")
    if isinstance(message, dict) and isinstance(message.get("parts"), list):
        return True
    return value["type"] == "system" and isinstance(value.get("systemPayload"), dict)


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Yield the conversation of a session, and those of subagents within its file."""
    sessions: dict[str, _Session] = {"": _Session(lines)}
    for number, data in lines:
        with lines.at(number):
            head = jsonl.decode(data, _HEAD)
            agent = (head.agent_id or "?") if head.is_sidechain else ""
            sessions.setdefault(agent, _Session(lines)).take(head, data)
    told = [session for session in sessions.values() if session.script.events]
    for number, session in enumerate(told or [sessions[""]]):
        id = f"{lines.path.stem}#sidechain-{number}" if number else lines.path.stem
        inside = session.starts_inside
        yield session.script.conversation(id, NAME, lines.path, inside=inside)


class _Session:
    def __init__(self, lines: jsonl.Lines) -> None:
        self.script = Script()
        self.starts_inside = False
        self._lines = lines
        self._places: dict[str, Draft | None] = {}
        self._answers: dict[str, Draft] = {}  # by uuid: an answer may have several records
        self._tree = Tree()

    def take(self, head: _Head, data: bytes) -> None:
        if head.uuid not in self._places:
            self._tree.hang(head.uuid, head.parent_uuid)
            self._go_to(head)
        if head.forked_from:
            self.script.parent = head.forked_from.session_id
        if head.type in _READ:
            fields = jsonl.decode(data, jsonl.OBJECT)
            self._lines.pass_over_fields(fields, _SAYING, f"a record of type {head.type!r}")
            self._record(jsonl.decode(data, _RECORD))
        elif head.type != "system":
            self._lines.pass_over(f"record {head.type!r}", jsonl.decode(data, jsonl.OBJECT))
        elif head.subtype == _COMPRESSED:
            self._compression(jsonl.decode(data, _COMPRESSION))
        else:
            self._note(head, data)
        self._places[head.uuid] = self.script.last

    def _note(self, head: _Head, data: bytes) -> None:
        """Ignore a note of the client; content for the model is counted."""
        subtype = head.subtype or ""
        if subtype == _BOOTSTRAP:
            self.starts_inside = True  # it starts with the context of another agent
            self._lines.pass_over(f"record {subtype!r}", jsonl.decode(data, jsonl.OBJECT))
        elif (jsonl.decode(data, _SYSTEM).message or Content()).parts:
            fields = jsonl.decode(data, jsonl.OBJECT)
            self._lines.pass_over(f"message of a record of type 'system' ({subtype})", fields)
        elif subtype and not subtype.startswith(_NOTES):
            self._lines.pass_over(f"record {subtype!r}", jsonl.decode(data, jsonl.OBJECT))

    def _go_to(self, head: _Head) -> None:
        if head.parent_uuid is None:
            place = None
        elif head.parent_uuid in self._places:
            place = self._places[head.parent_uuid]
        else:
            self.starts_inside |= not self.script.events
            return
        if place is not self.script.last:
            self.script.rewind(place)

    def _record(self, record: _Record) -> None:
        pieces = google.listed(record.message.parts)
        if record.message.parts is None:
            raise InputError(f"a record of type {record.type!r} has no parts")
        if record.type == "assistant":
            self._answer(record, pieces)
        elif any(piece.function_response for piece in pieces):
            failed = (record.tool_call_result or _Called()).status == "error"
            draft = self.script.draft("tool", record.uuid, seconds(record.timestamp))
            self.script.add(draft, google.answered(pieces, draft.id, error=failed))
        elif pieces:
            meta = record.type != "user" or (record.subtype or "") not in _TYPED
            draft = self.script.draft("user", record.uuid, seconds(record.timestamp), meta)
            self.script.add(draft, google.said(pieces, draft.id))

    def _answer(self, record: _Record, pieces: list[Piece]) -> None:
        draft = self._answers.get(record.uuid)
        if draft is None:
            time = seconds(record.timestamp)
            draft = self.script.draft("assistant", record.uuid, time, call=Call())
            self._answers[record.uuid] = self.script.add(draft)
        draft.parts += google.said(pieces, draft.id)
        draft.time = max(draft.time, seconds(record.timestamp))
        usage = _usage(record.usage_metadata)
        before, inherited = draft.call or Call(), record.forked_from is not None
        model, usage_so_far = record.model or before.model, usage or before.usage
        version = f"qwen {record.version}" if record.version else ""
        about: dict[str, Any] = {"version": version, "id": record.uuid, "inherited": inherited}
        draft.call = Call(model, usage_so_far, **about)
        if not draft.parts and usage:
            draft.parts = [opaque(draft.id, "text", "empty", usage.output)]

    def _compression(self, record: _Compression) -> None:
        """Record a compaction; the new history is inserted, as its messages have no ids."""
        payload, time = record.system_payload, seconds(record.timestamp)
        if payload.compressed_history is None:
            told = "Qwen Code wrote a compression with no history that is known"
            raise edit_refused(told, "session")
        before = (payload.info or _Info()).original_token_count or 0
        boundary = self.script.compact(time, restored="verbatim", tokens_before=before)
        covered = boundary.covered  # by the first message of the user
        for content in payload.compressed_history:
            role: Any = "assistant" if content.role == "model" else "user"
            pieces = google.listed(content.parts)
            draft = self.script.draft(role, f"{record.uuid}-compressed", time, meta=True)
            if any(piece.function_response for piece in pieces):
                draft.role = "tool"
                draft.parts = google.answered(pieces, draft.id)
            else:
                draft.parts = google.said(pieces, draft.id)
            if role == "user" and draft.parts and covered:
                first = msgspec.structs.replace(draft.parts[0], kind="summary", sources=covered)
                draft.parts[0], covered = first, ()
            boundary.insert(draft)


def _usage(counts: Metadata | None) -> Usage | None:
    if counts is None or not (counts.prompt_token_count or counts.candidates_token_count):
        return None
    prompt, answer = counts.prompt_token_count or 0, counts.candidates_token_count or 0
    thoughts, tool = counts.thoughts_token_count or 0, counts.tool_use_prompt_token_count or 0
    if counts.total_token_count and counts.total_token_count <= prompt + answer:
        thoughts = 0  # endpoints in OpenAI's style count them as part of the answer
    return google.usage(prompt, counts.cached_content_token_count or 0, answer, thoughts, tool)


# Homes: SpecStory's page on Qwen Code (2026), whose `QWEN_RUNTIME_DIR` is not read.
_HOMES = (Home("qwen", ("QWEN_HOME",), ("~/.qwen",), ("projects",)),)
FORMAT = Format(NAME, "sessions of Qwen Code (JSONL)", any_is(_is_own), read, homes=_HOMES)
