"""Sessions of pi (to 1.6) and OpenClaw (to 2026.9): entries that form a tree by ``parentId``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.blocks import Block, Given, given, parts, result
from compactlab.scenarios.readers.counts import Tokens, beside
from compactlab.scenarios.readers.pi_tree import (
    Kept,
    Node,
    SystemPrompt,
    edited,
    hangs_by_edits,
    told,
)
from compactlab.scenarios.readers.script import SYSTEM, Boundary, Draft, Format, Home, Script, Tree
from compactlab.scenarios.readers.shapes import first_is
from compactlab.scenarios.readers.times import Moment, converted, decoder, seconds
from compactlab.sim.core.conversation import EDIT, Conversation
from compactlab.sim.core.errors import InputError, RefusedError
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

NEWEST = 4  # version of the format: 3 of pi 1.6, 4 of OpenClaw since 2026.9


class _Counts(msgspec.Struct, rename="camel"):
    input: Tokens | None = None
    output: Tokens | None = None
    cache_read: Tokens | None = None
    cache_write: Tokens | None = None
    cache_write_1h: Tokens | None = msgspec.field(default=None, name="cacheWrite1h")


class _Message(msgspec.Struct, rename="camel"):
    role: str
    content: Given = msgspec.UNSET
    sections: dict[str, str | None] | None = None
    tools_added: list[dict[str, Any]] | None = None
    tools_removed: list[dict[str, Any]] | None = None
    provider: Any = None
    model: str | None = None
    response_model: str | None = None
    response_id: str | None = None
    thinking_level: str | None = None
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
    parent_id: str | msgspec.UnsetType | None = msgspec.UNSET
    timestamp: Moment | None = None
    thinking_level: str | None = None
    model_id: Any = None
    cwd: Any = None
    parent_session: Any = None
    branched_from: Any = None
    # OpenClaw only: which entry is now the newest, and whether this entry is a side entry.
    target_id: str | None = None
    append_parent_id: str | None = None
    append_mode: str | None = None


class _Full(_Entry, rename="camel"):
    message: _Message | None = None
    content: Given = msgspec.UNSET
    summary: str | None = None
    first_kept_entry_id: str | None = None
    first_kept_entry_index: int | None = None
    tokens_before: Tokens | None = None
    system_message: _Message | None = None
    replacement: Any = msgspec.UNSET
    kind: str | None = None
    model: str | None = None
    usage: _Counts | None = None


class _Replacement(msgspec.Struct):
    content: str | list[Block]


# Summaries that are messages of the session; pi does not send empty ones to the model.
_SUMMARIES = {"branchSummary": branched, "compactionSummary": compacted}
_ENTRY = decoder(_Entry)
_READ = {
    "message", "custom_message", "compaction", "branch_summary", "context_edit", "reset", "usage",
}  # fmt: skip
# Entries that add nothing to the prompt and cost nothing.
_LEFT_OUT = {
    "session", "custom", "model_change", "thinking_level_change", "label", "session_info", "leaf",
}  # fmt: skip
# Fields of entries and messages that clients write but do not send to models.
_KNOWN = {
    *_Full.__struct_encode_fields__, "__openclaw", "customType", "data", "details", "display",
    "fromHook", "fromId", "label", "name", "note", "provider", "reason", "tokensAfter",
}  # fmt: skip
_KNOWN_OF_MESSAGES = {
    *_Message.__struct_encode_fields__, "__openclaw", "api", "customType", "deferred", "details",
    "diagnostics", "display", "endTurn", "errorMessage", "fromId", "idempotencyKey", "nestedCalls",
    "provenance", "providerReplay", "providerThinkingLevel", "rawStopReason", "timestamp",
    "tokensBefore",
}  # fmt: skip
# Messages whose content pi never replaces.
_UNCHANGED = {"bashExecution", *_SUMMARIES}
# Names in an unknown entry that show that it changes how the model sees earlier entries.
_EDITING = {"firstKeptEntryId", "firstKeptEntryIndex", "replacement", "summary"}
_CHANGES = re.compile(
    "edit|prun|reset|rewind|omit|clear|truncat|redact|replac|drop|remov|delet|collaps|splice"
)
_ALL = re.compile("context|history|conversation|transcript|message")
# Answers that OpenClaw itself records after delivery; it sends them to no model.
_OWN = {("openclaw", "delivery-mirror"), ("openclaw", "gateway-injected")}
_REMEDY = "prompts would be wrong. Leave this session out, or cut it before this line"


def _begins(head: dict[str, Any]) -> bool:
    """Whether a value is the header of a session, or an entry."""
    if "timestamp" not in head or not isinstance(head.get("id"), str):
        return False
    if head.get("type") == "session":
        return isinstance(head.get("version", 1), int)
    # If the header is damaged, the first value is an entry.
    return "parentId" in head and str(head.get("type")) in _READ | _LEFT_OUT


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Yield the conversation of a session."""
    yield conversation_of(lines, lines, lines.path.stem)


