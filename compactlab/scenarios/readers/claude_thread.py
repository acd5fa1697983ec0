"""One conversation of Claude Code: its lines, their tree, and answers that still grow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from compactlab.scenarios.readers.anthropic import (
    Counts,
    beside,
    largest,
    priced,
    tier_of,
    ttl_of,
    usage_of,
)
from compactlab.scenarios.readers.blocks import (
    Block,
    Given,
    compact,
    given,
    listed,
    parts,
    result_of,
)
from compactlab.scenarios.readers.claude_edits import Context
from compactlab.scenarios.readers.claude_notes import SYSTEM_PROMPT, Starts, attached_text
from compactlab.scenarios.readers.counts import Tokens
from compactlab.scenarios.readers.jsonl import Lines
from compactlab.scenarios.readers.script import SYSTEM, Boundary, Draft, Script
from compactlab.scenarios.readers.shapes import dict_of
from compactlab.scenarios.readers.times import Moment, seconds
from compactlab.sim.core.conversation import SideRequest
from compactlab.sim.core.errors import InputError, RefusedError
from compactlab.sim.core.message import INTERRUPTED, Call, Diagnosis, Source, Usage, verbatim


class _Missed(msgspec.Struct):
    type: str | None = None
    cache_missed_input_tokens: Tokens | None = None


class _Diagnostics(msgspec.Struct):
    cache_miss_reason: _Missed | None = None


class Body(msgspec.Struct):
    """The message of a line."""

    id: str | None = None
    model: str | None = None
    content: Given = msgspec.UNSET
    usage: Counts | None = None
    diagnostics: _Diagnostics | None = None
    context_management: Any = None


class Kept(msgspec.Struct, rename="camel"):
    """The messages that a compaction kept unchanged: the first one, or all of them."""

    head_uuid: str | None = None
    uuids: list[str] | None = None
    all_uuids: list[str] | None = None


class Compacted(msgspec.Struct, rename="camel"):
    """The metadata of a compaction boundary."""

    trigger: str | None = None
    pre_tokens: Tokens | None = None
    preserved_segment: Kept | None = None
    preserved_messages: Kept | None = None


class _Cleared(msgspec.Struct, rename="camel"):
    """The metadata of a boundary after results and attachments were cleared.

    Its ``preTokens`` are those of the results, not of the context.
    """

    trigger: str | None = None
    compacted_tool_ids: list[str] | None = None
    cleared_attachment_uuids: list[str] | None = msgspec.field(
        default=None, name="clearedAttachmentUUIDs"
    )


class _Snipped(msgspec.Struct, rename="camel"):
    removed_uuids: list[str]


class _Forked(msgspec.Struct, rename="camel"):
    session_id: str | None = None


class Node(msgspec.Struct, rename="camel"):
    """A line's position in the tree."""

    type: str = ""
    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    is_sidechain: bool | None = None
    agent_id: str | None = None
    session_id: str | None = None
    cwd: Any = None
    forked_from: _Forked | None = None


class Line(Node, rename="camel"):
    """A line that is read."""

    subtype: str | None = None
    timestamp: Moment | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    is_api_error_message: bool | None = None
    request_id: str | None = None
    version: str | None = None
    effort: Any = None
    thinking_metadata: Any = None
    origin: Any = None
    compact_metadata: Compacted | None = None
    microcompact_metadata: _Cleared | None = None
    snip_metadata: _Snipped | None = None
    retracted_message_uuids: list[str] | None = None
    supersedes_uuids: list[str] | None = None
    message: Body | None = None
    content: Any = None
    attachment: dict[str, Any] | None = None
    rendered: Any = None


# Texts that the client writes with the user role; no person typed them.
_LOCAL = (
    "<local-command-", "<command-name>", "<command-message>", "<bash-input>", "<bash-stdout>",
    "<bash-stderr>",
)  # fmt: skip
_BROKEN_OFF = "[Request interrupted by user"
_NOT_TYPED = (*_LOCAL, "<task-notification>", "<system-reminder>", _BROKEN_OFF)
_THINKING_CLEARED = "clear_thinking"  # an edit that removes only older thoughts
_SYNTHETIC = "<synthetic>"  # the model name of texts that the client writes with the assistant role


