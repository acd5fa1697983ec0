"""Sessions of pi and OpenClaw, versions 1 to 3: entries in a tree by ``parentId``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.blocks import Given, Tokens, given, parts, result
from compactlab.scenarios.readers.script import (
    Boundary,
    Draft,
    Format,
    Moment,
    Script,
    Tree,
    decoder,
    seconds,
)
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import (
    FAILED,
    Call,
    Part,
    Source,
    Usage,
    branched,
    compacted,
    shell,
    verbatim,
)

NAME = "pi"

NEWEST = 3  # version of the format


class _Counts(msgspec.Struct, rename="camel"):
    input: Tokens | None = None
    output: Tokens | None = None
    cache_read: Tokens | None = None
    cache_write: Tokens | None = None


class _Message(msgspec.Struct, rename="camel"):
    role: str
    content: Given = msgspec.UNSET
    model: str | None = None
    usage: _Counts | None = None
    stop_reason: str | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_error: bool | None = None
    command: str | None = None
    output: str | None = None
    exit_code: int | None = None
    cancelled: bool | None = None
    truncated: bool | None = None
    full_output_path: str | None = None
    exclude_from_context: bool | None = None
    summary: str | None = None


class _Entry(msgspec.Struct, rename="camel"):
    type: str = ""
    version: int | None = None
    id: str | None = None
    parent_id: str | None = None
    timestamp: Moment | None = None
    thinking_level: str | None = None
    cwd: Any = None


class _Full(_Entry, rename="camel"):
    message: _Message | None = None
    content: Given = msgspec.UNSET
    summary: str | None = None
    first_kept_entry_id: str | None = None
    first_kept_entry_index: int | None = None
    tokens_before: Tokens | None = None


class _Place(NamedTuple):
    """Where a branch stands after an entry: its last message and its last compaction."""

    last: Draft | None = None
    boundary: Boundary | None = None


# Summaries that are messages of the session; pi tells the model of none that is empty.
_SUMMARIES = {"branchSummary": branched, "compactionSummary": compacted}
_ENTRY, _FULL = decoder(_Entry), decoder(_Full)
_FIELDS = msgspec.json.Decoder(dict[str, Any])
_READ = {"message", "custom_message", "compaction", "branch_summary"}
_LEFT_OUT = {
    "session",
    "custom",
    "model_change",
    "thinking_level_change",
    "label",
    "session_info",
}
# Of the session, but not sent by pi.
_NOT_SENT = "system"


def sniff(first: list[Any]) -> bool:
    """Say whether the first values of a file look like this format."""
    head = first[0]
    if not isinstance(head, dict) or head.get("type") != "session":
        return False
    version = head.get("version", 1)
    return isinstance(head.get("id"), str) and isinstance(version, int) and "timestamp" in head


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Yield the conversation of a session."""
    yield conversation_of(lines, lines, lines.path.stem)


def conversation_of(
    records: Iterable[tuple[int, bytes]], lines: jsonl.Lines, id: str
) -> Conversation:
    """Make the conversation of a session's entries, wherever they are kept."""
    session = _Session()
    for number, data in records:
        with lines.at(number):
            entry = jsonl.decode(data, _ENTRY)
            session.take(entry if entry.type in _LEFT_OUT else _whole(data))
    return session.script.conversation(id, NAME, lines.path, inside=session.starts_inside)


def _whole(data: bytes) -> _Entry:
    """An entry with what it holds; one of no known type must hold nothing that could be said."""
    entry = jsonl.decode(data, _FULL)
    if entry.type in _READ:
        return entry
    held = jsonl.decode(data, _FIELDS)
    deep = any(isinstance(value, dict | list) for value in held.values())
    if deep or not entry.type or not held.keys().isdisjoint(("content", "message", "summary")):
        raise InputError(f"an entry of type {entry.type!r} is not known")
    return jsonl.decode(data, _ENTRY)