def conversation_of(
    records: Iterable[tuple[int, bytes]], lines: jsonl.Lines, id: str
) -> Conversation:
    """Make a conversation from the entries of a session, wherever they are stored.

    ``records`` are the entries as JSON, the header first, with the numbers that errors name.
    """
    session = _Session(lines)
    for number, data in records:
        with lines.at(number):
            entry = jsonl.decode(data, _ENTRY)
            session.take(entry if entry.type in _LEFT_OUT else _whole(data, entry, lines))
    session.finish()
    return session.script.conversation(id, NAME, lines.path, inside=session.starts_inside)


def _whole(data: bytes, entry: _Entry, lines: jsonl.Lines) -> _Entry:
    """Decode an entry completely; an unknown type is counted."""
    held = jsonl.decode(data, jsonl.OBJECT)
    if entry.type in _READ:
        lines.pass_over_fields(held, _KNOWN, f"an entry of type {entry.type!r}")
        lines.pass_over_fields(held.get("message"), _KNOWN_OF_MESSAGES, "a message")
        return converted(held, _Full)
    refers = any(key.endswith(("Id", "Ids")) for key in held.keys() - {"id", "parentId"})
    changes = _CHANGES.search(entry.type) and (refers or _ALL.search(entry.type))
    if changes or not _EDITING.isdisjoint(held):
        raise RefusedError(
            f"an entry of type {entry.type!r} is not known, and seems to change what the model"
            f" of pi or OpenClaw saw of earlier entries: {_REMEDY}"
        )
    lines.pass_over(f"record {entry.type!r}", held)
    return entry


