"""Sessions of Copilot CLI: events in chronological order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.blocks import opaque, result, tool_call
from compactlab.scenarios.readers.counts import Tokens, less
from compactlab.scenarios.readers.script import SYSTEM, Draft, Format, Home, Script
from compactlab.scenarios.readers.shapes import any_is
from compactlab.scenarios.readers.times import Moment, decoder, seconds
from compactlab.sim.core.conversation import Conversation, SideRequest
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Source, Usage, verbatim

NAME = "copilot"

# Groups of events that only repeat other events for the model.
_LEFT_OUT = ("session.", "hook.", "permission.", "subagent.", "command.", "commands.", "mcp.")
_QUIET = {
    "abort", "assistant.idle", "assistant.intent", "assistant.turn_end", "assistant.turn_start",
    "model_call.failure", "skill.invoked", "tool.execution_partial_result",
    "tool.execution_progress", "tool.execution_start", "tool.user_requested",
}  # fmt: skip
_SUMMARIZED = "session.compaction_complete"
_REWOUND = "session.snapshot_rewind"
_SHUTDOWN = "session.shutdown"
_STATE = {
    "session.start", "session.resume", "session.model_change", _SUMMARIZED, _REWOUND, _SHUTDOWN,
}  # fmt: skip
_TOLD = {
    "assistant.message", "assistant.reasoning", "system.message", "system.notification",
    "tool.execution_complete", "user.message",
}  # fmt: skip
# Text fields of messages. Encrypted content has no text, and an intention is for the user.
_SAYING = {
    "content", "transformedContent", "reasoningText", "reasoningOpaque", "encryptedContent",
    "toolRequests", "intentionSummary",
}  # fmt: skip


class _Request(msgspec.Struct, rename="camel"):
    name: str
    arguments: Any = msgspec.UNSET
    tool_call_id: str | None = None


class _Result(msgspec.Struct):
    content: str


class _Error(msgspec.Struct):
    message: str


class _Counts(msgspec.Struct, rename="camel"):
    """Tokens of requests; the input is the whole prompt. Compactions use other names."""

    input_tokens: Tokens = 0
    output_tokens: Tokens = 0
    cache_read_tokens: Tokens = 0
    cache_write_tokens: Tokens = 0
    input: Tokens = 0
    output: Tokens = 0
    cached_input: Tokens = 0
    model: str | None = None

    @property
    def usage(self) -> Usage:
        whole = self.input_tokens or self.input
        read, written = self.cache_read_tokens or self.cached_input, self.cache_write_tokens
        # Until 1.0.51, the input of some models left out cached tokens.
        plain = whole - read - written if whole >= read + written else whole
        return Usage(plain, read, written, output=self.output_tokens or self.output)


class _Metrics(msgspec.Struct):
    usage: _Counts | None = None


class _Count(msgspec.Struct, rename="camel", frozen=True):
    token_count: Tokens = 0


class _Details(msgspec.Struct):
    input: _Count = _Count()
    output: _Count = _Count()
    cache_read: _Count = _Count()
    cache_write: _Count = _Count()


class _Data(msgspec.Struct, rename="camel"):
    content: str | msgspec.UnsetType | None = msgspec.UNSET
    transformed_content: str | None = None
    source: str | None = None
    is_autopilot_continuation: bool | None = None
    role: str | None = None
    message_id: str | None = None
    model: str | None = None
    reasoning_text: str | None = None
    reasoning_opaque: str | None = None
    tool_requests: list[_Request] | None = None
    tool_call_id: str | None = None
    parent_tool_call_id: str | None = None
    success: bool | None = None
    result: str | _Result | None = None
    error: str | _Error | None = None
    selected_model: str | None = None
    new_model: str | None = None
    reasoning_effort: str | None = None
    copilot_version: str | None = None
    summary_content: str | None = None
    pre_compaction_tokens: Tokens | None = None
    up_to_event_id: str | None = None
    output_tokens: Tokens | None = None
    compaction_tokens_used: _Counts | None = None
    model_metrics: dict[str, _Metrics] | None = None
    token_details: _Details | None = None
    current_model: str | None = None


class _Head(msgspec.Struct, rename="camel"):
    type: str
    id: str | None = None
    timestamp: Moment | None = None
    agent_id: str | None = None


class _Event(_Head, rename="camel", kw_only=True):
    data: _Data


class _Fields(msgspec.Struct):
    data: dict[str, Any]


_HEAD, _EVENT, _FIELDS = decoder(_Head), decoder(_Event), decoder(_Fields)


def _is_own(value: dict[str, Any]) -> bool:
    kind = value.get("type")
    own = isinstance(kind, str) and kind in _TOLD | _STATE
    return own and "parentId" in value and isinstance(value.get("data"), dict)


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Read the conversations of a session and of its subagents."""
    session = _Session(lines)
    for number, data in lines:
        with lines.at(number):
            head = jsonl.decode(data, _HEAD)
            if _is_read(head, data, lines):
                session.take(jsonl.decode(data, _EVENT))
    session.agents[""].script.side_requests = session.bill.side_requests
    for name, agent in session.agents.items():
        agent.finish()
        if not name or agent.script.events:
            id = f"{lines.path.stem}#{name}" if name else lines.path.stem
            inside = not name and not session.started
            yield agent.script.conversation(id, NAME, lines.path, inside=inside)


