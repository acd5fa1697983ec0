"""Chats of Gemini CLI: one document, or a log of added, replaced and removed messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from compactlab.scenarios.readers import google, jsonl
from compactlab.scenarios.readers.blocks import as_summary, opaque
from compactlab.scenarios.readers.counts import Tokens
from compactlab.scenarios.readers.google import Piece, Pieces
from compactlab.scenarios.readers.script import Draft, Format, Home, Script
from compactlab.scenarios.readers.shapes import first_is, fits, list_of
from compactlab.scenarios.readers.times import Moment, converted, seconds
from compactlab.scenarios.readers.unread import edit_refused
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Part, verbatim

NAME = "gemini"

_ANSWERS = {"gemini", "model"}
_TOLD_TO_THE_USER = {"info", "error", "warning"}
# Texts that the client writes with the user role; no person typed them.
_NOT_TYPED = (
    "<session_context>", "<state_snapshot>", "I ran the following shell command:",
    "System: Please continue.", "This is the Gemini CLI. We are setting up the context",
)  # fmt: skip
# Text fields of a message; displayed texts are for the user.
_SAYING = {"content", "parts", "displayContent", "thoughts", "toolCalls"}
_ROLES = {"user": "user", "model": "gemini", "gemini": "gemini"}


class _Tokens(msgspec.Struct):
    input: Tokens = 0
    output: Tokens = 0
    cached: Tokens = 0
    thoughts: Tokens | None = None
    tool: Tokens | None = None


class _Thought(msgspec.Struct):
    subject: str | None = None
    description: str | None = None


class _ToolCall(google.Called):
    result: Pieces | msgspec.UnsetType = msgspec.UNSET
    status: str | None = None
    timestamp: Moment | None = None


class _Message(msgspec.Struct, rename="camel"):
    type: str
    content: Pieces | msgspec.UnsetType = msgspec.UNSET
    parts: Pieces | msgspec.UnsetType = msgspec.UNSET
    id: str | None = None
    timestamp: Moment | None = None
    model: str | None = None
    tokens: _Tokens | None = None
    thoughts: list[_Thought] | None = None
    tool_calls: list[_ToolCall] | None = None
    whole: Any = None  # the complete message in the log


class _Set(msgspec.Struct):
    messages: list[Any] | None = None


class _Line(msgspec.Struct, rename={"set": "$set", "rewind": "$rewindTo", "session": "sessionId"}):
    set: _Set | None = None
    rewind: str | None = None
    session: str | None = None
    type: str | None = None
    kind: Any = None
    messages: list[Any] | None = None
    history: list[google.Content] | None = None


class _Step(NamedTuple):
    """A step and its line: a message, a rewind, or a rewritten history."""

    number: int
    kind: str
    id: str = ""
    inserted: tuple[_Message, ...] = ()


_CHANGES = ("$set", "$rewindTo")
_HISTORY = {"role": lambda role: isinstance(role, str) and role in _ROLES, "parts": list}


def _is_own(head: dict[str, Any]) -> bool:
    history = list_of(head.get("history"))
    if history and all(fits(each, _HISTORY) for each in history):
        return True
    own = isinstance(head.get("sessionId"), str) and isinstance(head.get("projectHash"), str)
    return own and not isinstance(head.get("uuid"), str)


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Yield the conversation of a chat."""
    log = _Log(lines)
    for number, value in jsonl.values(lines):
        with lines.at(number):
            log.take(value, number)
    script = Script()
    script.subagent = log.subagent
    builder = _Builder(script, log, lines)
    for step in log.steps:
        with lines.at(step.number):
            builder.take(step)
    yield script.conversation(lines.path.stem, NAME, lines.path)


