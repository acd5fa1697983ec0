"""The output of Claude Code (``--output-format stream-json``, or ``json`` with ``--verbose``).

Pipelines store this output. The lines have no tree. A process ends with a ``result``, whose totals
include what the lines lack: the output tokens of answers, of which only the start was known when
they were printed, and the requests that were not printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers.anthropic import (
    Counts,
    Total,
    by_plain_name,
    plain_name,
    rest_of,
    usage_of,
)
from compactlab.scenarios.readers.claude_thread import Body, Compacted, Kept, Line, Thread
from compactlab.scenarios.readers.counts import Tokens
from compactlab.scenarios.readers.script import Draft, Format
from compactlab.scenarios.readers.times import Moment, converted
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Call, Usage

NAME = "claude-stream-json"

_SPOKEN = ("user", "assistant")
# Lines for the user, without content for the model.
_SHOWN = frozenset({
    "auth_status", "control_cancel_request", "control_request", "control_response", "keep_alive",
    "prompt_suggestion", "rate_limit_event", "streamlined_text", "streamlined_tool_use_summary",
    "tool_progress", "tool_use_summary",
})  # fmt: skip
_KNOWN = frozenset({"message", "tool_use_meta", "tool_use_result", "wire_tool_inputs"})
_BOUNDARY = "compact_boundary"
_CHARACTERS_PER_TOKEN = 4


class _Held(msgspec.Struct):
    head_uuid: str | None = None
    uuids: list[str] | None = None


class _Metadata(msgspec.Struct):
    trigger: str | None = None
    pre_tokens: Tokens | None = None
    preserved_segment: _Held | None = None
    preserved_messages: _Held | None = None


class _Answer(msgspec.Struct):
    id: str | None = None


class _Delta(msgspec.Struct):
    text: str | None = None
    thinking: str | None = None
    partial_json: str | None = None


class _Piece(msgspec.Struct):
    type: str = ""
    message: _Answer | None = None
    delta: _Delta | None = None
    usage: Counts | None = None


class _Event(msgspec.Struct):
    type: str
    subtype: str | None = None
    session_id: str | None = None
    parent_tool_use_id: str | None = None
    uuid: str | None = None
    request_id: str | None = None
    timestamp: Moment | None = None
    message: Body | None = None
    event: _Piece | None = None
    usage: Counts | None = None
    result: str | None = None
    cwd: Any = None
    claude_code_version: str | None = None
    compact_metadata: _Metadata | None = None
    is_synthetic: bool | None = msgspec.field(default=None, name="isSynthetic")
    model_usage: dict[str, Total] | None = msgspec.field(default=None, name="modelUsage")


def _sniff(first: list[Any]) -> bool:
    return any(_is_own(value) for value in first) or any(
        isinstance(value, list) and any(map(_is_own, value[:5])) for value in first
    )


def _is_own(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("session_id"), str):
        return False
    kind = value.get("type")
    if "parentUuid" in value:
        return False
    if kind == "system":
        return value.get("subtype") == "init"
    if kind == "result":
        return "num_turns" in value or "total_cost_usd" in value
    return kind in _SPOKEN and "parent_tool_use_id" in value and "message" in value


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Yield the conversation of each session, then those of its sub-agents."""
    sessions: dict[str, _Session] = {}
    for number, value in jsonl.values(lines):
        for record in value if isinstance(value, list) else [value]:
            with lines.at(number):
                id = record.get("session_id") if isinstance(record, dict) else None
                id = id if isinstance(id, str) else next(reversed(sessions), "")
                if id not in sessions:
                    sessions[id] = _Session(lines, id)
                sessions[id].take(record)
    for number, session in enumerate(sessions.values()):
        yield from session.conversations(f"/{number + 1}" if number else "")


