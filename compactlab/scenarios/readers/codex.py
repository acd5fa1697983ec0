"""Rollouts of Codex: items of a thread, with counts of tokens between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.blocks import (
    Block,
    Content,
    Given,
    compact,
    given,
    opaque,
    parts,
    result,
    tool_call,
)
from compactlab.scenarios.readers.codex_fork import Fork, number_of
from compactlab.scenarios.readers.counts import Tokens, within
from compactlab.scenarios.readers.script import SYSTEM, Boundary, Draft, Format, Home, Script
from compactlab.scenarios.readers.shapes import any_is
from compactlab.scenarios.readers.times import Moment, decoder, seconds
from compactlab.scenarios.readers.unread import edit_refused
from compactlab.sim.core.conversation import Conversation, SideRequest
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Part, Role, Usage, verbatim

NAME = "codex"

_COUNT = re.compile(rb'"type"\s*:\s*"token_(?:count|usage_record)"')
_ITEMS = ("response_item", "inter_agent_communication")
_UNTYPED = ("session_meta", "turn_context", "compacted")  # their payloads need no type
_LINES = (*_UNTYPED, *_ITEMS, "event_msg", "token_usage_record")
# Notes of the client about the content of other lines.
_LEFT_OUT = {"inter_agent_communication_metadata", "world_state"}
_OPAQUE = {"compaction", "compaction_summary", "context_compaction"}  # an encrypted summary
# Tools whose calls and results have the usual fields.
_TOOLS = (
    "code_interpreter_", "computer_", "custom_tool_", "file_search_", "function_",
    "image_generation_", "local_shell_", "mcp_", "tool_", "web_search_",
)  # fmt: skip
_ARGUED = {"function_call", "custom_tool_call", "tool_call"}
# Items without text for the model.
_NO_MESSAGES = {"ghost_snapshot", "compaction_trigger", *_OPAQUE}
_ROLES = {"user", "assistant", "developer", "system"}
_EVENTS = {"token_count", "task_started", "turn_started", "turn_aborted", "thread_rolled_back"}
# Events for the user that repeat items, or show the client's state.
_QUIET_EVENTS = (
    "agent_", "apply_patch_", "background_event", "collab_", "context_compacted", "deprecation_",
    "dynamic_tool_call_", "elicitation_", "entered_review_mode", "error", "exec_",
    "exited_review_mode", "guardian_", "hook_", "image_generation_", "item_", "list_", "mcp_",
    "model_", "patch_apply_", "plan_", "raw_response_item", "realtime_", "reasoning_", "request_",
    "safety_", "session_configured", "shutdown_complete", "stream_error", "sub_agent_activity",
    "task_complete", "terminal_interaction", "thread_goal_", "thread_name_", "thread_settings_",
    "turn_", "undo_", "user_message", "view_image_", "warning", "web_search_",
)  # fmt: skip
# An unknown line with such a name changes the context; ignoring it would make prompts wrong.
_EDITS = re.compile(r"compact|roll(ed)?_?back|rewind|revert|truncat|undo|prune|clear|context_edit")
# Text fields of items, by type. Summaries of reasoning are for the user; generated images and
# encrypted content are not text.
_FIELDS = {
    "message": {"content"},
    "agent_message": {"content", "encrypted_content"},
    "reasoning": {"content", "summary", "encrypted_content"},
    "additional_tools": {"tools"},
    "configuration_update": {"reasoning"},
    "image_generation_call": {"result", "revised_prompt"},
}
_FIELDS_OF_CALLS = {"arguments", "input", "action", "encrypted_function_args"}
_FIELDS_OF_OUTPUTS = {"output", "tools"}
_FIELDS_OF_ALL = {"internal_chat_message_metadata_passthrough"}
# Texts that the client writes with the user role; no person typed them.
_NOT_TYPED = (
    "# AGENTS.md instructions", "<INSTRUCTIONS>", "<environment_context>", "<skill>",
    "<subagent_notification>", "<turn_aborted>", "<user_instructions>", "<user_shell_command>",
)  # fmt: skip


class Counts(msgspec.Struct, frozen=True):
    """Tokens of requests; cache reads and writes are part of the input."""

    input_tokens: Tokens = 0
    cached_input_tokens: Tokens = 0
    cache_write_input_tokens: Tokens = 0
    output_tokens: Tokens = 0

    @property
    def usage(self) -> Usage:
        """The tokens by billing class."""
        read, written = self.cached_input_tokens, self.cache_write_input_tokens
        return within(self.input_tokens, self.output_tokens, read, written)


class _Counts(Counts, frozen=True):
    reasoning_output_tokens: Tokens = 0
    total_tokens: Tokens = 0


class _Info(msgspec.Struct):
    total_token_usage: _Counts | None = None
    last_token_usage: _Counts | None = None


class _Usage(msgspec.Struct):
    response_id: str | None = None
    usage: _Counts | None = None


class _Instructions(msgspec.Struct):
    text: str | None = None


class _Output(msgspec.Struct):
    content: Given = msgspec.UNSET
    text: str | None = None
    success: bool | None = None


class _Item(msgspec.Struct):
    """The payload of a line: an item of the thread, an event, or settings of the turn."""

    type: str = ""
    role: str | None = None
    id: str | None = None
    content: Given = msgspec.UNSET
    summary: Any = None
    encrypted_content: str | None = None
    name: str | None = None
    call_id: str | None = None
    arguments: Any = None
    input: str | None = None
    action: Any = None
    output: str | list[Block] | _Output | msgspec.UnsetType | None = msgspec.UNSET
    tools: Any = None
    info: _Info | None = None
    num_turns: int | None = None
    model: str | None = None
    effort: str | None = None
    cli_version: str | None = None
    base_instructions: _Instructions | None = None
    instructions: str | None = None
    message: str | None = None
    replacement_history: list[Any] | None = None
    cwd: Any = None
    source: Any = None
    reasoning: Any = None
    forked_from_id: str | None = None
    history_base: Any = None
    subagent_history_start_ordinal: Any = None
    thread_id: str | None = None
    turn_id: str | None = None
    response_id: str | None = None
    usage: _Counts | None = None
    compaction_response_id: str | None = None
    latest_token_usage_record: _Usage | None = None
    rollback_start_index: Any = None


class _Kind(msgspec.Struct):
    type: str = ""


class _Head(msgspec.Struct):
    type: str = ""
    payload: _Kind | None = None


class _Line(msgspec.Struct):
    type: str
    payload: _Item
    timestamp: Moment | None = None
    ordinal: Any = None


class _Fields(msgspec.Struct):
    payload: dict[str, Any]


_HEAD, _LINE, _FIELDS_OF = decoder(_Head), decoder(_Line), decoder(_Fields)


def _is_own(record: dict[str, Any]) -> bool:
    kind, payload = record.get("type"), record.get("payload")
    if not isinstance(payload, dict) or not isinstance(kind, str) or "timestamp" not in record:
        return False
    return kind in _UNTYPED or (kind in _LINES and isinstance(payload.get("type"), str))


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Yield the conversation of a rollout."""
    rollout = _Rollout(lines, counts=any(_COUNT.search(data) for _, data in lines))
    for number, data in lines:
        with lines.at(number):
            head = jsonl.decode(data, _HEAD)
            if _is_read(head, data, lines):
                rollout.take(jsonl.decode(data, _LINE))
            rollout.lines += 1
    rollout.finish()
    inside = not rollout.has_start
    yield rollout.script.conversation(lines.path.stem, NAME, lines.path, inside=inside)


