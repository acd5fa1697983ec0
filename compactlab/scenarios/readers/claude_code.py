"""Transcripts of Claude Code: one line per content block, in a tree by ``parentUuid``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.anthropic import Total, rest_of
from compactlab.scenarios.readers.claude_thread import Line, Node, Thread
from compactlab.scenarios.readers.script import Format, Home, Tree
from compactlab.scenarios.readers.shapes import any_is
from compactlab.scenarios.readers.times import decoder
from compactlab.scenarios.readers.unread import unknown_fields
from compactlab.sim.core.conversation import Conversation, SideRequest
from compactlab.sim.core.errors import InputError, RefusedError
from compactlab.sim.core.message import Call

NAME = "claude-code"


class _Cost(msgspec.Struct, rename="camel"):
    model_usage: dict[str, Total] | None = None


_NODE, _LINE, _COST = decoder(Node), decoder(Line), decoder(_Cost)
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
# The field with the content of a line, by type; a message must have `content` in it.
_HOLDERS = {"user": "message", "assistant": "message", "attachment": "attachment"}
_HOLDERS |= {"progress": "data"}
_SPOKEN = ("user", "assistant")
_SAID = {*_SPOKEN, "attachment"}
_READ = {*_SAID, "system"}
_HANGING = {*_READ, "progress"}  # the lines of the tree
# Records of the client itself: titles, queues, files, links. Queued texts occur again where they
# were sent.
_BOOKKEEPING = frozenset({
    "agent-color", "agent-name", "agent-setting", "ai-title", "artifact-autoreact-ledger",
    "artifact-comment-monitor", "atis-latch", "attribution-snapshot", "bridge-session",
    "continued-in", "cost-state", "custom-title", "ended", "ended-by-model", "failed",
    "file-history-delta", "file-history-snapshot", "frame-link", "history-suppression",
    "isolation-latch", "last-prompt", "launched", "marble-origami-snapshot", "mode",
    "observer-ref", "permission-mode", "pr-link", "queue-operation", "relocated", "result",
    "speculation-accept", "started", "summary", "tag", "task-summary", "worktree-state",
})  # fmt: skip
# Notes of the client for the user; only those that are read here affect the prompt.
_NOTES = frozenset({
    "agents_killed", "api_error", "api_refusal", "away_summary", "bridge_status",
    "code_change_published", "compact_boundary", "end_session", "error", "file_snapshot",
    "generate_session_title", "hook_progress", "hook_response", "hook_started", "informational",
    "init", "local_command", "memory_saved", "microcompact_boundary", "model_refusal_fallback",
    "model_refusal_no_fallback", "permission_retry", "post_turn_summary", "scheduled_task_fire",
    "session_start", "snip_boundary", "snip_marker", "status", "stop_hook_summary",
    "task_notification", "task_progress", "task_started", "task_updated", "thinking",
    "turn_duration", "vcs_state_changed",
})  # fmt: skip
# Names of records that edit the context; after an unknown one, the context would be unknown.
_EDITS = re.compile(
    "boundary|collaps|compact|context.?edit|origami|prune|replacement|reset|snip|tombstone"
)
_EDITS_READ = ("content-replacement", "fork-context-ref", "marble-origami-commit")
_NOTHING = (b"null", b"false")
_MOST_LABELS = 1_000
_EDITING = ("replacesSpan",)  # fields with the same effect
# Fields of lines and messages that have no text, though their names suggest it.
_KNOWN = frozenset({
    "attachment", "attributionMcpTool", "batchToolUses", "content", "contextUsage",
    "context_management", "data", "hostClassifierContext", "input_transformations", "mcpMeta",
    "message", "microcompactMetadata", "planContent", "promptSource", "rendered",
    "renderedInHumanTurn", "serverClassifierContext", "summarizeMetadata", "thinkingMetadata",
    "toolUseMetadata", "toolUseResult", "tool_use_meta", "usageLimitNote", "wireIngestContext",
    "wireToolInputs",
})  # fmt: skip


def _is_own(record: dict[str, Any]) -> bool:
    """Whether only this client writes such a line; Qwen Code's tree has no `content`."""
    kind = record.get("type")
    if kind == "summary":
        return isinstance(record.get("leafUuid"), str)
    hangs = "parentUuid" in record or isinstance(record.get("sessionId"), str)
    holder = record.get(_HOLDERS.get(kind, "") if isinstance(kind, str) else "")
    inside = isinstance(holder, dict) and (kind not in _SPOKEN or "content" in holder)
    return isinstance(record.get("uuid"), str) and hangs and inside


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Yield the main conversation of a transcript, then its sidechains."""
    file = _File(lines)
    for number, data in lines:
        with lines.at(number):
            file.take(data)
    yield from file.conversations()


class _File:
    def __init__(self, lines: jsonl.Lines) -> None:
        self._lines = lines
        self._threads = {"": Thread(lines)}
        self._thread_of: dict[str, str] = {}
        self._words: dict[str, int] = {}
        self._tree = Tree()
        self._labels: set[str] = set()  # names of fields without text
        self._session = ""  # the session's id, if the file is named by it
        self._totals: dict[str, Total] = {}  # the client's last totals of the session

    def take(self, data: bytes) -> None:
        node = jsonl.decode(data, _NODE)
        if not node.type:
            raise InputError("a line has no type")
        if node.type in _SAID and not node.uuid:
            raise InputError(f"a line of type {node.type!r} has no uuid")
        if node.type not in _HANGING:
            self._aside(node, data)
        if not node.uuid or node.type in _BOOKKEEPING:
            return
        if node.session_id == self._lines.path.stem:
            self._session = node.session_id
        words = self._words_of(node, data)
        line = jsonl.decode(data, _LINE) if node.type in _READ else node
        if node.uuid == node.parent_uuid and not self._lines.strict:
            # A placeholder for removed ids: the lines are in order.
            node.uuid = line.uuid = f"{node.uuid}-{len(self._words)}"
            node.parent_uuid = line.parent_uuid = ""
        elif node.uuid in self._thread_of:
            self._repeat(line, data, words)
            return
        self._tree.hang(node.uuid, node.parent_uuid)
        key = self._key(node)
        thread = self._thread(key)
        thread.script.locate(node.cwd)
        thread.script.subagent = bool(key)
        if node.type == "progress":
            thread.starts.progress(data)
        thread.take(line)
        self._thread_of[node.uuid], self._words[node.uuid] = key, words

    def conversations(self) -> Iterator[Conversation]:
        main = self._threads.pop("")
        sidechains = {f"#sidechain-{n}": t for n, t in enumerate(self._threads.values(), 1)}
        path, threads = self._lines.path, {"": main, **sidechains}
        for thread in threads.values():
            thread.finish(self._session)
        if self._totals:
            requests = [request for thread in threads.values() for request in thread.requests]
            requests += _agents_of(path)
            time = max((draft.time for draft in main.answers), default=0.0)
            rest = rest_of(self._totals, requests, self._session or path.stem, time)
            main.script.side_requests += rest
        for suffix, thread in threads.items():
            if thread.script.path or not sidechains:
                first = thread.first_parent
                inside = first is not None and first not in self._thread_of
                yield thread.script.conversation(
                    path.stem + suffix, NAME, path, inside=inside or thread.inherits
                )

    def _thread(self, key: str) -> Thread:
        if key not in self._threads:
            self._threads[key] = Thread(self._lines)
        return self._threads[key]

    def _key(self, node: Node) -> str:
        if not node.is_sidechain:
            return ""
        return node.agent_id or self._thread_of.get(node.parent_uuid or "") or node.uuid or ""

    def _aside(self, node: Node, data: bytes) -> None:
        """Take a line outside of the tree, or of unknown type."""
        if node.type == "cost-state":
            self._totals = jsonl.decode(data, _COST).model_usage or self._totals
        if node.type in _BOOKKEEPING:
            return
        agent = (node.agent_id or "") if node.type in _EDITS_READ else ""
        thread = self._thread(agent)
        record = jsonl.decode(data, jsonl.OBJECT)
        if node.type == "content-replacement":
            thread.replace_results(record.get("replacements") or [])
        elif node.type == "marble-origami-commit":
            thread.collapse(record)
        elif node.type == "fork-context-ref":
            thread.inherits = True
        else:
            _refuse_edit(node.type)
            self._lines.pass_over(f"record {node.type!r}", record)

    def _repeat(self, line: Node, data: bytes, words: int) -> None:
        self._threads[self._thread_of[line.uuid or ""]].repeat(line)
        if words != self._words[line.uuid or ""]:
            kind = "line that was there before with other content"
            self._lines.pass_over(kind, jsonl.decode(data, jsonl.ANY))

    def _words_of(self, node: Node, data: bytes) -> int:
        """Hash the content of a line; content in unknown fields is counted."""
        if node.type not in _READ:
            return 0
        fields = jsonl.decode(data, _FIELDS)
        self._unknown(fields, f"a line of type {node.type!r}")
        if node.type == "system":
            subtype = jsonl.decode(data, _LINE).subtype or ""
            if subtype not in _NOTES:
                _refuse_edit(subtype)
                if "content" in fields:
                    kind = f"record 'system' of subtype {subtype!r}"
                    self._lines.pass_over(kind, jsonl.decode(data, jsonl.ANY))
        holder = fields.get(_HOLDERS.get(node.type, ""))
        if node.type not in _SPOKEN or holder is None:
            return hash(bytes(holder or b""))
        inner = jsonl.decode(bytes(holder), _FIELDS)
        self._unknown(inner, f"the message of a line of type {node.type!r}")
        return hash(bytes(inner.get("content", b"")))

    def _unknown(self, fields: dict[str, msgspec.Raw], whose: str) -> None:
        edits = [key for key in _EDITING if bytes(fields.get(key, b"null")) not in _NOTHING]
        if edits:
            raise RefusedError(f"Claude Code edited the context: {whose} has {edits[0]!r}")
        new = fields.keys() - _KNOWN - self._labels
        for key in new:
            if not any(unknown_fields({key: key}, ())) and len(self._labels) < _MOST_LABELS:
                self._labels.add(key)
        said = {key: jsonl.decode(bytes(fields[key]), jsonl.ANY) for key in new - self._labels}
        self._lines.pass_over_fields(said, _KNOWN, whose)


def _agents_of(path: Path) -> Iterator[Call | SideRequest]:
    """Yield the requests of a session's sub-agents, which are in other files beside it."""
    for file in sorted((path.with_suffix("") / "subagents").rglob("agent-*.jsonl")):
        with suppress(InputError):
            for conversation in () if file.is_symlink() else read(jsonl.Lines(file)):
                yield from (answer.call for answer in conversation.calls if answer.call)
                yield from conversation.side_requests


def _refuse_edit(kind: str) -> None:
    if _EDITS.search(kind.lower()):
        raise RefusedError(f"Claude Code edited the context by {kind!r}, which is not known")


# Homes: Claude Code's page on settings, and ccusage's (both 2026-11).
FORMAT = Format(
    NAME,
    "transcripts of Claude Code (JSONL), each sidechain a conversation of its own",
    any_is(_is_own),
    read,
    homes=(
        Home(
            "claude-code", ("CLAUDE_CONFIG_DIR",), ("~/.claude", "~/.config/claude"), ("projects",)
        ),
    ),
)
