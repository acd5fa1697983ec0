"""Trajectories of Harbor: the Agent Trajectory Interchange Format (ATIF), versions 1.0 to 1.8."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.blocks import Content, Given, given, parts, result, tool_call
from compactlab.scenarios.readers.counts import Tokens, within
from compactlab.scenarios.readers.script import (
    SYSTEM,
    Boundary,
    Draft,
    Format,
    Script,
    declared,
    nothing,
    numbered,
)
from compactlab.scenarios.readers.shapes import dict_of, first_is, fits, starts
from compactlab.scenarios.readers.times import Moment, converted, seconds
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Usage, verbatim

NAME = "atif"

# Names of cache-write counts in Harbor's converters; ATIF has no field for them. Counts with the
# first names are part of `prompt_tokens`. With the last name, pi's are part of it, those of four
# others are not. Source: the package harbor 0.25.0 (2026-10), harbor/agents/installed.
_WRITES = ("cache_creation_input_tokens", "cache_write_input_tokens", "input_cache_creation")
_WRITES_SOMEWHERE = "cache_write_tokens"
_WRITES_APART = ("mimo", "openclaw", "opencode", "rovodev-cli")


class _Agent(msgspec.Struct):
    name: str = ""
    version: str | None = None
    model_name: str | None = None
    tool_definitions: list[Any] | None = None


class _Metrics(msgspec.Struct):
    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None
    cached_tokens: Tokens | None = None
    extra: dict[str, Any] | None = None


class _ToolCall(msgspec.Struct):
    function_name: str
    arguments: Any
    tool_call_id: str | None = None


class _Result(msgspec.Struct):
    source_call_id: str | None = None
    content: Content = None
    subagent_trajectory_ref: Any = None
    extra: dict[str, Any] | None = None


class _Observation(msgspec.Struct):
    results: list[_Result]


class _Step(msgspec.Struct):
    source: str
    message: Given = msgspec.UNSET
    step_id: int | None = None
    timestamp: Moment | None = None
    model_name: str | None = None
    reasoning_effort: str | float | None = None
    reasoning_content: str | None = None
    tool_calls: list[_ToolCall] | None = None
    observation: _Observation | None = None
    metrics: _Metrics | None = None
    extra: dict[str, Any] | None = None
    llm_call_count: int | None = None
    is_copied_context: bool | None = None

    @property
    def aside(self) -> str | None:
        """The subagent of the step, in trajectories of Claude Code."""
        extra = self.extra or {}
        return str(extra.get("agent_id") or SIDE) if extra.get("is_sidechain") is True else None


class _Trajectory(msgspec.Struct):
    schema_version: str
    steps: list[Any]
    agent: _Agent
    trajectory_id: str | None = None
    subagent_trajectories: list[Any] | None = None


SIDE = "sidechain"
_KNOWN = {
    "trajectory": {*_Trajectory.__struct_fields__, "continued_trajectory_ref", "notes", "extra"},
    "agent": {*_Agent.__struct_fields__, "extra"},
    "step": {*_Step.__struct_fields__},
    "call": {*_ToolCall.__struct_fields__, "extra"},
    "result": {*_Result.__struct_fields__},
}


def _is_own(head: dict[str, Any]) -> bool:
    return fits(head, {"schema_version": starts("ATIF-"), "steps": list})


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Yield the conversations of a file: of each trajectory, then those of its subagents."""
    count = 0
    for number, value in jsonl.values(lines):
        scripts: list[tuple[str, Script]] = []
        with lines.at(number, value):
            scripts = list(_scripts(value, numbered(lines.path.stem, count + 1), lines))
        count += bool(scripts)
        for id, script in scripts:
            yield script.conversation(id, NAME, lines.path)
    if not count:
        raise nothing(lines)


def _scripts(value: Any, id: str, lines: jsonl.Lines) -> Iterator[tuple[str, Script]]:
    trajectory = converted(value, _Trajectory)
    lines.pass_over_fields(value, _KNOWN["trajectory"], "a trajectory")
    lines.pass_over_fields(value.get("agent") or {}, _KNOWN["agent"], "an agent")
    told = [(step, each) for each in trajectory.steps if (step := _step(each, lines))]
    steps = [step for step, _ in told]
    counted = any(step.metrics and step.metrics.prompt_tokens for step in steps)
    asides = dict.fromkeys(step.aside for step in steps)
    for aside in sorted(asides, key=lambda name: (name is not None, name)):
        reading = _Reading(trajectory.agent, counted, lines)
        for step, each in told:
            if step.aside == aside:
                with lines.at(0, each):
                    reading.take(step)
        reading.script.subagent = aside is not None
        yield (id if aside is None else f"{id}#{aside}"), reading.script
    for number, inner in enumerate(trajectory.subagent_trajectories or [], 1):
        named = inner.get("trajectory_id") if isinstance(inner, dict) else None
        for name, script in _scripts(inner, f"{id}#{named or number}", lines):
            script.subagent = True
            yield name, script


def _step(value: Any, lines: jsonl.Lines) -> _Step | None:
    step = None
    with lines.at(0, value):
        step = converted(value, _Step)
        lines.pass_over_fields(value, _KNOWN["step"], "a step")
        for call in value.get("tool_calls") or ():
            lines.pass_over_fields(call, _KNOWN["call"], "a call of a tool")
        for result in (value.get("observation") or {}).get("results", ()):
            lines.pass_over_fields(result, _KNOWN["result"], "a result")
    return step


