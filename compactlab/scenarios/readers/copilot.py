"""Sessions of Copilot CLI: events, in the order in which they happened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.blocks import Tokens, compact, opaque, result
from compactlab.scenarios.readers.script import (
    SYSTEM,
    Draft,
    Format,
    Moment,
    Script,
    decoder,
    seconds,
)
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Source, verbatim

NAME = "copilot"

# Groups of events that tell the model nothing that another event does not tell.
_LEFT_OUT = ("session.", "hook.", "permission.", "subagent.", "command.", "commands.", "mcp.")
_QUIET = {
    "abort",
    "assistant.idle",
    "assistant.intent",
    "assistant.turn_end",
    "assistant.turn_start",
    "assistant.usage",
    "model_call.failure",
    "skill.invoked",
    "tool.execution_partial_result",
    "tool.execution_progress",
    "tool.execution_start",
    "tool.user_requested",
}
_SUMMARIZED = "session.compaction_complete"
_REWOUND = "session.snapshot_rewind"
_STATE = {"session.start", "session.resume", "session.model_change", _SUMMARIZED, _REWOUND}
_TOLD = {
    "assistant.message",
    "assistant.reasoning",
    "system.message",
    "system.notification",
    "tool.execution_complete",
    "user.message",
}
_STARTS = ("session.start", "session.resume")


class _Request(msgspec.Struct, rename="camel"):
    name: str
    arguments: Any = msgspec.UNSET
    tool_call_id: str | None = None


class _Result(msgspec.Struct):
    content: str


class _Error(msgspec.Struct):
    message: str


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


class _Head(msgspec.Struct, rename="camel"):
    type: str
    id: str | None = None
    timestamp: Moment | None = None
    agent_id: str | None = None


class _Event(_Head, rename="camel", kw_only=True):
    data: _Data


_HEAD, _EVENT = decoder(_Head), decoder(_Event)


def sniff(first: list[Any]) -> bool:
    """Say whether the first values of a file look like this format."""
    return any(_is_own(value) for value in first)


def _is_own(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("data"), dict):
        return False
    kind = value.get("type")
    return isinstance(kind, str) and kind in _TOLD | _STATE and "parentId" in value


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Yield the conversation of a session, and those of its subagents."""
    session = _Session()
    for number, data in lines:
        with lines.at(number):
            head = jsonl.decode(data, _HEAD)
            if _is_read(head):
                session.take(jsonl.decode(data, _EVENT))
    for name, agent in session.agents.items():
        if agent.answers:
            agent.think([*agent.answers.values()][-1])
        if not name or agent.script.events:
            id = f"{lines.path.stem}#{name}" if name else lines.path.stem
            inside = not name and not session.started
            yield agent.script.conversation(id, NAME, lines.path, inside=inside)


def _is_read(head: _Head) -> bool:
    if head.type in _TOLD or head.type in _STATE:
        return True
    if head.type not in _QUIET and not head.type.startswith(_LEFT_OUT):
        raise InputError(f"an event of type {head.type!r} is not known")
    return False


class _Agent:
    """The agent of the session, or one that it started: each has a context of its own."""

    def __init__(self) -> None:
        self.script = Script()
        self.answers: dict[str, Draft] = {}  # by the id of the message: it may come in chunks
        self.thoughts: list[str] = []  # what was thought, and may stand in the answer, too

    def think(self, answer: Draft, text: str = "") -> None:
        """Put what was thought into an answer, once."""
        known = {part.text for part in answer.parts}
        for thought in dict.fromkeys([*self.thoughts, text]):
            if thought and thought not in known:
                answer.parts.append(verbatim(answer.id, "thinking", thought))
        self.thoughts = []


