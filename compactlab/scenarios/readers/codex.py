"""Rollouts of Codex: items of a thread, and counts of tokens between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.blocks import (
    Block,
    Given,
    Tokens,
    compact,
    given,
    opaque,
    parts,
    result,
)
from compactlab.scenarios.readers.script import (
    SYSTEM,
    Boundary,
    Draft,
    Format,
    Moment,
    Script,
    decoder,
    seconds,
)
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Part, Usage, verbatim

NAME = "codex"

_COUNT = re.compile(rb'"type"\s*:\s*"token_count"')
_LINES = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")
_UNTYPED = ("session_meta", "turn_context", "compacted")  # what they hold needs no type
_LEFT_OUT = {"inter_agent_communication_metadata", "world_state"}
_OPAQUE = {"compaction", "context_compaction"}  # a summary that is encrypted
_ARGUED = {"function_call", "custom_tool_call", "tool_call"}
_NO_MESSAGES = {"ghost_snapshot", *_OPAQUE}  # items that tell the model nothing in words
_ROLES = {"user", "assistant", "developer", "system"}
_EVENTS = {"token_count", "task_started", "turn_aborted", "thread_rolled_back"}
# What the client writes into the user's place: nobody typed it.
_NOT_TYPED = (
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
    "<environment_context>",
    "<skill>",
    "<subagent_notification>",
    "<turn_aborted>",
    "<user_instructions>",
    "<user_shell_command>",
)


class _Counts(msgspec.Struct):
    input_tokens: Tokens = 0
    cached_input_tokens: Tokens = 0
    cache_write_input_tokens: Tokens = 0
    output_tokens: Tokens = 0
    reasoning_output_tokens: Tokens = 0
    total_tokens: Tokens = 0


class _Info(msgspec.Struct):
    total_token_usage: _Counts | None = None
    last_token_usage: _Counts | None = None


class _Instructions(msgspec.Struct):
    text: str | None = None


class _Output(msgspec.Struct):
    content: Given = msgspec.UNSET
    text: str | None = None
    success: bool | None = None


class _Item(msgspec.Struct):
    """What a line carries: an item of the thread, an event, or facts about the turn."""

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
    replacement_history: list[_Item] | None = None
    cwd: Any = None
    source: Any = None


class _Kind(msgspec.Struct):
    type: str = ""


class _Head(msgspec.Struct):
    type: str = ""
    payload: _Kind | None = None


class _Line(msgspec.Struct):
    type: str
    payload: _Item
    timestamp: Moment | None = None


_HEAD, _LINE = decoder(_Head), decoder(_Line)


def sniff(first: list[Any]) -> bool:
    """Say whether the first values of a file look like this format."""
    return any(isinstance(value, dict) and _is_own(value) for value in first)


def _is_own(record: dict[str, Any]) -> bool:
    kind, payload = record.get("type"), record.get("payload")
    if not isinstance(payload, dict) or not isinstance(kind, str) or "timestamp" not in record:
        return False
    return kind in _UNTYPED or (kind in _LINES and isinstance(payload.get("type"), str))


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Yield the conversation of a rollout."""
    rollout = _Rollout(counts=any(_COUNT.search(data) for _, data in lines))
    for number, data in lines:
        with lines.at(number):
            head = jsonl.decode(data, _HEAD)
            if _is_read(head):
                rollout.take(jsonl.decode(data, _LINE))
            rollout.lines += 1
    inside = not rollout.has_start
    yield rollout.script.conversation(lines.path.stem, NAME, lines.path, inside=inside)


def _is_read(head: _Head) -> bool:
    if head.type not in _LINES and head.type not in _LEFT_OUT:
        raise InputError(f"a line of type {head.type!r} is not known")
    is_event = head.type == "event_msg"
    return head.type in _LINES and (not is_event or (head.payload or _Kind()).type in _EVENTS)