class _Reading:
    def __init__(self, agent: _Agent, counted: bool, lines: jsonl.Lines) -> None:
        self.script = Script()
        self._agent, self._counted, self._lines = agent, counted, lines
        self._boundary: Boundary | None = None
        self.script.system += declared(agent.tool_definitions)

    def take(self, step: _Step) -> None:
        content = given(step.message, f"a step of {step.source!r}")
        if step.source == "agent":
            self._boundary = None
            self._answer(step, content)
        elif step.source == "user":
            self._told(step, content)
        elif step.source == "system":
            self._system(step, content)
        else:
            raise InputError(f"{step.source!r} is not a source of a step")
        self._observe(step)

    def _system(self, step: _Step, content: Content) -> None:
        management = (step.extra or {}).get("context_management")
        if isinstance(management, dict) and management.get("type") == "compaction":
            # The step is only a note for the reader; the next step has the summary.
            self._boundary = self.script.compact(seconds(step.timestamp))
            self._boundary.insert(self._note(step, content))
        elif self.script.last is None and not step.observation:
            self.script.system += parts(content, SYSTEM, self._lines)
        else:
            self._told(step, content)

    def _note(self, step: _Step, content: Content) -> Draft:
        time = seconds(step.timestamp)
        note = self.script.draft("user", _id(step), time, meta=True, origin=step.source)
        note.parts = parts(content, note.id, self._lines)
        return note

    def _told(self, step: _Step, content: Content) -> None:
        draft = self._note(step, content)
        if self._boundary is not None:
            boundary, self._boundary = self._boundary, None
            boundary.inserted = []
            boundary.insert(draft, summary=True)
            return
        draft.meta = step.source == "system"
        draft.origin = "system" if draft.meta else ""
        if draft.parts:
            self.script.add(draft)

    def _answer(self, step: _Step, content: Content) -> None:
        draft = self.script.draft("assistant", _id(step), seconds(step.timestamp))
        if step.reasoning_content:
            draft.parts.append(verbatim(draft.id, "thinking", step.reasoning_content))
        draft.parts += parts(content, draft.id, self._lines)
        draft.parts += [
            tool_call(draft.id, call.function_name, call.arguments, call.tool_call_id)
            for call in step.tool_calls or []
        ]
        draft.call = self._call(step)
        if draft.parts or draft.call:
            self.script.add(draft)

    def _call(self, step: _Step) -> Call | None:
        """Return the call of a step; None if it was billed elsewhere, or did not call a model."""
        if step.is_copied_context or step.llm_call_count == 0:
            return None
        if step.metrics is None and self._counted and not step.llm_call_count:
            return None
        model = step.model_name or self._agent.model_name or ""
        version = f"{self._agent.name} {self._agent.version or ''}".strip()
        effort = "" if step.reasoning_effort is None else str(step.reasoning_effort)
        usage = usage_of(step.metrics, self._agent.name) if step.metrics else None
        return Call(model, usage, version=version, thinking=effort)

    def _observe(self, step: _Step) -> None:
        calls = step.tool_calls or []
        only = (calls[0].tool_call_id or "") if len(calls) == 1 else ""
        for told in step.observation.results if step.observation else []:
            content = told.content
            if content is None and told.subagent_trajectory_ref:
                continue  # a subagent's work is in its own conversation
            draft = self.script.draft("tool", None, seconds(step.timestamp))
            call_id = told.source_call_id or only
            if step.source == "agent" and (call_id or calls):
                extra = told.extra or {}
                failed = True in (extra.get("is_error"), extra.get("tool_result_is_error"))
                draft.parts = result(content, draft.id, call_id, error=failed, lines=self._lines)
            else:
                draft.role, draft.meta, draft.origin = "user", True, "observation"
                draft.parts = parts(content, draft.id, self._lines)
            if draft.parts:
                self.script.add(draft)


def _id(step: _Step) -> str | None:
    return None if step.step_id is None else str(step.step_id)


def usage_of(metrics: _Metrics, agent: str) -> Usage | None:
    """Return the usage of a step, from counts whose prompt includes cached tokens.

    Examples
    --------
    >>> usage_of(_Metrics(100, 7, 60, {"cache_creation_input_tokens": 30}), "claude-code")
    Usage(uncached=10, cache_read=60, cache_write_5m=30, cache_write_1h=0, output=7, storage=0)
    """
    if metrics.prompt_tokens is None and metrics.completion_tokens is None:
        return None
    prompt, cached = metrics.prompt_tokens or 0, metrics.cached_tokens or 0
    extra = metrics.extra or {}
    written = next((n for key in _WRITES if (n := _count(extra, key))), 0)
    apart = _count(extra, _WRITES_SOMEWHERE)
    if cached > prompt:
        prompt += cached  # a client that counts them separately
    if apart and not written:
        written = apart
        if agent in _WRITES_APART or cached + written > prompt:
            prompt += written
    lifetimes = extra.get("cache_creation")
    hour = _count(dict_of(lifetimes), "ephemeral_1h_input_tokens")
    return within(prompt, metrics.completion_tokens or 0, cached, written, hour)


def _count(extra: dict[str, Any], key: str) -> int:
    try:
        return msgspec.convert(extra.get(key) or 0, Tokens)
    except msgspec.ValidationError:
        raise InputError(f"{key!r} is not a token count") from None


FORMAT = Format(NAME, "trajectories of Harbor (ATIF, versions 1.0 to 1.8)", first_is(_is_own), read)
