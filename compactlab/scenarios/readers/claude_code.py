"""Transcripts of Claude Code: one line per content block, hung in a tree by ``parentUuid``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.blocks import (
    Block,
    Given,
    Tokens,
    compact,
    given,
    listed,
    parts,
    result_of,
)
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
from compactlab.scenarios.readers.starts import Starts
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import (
    INTERRUPTED,
    Call,
    Diagnosis,
    Source,
    Usage,
    verbatim,
)


class Written(msgspec.Struct):
    """Cache writes by lifetime of the entry."""

    ephemeral_5m_input_tokens: Tokens | None = None
    ephemeral_1h_input_tokens: Tokens | None = None


class Counts(msgspec.Struct):
    """The usage of a call, as the API reports it."""

    input_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    cache_read_input_tokens: Tokens | None = None
    cache_creation_input_tokens: Tokens | None = None
    cache_creation: Written | None = None
    speed: str | None = None
    service_tier: str | None = None


class Missed(msgspec.Struct):
    """Why the provider did not read all that it had stored."""

    type: str | None = None
    cache_missed_input_tokens: Tokens | None = None


class Diagnostics(msgspec.Struct):
    """What the provider says of a request."""

    cache_miss_reason: Missed | None = None


class Body(msgspec.Struct):
    """The message of a line."""

    id: str | None = None
    model: str | None = None
    content: Given = msgspec.UNSET
    usage: Counts | None = None
    diagnostics: Diagnostics | None = None


class Kept(msgspec.Struct, rename="camel"):
    """The messages that a compaction left as they were."""

    head_uuid: str | None = None


class Compacted(msgspec.Struct, rename="camel"):
    """What a boundary tells of its compaction."""

    trigger: str | None = None
    pre_tokens: Tokens | None = None
    preserved_segment: Kept | None = None


class Node(msgspec.Struct, rename="camel"):
    """Where a line hangs in the tree."""

    type: str = ""
    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    is_sidechain: bool | None = None
    agent_id: str | None = None
    cwd: Any = None


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
    message: Body | None = None
    attachment: dict[str, Any] | None = None


# What Claude Code attaches to a prompt on its own: the text of it, as far as it is recorded.

# Shown to the user, or kept for the client; never sent to the model.
_UNSEEN = (
    "command_permissions",
    "hook_system_message",
    "hook_cancelled",
    "hook_non_blocking_error",
    "hook_error_during_execution",
    "dynamic_skill",
)
# Where the various types keep their text; the first that is there is taken.
_FIELDS = (
    "content",
    "snippet",
    "prompt",
    "addedBlocks",
    "addedLines",
    "skills",
    "planContent",
    "blockingError",
    "files",
    "text",
    "message",
)
# What has words for the model, if only an empty list of them.
_WORDED = (
    "agent_listing_delta",
    "deferred_tools_delta",
    "edited_text_file",
    "file",
    "hook_additional_context",
    "hook_success",
    "invoked_skills",
    "mcp_instructions_delta",
    "nested_memory",
    "queued_command",
    "skill_listing",
    "task_reminder",
    "todo_reminder",
)
_INSIDE = ("content", "text", "file", "blockingError")


def attached_text(attachment: dict[str, Any]) -> tuple[str, bool]:
    r"""Find the text of an attachment, and say whether a person typed it.

    A prompt typed while the agent was at work comes as an attachment of type ``queued_command``.
    Client texts around the content are not recorded, and hence not in it.
    """
    kind = attachment.get("type")
    if kind in _UNSEEN:
        return "", False
    given = [attachment[field] for field in _FIELDS if attachment.get(field) is not None]
    deep = any(isinstance(value, dict) for value in attachment.values())
    untold = not given and (deep if not kind else kind in _WORDED)
    if untold or not all(map(_holds, given)):
        raise InputError(f"an attachment of type {kind!r} has its text under no known name")
    text = next((text for field in _FIELDS if (text := _text(attachment.get(field)))), "")
    label = attachment.get("filename") or attachment.get("path")
    if text and isinstance(label, str):
        text = f"{label}\n{text}"
    return text, kind == "queued_command"


def _holds(value: Any) -> bool:
    """Whether a field that is an object has its text, or its file, under a known name."""
    if not isinstance(value, dict):
        return True
    return any(key == "file" or _holds(value[key]) for key in _INSIDE if key in value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, map(_text, value)))
    if isinstance(value, dict):
        return next((text for field in _INSIDE if (text := _text(value.get(field)))), "")
    return ""


NAME = "claude-code"

# What the client writes into the user's place: nobody typed it.
_LOCAL = (
    "<local-command-",
    "<command-name>",
    "<command-message>",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
)
_BROKEN_OFF = "[Request interrupted by user"
_NOT_TYPED = (*_LOCAL, "<task-notification>", "<system-reminder>", _BROKEN_OFF)


_NODE, _LINE = decoder(Node), decoder(Line)
# The lines that must hold something, and where; what is spoken has content there.
_HOLDERS = {
    "user": "message",
    "assistant": "message",
    "attachment": "attachment",
    "progress": "data",
}
_SPOKEN = ("user", "assistant")
_SAID = {*_SPOKEN, "attachment"}
_READ = {*_SAID, "system"}
_HANGING = {*_READ, "progress"}  # the lines of the tree; all others are bookkeeping
# The speed at which a request is billed at the list price, and how others are told.
_USUAL_SPEED = "standard"
_USUAL_TIER = "standard"
_PRICED_TIERS = ("batch",)  # at a published share of the list price; what others cost is agreed


def sniff(first: list[Any]) -> bool:
    """Say whether the first values of a file look like this format."""
    return any(isinstance(value, dict) and _is_own(value) for value in first)


def _is_own(record: dict[str, Any]) -> bool:
    """Whether a line is one that nobody else writes; Qwen Code's tree has no `content` in it."""
    kind = record.get("type")
    if kind == "summary":
        return isinstance(record.get("leafUuid"), str)
    hangs = "parentUuid" in record or isinstance(record.get("sessionId"), str)
    holder = record.get(_HOLDERS.get(kind, "") if isinstance(kind, str) else "")
    inside = isinstance(holder, dict) and (kind not in _SPOKEN or "content" in holder)
    return isinstance(record.get("uuid"), str) and hangs and inside


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Yield the main conversation of a transcript, then its sidechains."""
    threads = {"": _Thread()}
    thread_of: dict[str, str] = {}
    tree = Tree()
    for number, data in lines:
        with lines.at(number):
            node = jsonl.decode(data, _NODE)
            if not _hangs(node) or not node.uuid or node.uuid in thread_of:
                continue  # bookkeeping, or a line that a resumed session wrote again
            tree.hang(node.uuid, node.parent_uuid)
            line = jsonl.decode(data, _LINE) if node.type in _READ else node
            key = _thread_key(node, thread_of)
            thread = threads.setdefault(key, _Thread())
            thread.script.locate(node.cwd)
            thread.script.subagent = bool(key)
            if node.type == "progress":
                thread.starts.progress(data)
            thread.take(line)
            thread_of[node.uuid] = key
    main = threads.pop("")
    sidechains = {f"#sidechain-{n}": thread for n, thread in enumerate(threads.values(), 1)}
    for suffix, thread in {"": main, **sidechains}.items():
        if thread.script.path or not sidechains:
            inside = thread.first_parent is not None and thread.first_parent not in thread_of
            yield thread.script.conversation(
                lines.path.stem + suffix, NAME, lines.path, inside=inside
            )


def _hangs(node: Node) -> bool:
    """Whether a line is one of the tree; what is of no known type there may be words."""
    if not node.type:
        raise InputError("a line has no type")
    if node.type in _SAID and not node.uuid:
        raise InputError(f"a line of type {node.type!r} has no uuid")
    if node.uuid and node.type not in _HANGING:
        raise InputError(f"a line of type {node.type!r} is not known")
    return bool(node.uuid)


def _thread_key(node: Node, thread_of: dict[str, str]) -> str:
    if not node.is_sidechain:
        return ""
    return node.agent_id or thread_of.get(node.parent_uuid or "") or node.uuid or ""


class _Thread:
    """One conversation of the file: where its lines hang, and what is still growing."""

    def __init__(self) -> None:
        self.script = Script()
        self.first_parent: str | None = None
        self._at: dict[str, Draft | None] = {}
        self._replies: dict[tuple[str, str], Draft] = {}
        self._boundary: Boundary | None = None
        self._thinking = ""
        self.starts = Starts()

    def take(self, line: Node) -> None:
        """Take the next line of this conversation."""
        if not self._at:
            self.first_parent = line.parent_uuid or line.logical_parent_uuid
        parent = self._at.get(line.parent_uuid or "", self.script.last)
        here = parent
        if isinstance(line, Line):
            if line.type == "assistant":
                here = self._assistant(line, parent)
            elif line.type == "user":
                here = self._user(line, parent)
            elif line.type == "attachment":
                here = self._attachment(line, parent)
            elif line.subtype == "compact_boundary":
                self._open_boundary(line)
                here = self.script.last
            elif line.subtype == "stop_hook_summary":
                self.starts.stopped()
        self._at[line.uuid or ""] = here

    def _assistant(self, line: Line, parent: Draft | None) -> Draft | None:
        if line.is_api_error_message:
            self.starts.broken_off()
            return parent  # shown to the user; never sent to the model
        body = _body(line)
        key = (body.id or line.uuid or "", line.request_id or "")
        usage = _usage(body.usage or Counts())
        draft = self._replies.get(key)
        if draft is None:
            draft = self.script.draft("assistant", body.id or line.uuid)
        spoken = parts(body.content, draft.id)
        if body.model != "<synthetic>":
            model = _at_speed(body.model or "", (body.usage or Counts()).speed)
            if draft.call and draft.call.usage:
                usage = _largest(draft.call.usage, usage)
            if draft.call and draft.call.model.startswith(f"{model}+"):
                model = draft.call.model  # not all lines of a call need tell its speed
            draft.call = self._call(line, model, usage, draft.call)
            self.starts.finish(any(part.type == "tool_call" for part in (*draft.parts, *spoken)))
        elif not spoken:
            return parent
        draft.parts += spoken
        draft.time = max(draft.time, seconds(line.timestamp))
        if key not in self._replies:
            self._replies[key] = draft
            self._boundary = None
            self._go_to(parent, draft)
            self.script.add(draft)
        return draft

    def _call(self, line: Line, model: str, usage: Usage, before: Call | None) -> Call:
        """The request of an answer, of which an earlier line may have told."""
        version = f"claude-code {line.version}" if line.version else ""
        thinking = compact(line.effort) if line.effort is not None else self._thinking
        body = line.message or Body()
        tier = (body.usage or Counts()).service_tier or ""
        return Call(
            f"{model}+{tier}" if tier in _PRICED_TIERS and model else model,
            usage,
            _ttl(usage),
            version,
            thinking,
            before.restarted if before else self.starts.answered(),
            _diagnosis(body) or (before.diagnosis if before else None),
            "" if tier == _USUAL_TIER else tier,
        )

    def _user(self, line: Line, parent: Draft | None) -> Draft | None:
        blocks, time = listed(_body(line).content), seconds(line.timestamp)
        if line.is_compact_summary:
            self._summary(line, blocks, time)
            return self.script.last
        if line.is_visible_in_transcript_only:
            return parent
        here = parent
        for block in blocks:
            if block.type == "tool_result":
                draft = self.script.draft("tool", line.uuid, time)
                draft.parts = result_of(block, draft.id)
                here = self.script.add(draft)
        rest = [block for block in blocks if block.type != "tool_result"]
        return self._heard(line, rest, here, time, answers=here is not parent) if rest else here

    def _heard(
        self, line: Line, blocks: list[Block], parent: Draft | None, time: float, answers: bool
    ) -> Draft | None:
        text = next((block.text for block in blocks if block.text), "")
        meta = bool(line.is_meta) or text.startswith(_NOT_TYPED) or _sent_by_client(line.origin)
        draft = self.script.draft("user", line.uuid, time, meta)
        draft.parts = parts(blocks, draft.id)
        if text.startswith(_BROKEN_OFF):
            draft.origin = INTERRUPTED
            self.starts.broken_off()
        self._heed(line, meta)
        if not draft.parts:
            return parent
        if self._boundary and meta and not text.startswith(_LOCAL):
            self._boundary.inserted.append(draft)
            return parent
        if not meta:
            self._boundary = None
        if not answers:
            self._go_to(parent, draft, root=line.parent_uuid is None and not meta)
        return self.script.add(draft)

    def _heed(self, line: Line, meta: bool) -> None:
        """Note what a message says of the requests that follow it."""
        if line.thinking_metadata is not None:
            self._thinking = compact(line.thinking_metadata)
        if not meta:
            self.starts.spoken()

    def _attachment(self, line: Line, parent: Draft | None) -> Draft | None:
        if line.attachment is None:
            raise InputError("a line of type 'attachment' has no attachment")
        self.starts.saw(line.attachment.get("hookName"))
        text, typed = attached_text(line.attachment)
        if not text:
            return parent
        meta = not typed or text.startswith(_NOT_TYPED)
        draft = self.script.draft("user", line.uuid, seconds(line.timestamp), meta)
        draft.parts = [verbatim(draft.id, "text", text)]
        if self._boundary and meta:
            self._boundary.inserted.append(draft)
            return parent
        return self.script.add(draft)

    def _go_to(self, parent: Draft | None, draft: Draft, root: bool = False) -> None:
        """Rewind if a line continues from further back than parallel tool calls explain.

        The lines of one call and its results hang from each other in any order; all of that,
        and what came after it, is the group in which hanging further back means nothing.
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
        head = about.preserved_segment.head_uuid if about.preserved_segment else None
        first_kept = self._at.get(head or "")
        self._boundary = self.script.compact(
            seconds(line.timestamp),
            kept=first_kept if first_kept and self.script.has(first_kept) else None,
            trigger=about.trigger or "",
            tokens_before=about.pre_tokens or 0,
        )

    def _summary(self, line: Line, blocks: list[Block], time: float) -> None:
        if self._boundary is None:
            self._boundary = self.script.compact(time)
        draft = self.script.draft("user", line.uuid, time, meta=True)
        covered = self._boundary.covered or (Source(draft.id),)
        for part in parts(blocks, draft.id):
            draft.parts.append(msgspec.structs.replace(part, kind="summary", sources=covered))
        if draft.parts:
            self._boundary.inserted.insert(0, draft)