def _is_read(head: _Head, data: bytes, lines: jsonl.Lines) -> bool:
    """Return whether a line is read; an unknown line is counted."""
    kind = (head.payload or _Kind()).type
    if head.type == "response_item":
        return _is_item(kind, jsonl.decode(data, _FIELDS_OF).payload, lines)
    if head.type == "event_msg":
        if kind not in _EVENTS and not kind.startswith(_QUIET_EVENTS):
            _pass_over(lines, f"event {kind!r}", jsonl.decode(data, jsonl.ANY))
        return kind in _EVENTS
    if head.type not in _LINES and head.type not in _LEFT_OUT:
        _pass_over(lines, f"record {head.type!r}", jsonl.decode(data, jsonl.ANY))
    return head.type in _LINES


def _is_item(kind: str, fields: dict[str, Any], lines: jsonl.Lines) -> bool:
    known = _FIELDS.get(kind)
    general = _FIELDS_OF_CALLS if kind.endswith("_call") else None
    general = _FIELDS_OF_OUTPUTS if kind.endswith("_output") else general
    if known is None and general is not None and not kind.startswith(_TOOLS):
        # An unknown tool may have text in any field.
        rest = {key: value for key, value in fields.items() if key not in general | _FIELDS_OF_ALL}
        if rest:
            _pass_over(lines, f"item {kind!r}", rest)
        return True
    known = known or general
    if known is not None:
        lines.pass_over_fields(fields, known | _FIELDS_OF_ALL, f"an item of type {kind!r}")
    elif kind not in _NO_MESSAGES:
        _pass_over(lines, f"item {kind!r}", fields)
    return known is not None