class _Session:
    def __init__(self, lines: jsonl.Lines, id: str) -> None:
        self._lines, self._id = lines, id
        self._seen: set[str] = set()
        self._threads = {"": Thread(lines)}
        self._last: dict[str, str] = {}  # the last line of each thread
        self._open: dict[str, str] = {}  # the id of the streamed answer
        self._pieces: dict[str, str] = {}  # its text, until a line contains it
        self._version = ""
        self._summary_due = False
        self._totals: list[dict[str, Total]] = []  # totals of each process
        self._usages: list[Counts] = []
        self._result = ""
        self._count = 0

    def take(self, record: Any) -> None:
        event = converted(record, _Event)
        key = event.parent_tool_use_id or ""
        if event.type in _SPOKEN:
            self._lines.pass_over_fields(record, _KNOWN, f"a line of type {event.type!r}")
            self._speak(event, key)
        elif event.type == "stream_event":
            self._piece(event.event or _Piece(), key)
        elif event.type == "result":
            self._end(event)
        elif event.type == "system":
            self._note(event, record)
        elif event.type not in _SHOWN:
            self._lines.pass_over(f"record {event.type!r}", record)

    def conversations(self, number: str) -> Iterator[Conversation]:
        main = self._threads.pop("")
        agents = list(self._threads.values())
        self._complete(main, agents)
        if main.script.last is None and self._result:
            main.script.say("assistant", self._result)
        for text in self._pieces.values():
            if text and not self._lines.strict:
                self._lines.pass_over("answer that was not finished", text)
        path = self._lines.path
        named = {"": main, **{f"#sidechain-{n}": each for n, each in enumerate(agents, 1)}}
        for suffix, thread in named.items():
            if thread.script.path or not suffix:
                # The first prompt is an argument of the command and is not printed.
                inside = not thread.script.path or thread.script.path[0].role == "assistant"
                yield thread.script.conversation(
                    f"{path.stem}{number}{suffix}", NAME, path, inside=inside
                )

    def _speak(self, event: _Event, key: str) -> None:
        if event.uuid and event.uuid in self._seen:
            return  # printed again after a resume
        self._seen.add(event.uuid or "")
        if key not in self._threads:
            self._threads[key] = Thread(self._lines)
            self._threads[key].script.subagent = True
        self._pieces.pop(key, None)
        summary = self._summary_due and not key and event.type == "user"
        self._summary_due &= not summary
        self._take(key, event, is_compact_summary=summary, is_meta=bool(event.is_synthetic))

    def _take(self, key: str, event: _Event, **more: Any) -> None:
        self._count += 1
        uuid = event.uuid or f"line-{self._count}"
        line = Line(
            event.type,
            uuid,
            self._last.get(key),
            is_sidechain=bool(key),
            subtype=event.subtype,
            timestamp=event.timestamp,
            request_id=event.request_id,
            version=self._version,
            message=event.message,
            **more,
        )
        self._threads[key].take(line)
        self._last[key] = uuid

    def _note(self, event: _Event, record: Any) -> None:
        if event.subtype == "init":
            self._version = event.claude_code_version or ""
            self._threads[""].script.locate(event.cwd)
        elif event.subtype == _BOUNDARY:
            about = event.compact_metadata or _Metadata()
            held = about.preserved_segment or _Held()
            kept = about.preserved_messages or _Held()
            told = Compacted(
                about.trigger, about.pre_tokens, Kept(held.head_uuid), Kept(uuids=kept.uuids)
            )
            self._take("", event, compact_metadata=told)
            self._summary_due = True

    def _piece(self, piece: _Piece, key: str) -> None:
        """Take a piece of a streamed answer: a line repeats its texts, but not its last counts."""
        if piece.type == "message_start":
            self._open[key] = (piece.message or _Answer()).id or ""
        elif piece.delta and piece.type == "content_block_delta":
            delta = piece.delta
            text = delta.text or delta.thinking or delta.partial_json or ""
            self._pieces[key] = self._pieces.get(key, "") + text
        elif piece.usage and key in self._threads:
            self._threads[key].recount(self._open.get(key, ""), piece.usage)

    def _end(self, event: _Event) -> None:
        self._result = event.result or self._result
        if event.usage:
            self._usages.append(event.usage)
        if event.model_usage:
            goes_on = self._totals and all(
                event.model_usage.get(model, Total()).covers(total)
                for model, total in self._totals[-1].items()
            )
            if goes_on:
                self._totals.pop()
            self._totals.append(event.model_usage)

    def _complete(self, main: Thread, agents: list[Thread]) -> None:
        """Add the output that only the totals contain to the answers, and bill the rest."""
        threads = [main, *agents]
        for thread in threads:
            thread.finish()
        told = [usage_of(usage) for usage in self._usages]
        for usage in (told[-1:], told):  # of the process so far, or of a turn
            _fill(main.answers, usage_total(usage))
        totals = by_plain_name(*self._totals)
        answers = [draft for thread in threads for draft in thread.answers]
        for model, total in totals.items():
            own = [
                draft for draft in answers if draft.call and plain_name(draft.call.model) == model
            ]
            _fill(own, total, sure=False)
        requests = [request for thread in threads for request in thread.requests]
        time = max((draft.time for draft in answers), default=0.0)
        main.script.side_requests += rest_of(totals, requests, self._id, time)


def usage_total(usages: Iterable[Usage]) -> Total:
    """Return the total tokens of several requests."""
    return sum((Total.of(usage) for usage in usages), Total())


def _fill(answers: list[Draft], total: Total, sure: bool = True) -> None:
    """Distribute the output tokens that a total has beyond its answers.

    If the answers' prompts add up to the total's, the answers share all of them by length.
    Otherwise the total includes other requests. Then nothing is distributed, or, if ``sure`` is
    false, each answer gets at most as much as its text explains.
    """
    calls = [draft.call or Call() for draft in answers]
    usages = [call.usage or Usage() for call in calls]
    known = usage_total(usages)
    missing = total.output_tokens - known.output_tokens
    weights = [sum(len(part.text) for part in draft.parts) + 1 for draft in answers]
    if total.prompt != known.prompt:
        if sure:
            return
        texts = ((length - 1) // _CHARACTERS_PER_TOKEN for length in weights)
        weights = [max(0, n - usage.output) for n, usage in zip(texts, usages, strict=True)]
        missing = min(missing, sum(weights))
    if missing <= 0:
        return
    given = through = 0
    for draft, call, usage, weight in zip(answers, calls, usages, weights, strict=True):
        through += weight
        share = missing * through // sum(weights) - given
        given += share
        more = msgspec.structs.replace(usage, output=usage.output + share)
        draft.call = msgspec.structs.replace(call, usage=more)


FORMAT = Format(
    NAME,
    "what Claude Code prints: stream-json, or json with --verbose (JSONL or JSON)",
    _sniff,
    read,
)