class _Log:
    """The steps and messages of the lines: a message that grows is written again under its id."""

    def __init__(self, lines: jsonl.Lines) -> None:
        self.steps: list[_Step] = []
        self.messages: dict[str, _Message] = {}
        self.subagent = False
        self._lines = lines
        self._live: list[str] = []  # keys of the messages in the current history
        self._count = 0

    def take(self, value: Any, number: int) -> None:
        line = converted(value, _Line)
        change = next((key for key in value if key.startswith("$") and key not in _CHANGES), None)
        if change is not None:
            told = f"Gemini CLI wrote the change {change!r}, which is not known"
            raise edit_refused(told, "chat")
        self.subagent |= line.kind == "subagent"
        if line.rewind is not None:
            self._rewind(line.rewind, number)
        elif line.set is not None:
            self._rewrite(self._messages(line.set.messages), number)
        elif line.type is not None or (line.session is None and line.history is None):
            self._add(self._message(value), number)
        for message in self._messages(line.messages):
            self._add(message, number)
        for content in line.history or []:
            if content.role not in _ROLES:
                raise InputError(f"{content.role!r} is not a role of a message")
            whole = msgspec.to_builtins(content)
            self._add(_Message(_ROLES[content.role], content.parts, whole=whole), number)

    def _messages(self, values: list[Any] | None) -> list[_Message]:
        messages = []
        for value in values or []:
            try:
                messages.append(self._message(value))
            except (ValueError, OverflowError):
                if self._lines.strict:
                    raise
                self._lines.pass_over("message that is not as expected", value)
        return messages

    def _message(self, value: Any) -> _Message:
        message = converted(value, _Message)
        message.whole = value
        self._lines.pass_over_fields(value, _SAYING, "a message")
        return message

    def _add(self, message: _Message, number: int) -> None:
        if message.id in self._live:
            self.messages[message.id] = message  # the newest version takes the first one's position
            return
        self._live.append(self._key(message))
        self.steps.append(_Step(number, "message", self._live[-1]))

    def _key(self, message: _Message) -> str:
        self._count += 1
        key = message.id or f"m{self._count}"
        if key in self.messages:
            key = f"{key}~{self._count}"
        self.messages[key] = message
        return key

    def _rewind(self, id: str, number: int) -> None:
        """Remove a message and all after it; all messages if it is unknown (as the client does)."""
        at = self._live.index(id) if id in self._live else 0
        del self._live[at:]
        self.steps.append(_Step(number, "rewind", self._live[-1] if at else ""))

    def _rewrite(self, history: list[_Message], number: int) -> None:
        """Take a new history; it is a compression if it begins differently."""
        if not history:
            return
        known = set(self._live)
        at = next((i for i, each in enumerate(history) if each.id in known), len(history))
        ids = {each.id for each in history}
        gone = [key for key in self._live if key not in ids]
        inserted = tuple(each for each in history[:at] if not _is_result(each))
        if gone and inserted:
            kept = history[at].id or "" if at < len(history) else ""
            self.steps.append(_Step(number, "compaction", kept, inserted))
            self._live = [key for key in self._live if key in ids]
        elif inserted:
            fresh = [self._key(each) for each in inserted]
            self._live[:0] = fresh
            self.steps[:0] = [_Step(number, "message", key) for key in fresh]
        for message in history[at:]:
            if message.id not in known and not _is_result(message):
                self._add(message, number)


def _is_result(message: _Message) -> bool:
    """Whether a message repeats a tool's result, which is stored with its call."""
    return any(piece.function_response for piece in _content(message))