def _sent_by_client(origin: object) -> bool:
    return isinstance(origin, dict) and origin.get("kind") not in (None, "human")


def _body(line: Line) -> Body:
    """The message of a line, which must have content."""
    body = line.message or Body()
    given(body.content, f"the message of a line of type {line.type!r}")
    return body


def _diagnosis(body: Body) -> Diagnosis | None:
    """Why the cache missed, as the provider says."""
    missed = body.diagnostics.cache_miss_reason if body.diagnostics else None
    if missed is None or not missed.type:
        return None
    return Diagnosis(missed.type, missed.cache_missed_input_tokens or 0)


def _at_speed(model: str, speed: str | None) -> str:
    """The name of a model at a speed, which is billed at a price of its own: ``NAME+fast``."""
    if not model or speed in (None, "", _USUAL_SPEED):
        return model
    if not speed.isalnum():
        raise InputError(f"{speed!r} is no speed of a request")
    return f"{model}+{speed}"


def _usage(counts: Counts) -> Usage:
    written = counts.cache_creation or Written()
    hour, minutes = written.ephemeral_1h_input_tokens or 0, written.ephemeral_5m_input_tokens or 0
    # Old versions give the total alone; then the lifetime was five minutes.
    rest = max(0, (counts.cache_creation_input_tokens or 0) - hour - minutes)
    cache_misses, read = counts.input_tokens or 0, counts.cache_read_input_tokens or 0
    return Usage(cache_misses, read, minutes + rest, hour, counts.output_tokens or 0)


def _ttl(usage: Usage) -> Literal["", "5m", "1h"]:
    if usage.cache_write_1h:
        return "1h"
    return "5m" if usage.cache_write_5m else ""


def _largest(one: Usage, other: Usage) -> Usage:
    return Usage(*map(max, msgspec.structs.astuple(one), msgspec.structs.astuple(other)))


FORMAT = Format(
    NAME,
    "transcripts of Claude Code (JSONL), each sidechain a conversation of its own",
    sniff,
    read,
)