def _is_read(head: _Head, data: bytes, lines: jsonl.Lines) -> bool:
    """Return whether an event is read; an unknown one is counted."""
    if head.type in _TOLD and head.type != "tool.execution_complete":
        fields = jsonl.decode(data, _FIELDS).data
        lines.pass_over_fields(fields, _SAYING, f"an event of type {head.type!r}")
    if head.type in _TOLD or head.type in _STATE:
        return True
    if head.type not in _QUIET and not head.type.startswith(_LEFT_OUT):
        lines.pass_over(f"event {head.type!r}", jsonl.decode(data, jsonl.ANY))
    return False


class _Agent:
    def __init__(self) -> None:
        self.script = Script()
        self.answers: dict[str, Draft] = {}  # by message id: an answer may come in chunks
        self.thoughts: list[str] = []  # reasoning that the answer may repeat

    def think(self, answer: Draft, text: str = "") -> None:
        known = {part.text for part in answer.parts}
        for thought in dict.fromkeys([*self.thoughts, text]):
            if thought and thought not in known:
                answer.parts.append(verbatim(answer.id, "thinking", thought))
        self.thoughts = []

    def finish(self) -> None:
        """Add the last reasoning to the last answer, or to one that is missing."""
        if self.answers:
            self.think([*self.answers.values()][-1])
        elif any(self.thoughts):
            self.think(self.script.add(self.script.draft("assistant", origin="aborted")))


class _Bill:
    """The usage of a session: answers report only their output, its end reports all tokens.

    At each end, the tokens that were not reported since the last end become one request per model,
    so that the sums equal the log's. After a resume, some versions continue their totals and others
    restart them: totals below the last end's plus the usage since then have been restarted.
    """

    def __init__(self) -> None:
        self.side_requests: list[SideRequest] = []
        self._told: dict[str, Usage] = {}  # since the last end, by model
        self._totals: dict[str, Usage] = {}  # at the last end

    def tell(self, model: str, usage: Usage) -> None:
        self._told[model] = self._told.get(model, Usage()) + usage

    def end(self, data: _Data, time: float, version: str) -> None:
        metrics = data.model_metrics or {}
        totals = {model: each.usage.usage for model, each in metrics.items() if each.usage}
        if not totals and (each := data.token_details):
            counts = (each.input, each.cache_read, each.cache_write)
            plain, read, written = (count.token_count for count in counts)
            usage = Usage(plain, read, written, output=each.output.token_count)
            totals = {data.current_model or "": usage}
        if not totals:
            return
        told, self._told = self._told, {}
        before = self._totals if self._counts_on(totals, told) else {}
        self._totals = totals
        rests = {
            model: less(less(usage, before.get(model, Usage())), told.pop(model, Usage()))
            for model, usage in totals.items()
        }
        for usage in told.values():  # usage of a model that has another name here
            left = usage
            for model, rest in rests.items():
                rests[model], left = less(rest, left), less(left, rest)
        for model, rest in rests.items():
            if rest != Usage():
                call = Call(model, rest, version=version)
                self.side_requests.append(SideRequest("session", call, time))

    def _counts_on(self, totals: dict[str, Usage], told: dict[str, Usage]) -> bool:
        grown = all(
            less(usage, totals.get(model, Usage())) == Usage()
            for model, usage in self._totals.items()
        )
        before, now, since = (
            sum(each.output for each in usages.values()) for usages in (self._totals, totals, told)
        )
        return grown and now >= before + since