class _Session:
    """The events of a session."""

    def __init__(self) -> None:
        self.agents = {"": _Agent()}
        self.started = False
        self._model = self._version = self._effort = ""
        self._restarted = False
        self._names: dict[str, str] = {}  # of subagents, by the id of what started them
        self._places: dict[str, Draft | None] = {}  # where the session stood before an event

    def take(self, event: _Event) -> None:
        """Take the next event."""
        data = event.data
        agent = self._agent(data.parent_tool_call_id or event.agent_id or "")
        if event.id is not None:
            self._places[event.id] = self.agents[""].script.last
        if event.type == _SUMMARIZED:
            self._compaction(agent.script, event)
        elif event.type == _REWOUND:
            self._rewind(data.up_to_event_id or "")
        elif event.type in _STATE:
            self._state(event)
        elif event.type == "assistant.message":
            self._answer(agent, event)
        elif event.type == "assistant.reasoning":
            agent.thoughts.append(_content(event))
        elif event.type == "tool.execution_complete":
            _result(agent.script, event)
        else:
            _told(agent.script, event)

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

    def _rewind(self, id: str) -> None:
        if id in self._places:
            self.agents[""].script.rewind(self._places[id])

    def _answer(self, agent: _Agent, event: _Event) -> None:
        data = event.data
        draft = agent.answers.get(data.message_id or "")
        if draft is None:
            draft = agent.script.draft(
                "assistant", data.message_id or event.id, seconds(event.timestamp)
            )
            draft.call = Call(
                data.model or self._model,
                version=self._version,
                thinking=self._effort,
                restarted=self._restarted,
            )
            self._restarted = False
            agent.script.add(draft)
            agent.answers[data.message_id or draft.id] = draft
        content = _content(event)
        agent.think(draft, data.reasoning_text or "")
        if data.reasoning_text or any(part.type == "thinking" for part in draft.parts):
            pass  # what is encrypted is the same again
        elif data.reasoning_opaque:
            draft.parts.append(opaque(draft.id, "thinking", "reasoning"))
        if content:
            draft.parts.append(verbatim(draft.id, "text", content))
        for asked in data.tool_requests or []:
            if asked.arguments is msgspec.UNSET:
                raise InputError(f"a call of the tool {asked.name!r} has no arguments")
            text, call_id = compact(asked.arguments), asked.tool_call_id or ""
            part = verbatim(draft.id, "tool_call", text, name=asked.name, call_id=call_id)
            draft.parts.append(part)

    def _compaction(self, script: Script, event: _Event) -> None:
        data = event.data
        if data.success is None:
            raise InputError("a compaction does not say whether it succeeded")
        if not data.success:
            return
        time, before = seconds(event.timestamp), data.pre_compaction_tokens or 0
        boundary = script.compact(time, tokens_before=before)
        draft = script.draft("user", event.id, time, meta=True)
        sources = boundary.covered or (Source(draft.id),)
        part = opaque(draft.id, "text", "compaction")
        if data.summary_content:
            part = verbatim(draft.id, "text", data.summary_content, kind="summary")
        draft.parts = [msgspec.structs.replace(part, sources=sources)]
        boundary.inserted.append(draft)


def _content(event: _Event) -> str:
    if isinstance(event.data.content, msgspec.UnsetType):
        raise InputError(f"an event of type {event.type!r} has no content")
    return event.data.content or ""


def _told(script: Script, event: _Event) -> None:
    """What the model is told: as it was sent, where the event says that."""
    data = event.data
    text = data.transformed_content or _content(event)
    if not text:
        return
    if event.type == "system.message":
        if not script.path and text not in {part.text for part in script.system}:
            script.system.append(verbatim(SYSTEM, "text", text))
        return
    draft = script.draft("user", event.id, seconds(event.timestamp))
    draft.parts = [verbatim(draft.id, "text", text)]
    injected = (data.source or "user") != "user" or bool(data.is_autopilot_continuation)
    draft.meta = event.type != "user.message" or injected
    script.add(draft)


def _result(script: Script, event: _Event) -> None:
    data = event.data
    said = [
        data.result.content if isinstance(data.result, _Result) else data.result,
        data.error.message if isinstance(data.error, _Error) else data.error,
    ]
    if data.result is None and data.error is None:
        raise InputError("a tool has neither a result nor an error")
    draft = script.draft("tool", event.id, seconds(event.timestamp))
    text = "\n".join(each for each in said if each)
    draft.parts = result(text, draft.id, data.tool_call_id or "", error=data.success is False)
    script.add(draft)


FORMAT = Format(NAME, "sessions of Copilot CLI (events.jsonl)", sniff, read)