class _Rollout:
    """A thread. An answer grows until its tokens are counted.

    In a rollout that counts nothing (``counts=False``) it grows until a tool answers.
    """

    def __init__(self, counts: bool) -> None:
        self.script = Script()
        self.has_start = False
        self.lines = 0
        self._counts = counts
        self._model = self._effort = self._version = ""
        self._total: _Counts | None = None
        self._answer: Draft | None = None
        self._asked = False  # whether a user message came after the answer began

    def take(self, line: _Line) -> None:
        """Take the next line."""
        item, time = line.payload, seconds(line.timestamp)
        if line.type == "session_meta":
            self._start(item)
        elif line.type == "response_item":
            self._item(item, time)
        elif item.type == "token_count" and line.type == "event_msg":
            self._count(item.info or _Info(), time)
        else:
            self._answer = None  # what was not counted by now is not counted at all
            if line.type == "turn_context":
                self._model = item.model or self._model
                self._effort = item.effort or self._effort
            elif line.type == "compacted":
                self._compaction(item, time)
            elif item.type == "thread_rolled_back":
                self._roll_back(item.num_turns or 0)

    def _start(self, item: _Item) -> None:
        if self.lines:
            return  # a fork repeats the header of what it was forked from
        self.has_start = True
        self._version = f"codex {item.cli_version}" if item.cli_version else ""
        self.script.locate(item.cwd)
        # `SessionSource` of Codex: a word, or an object that names who asked for the sub-agent.
        self.script.subagent = isinstance(item.source, dict) and "subagent" in item.source
        given = item.base_instructions.text if item.base_instructions else item.instructions
        if given:
            self.script.system.append(verbatim(SYSTEM, "text", given))

    def _item(self, item: _Item, time: float) -> None:
        if item.type.endswith("_output"):
            self.script.add(_output(self.script, item, time))
            if not self._counts:
                self._answer = None
        elif item.type == "agent_message" or (item.type == "message" and _is_told(item)):
            draft = _draft_of(self.script, item, time)
            if draft.parts:
                self.script.add(draft)
                self._asked = True
        elif item.type in ("message", "reasoning") or item.type.endswith("_call"):
            if self._answer is None or self._asked:
                self._answer = self._begin(item.id, time)
            self._answer.parts += _parts_of(item, self._answer.id)
            self._answer.time = max(self._answer.time, time)
        elif item.type not in _NO_MESSAGES:
            raise InputError(f"an item of type {item.type!r} is not known")

    def _begin(self, id: str | None, time: float) -> Draft:
        self._asked = False
        answer = self.script.draft("assistant", id, time)
        answer.call = None if self._counts else self._call(None)
        return self.script.add(answer)

    def _call(self, usage: Usage | None) -> Call:
        return Call(self._model, usage, version=self._version, thinking=self._effort)

    def _count(self, info: _Info, time: float) -> None:
        total, last = info.total_token_usage, info.last_token_usage
        if total is None or total == self._total:
            return
        self._total = total
        answer = self._answer or self._begin(None, time)
        self._answer = None
        if last is None:
            answer.call = self._call(None)
            return
        read = min(last.cached_input_tokens, last.input_tokens)
        written = min(last.cache_write_input_tokens, last.input_tokens - read)
        plain = last.input_tokens - read - written
        usage = Usage(plain, read, written, output=last.output_tokens)
        answer.call = self._call(usage)
        answer.parts = _sized(answer, last)

    def _compaction(self, item: _Item, time: float) -> None:
        boundary = self.script.compact(time, restored="verbatim")
        history = item.replacement_history
        if history is None:
            if not item.message:
                raise InputError("a compaction has neither a message nor a history")
            history = [_Item("message", role="user", content=item.message)]
        for one in history:
            draft = _draft_of(self.script, one, time)
            draft.meta = True
            if one.type in _OPAQUE:
                part = opaque(draft.id, "text", "compaction")
                draft.parts = [msgspec.structs.replace(part, sources=boundary.covered)]
            elif one.role == "assistant":
                draft.role = "assistant"
            draft.parts = [_as_summary(p, item.message, boundary) for p in draft.parts]
            if draft.parts:
                boundary.inserted.append(draft)

    def _roll_back(self, turns: int) -> None:
        to = self.script.last
        while to and turns > 0:
            turns -= to.role == "user" and not to.meta
            to = to.before
        if to is not self.script.last:
            self.script.rewind(to)


def _is_told(item: _Item) -> bool:
    """Whether a message is told to the model, and not by it."""
    if item.role not in _ROLES:
        raise InputError(f"{item.role!r} is no role of a message")
    return item.role != "assistant"


def _draft_of(script: Script, item: _Item, time: float) -> Draft:
    draft = script.draft("user", item.id, time)
    content = item.content if item.type in _OPAQUE else given(item.content, "a message")
    draft.parts = parts(content, draft.id)
    text = draft.parts[0].text if draft.parts else ""
    draft.meta = item.role != "user" or text.startswith(_NOT_TYPED)
    return draft


def _parts_of(item: _Item, id: str) -> list[Part]:
    if item.type == "message":
        return parts(given(item.content, "a message"), id)
    if item.type == "reasoning":
        text = "\n".join(part.text for part in parts(item.content, id) if part.text)
        # What goes back to the model is the encrypted text, of which only the size is known.
        return [verbatim(id, "thinking", text) if text else opaque(id, "thinking", "reasoning")]
    asked = next((x for x in (item.arguments, item.input, item.action) if x is not None), None)
    if asked is None and item.type in _ARGUED:
        raise InputError(f"an item of type {item.type!r} has no arguments")
    tool, call_id = item.name or item.type.removesuffix("_call"), item.call_id or item.id or ""
    return [verbatim(id, "tool_call", compact(asked), name=tool, call_id=call_id)]


def _output(script: Script, item: _Item, time: float) -> Draft:
    draft = script.draft("tool", item.id, time)
    output = item.output if isinstance(item.output, _Output) else _Output(item.output)
    if output.content is msgspec.UNSET and output.text is not None:
        output.content = output.text
    content = (
        given(output.content, "the output of a tool") if item.tools is None else compact(item.tools)
    )
    failed = output.success is False
    draft.parts = result(content, draft.id, item.call_id or "", error=failed)
    return draft


def _sized(answer: Draft, counts: _Counts) -> list[Part]:
    """Tell the opaque part of an answer how many tokens it stands for."""
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


FORMAT = Format(NAME, "rollouts of Codex (JSONL)", sniff, read)