class _Session:
    """The tree of entries, with the current node of the script and the newest node."""

    def __init__(self, lines: jsonl.Lines) -> None:
        self.script = Script()
        self.starts_inside = False
        self._lines = lines
        # Nodes by entry id, or number in version 1; other entries have their ancestor's node.
        self._nodes: dict[str | int | None, Node | None] = {None: None}
        self._own: dict[str | int, Node] = {}  # only entries that are nodes themselves
        self._now: Node | None = None  # the node whose context the script has
        self._newest: Node | None = None
        self._edited: Node | None = None  # an edit not yet added to the script
        self._beside: str | None = None  # id of the newest entry, if it is a side entry
        self._entries = 0
        self._forked = 0.0
        self._model = self._chosen = self._thinking = ""
        self._system = SystemPrompt(lines)
        self._tree = Tree()

    def take(self, entry: _Entry) -> None:
        """Take the next entry; the first should be the header."""
        number, self._entries = self._entries, self._entries + 1
        if entry.type == "session":
            self._head(entry, number)
            return
        if not number:
            self._lines.pass_over("session without its header", "")
        self._chosen = entry.thinking_level or self._chosen
        if isinstance(entry.model_id, str):
            self._model = entry.model_id
        key: str | int = number if entry.id is None else entry.id
        # If the entry is not read, its children belong to its parent.
        parent = node = self._nodes[key] = self._parent(entry)
        if isinstance(entry, _Full):
            node = self._read(entry, parent)
            if node is not parent and node is not None:
                self._own[key] = node
        elif entry.type == "leaf":
            node = self._nodes.get(entry.target_id, parent)
        self._nodes[key] = node
        self._beside = entry.id if entry.append_mode == "side" else None
        if not self._beside or entry.type == "leaf":
            self._newest = node

    def finish(self) -> None:
        self._go_to(self._edited or self._now)

    def _head(self, entry: _Entry, number: int) -> None:
        if number:
            raise InputError("a session has one header, in its first line")
        if (entry.version or 1) > NEWEST:
            raise RefusedError(
                f"sessions of pi or OpenClaw of version {entry.version} are not known, only to"
                f" {NEWEST}: a newer compactlab may read them"
            )
        self._chosen = entry.thinking_level or ""
        self._model = entry.model_id if isinstance(entry.model_id, str) else ""
        self.script.locate(entry.cwd)
        if entry.id is not None:
            self._nodes[entry.id] = None
        origin = entry.parent_session or entry.branched_from
        if isinstance(origin, str):
            self.script.parent = re.split(r"[\\/]", origin)[-1].removesuffix(".jsonl")
            self._forked = seconds(entry.timestamp)

    def _parent(self, entry: _Entry) -> Node | None:
        """Return the parent node; without a parent id, as in version 1, it is the newest node."""
        if entry.id is None or isinstance(entry.parent_id, msgspec.UnsetType):
            return self._newest
        self._tree.hang(entry.id, entry.parent_id)
        self.starts_inside |= not self._newest and entry.parent_id not in self._nodes
        if entry.parent_id == self._beside and self._beside and entry.append_mode != "side":
            return self._newest
        return self._nodes.get(entry.parent_id, self._newest)

    def _read(self, entry: _Full, parent: Node | None) -> Node | None:
        if entry.type == "usage":  # a request of the client, such as one that keeps the cache warm
            self._bill(entry, entry.kind or "session", entry.usage, entry.model or self._model)
            return parent
        if entry.type in ("compaction", "reset"):
            return self._compaction(entry, parent)
        reads = self._edit if entry.type == "context_edit" else self._message
        return reads(entry, parent)

    def _message(self, entry: _Full, parent: Node | None) -> Node | None:
        message = entry.message
        if message and message.role == "system":
            return self._told(entry, message, parent)
        draft = _draft(self.script, entry, self._lines)
        if draft is None:
            return parent
        self._account(entry, draft)
        mirrors = message and _is_own(message) and _repeats(draft, parent)
        if mirrors or not (draft.parts or draft.call):
            return parent
        return self._say(Node(parent, "message", draft))

    def _say(self, node: Node) -> Node:
        self._go_to(node.parent)
        if node.draft:
            self.script.add(node.draft)
        self._now = node
        return node

    def _go_to(self, node: Node | None) -> None:
        """Change the script's context to that of a node."""
        edited, self._edited = self._edited, None
        if edited and not hangs_by_edits(node, edited):
            self._go_to(edited)
        if node is self._now:
            return
        before = self._now
        if not hangs_by_edits(node, before):
            before = node
            while before and before.kind not in ("message", "system"):
                before = before.parent
            self.script.rewind(before.draft if before else None)
        self._now = node
        old, new = told(before), told(node)
        if old != new:
            self._replace(old, new, node.time if node else 0.0).trigger = EDIT

    def _replace(
        self, old: list[Draft], new: list[Draft], time: float, tokens: int = 0
    ) -> Boundary:
        """Replace one context by another; their common end is kept."""
        same = 0
        while same < min(len(old), len(new)) and old[-1 - same] is new[-1 - same]:
            same += 1
        first = len(new) - same
        while first < len(new) and not self.script.has(new[first]):
            first += 1  # the first kept message must be in the script
        kept = new[first] if first < len(new) else None
        covered = next((draft for draft in new if self.script.has(draft)), None)
        boundary = self.script.compact(time, kept=covered, tokens_before=tokens)
        boundary.kept_from = kept.id if kept else ""
        boundary.inserted += new[:first]
        return boundary

    def _compaction(self, entry: _Full, parent: Node | None) -> Node:
        self._go_to(parent)
        time = seconds(entry.timestamp)
        node = Node(parent, "reset" if entry.type == "reset" else "compaction", time=time)
        index, kept = entry.first_kept_entry_index, entry.first_kept_entry_id
        key = index if kept is None else kept
        if key is not None and key != entry.id and key in self._nodes:
            node.kept = Kept(self._nodes[key], after=key not in self._own)
        text = "" if node.kind == "reset" else _there(entry.summary, "summary")
        boundary = self._replace(told(parent), told(node), time, entry.tokens_before or 0)
        self._now = node
        if node.kind == "reset":
            boundary.trigger = EDIT
            return node
        boundary.call = self._request(entry, entry.usage, self._model)
        node.draft = summary = _unsaid(self.script, entry, "compactionSummary")
        sources = boundary.covered or (Source(summary.id),)
        summary.parts = compacted([Part("text", text, "summary", sources)])
        node.system = self._checkpoint(entry)
        boundary.inserted[:0] = [node.system, summary] if node.system else [summary]
        return node

    def _checkpoint(self, entry: _Full) -> Draft | None:
        """Return the changes of the system prompt since its start, which a compaction repeats."""
        message = entry.system_message
        if message is None or not self.script.system:
            self.script.system += self._system.begin(message) if message else []
            return None
        draft = _unsaid(self.script, entry, SYSTEM)
        draft.parts = self._system.since(message, draft.id)
        return draft if draft.parts else None

    def _told(self, entry: _Full, message: _Message, parent: Node | None) -> Node | None:
        """Take a system prompt: the first is the conversation's, a later one is a message."""
        if not self.script.system:
            self.script.system += self._system.begin(message)
            return parent
        draft = _unsaid(self.script, entry, SYSTEM)
        draft.parts = self._system.change(message, draft.id)
        return self._say(Node(parent, "system", draft)) if draft.parts else parent

    def _edit(self, entry: _Full, parent: Node | None) -> Node | None:
        target = self._own.get(entry.target_id or "")
        if target is None or target.draft is None:
            return parent  # the model never saw it
        node = Node(parent, "edit", target=target, time=seconds(entry.timestamp))
        if entry.replacement is not None:
            node.draft = self._replacement(entry, target.draft)
        if self._edited is not parent or parent is None:
            self._go_to(parent)
        self._edited = node
        return node

    def _replacement(self, entry: _Full, original: Draft) -> Draft:
        given = entry.replacement
        try:
            whole = given if isinstance(given, dict) else {"content": given}
            told = converted(whole, _Replacement).content
        except msgspec.ValidationError:
            raise RefusedError(
                f"what pi puts in the place of an earlier message is not understood: {_REMEDY}"
            ) from None
        if original.origin in _UNCHANGED:
            return original
        draft = _unsaid(self.script, entry, "")
        if original.role == "tool":
            whose = original.parts[0]
            name, call_id, error = whose.name, whose.call_id, whose.is_error
            made = result(told, draft.id, call_id, name=name, error=error, lines=self._lines)
        else:
            made = parts(told, draft.id, self._lines)
        return edited(draft, made, original)

    def _account(self, entry: _Full, draft: Draft) -> None:
        """Record the requests of a message: its own, and those made for it."""
        message = entry.message or _Message("")
        if draft.role == "user":
            self._thinking = self._chosen  # a level applies from the user's next prompt on
        if draft.call:
            self._model = draft.call.model or self._model
            draft.call = msgspec.structs.replace(
                draft.call,
                thinking=message.thinking_level or self._thinking,
                id=message.response_id or _identity(entry, draft.call.usage),
                inherited=self._inherited(entry),
            )
        elif draft.role == "tool":
            self._bill(entry, "nested", message.usage, self._model)
        elif entry.type == "branch_summary":
            self._bill(entry, entry.type, entry.usage, self._model)

    def _bill(self, entry: _Full, purpose: str, counts: _Counts | None, model: str) -> None:
        if call := self._request(entry, counts, model):
            self.script.bill(purpose, call, seconds(entry.timestamp))

    def _request(self, entry: _Full, counts: _Counts | None, model: str) -> Call | None:
        usage = _usage(counts)
        if usage == Usage():
            return None
        return Call(model, usage, id=_identity(entry, usage), inherited=self._inherited(entry))

    def _inherited(self, entry: _Entry) -> bool:
        """Whether the entry is older than the fork; copies keep their times."""
        return seconds(entry.timestamp) < self._forked