def _pass_over(lines: jsonl.Lines, what: str, value: Any) -> None:
    if _EDITS.search(what):
        told = f"Codex wrote the {what}, which is not known and seems to change the context"
        raise edit_refused(told, "rollout")
    lines.pass_over(what, value)


class _Rollout:
    """A thread. An answer grows until its tokens are counted.

    In a rollout without counts (``counts=False``) it grows until a tool answers.
    """

    def __init__(self, lines: jsonl.Lines, counts: bool) -> None:
        self.script = Script()
        self.has_start = False
        self.lines = 0
        self._lines = lines
        self._counts = counts
        self._fork = Fork()
        self._model = self._effort = self._version = ""
        self._total: _Counts | None = None
        self._answer: Draft | None = None
        self._asked = False  # whether a user message came after the answer began
        self._told: set[str] = set()  # ids of messages between agents
        # The newest answer with a usage record, and whether a second count of it is expected.
        self._recorded: Draft | None = None
        self._counted_again = False
        # The latest request with a usage record but without an answer.
        self._unanswered: SideRequest | None = None
        self._usage: _Counts | None = None

    def take(self, line: _Line) -> None:
        item, time = line.payload, seconds(line.timestamp)
        if line.type != "session_meta":
            where = number_of(line.ordinal), item.turn_id, item.thread_id or ""
            self._fork.pass_line(time, *where)
        if line.type == "event_msg" and item.type == "token_count":
            self._count(item.info or _Info(), time)
            return
        if line.type == "compacted":
            self._compaction(item, time)
        self.finish()
        if line.type == "session_meta":
            self._start(item, time)
        elif line.type == "token_usage_record":
            self._record(item, time)
        elif line.type in _ITEMS:
            self._item(item, time, line.type)
        else:
            self._answer = None  # an answer without counts by now stays uncounted
            if line.type == "turn_context":
                self._model = item.model or self._model
                self._effort = item.effort or self._effort
            elif item.type == "thread_rolled_back":
                self._roll_back(item)

    def finish(self) -> None:
        if self._unanswered is not None:
            self.script.side_requests.append(self._unanswered)
            self._unanswered = None

    def _start(self, item: _Item, time: float) -> None:
        given = item.base_instructions.text if item.base_instructions else item.instructions
        known = {part.text for part in self.script.system}
        own = not self._fork.id and not self.has_start
        if given and own:
            self.script.system.append(verbatim(SYSTEM, "text", given))
        elif given and given not in known:
            self._lines.pass_over("instructions of another thread", given)
        if not own:
            self._fork.pass_header(item.id or "", item.forked_from_id or "")
            return  # a fork repeats the header of its origin
        # Newer versions keep the earlier history in another file.
        self.has_start = not self.lines and item.history_base is None
        self._version = f"codex {item.cli_version}" if item.cli_version else ""
        self.script.locate(item.cwd)
        # `SessionSource` of Codex: a word, or an object that names the sub-agent's caller.
        self.script.subagent = isinstance(item.source, dict) and "subagent" in item.source
        self.script.parent = item.forked_from_id or ""
        first, copied = number_of(item.subagent_history_start_ordinal), item.history_base is None
        self._fork.open(item.id or "", self.script.parent, time, first, copied)

    def _item(self, item: _Item, time: float, line: str) -> None:
        if item.type == "agent_message" or line == "inter_agent_communication":
            self._relay(item, time)
        elif item.type.endswith("_output"):
            draft = self.script.draft("tool", item.id, time)
            self.script.add(draft, _output(item, draft.id, self._lines))
            if not self._counts:
                self._answer = None
        elif item.type == "message" and item.role not in _ROLES:
            raise InputError(f"{item.role!r} is not a role of a message")
        elif item.type == "message" and item.role != "assistant":
            self._tell(_draft_of(self.script, item, time, self._lines))
        elif item.type in ("message", "reasoning") or item.type.endswith("_call"):
            if self._answer is None or self._asked:
                self._answer = self._begin(item.id, time)
            self._answer.parts += _parts_of(item, self._answer.id, self._lines)
            self._answer.time = max(self._answer.time, time)
        elif item.type == "additional_tools":
            self._tools(item, time)
        else:  # an update of the configuration
            effort = item.reasoning.get("effort") if isinstance(item.reasoning, dict) else None
            self._effort = effort if isinstance(effort, str) else self._effort

    def _tell(self, draft: Draft) -> None:
        if draft.parts:
            self.script.add(draft)
            self._asked = True

    def _relay(self, item: _Item, time: float) -> None:
        """Add a message from one agent to another: an item, or before 0.150 a line of its own."""
        if item.id is None or item.id not in self._told:
            self._told.add(item.id or "")
            item.type, item.role = "agent_message", None
            draft = _draft_of(self.script, item, time, self._lines)
            if item.encrypted_content:
                draft.parts.append(opaque(draft.id, "text", "encrypted_content"))
            self._tell(draft)

    def _tools(self, item: _Item, time: float) -> None:
        """Add tool definitions: at the start to the system prompt, later as a message."""
        text = compact(item.tools)
        if not self.script.events:
            self.script.system.append(verbatim(SYSTEM, "text", text, name="tools"))
        else:
            self.script.say("user", text, item.id, time, meta=True)
            self._asked = True

    def _begin(self, id: str | None, time: float) -> Draft:
        self._asked = self._counted_again = False
        call = None if self._counts else self._call(None)
        return self.script.add(self.script.draft("assistant", id, time, call=call))

    def _call(self, counts: _Counts | None, id: str = "") -> Call:
        about: dict[str, Any] = {"version": self._version, "thinking": self._effort, "id": id}
        usage = counts.usage if counts else None
        return Call(self._model, usage, inherited=self._fork.inherited, **about)

    def _record(self, item: _Item, time: float) -> None:
        """Take the usage record of a request: of the answer that ends here, or of none."""
        if item.usage is None:
            raise InputError("a record of usage has no usage")
        call = self._call(item.usage, item.response_id or "")
        if self._answer is None:
            self._unanswered, self._usage = SideRequest("other", call, time), item.usage
            return
        self._recorded, self._answer = self._answer, None
        self._counted_again = True
        self._recorded.call = call
        self._recorded.parts = _sized(self._recorded, item.usage)

    def _count(self, info: _Info, time: float) -> None:
        total, last = info.total_token_usage, info.last_token_usage
        if total is None or total == self._total:
            return
        self._total = total
        if self._counted_again:
            self._counted_again = False
            return
        request, self._unanswered = self._unanswered, None
        if request is not None and last != self._usage:
            self.script.side_requests.append(request)
            request = None
        answer = self._answer or self._begin(None, time)
        self._answer = None
        # A sub-agent's log repeats its parent's counts without their records; the parent is billed.
        if last is None or (self._fork.inherited and self.script.subagent):
            answer.call = self._call(None)
            return
        # A call without an id is identified by the totals of its thread, which a fork repeats.
        numbers, root = ":".join(map(str, msgspec.structs.astuple(total))), self._fork.root
        id = f"{root}:{numbers}" if root else ""
        answer.call = request.call if request else self._call(last, id)
        answer.parts = _sized(answer, last)

    def _claim(self, item: _Item) -> Call | None:
        """Return the request of a compaction, which token counts leave out (openai/codex#47003)."""
        id, request, answer = item.compaction_response_id, self._unanswered, self._recorded
        if not id:
            return None
        if request is not None and request.call.id == id:
            self._unanswered = None
            return request.call
        if answer is not None and answer.call is not None and answer.call.id == id:
            call, answer.call = answer.call, None  # an interrupted answer before the compaction
            return call
        latest = item.latest_token_usage_record or _Usage()
        return self._call(latest.usage, id) if latest.response_id == id and latest.usage else None

    def _compaction(self, item: _Item, time: float) -> None:
        history = item.replacement_history
        if history is None:
            if not item.message:
                told = "Codex wrote a compaction with neither a message nor a history that is known"
                raise edit_refused(told, "rollout")
            history = [{"type": "message", "role": "user", "content": item.message}]
        boundary = self.script.compact(time, restored="verbatim")
        boundary.call = self._claim(item)
        for value in history:
            draft = self._kept(value, time, boundary)
            boundary.insert(draft, [_as_summary(p, item.message, boundary) for p in draft.parts])

    def _kept(self, value: Any, time: float, boundary: Boundary) -> Draft:
        """Convert an item that a compaction kept or made; an unknown one has no parts."""
        item = _Item()
        try:
            item = msgspec.convert(value, _Item)
            draft = self.script.draft("user", item.id, time, meta=True)
            draft.role, draft.parts = _kept(item, draft.id, boundary, self._lines)
        except (InputError, msgspec.ValidationError):
            if self._lines.strict:
                raise
            self._lines.pass_over("item of a compaction", value)
            draft = self.script.draft("user", item.id, time, meta=True)
        return draft

    def _roll_back(self, item: _Item) -> None:
        if item.rollback_start_index is not None:
            told = "Codex went back by 'rollback_start_index', which is not known"
            raise edit_refused(told, "rollout")
        to, turns = self.script.last, item.num_turns or 0
        while to and turns > 0:
            turns -= to.role == "user" and not to.meta
            to = to.before
        if to is not self.script.last:
            self.script.rewind(to)