class _Session:
    def __init__(self, lines: jsonl.Lines) -> None:
        self.agents = {"": _Agent()}
        self.bill = _Bill()
        self._lines = lines
        self.started = False
        self._model = self._version = self._effort = ""
        self._restarted = False
        self._names: dict[str, str] = {}  # subagents, by the id of the event that started them
        self._places: dict[str, Draft | None] = {}  # the last message before each event

    def take(self, event: _Event) -> None:
        data, time = event.data, seconds(event.timestamp)
        agent = self._agent(data.parent_tool_call_id or event.agent_id or "")
        main = self.agents[""].script
        if event.id is not None:
            self._places[event.id] = main.last
        if event.type == _SUMMARIZED:
            self._compaction(agent.script, event, time)
        elif event.type == _REWOUND:
            if (id := data.up_to_event_id or "") in self._places:
                main.rewind(self._places[id])
        elif event.type == _SHUTDOWN:
            self.bill.end(data, time, self._version)
        elif event.type in _STATE:
            self._state(event)
        elif event.type == "assistant.message":
            self._answer(agent, event, time)
        elif event.type == "assistant.reasoning":
            agent.thoughts.append(_content(event))
        elif event.type == "tool.execution_complete":
            _result(agent.script, event, time)
        else:
            _told(agent.script, event, time, self._lines)

    def _agent(self, id: str) -> _Agent:
        if not id:
            return self.agents[""]
        name = self._names.setdefault(id, f"agent-{len(self._names) + 1}")
        return self.agents.setdefault(name, _Agent())

    def _state(self, event: _Event) -> None:
        data = event.data
        self.started |= event.type == "session.start"
        self._restarted |= event.type == "session.resume"
        self._model = data.selected_model or data.new_model or self._model
        self._effort = data.reasoning_effort or self._effort
        if data.copilot_version:
            self._version = f"copilot {data.copilot_version}"

    def _answer(self, agent: _Agent, event: _Event, time: float) -> None:
        data = event.data
        draft = agent.answers.get(data.message_id or "")
        if draft is None:
            about: dict[str, Any] = {"version": self._version, "thinking": self._effort}
            call = Call(
                data.model or self._model,
                restarted=self._restarted,
                id=data.message_id or "",
                **about,
            )
            draft = agent.script.draft("assistant", data.message_id or event.id, time, call=call)
            self._restarted = False
            agent.script.add(draft)
            agent.answers[data.message_id or draft.id] = draft
        self._count(draft, data.output_tokens or 0)
        content = _content(event)
        agent.think(draft, data.reasoning_text or "")
        thought = data.reasoning_text or any(part.type == "thinking" for part in draft.parts)
        if data.reasoning_opaque and not thought:  # otherwise it repeats the text, encrypted
            draft.parts.append(opaque(draft.id, "thinking", "reasoning"))
        if content:
            draft.parts.append(verbatim(draft.id, "text", content))
        for asked in data.tool_requests or []:
            if asked.arguments is msgspec.UNSET:
                raise InputError(f"a call of the tool {asked.name!r} has no arguments")
            part = tool_call(draft.id, asked.name, asked.arguments, asked.tool_call_id)
            draft.parts.append(part)

    def _count(self, answer: Draft, output: int) -> None:
        call = answer.call or Call()
        known = call.usage.output if call.usage else 0
        if output > known:
            self.bill.tell(call.model, Usage(output=output - known))
            answer.call = msgspec.structs.replace(call, usage=Usage(output=output))

    def _compaction(self, script: Script, event: _Event, time: float) -> None:
        data = event.data
        if data.success is None:
            raise InputError("a compaction does not say whether it succeeded")
        if not data.success:
            return
        boundary = script.compact(time, tokens_before=data.pre_compaction_tokens or 0)
        if used := data.compaction_tokens_used:
            boundary.call = Call(used.model or self._model, used.usage, version=self._version)
            self.bill.tell(boundary.call.model, used.usage)
        draft = script.draft("user", event.id, time, meta=True)
        sources = boundary.covered or (Source(draft.id),)
        part = opaque(draft.id, "text", "compaction")
        if data.summary_content:
            part = verbatim(draft.id, "text", data.summary_content, kind="summary")
        boundary.insert(draft, [msgspec.structs.replace(part, sources=sources)])


def _content(event: _Event) -> str:
    if isinstance(event.data.content, msgspec.UnsetType):
        raise InputError(f"an event of type {event.type!r} has no content")
    return event.data.content or ""


def _told(script: Script, event: _Event, time: float, lines: jsonl.Lines) -> None:
    """Add the content that the model got, as it was sent if the event has that."""
    data = event.data
    text = data.transformed_content or _content(event)
    if not text:
        return
    if event.type == "system.message":
        if text in {part.text for part in script.system}:
            return
        if script.path:
            lines.pass_over("later system prompt", text)
        else:
            script.system.append(verbatim(SYSTEM, "text", text))
        return
    injected = (data.source or "user") != "user" or bool(data.is_autopilot_continuation)
    meta = event.type != "user.message" or injected
    script.say("user", text, event.id, time, meta=meta)


def _result(script: Script, event: _Event, time: float) -> None:
    data = event.data
    said = [
        data.result.content if isinstance(data.result, _Result) else data.result,
        data.error.message if isinstance(data.error, _Error) else data.error,
    ]
    if data.result is None and data.error is None:
        raise InputError("a tool has neither a result nor an error")
    draft, text = script.draft("tool", event.id, time), "\n".join(each for each in said if each)
    failed = data.success is False
    script.add(draft, result(text, draft.id, data.tool_call_id or "", error=failed))


# Homes: GitHub's reference of Copilot CLI's configuration directory (2026).
_HOMES = (Home("copilot", ("COPILOT_HOME",), ("~/.copilot",), ("session-state",)),)
FORMAT = Format(NAME, "sessions of Copilot CLI (events.jsonl)", any_is(_is_own), read, homes=_HOMES)