class _Builder:
    def __init__(self, script: Script, log: _Log, lines: jsonl.Lines) -> None:
        self._script, self._log, self._lines = script, log, lines
        self._counts = any(message.tokens for message in log.messages.values())
        self._first: dict[str, Draft] = {}  # for each message: its first draft,
        self._last: dict[str, Draft] = {}  # and its last result

    def take(self, step: _Step) -> None:
        if step.kind == "message":
            message = self._log.messages[step.id]
            try:
                self._add(step.id, message)
            except InputError as error:
                if self._lines.strict:
                    raise
                self._lines.pass_over(f"message: {error.message}", message.whole)
        elif step.kind == "rewind":
            self._script.rewind(self._last.get(step.id))
        else:
            kept = self._first.get(step.id)
            self._compaction(step, kept if self._script.has(kept) else None)

    def _compaction(self, step: _Step, kept: Draft | None) -> None:
        time = max(seconds(each.timestamp) for each in step.inserted)
        boundary = self._script.compact(time, kept=kept)
        for message in step.inserted:
            role: Any = "user" if message.type == "user" else "assistant"
            draft = self._script.draft(role, message.id, time, meta=True)
            draft.parts = google.said(_content(message), draft.id)
            if message.type == "user":
                draft.parts = [as_summary(part, boundary.covered) for part in draft.parts]
            boundary.inserted.append(draft)

    def _add(self, key: str, message: _Message) -> None:
        before = self._script.last
        if message.type in _ANSWERS:
            self._answer(key, message)
        elif message.type == "user":
            self._told(key, message)
        elif message.type not in _TOLD_TO_THE_USER:
            self._lines.pass_over(f"message {message.type!r}", message.whole)
        last = self._script.last
        if last is not None:
            self._last[key] = last
            if last is not before:
                self._first.setdefault(key, last)

    def _told(self, key: str, message: _Message) -> None:
        pieces, time = _content(message), seconds(message.timestamp)
        if message.tool_calls or message.thoughts:
            raise InputError("a message of type 'user' has thoughts, or calls of tools")
        if any(piece.function_response for piece in pieces):
            for piece in pieces:
                draft = self._script.draft("tool", key, time)
                self._script.add(draft, google.answered([piece], draft.id))
            return
        draft = self._script.draft("user", key, time)
        draft.parts = google.said(pieces, draft.id)
        draft.meta = bool(draft.parts) and draft.parts[0].text.startswith(_NOT_TYPED)
        self._script.add(draft)

    def _answer(self, key: str, message: _Message) -> None:
        answer = self._script.draft("assistant", key, seconds(message.timestamp))
        answer.parts = _answer_parts(message, answer.id)
        usage = None
        if counts := message.tokens:
            beside = counts.thoughts or 0, counts.tool or 0
            usage = google.usage(counts.input, counts.cached, counts.output, *beside)
        if usage is not None or not self._counts:
            answer.call = Call(message.model or "", usage, id=message.id or "")
        if not answer.parts:
            if answer.call is None:
                return
            answer.parts = [opaque(answer.id, "text", "empty", usage.output if usage else 0)]
        self._first[key] = self._script.add(answer)
        for call in message.tool_calls or []:
            self._result(call)

    def _result(self, call: _ToolCall) -> None:
        if call.result is msgspec.UNSET and call.status == "success":
            raise InputError(f"a call of the tool {call.name!r} has no result")
        if isinstance(call.result, msgspec.UnsetType) or call.result is None:
            return
        draft = self._script.draft("tool", "", seconds(call.timestamp))
        pieces, failed = google.listed(call.result), call.status == "error"
        made = google.answered(pieces, draft.id, call.id or "", call.name, failed)
        self._script.add(draft, made)


def _answer_parts(message: _Message, id: str) -> list[Part]:
    """Convert thoughts, text and calls; a call among the text parts is not repeated."""
    if any(t.description is None for t in message.thoughts or []):
        raise InputError("a thought has no description")
    thoughts = ["\n".join(filter(None, (t.subject, t.description))) for t in message.thoughts or []]
    calls = message.tool_calls or []
    known = {call.id for call in calls}
    pieces = [p for p in _content(message) if not (p.function_call and p.function_call.id in known)]
    asked = [google.called(call, id) for call in calls]
    thinking = [verbatim(id, "thinking", text) for text in thoughts if text]
    return [*thinking, *google.said(pieces, id), *asked]


def _content(message: _Message) -> list[Piece]:
    told = [each for each in (message.content, message.parts) if each is not msgspec.UNSET]
    if not told:
        raise InputError(f"a message of type {message.type!r} has no content")
    return [piece for each in told for piece in google.listed(each)]


# Homes: the variable stands for the home of the user (google-gemini/gemini-cli,
# `packages/core/src/utils/paths.ts`).
FORMAT = Format(
    NAME,
    "chats of Gemini CLI (JSON, and JSONL from 0.40 on)",
    first_is(_is_own),
    read,
    homes=(Home("gemini", ("GEMINI_CLI_HOME",), ("~",), (".gemini/tmp",)),),
)