@dataclass(eq=False)
class _Reply:
    """An answer, which may be spread over several lines."""

    draft: Draft
    prompts: int  # number of the user's messages before it
    request: str = ""
    session: str = ""
    counts: Counts = field(default_factory=Counts)


class Thread:
    """One conversation of a file; it takes the lines in order."""

    def __init__(self, lines: Lines) -> None:
        self.script = Script()
        self.starts = Starts()
        self.first_parent: str | None = None
        self.inherits = False  # whether its prompts begin with those of another conversation
        self._lines = lines
        self._at: dict[str, Draft | None] = {}  # the end of the branch after each line
        self._wordless: set[str] = set()  # lines that added no message
        self._context = Context(self.script)
        self._replies: dict[str, _Reply] = {}  # the newest answer of each message id
        self._answers: list[_Reply] = []
        self._placeholders: set[str] = set()
        self._prompts = 0  # number of the user's messages so far
        self._results: dict[str, Draft] = {}
        self._boundary: Boundary | None = None
        self._copied = ""
        self._thinking = ""

    def take(self, line: Node) -> None:
        if not self._at:
            self.first_parent = line.parent_uuid or line.logical_parent_uuid
        if self._copied and line.parent_uuid == self._copied:
            self._at[self._copied] = self.script.last
        self._copied = ""
        parent = self._at.get(line.parent_uuid or "", self.script.last)
        takes = {"assistant": self._assistant, "user": self._user, "attachment": self._attachment}
        made = None
        if isinstance(line, Line):
            made = takes.get(line.type, self._system)(line, parent)
        if made is None:
            self._wordless.add(line.uuid or "")
        self._at[line.uuid or ""] = made or parent

    def repeat(self, line: Node) -> None:
        """Take a repeated line: its counts may be larger, and it may name a fork.

        After a compaction, a client also appends copies of its history; the next line is a child of
        the last copy (anthropics/claude-code#92089).
        """
        self._copied = line.uuid or ""
        body = line.message if isinstance(line, Line) and line.type == "assistant" else None
        reply = self._replies.get(body.id or line.uuid or "") if body else None
        if isinstance(line, Line) and reply and reply.draft.call and body and body.usage:
            self._count(reply, line)

    def recount(self, message_id: str, counts: Counts) -> None:
        """Take counts of an answer that came after its text."""
        reply = self._replies.get(message_id)
        if reply and (call := reply.draft.call):
            usage = largest(call.usage or Usage(), usage_of(counts))
            reply.draft.call = msgspec.structs.replace(call, usage=usage)

    @property
    def calls(self) -> list[Call]:
        return [draft.call for draft in self.answers if draft.call]

    @property
    def requests(self) -> list[Call | SideRequest]:
        return [*self.calls, *self.script.side_requests]

    @property
    def answers(self) -> list[Draft]:
        return [reply.draft for reply in self._answers if reply.draft.call]

    def finish(self, session: str = "") -> None:
        """Finish the calls: add other costs, drop placeholder ids, mark calls of other sessions."""
        for reply in self._answers:
            call = reply.draft.call
            if call is None:
                continue
            if session and reply.session not in ("", session):
                self.script.parent = self.script.parent or reply.session
                call = msgspec.structs.replace(call, inherited=True)
            if call.id in self._placeholders:
                call = msgspec.structs.replace(call, id="")
            reply.draft.call = call
            self.script.side_requests += beside(reply.counts, call, reply.draft.time)

    # Answers

    def _assistant(self, line: Line, parent: Draft | None) -> Draft | None:
        if line.is_api_error_message:
            self.starts.broken_off()
            return None  # shown to the user; never sent to the model
        body = _body(line)
        _check_edits(body)
        key = body.id or line.uuid or ""
        if line.supersedes_uuids:
            parent = self._retract(line.supersedes_uuids) or parent
        reply = self._replies.get(key)
        if reply and not self._continues(reply, line):
            self._placeholders.add(key)
            reply = None
        new = reply is None
        if reply is None:
            draft = self.script.draft("assistant", body.id or line.uuid)
            reply = _Reply(draft, self._prompts)
        draft = reply.draft
        spoken = parts(body.content, draft.id, self._lines)
        if body.model != _SYNTHETIC:
            self._count(reply, line)
            self.starts.finish(any(part.type == "tool_call" for part in (*draft.parts, *spoken)))
        elif not spoken:
            return None
        draft.parts += spoken
        draft.time = max(draft.time, seconds(line.timestamp))
        if new:
            self._replies[key] = reply
            self._answers.append(reply)
            self._boundary = None
            self._go_to(parent, draft)
            self.script.add(draft)
        return draft

    def _continues(self, reply: _Reply, line: Line) -> bool:
        """Whether a line belongs to the same answer as earlier lines with its id.

        Several answers may share an id, such as a redacted one. A line starts a new answer if its
        request id or its prompt counts differ, or if the user has spoken since. Tools of the
        provider let the counts of one answer grow.
        """
        if reply.request and line.request_id and reply.request != line.request_id:
            return False
        if reply.prompts != self._prompts:
            return False
        counts = (line.message or Body()).usage or Counts()
        one, other = (reply.draft.call or Call()).usage or Usage(), usage_of(counts)
        grows = bool(counts.searches) or len(counts.iterations or ()) > 1
        return one.prompt == other.prompt or not (one.prompt and other.prompt) or grows

    def _count(self, reply: _Reply, line: Line) -> None:
        """Take the request data from a line of an answer; earlier lines may have more."""
        body, before = line.message or Body(), reply.draft.call
        counts = body.usage or Counts()
        usage, model = usage_of(counts), priced(body.model or "", counts)
        if before and before.usage:
            usage = largest(before.usage, usage)
        if before and before.model.startswith(f"{model}+"):
            model = before.model  # not all lines of a call need the speed
        reply.request = line.request_id or reply.request
        reply.session = reply.session or line.session_id or ""
        if counts.iterations or counts.searches:
            reply.counts = counts
        version = f"claude-code {line.version}" if line.version else ""
        thinking = compact(line.effort) if line.effort is not None else self._thinking
        restarted = before.restarted if before else self.starts.answered()
        diagnosis = _diagnosis(body) or (before.diagnosis if before else None)
        inherited = self._inherited(line) or bool(before and before.inherited)
        about = version, thinking, restarted, diagnosis, tier_of(counts), body.id or "", inherited
        reply.draft.call = Call(model, usage, ttl_of(usage), *about)

    def _inherited(self, line: Line) -> bool:
        """Whether a line was copied from the session that this one was forked from."""
        source = line.forked_from.session_id if line.forked_from else None
        if not source:
            return False
        self.script.parent = self.script.parent or source
        return True

    # Messages

    def _user(self, line: Line, parent: Draft | None) -> Draft | None:
        blocks, time = listed(_body(line).content), seconds(line.timestamp)
        if line.is_compact_summary:
            self._summary(line, blocks, time)
            return self.script.last
        if line.is_visible_in_transcript_only:
            return None
        made = None
        for block in blocks:
            if block.type == "tool_result":
                draft = self.script.draft("tool", line.uuid, time)
                self.script.add(draft, result_of(block, draft.id, self._lines))
                made = self._results[block.tool_use_id or ""] = draft
        rest = [block for block in blocks if block.type != "tool_result"]
        said = self._heard(line, rest, parent, time, answers=made is not None) if rest else None
        return said or made

    def _heard(
        self, line: Line, blocks: list[Block], parent: Draft | None, time: float, answers: bool
    ) -> Draft | None:
        text = next((block.text for block in blocks if block.text), "")
        by_client = dict_of(line.origin).get("kind") not in (None, "human")
        meta = bool(line.is_meta) or text.startswith(_NOT_TYPED) or by_client
        draft = self.script.draft("user", line.uuid, time, meta)
        draft.parts = parts(blocks, draft.id, self._lines)
        if text.startswith(_BROKEN_OFF):
            draft.origin = INTERRUPTED
            self.starts.broken_off()
        self._heed(line, meta)
        if not draft.parts:
            return None
        if self._boundary and meta and not text.startswith(_LOCAL):
            self._boundary.inserted.append(draft)
            return None
        if not meta:
            self._boundary = None
        if not answers:
            self._go_to(parent, draft, root=line.parent_uuid is None and not meta)
        return self.script.add(draft)

    def _heed(self, line: Line, meta: bool) -> None:
        """Note the settings in a message that apply to later requests."""
        if line.thinking_metadata is not None:
            self._thinking = compact(line.thinking_metadata)
        if not meta:
            self.starts.spoken()
            self._prompts += 1

    def _attachment(self, line: Line, parent: Draft | None) -> Draft | None:
        if line.attachment is None:
            raise InputError("a line of type 'attachment' has no attachment")
        self.starts.saw(line.attachment.get("hookName"))
        if line.attachment.get("type") == SYSTEM_PROMPT:
            self._system_prompt(line.attachment)
        text, typed = attached_text(line.attachment, self._lines, line.rendered)
        return self._noted(line, parent, text, meta=not typed) if text else None

    def _noted(self, line: Line, parent: Draft | None, text: str, meta: bool) -> Draft | None:
        meta = meta or text.startswith(_NOT_TYPED)
        draft = self.script.draft("user", line.uuid, seconds(line.timestamp), meta)
        draft.parts = [verbatim(draft.id, "text", text)]
        if self._boundary and meta and not text.startswith(_LOCAL):
            self._boundary.inserted.append(draft)
            return None
        if line.type == "system":
            self._go_to(parent, draft)
        return self.script.add(draft)

    def _system_prompt(self, snapshot: dict[str, Any]) -> None:
        """Take the system prompt and the tools; only the first ones are used."""
        names = {"systemPrompt": "", "tools": "tools"}
        texts = {names[key]: compact(snapshot[key]) for key in names if snapshot.get(key)}
        if not self.script.system:
            self.script.system = [
                verbatim(SYSTEM, "text", text, name=name) for name, text in texts.items()
            ]
        elif not self._lines.strict and set(texts.values()) - {p.text for p in self.script.system}:
            self._lines.pass_over(f"attachment {SYSTEM_PROMPT!r} after the first", texts)

    # Notes of the client, and their effects on the context

    def _system(self, line: Line, parent: Draft | None) -> Draft | None:
        if line.subtype == "compact_boundary":
            self._open_boundary(line)
            return self.script.last
        if line.subtype == "microcompact_boundary":
            about = line.microcompact_metadata or _Cleared()
            self._context.edit(
                seconds(line.timestamp),
                gone=self._on_branch(about.cleared_attachment_uuids or ()),
                cleared=about.compacted_tool_ids or (),
                trigger=about.trigger or "",
            )
        elif line.snip_metadata is not None:
            return self._retract(line.snip_metadata.removed_uuids, line)
        elif line.retracted_message_uuids:
            return self._retract(line.retracted_message_uuids, line)
        elif line.subtype == "local_command":
            text = line.content if isinstance(line.content, str) else ""
            return self._noted(line, parent, text, meta=True) if text else None
        elif line.subtype == "stop_hook_summary":
            self.starts.stopped()
        return None

    def _on_branch(self, uuids: Iterable[str]) -> list[Draft]:
        """Return the messages of lines that are on the branch."""
        drafts = dict.fromkeys(self._at.get(uuid) for uuid in uuids if uuid not in self._wordless)
        return [draft for draft in drafts if draft and self.script.has(draft)]

    def _retract(self, uuids: list[str], line: Line | None = None) -> Draft | None:
        """Remove messages from the context: rewind if they are its end, else record an edit."""
        gone = self._on_branch(uuids)
        if not gone:
            return self.script.last
        first = min(gone, key=lambda draft: draft.depth)
        if set(self.script.path[first.depth :]) <= set(gone):
            self.script.rewind(first.before)
            self._at |= dict.fromkeys(uuids, self.script.last)
        else:
            self._context.edit(seconds(line.timestamp) if line else 0.0, gone=gone)
        return self.script.last

    def replace_results(self, replacements: list[Any]) -> None:
        """Take the texts that the client sent instead of tool results."""
        for each in replacements:
            id, text = each.get("toolUseId"), each.get("replacement")
            draft = self._results.get(id) if isinstance(id, str) else None
            if draft is None or not isinstance(text, str) or draft.parts[0].text == text:
                continue
            if (self.script.last or draft).reply > draft.depth:
                self._context.edit(draft.time, cleared=(id,), stub=text)
                continue
            if not self._lines.strict:
                kind = "result of a tool that was replaced before the model saw it"
                self._lines.pass_over(kind, draft.parts[0].text)
            draft.parts[0] = msgspec.structs.replace(draft.parts[0], text=text)

    def collapse(self, record: dict[str, Any]) -> None:
        span = [record.get(f"{end}ArchivedUuid") for end in ("first", "last")]
        first, last = (self._at.get(uuid) if isinstance(uuid, str) else None for uuid in span)
        text = record.get("summaryContent")
        if not (first and last and isinstance(text, str) and self.script.has(last)):
            raise RefusedError("Claude Code collapsed messages that are not in its transcript")
        gone = self.script.path[first.depth : last.depth + 1]
        self._context.edit(self.script.path[-1].time, gone=gone, summary=text)

    def _go_to(self, parent: Draft | None, draft: Draft, root: bool = False) -> None:
        """Rewind if a line's parent is further back than parallel tool calls explain.

        The lines of one call and its results may have each other as parents in any order. Within
        this group, and after it, a parent further back does not mean a rewind.
        """
        last = self.script.last
        if last is None or (parent is last and not root):
            return
        depth = parent.depth if parent and not root else -1
        newest = last.reply if draft.role == "assistant" else max(last.reply, last.turn)
        if depth >= newest and self.script.has(parent):
            return
        to = None if root else parent
        self.script.rewind(self._with_results(to))

    def _with_results(self, to: Draft | None) -> Draft | None:
        path = self.script.path
        if to and to.role != "user" and self.script.has(to):
            while to.depth + 1 < len(path) and path[to.depth + 1].role == "tool":
                to = path[to.depth + 1]
        return to

    def _open_boundary(self, line: Line) -> None:
        about = line.compact_metadata or Compacted()
        kept = about.preserved_messages or Kept()
        held = self._on_branch((*(kept.uuids or ()), *(kept.all_uuids or ())))
        segment = about.preserved_segment or Kept()  # superseded by the messages
        found = held or self._on_branch((segment.head_uuid or "",))
        first = min(found, key=lambda draft: draft.depth, default=None)
        gaps = held and first and set(self.script.path[first.depth :]) > set(held)
        self._boundary = self._context.compact(
            seconds(line.timestamp),
            kept=None if gaps else first,
            trigger=about.trigger or "",
            tokens_before=about.pre_tokens or 0,
        )
        if gaps:
            self._context.keep(self._boundary, held)

    def _summary(self, line: Line, blocks: list[Block], time: float) -> None:
        if self._boundary is None:
            self._boundary = self._context.compact(time)
        draft = self.script.draft("user", line.uuid, time, meta=True)
        covered = self._boundary.covered or (Source(draft.id),)
        draft.parts = [
            msgspec.structs.replace(part, kind="summary", sources=covered)
            for part in parts(blocks, draft.id, self._lines)
        ]
        if draft.parts:
            self._boundary.inserted.insert(0, draft)


def _body(line: Line) -> Body:
    body = line.message or Body()
    given(body.content, f"the message of a line of type {line.type!r}")
    return body


def _diagnosis(body: Body) -> Diagnosis | None:
    missed = body.diagnostics.cache_miss_reason if body.diagnostics else None
    if missed is None or not missed.type:
        return None
    return Diagnosis(missed.type, missed.cache_missed_input_tokens or 0)


def _check_edits(body: Body) -> None:
    """Refuse an answer before which the provider made an unknown edit of the context."""
    for edit in dict_of(body.context_management).get("applied_edits") or ():
        kind = str(edit.get("type") if isinstance(edit, dict) else edit)
        if not kind.startswith(_THINKING_CLEARED):
            raise RefusedError(f"Claude Code: the provider edited the context ({kind!r})")