def _draft_of(script: Script, item: _Item, time: float, lines: jsonl.Lines) -> Draft:
    draft = script.draft("user", item.id, time)
    content = item.content if item.type in _OPAQUE else given(item.content, "a message")
    draft.parts = parts(content, draft.id, lines)
    text = draft.parts[0].text if draft.parts else ""
    draft.meta = item.role != "user" or text.startswith(_NOT_TYPED)
    return draft


def _kept(item: _Item, id: str, boundary: Boundary, lines: jsonl.Lines) -> tuple[Role, list[Part]]:
    if item.type in _OPAQUE:
        part = opaque(id, "text", "compaction")
        return "user", [msgspec.structs.replace(part, sources=boundary.covered)]
    if item.type.endswith("_output"):
        return "tool", _output(item, id, lines)
    if item.type == "reasoning" or item.type.endswith("_call"):
        return "assistant", _parts_of(item, id, lines)
    role: Role = "assistant" if item.role == "assistant" else "user"
    return role, parts(given(item.content, "a message"), id, lines)


def _parts_of(item: _Item, id: str, lines: jsonl.Lines) -> list[Part]:
    if item.type == "message":
        return parts(given(item.content, "a message"), id, lines)
    if item.type == "reasoning":
        text = "\n".join(part.text for part in parts(item.content, id, lines) if part.text)
        # The model gets the encrypted text back; only its size is known.
        return [verbatim(id, "thinking", text) if text else opaque(id, "thinking", "reasoning")]
    asked = next((x for x in (item.arguments, item.input, item.action) if x is not None), None)
    if asked is None and item.type in _ARGUED:
        raise InputError(f"an item of type {item.type!r} has no arguments")
    tool = item.name or item.type.removesuffix("_call")
    return [tool_call(id, tool, asked, item.call_id or item.id)]