def _identity(entry: _Entry, usage: Usage | None) -> str:
    """Identify a request by entry id, time and counts: eight digits are not unique.

    OpenClaw keeps the sessions of a year in one database. Copies have the same identity.
    """
    counts = (usage.prompt, usage.output) if usage else (0, 0)
    return f"{entry.id} {seconds(entry.timestamp):.3f} {counts}" if entry.id else ""


def _is_own(message: _Message) -> bool:
    return (message.provider, message.model) in _OWN


def _repeats(draft: Draft, node: Node | None) -> bool:
    """Whether a message has the same text as the latest answer before it."""
    while node and not (node.draft and node.draft.role == "assistant"):
        node = node.parent
    said = node.draft.parts if node and node.draft else []
    words = ["".join(p.text for p in parts if p.type == "text") for parts in (draft.parts, said)]
    return words[0] == words[1]


def _draft(script: Script, entry: _Full, lines: jsonl.Lines) -> Draft | None:
    """Make a message of an entry, without parts if the model does not see the entry."""
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
        draft.parts = parts(given(content, "a message of an extension"), draft.id, lines)
    elif message.role == "user":
        draft = script.draft("user", entry.id, time)
        draft.parts = _parts(message, draft, lines)
    elif message.role == "assistant":
        draft = script.draft("assistant", entry.id, time)
        draft.parts, draft.call = _parts(message, draft, lines), _call(message)
        draft.origin = message.stop_reason if message.stop_reason in FAILED else ""
    elif message.role == "toolResult":
        draft, failed = script.draft("tool", entry.id, time), bool(message.is_error)
        call_id, tool = message.tool_call_id or "", message.tool_name or ""
        content = given(message.content, "the result of a tool")
        draft.parts = result(content, draft.id, call_id, name=tool, error=failed, lines=lines)
    elif message.role == "bashExecution":
        draft = _unsaid(script, entry, message.role)
        draft.parts = _shell(message, draft.id)
    else:
        lines.pass_over(f"message of role {message.role!r}", msgspec.to_builtins(message))
        return None
    if message.exclude_from_context:
        draft.parts = []
    return draft