class _Session:
    """The tree of entries; where the script stands, and where the newest entry does."""

    def __init__(self) -> None:
        self.script = Script()
        self.starts_inside = False
        self._now = self._newest = _Place()
        self._places: dict[str | None, _Place] = {None: _Place()}
        self._drafts: list[Draft] = []
        self._before: dict[str | int, int] = {}  # messages before an entry, by its id or index
        self._entries = 0
        self._chosen = self._thinking = ""
        self._tree = Tree()

    def take(self, entry: _Entry) -> None:
        """Take the next line; the first must be the header."""
        if (self._entries == 0) != (entry.type == "session"):
            raise InputError("a session has one header, in its first line")
        if (entry.version or 1) > NEWEST:
            raise InputError(f"sessions of version {entry.version} are not known, only to {NEWEST}")
        self._chosen = entry.thinking_level or self._chosen
        self.script.locate(entry.cwd)
        place = self._newest  # version 1 has no ids: each entry follows the one before
        if self._entries and entry.id is not None:
            self._tree.hang(entry.id, entry.parent_id)
            self.starts_inside |= not self._drafts and entry.parent_id not in self._places
            place = self._places.get(entry.parent_id, self._newest)
            self._before[entry.id] = len(self._drafts)
        self._before[self._entries] = len(self._drafts)
        if isinstance(entry, _Full):
            place = self._read(entry, place)
        self._entries += 1
        self._newest = place
        if entry.id is not None:
            self._places[entry.id] = place

    def _read(self, entry: _Full, place: _Place) -> _Place:
        if entry.type == "compaction":
            self._go_to(place)
            self._now = _Place(place.last, self._compaction(entry))
            return self._now
        draft = _draft(self.script, entry)
        if draft.role == "user":
            self._thinking = self._chosen  # a level holds from the next prompt of the user on
        if draft.call:
            draft.call = msgspec.structs.replace(draft.call, thinking=self._thinking)
        if not draft.parts and not draft.call:
            return place
        self._go_to(place)
        self._drafts.append(self.script.add(draft))
        self._now = _Place(draft, place.boundary)
        return self._now

    def _go_to(self, place: _Place) -> None:
        if place != self._now:
            self.script.rewind(place.last)

    def _compaction(self, entry: _Full) -> Boundary:
        key = entry.first_kept_entry_id or entry.first_kept_entry_index
        start = self._before.get(-1 if key is None else key, len(self._drafts))
        first_kept = next((d for d in self._drafts[start:] if self.script.has(d)), None)
        time, before = seconds(entry.timestamp), entry.tokens_before or 0
        boundary = self.script.compact(time, kept=first_kept, tokens_before=before)
        summary = self.script.draft("user", entry.id, time, meta=True)
        summary.origin = "compactionSummary"
        sources = boundary.covered or (Source(summary.id),)
        part = Part("text", _there(entry.summary, "summary"), "summary", sources)
        summary.parts = compacted([part])
        boundary.inserted.append(summary)
        return boundary


def _draft(script: Script, entry: _Full) -> Draft:
    """Make a message of an entry; it has no parts if the model does not see the entry."""
    time, message = seconds(entry.timestamp), entry.message or _Message("")
    if entry.type == "message" and entry.message is None:
        raise InputError("there is no message in an entry of type 'message'")
    if entry.type == "branch_summary" or message.role in _SUMMARIES:
        draft = _unsaid(script, entry, message.role or "branchSummary")
        summary = entry.summary if message.summary is None else message.summary
        part = verbatim(draft.id, "text", _there(summary, "summary"))
        draft.parts = _SUMMARIES[draft.origin]([part]) if part.text else []
    elif entry.type == "custom_message" or message.role in ("custom", "hookMessage"):
        draft = _unsaid(script, entry, "custom")
        content = entry.content if entry.type == "custom_message" else message.content
        draft.parts = parts(given(content, "a message of an extension"), draft.id)
    elif message.role == "user":
        draft = script.draft("user", entry.id, time)
        draft.parts = _parts(message, draft)
    elif message.role == "assistant":
        draft = script.draft("assistant", entry.id, time)
        draft.parts, draft.call = _parts(message, draft), _call(message)
        draft.origin = message.stop_reason if message.stop_reason in FAILED else ""
    elif message.role == "toolResult":
        draft = script.draft("tool", entry.id, time)
        call_id, tool = message.tool_call_id or "", message.tool_name or ""
        content = given(message.content, "the result of a tool")
        draft.parts = result(content, draft.id, call_id, name=tool, error=bool(message.is_error))
    elif message.role == "bashExecution":
        draft = _unsaid(script, entry, message.role)
        draft.parts = [] if message.exclude_from_context else _shell(message, draft.id)
    elif message.role == _NOT_SENT:
        draft = _unsaid(script, entry, message.role)
    else:
        raise InputError(f"{message.role!r} is no role of a message")
    return draft


def _parts(message: _Message, draft: Draft) -> list[Part]:
    return parts(given(message.content, f"a message of role {message.role!r}"), draft.id)


def _there(text: str | None, what: str) -> str:
    """A text that must be there, if only an empty one."""
    if text is None:
        raise InputError(f"there is no {what} in it")
    return text


def _unsaid(script: Script, entry: _Full, origin: str) -> Draft:
    """Begin a message that stands in the user's place, but that no person typed."""
    draft = script.draft("user", entry.id, seconds(entry.timestamp), meta=True)
    draft.origin = origin
    return draft


def _call(message: _Message) -> Call | None:
    """The call that an answer is of; of an answer that broke off, zeros are counted, and none is.

    A log that counts nothing at all says nothing of that.
    """
    if message.usage is None:
        return None if message.stop_reason in FAILED else Call(message.model or "")
    counts = message.usage
    usage = Usage(
        counts.input or 0,
        counts.cache_read or 0,
        cache_write_5m=counts.cache_write or 0,
        output=counts.output or 0,
    )
    return Call(message.model or "", usage) if usage != Usage() else None


def _shell(message: _Message, id: str) -> list[Part]:
    command = verbatim(id, "text", _there(message.command, "command"))
    output = verbatim(id, "text", _there(message.output, "output"))
    return shell(
        command,
        output,
        exit_code=message.exit_code,
        cancelled=bool(message.cancelled),
        full_output=(message.full_output_path or "") if message.truncated else "",
    )


FORMAT = Format(NAME, "sessions of pi and OpenClaw (JSONL, versions 1 to 3)", sniff, read)