def _output(item: _Item, id: str, lines: jsonl.Lines) -> list[Part]:
    output = item.output if isinstance(item.output, _Output) else _Output(item.output)
    if output.content is msgspec.UNSET and output.text is not None:
        output.content = output.text
    content: Content = compact(item.tools)
    if item.tools is None:
        content = given(output.content, "the output of a tool")
    failed = output.success is False
    return result(content, id, item.call_id or "", error=failed, lines=lines)


def _sized(answer: Draft, counts: _Counts) -> list[Part]:
    """Set the size in tokens of the opaque part of an answer."""
    if not answer.parts:
        return [opaque(answer.id, "text", "empty", counts.output_tokens)]
    sized, size = [], counts.reasoning_output_tokens
    for part in answer.parts:
        if part.kind == "opaque":
            sized.append(msgspec.structs.replace(part, size=size))
            size = 0
        else:
            sized.append(part)
    return sized


def _as_summary(part: Part, summary: str | None, boundary: Boundary) -> Part:
    if not summary or summary not in part.text:
        return part
    sources = boundary.covered or part.sources
    return msgspec.structs.replace(part, kind="summary", sources=sources)


# Homes: Codex' page on configuration; `archived_sessions` second-hand (codex-trace#212).
_HOMES = (Home("codex", ("CODEX_HOME",), ("~/.codex",), ("sessions", "archived_sessions")),)
FORMAT = Format(NAME, "rollouts of Codex (JSONL)", any_is(_is_own), read, homes=_HOMES)