def _parts(message: _Message, draft: Draft, lines: jsonl.Lines) -> list[Part]:
    return parts(given(message.content, f"a message of role {message.role!r}"), draft.id, lines)


def _there(text: str | None, what: str) -> str:
    """Return a text that may be empty but not missing."""
    if text is None:
        raise InputError(f"there is no {what} in it")
    return text


def _unsaid(script: Script, entry: _Full, origin: str) -> Draft:
    """Begin a message with the user role that no person typed."""
    return script.draft("user", entry.id, seconds(entry.timestamp), meta=True, origin=origin)


def _call(message: _Message) -> Call | None:
    """Return the call of an answer; None if its counts are 0, or if it failed without any.

    Other answers without counts are calls of unknown usage. Behind a router, ``responseModel`` is
    the model that answered.
    """
    model, usage = message.response_model or message.model or "", _usage(message.usage)
    if message.usage is None:
        return None if message.stop_reason in FAILED or _is_own(message) else Call(model)
    ttl: Literal["", "1h"] = "1h" if usage.cache_write_1h else ""
    return Call(model, usage, ttl) if usage != Usage() else None


def _usage(counts: _Counts | None) -> Usage:
    """Return the counts by class; writes with a lifetime of an hour are part of all writes."""
    if counts is None:
        return Usage()
    return beside(*(number or 0 for number in msgspec.structs.astuple(counts)))


def _shell(message: _Message, id: str) -> list[Part]:
    command = verbatim(id, "text", _there(message.command, "command"))
    output = verbatim(id, "text", _there(message.output, "output"))
    full = (message.full_output_path or "") if message.truncated else ""
    code, cancelled = message.exit_code, bool(message.cancelled)
    return shell(command, output, exit_code=code, cancelled=cancelled, full_output=full)


# Homes: pi's README (0.73).
FORMAT = Format(
    NAME,
    "sessions of pi and OpenClaw (JSONL, versions 1 to 4)",
    first_is(_begins),
    read,
    homes=(Home("pi", ("PI_CODING_AGENT_DIR",), ("~/.pi/agent",), ("sessions",)),),
)
