"""Tasks of Cline, Roo Code and Kilo Code with their costs, and sessions of Cline's SDK.

A task is a folder. ``api_conversation_history.json`` has the messages. ``ui_messages.json`` has the
texts shown to the user, and each request with its tokens. Either file names the task. Cline's CLI,
and its extensions since 4.1, write a session: ``*.messages.json``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from compactlab.scenarios.readers import chat, jsonl
from compactlab.scenarios.readers.blocks import compact
from compactlab.scenarios.readers.counts import beside, contained, count, counted
from compactlab.scenarios.readers.rest import pass_over_rest
from compactlab.scenarios.readers.script import Draft, Format, Home, Script, conversations
from compactlab.scenarios.readers.shapes import (
    dict_of,
    first_is,
    is_cline_session,
    is_task_history,
    is_task_screen,
    list_of,
    text_of,
)
from compactlab.scenarios.readers.times import time_of
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Part, Usage, verbatim

NAME, SESSION = "cline", "cline-session"

HISTORY, SCREEN = "api_conversation_history.json", "ui_messages.json"
METADATA = "task_metadata.json"
_BESIDE = (SCREEN, METADATA, "context_history.json", "history_item.json", "settings.json")
_MODEL = re.compile(r"<environment_details>.*?<model>([^<\n]+)</model>", re.DOTALL)
_FOLDER = re.compile(r"# Current (?:Working|Workspace) Directory \(([^)\n]+)\) Files")
# Text that a person typed; other user messages are tool results and notes.
_TYPED = re.compile(r"<(?:task|feedback|user_message|answer|new_user_message)>")
# Fields of a message that are read here, or that the model does not see.
_READ = ("metrics", "modelInfo", "reasoning_details", "summary")

# Since these dates (releases 3.29.5 of Roo and 4.119.0 of Kilo), `tokensIn` is the whole prompt for
# every provider; before, for Anthropic's interface, it left out cached tokens. Cline always leaves
# out cached tokens, except for providers that report counts as OpenAI's interface does. Source:
# RooCodeInc/Roo-Code `src/shared/cost.ts`, pull request 8954; Kilo and the list of providers
# second-hand (docs/formats.md).
_WHOLE_ROO, _WHOLE_KILO = 1761955200.0, 1762905600.0  # 2025-11-01, 2025-11-12
_WHOLE_AT_CLINE = (
    "doubao", "fireworks", "hicap", "litellm", "lmstudio", "openai", "qwen", "xai", "zai",
)  # fmt: skip


@dataclass
class _Asked:
    time: float
    usage: Usage | None
    model: str
    index: int | None  # index of the newest message of the history at that time
    purpose: str = ""  # of a side request
    truncated: tuple[int, int] | None = None  # the range of messages left out of it


@dataclass
class _Task:
    vendor: str
    requests: list[_Asked] = field(default_factory=list)
    models: list[tuple[float, str]] = field(default_factory=list)


def _sniff(first: list[Any]) -> bool:
    return is_task_history(first[0]) or is_task_screen(first[0])


def part_of(path: Path) -> Path | None:
    """Return the history that a file of a task belongs to, if it exists."""
    history = path.with_name(HISTORY)
    return history if path.name in _BESIDE and history.is_file() else None


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Yield the conversation of a task."""
    yield from islice(conversations(lines, _conversation), 1)


def _conversation(lines: jsonl.Lines, first: Any, _: int) -> Conversation:
    if not _sniff([first]):
        raise InputError("a task of Cline is a list of messages")
    history = first if is_task_history(first) else _beside(lines, HISTORY)
    screen = first if is_task_screen(first) else _beside(lines, SCREEN)
    whole = history["messages"] if isinstance(history, dict) else history
    messages: list[dict[str, Any]] = []
    for each in whole or []:
        with lines.at(0, each):
            messages.append(msgspec.convert(each, dict[str, Any]))
    task = _Task(_vendor(lines.path, messages))
    for entry in list_of(dict_of(_beside(lines, METADATA)).get("model_usage")):
        if isinstance(entry, dict):
            task.models.append((time_of(entry.get("ts")), str(entry.get("model_id") or "")))
    shown = [each for each in list_of(screen) if isinstance(each, dict)]
    _take_screen(task, shown, lines)
    script = Script()
    reading = _Reading(script, task, messages, lines)
    if messages:
        reading.take()
    else:
        reading.take_screen(shown)
    named = lines.path.name in (HISTORY, SCREEN)
    id = lines.path.absolute().parent.name if named else lines.path.stem
    return script.conversation(id, NAME, lines.path, counted=True)


def _beside(lines: jsonl.Lines, name: str) -> Any:
    path = lines.path.with_name(name)
    return jsonl.load(path) if path != lines.path and path.is_file() else None


def _vendor(path: Path, messages: list[Any]) -> str:
    """Return the client that wrote a task; the meaning of the counts depends on it."""
    whole = str(path.absolute()).lower()
    for vendor, folder in (("roo", "roo-cline"), ("kilo", "kilo-code"), ("cline", "claude-dev")):
        if folder in whole:
            return vendor
    return "roo" if any(_MODEL.search(text_of(each)) for each in messages[:4]) else "cline"


def _take_screen(task: _Task, shown: list[dict[str, Any]], lines: jsonl.Lines) -> None:
    cut: tuple[int, int] | None = None
    for each in shown:
        with lines.at(0, each):
            where = each.get("conversationHistoryDeletedRange")
            if isinstance(where, list) and len(where) == 2:
                new = count(where[0]), count(where[1])
                if new != cut and task.requests:
                    # A context is truncated after its request was shown, and before it is sent.
                    task.requests[-1].truncated = new
                cut = new
            if each.get("say") in _REQUESTS:
                task.requests.append(_request(task.vendor, each))


# Messages with billed requests, and the purposes of side requests.
_REQUESTS = {
    "api_req_started": "",
    "deleted_api_reqs": "deleted requests",
    "subagent_usage": "subagents",
}


def _request(vendor: str, shown: dict[str, Any]) -> _Asked:
    text = shown.get("text")
    told = json.loads(text) if isinstance(text, str) and text.strip() else {}
    if not isinstance(told, dict):
        raise InputError("a request is told by an object")
    time = time_of(shown.get("ts"))
    info = dict_of(shown.get("modelInfo"))
    index = shown.get("conversationHistoryIndex")
    usage = _usage(vendor, told, time, str(info.get("providerId") or ""))
    at = index if isinstance(index, int) else None
    return _Asked(time, usage, str(info.get("modelId") or ""), at, _REQUESTS[shown["say"]])


def _usage(vendor: str, told: dict[str, Any], time: float, provider: str) -> Usage | None:
    """Return the usage of a request; None if it has no answer."""
    keys = ("tokensIn", "tokensOut", "cacheReads", "cacheWrites")
    counts = counted(told, keys)
    if not any(counts):
        return None
    protocol = told.get("apiProtocol")
    if vendor == "cline" and protocol is None:
        whole = provider in _WHOLE_AT_CLINE
    else:
        since = _WHOLE_KILO if vendor == "kilo" else _WHOLE_ROO
        whole = protocol != "anthropic" or time >= since
    return (contained if whole else beside)(*counts)


class _Reading:
    def __init__(
        self, script: Script, task: _Task, messages: list[dict[str, Any]], lines: jsonl.Lines
    ) -> None:
        self._script, self._task, self._messages, self._lines = script, task, messages, lines
        self._taken: list[list[Draft]] = []  # the drafts made from each message of the history
        self._model = self._latest = ""
        self._thoughts: list[Any] = []

    def take(self) -> None:
        """Take all messages; billed requests without a message become side requests."""
        paired = _paired(self._messages, self._task.requests)
        for at, message in enumerate(self._messages):
            self._taken.append([])
            with self._lines.at(0, message):
                self._take(at, message, paired.get(at))
        answered = {id(each) for each in paired.values()}
        for asked in self._task.requests:
            if id(asked) not in answered and asked.usage:
                model = asked.model or self._model_at(asked.time) or self._latest
                purpose = asked.purpose or "not in the history"
                self._script.bill(purpose, Call(model, asked.usage), asked.time)

    def take_screen(self, shown: list[dict[str, Any]]) -> None:
        """Take the shown messages if the history is missing; the prompts are then unknown."""
        requests = iter(self._task.requests)
        answer: Draft | None = None
        for each in shown:
            kind, text = each.get("say") or each.get("ask"), each.get("text")
            time = time_of(each.get("ts"))
            if kind in _REQUESTS:
                asked = next(requests, None)
                if asked and asked.usage:
                    call = Call(asked.model or self._model_at(time), asked.usage)
                    answer = self._script.draft("assistant", None, time, call=call)
                    self._script.add(answer)
            elif isinstance(text, str) and text.strip():
                ours = answer if kind not in ("user_feedback", "task") else None
                draft = ours or self._script.add(self._script.draft("user", None, time))
                draft.parts.append(verbatim(draft.id, "text", text))

    def _take(self, at: int, message: dict[str, Any], asked: _Asked | None) -> None:
        if message.get("type") == "reasoning" and "role" not in message:
            self._thoughts += _thoughts(message)
            heard = [verbatim("", "thinking", each["thinking"]) for each in self._thoughts]
            pass_over_rest(self._lines, message, heard, _READ)
            return
        told = text_of(message)
        if folder := _FOLDER.search(told):
            self._script.locate(folder[1])
        if model := _MODEL.search(told):
            self._model = model[1].strip()
        if message.get("isSummary") or message.get("isTruncationMarker"):
            self._condensed(at, message)
            return
        if asked and asked.truncated:
            self._truncated(*asked.truncated, asked.time)
        time = time_of(message.get("ts")) or (asked.time if asked else 0.0)
        model_id = str(dict_of(message.get("modelInfo")).get("modelId") or "")
        model_id = model_id or (asked.model if asked else "")
        call = Call(model_id or self._model_at(time), asked.usage if asked else None)
        plain = _as_anthropic(message)
        if message.get("role") == "assistant" and self._thoughts:
            content = plain.get("content")
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            plain["content"] = [*self._thoughts, *list_of(blocks)]
            self._thoughts = []
        self._latest = call.model or self._latest
        meta, lines = bool(at and not _TYPED.search(told)), self._lines
        self._taken[at] = chat.take(
            self._script, plain, lines, call=call, time=time, known=_READ, meta=meta
        )
        made: list[Part | Draft] = [*self._taken[at], *self._script.system]
        pass_over_rest(self._lines, message, made, _READ)

    def _model_at(self, time: float) -> str:
        if self._model or not self._task.models:
            return self._model
        since = [model for begin, model in self._task.models if not time or begin <= time]
        return since[-1] if since else self._task.models[0][1]

    def _truncated(self, start: int, end: int, time: float) -> None:
        """Record a truncation: Cline omits a range of messages from its requests."""
        kept = next((draft for drafts in self._taken[end + 1 :] for draft in drafts), None)
        boundary = self._script.compact(time, kept=kept, trigger="auto")
        before = (draft for drafts in self._taken[:start] for draft in drafts)
        boundary.inserted = [self._script.copy(draft) for draft in before]

    def _condensed(self, at: int, message: dict[str, Any]) -> None:
        """Record that Roo hides messages behind a summary or a note about a truncation."""
        mark = message.get("condenseId") or message.get("truncationId")
        hidden = [
            index
            for index, each in enumerate(self._messages[:at])
            if mark and mark in (each.get("condenseParent"), each.get("truncationParent"))
        ]
        last = max(hidden, default=at - 1)
        kept = next((draft for drafts in self._taken[last + 1 : at] for draft in drafts), None)
        time = time_of(message.get("ts"))
        boundary = self._script.compact(time, kept=kept, trigger="auto")
        for index in range(min(hidden, default=0)):
            boundary.inserted += [self._script.copy(draft) for draft in self._taken[index]]
        plain = _as_anthropic(message) | {"role": "user"}
        for draft in chat.take(Script(), plain, self._lines, time=time, known=_READ):
            boundary.insert(self._script.copy(draft), summary=True)
        pass_over_rest(self._lines, message, boundary.inserted, _READ)


def _paired(messages: list[dict[str, Any]], requests: list[_Asked]) -> dict[int, _Asked]:
    """Match the answers of a history with requests; the keys are indices of answers.

    They are matched by time, by the length of the history at the request, or by their order from
    the end, because a client may drop the beginning.
    """
    answers = [at for at, each in enumerate(messages) if each.get("role") == "assistant"]
    asked = [each for each in requests if not each.purpose]
    if answers and all(time_of(messages[at].get("ts")) for at in answers):
        stamps = [(time_of(messages[at]["ts"]), at) for at in answers]
        found = {
            next((at for stamp, at in stamps if stamp >= each.time), -1): each for each in asked
        }
    elif asked and all(each.index is not None for each in asked):
        found = {next((at for at in answers if at > (each.index or 0)), -1): each for each in asked}
    else:
        sent = [each for each in asked if each.usage]
        pairs = zip(reversed(answers), reversed(sent), strict=False)
        return dict(pairs)
    return {at: each for at, each in found.items() if at >= 0}


def _as_anthropic(message: dict[str, Any]) -> dict[str, Any]:
    """Convert a message to Anthropic's form; Roo and Cline have also written the AI SDK's."""
    content = message.get("content")
    plain = dict(message)
    if isinstance(content, list):
        plain["content"] = [_block(each) for each in content]
        if message.get("role") == "tool":
            plain["role"] = "user"
    return plain


def _block(block: Any) -> Any:
    told = dict_of(block)
    kind, content = told.get("type"), told.get("content")
    if kind == "tool-call":
        named = {"id": told.get("toolCallId"), "name": told.get("toolName")}
        return {"type": "tool_use", **named, "input": told.get("input", {})}
    if kind == "tool-result":
        output = told.get("output")
        text = compact(output.get("value", output) if isinstance(output, dict) else output)
        return {"type": "tool_result", "tool_use_id": told.get("toolCallId"), "content": text}
    if kind == "reasoning":
        return {"type": "thinking", "thinking": told.get("text") or ""}
    if kind == "file" and isinstance(content, str):
        return {"type": "text", "text": content}
    if kind == "tool_result" and isinstance(content, list):
        return {**told, "content": [_block(each) for each in content]}
    return block


def _thoughts(item: dict[str, Any]) -> list[Any]:
    texts = [each.get("text") for each in list_of(item.get("summary")) if isinstance(each, dict)]
    told = "\n".join(text for text in [*texts, item.get("text")] if isinstance(text, str) and text)
    return [{"type": "thinking", "thinking": told}]


_EXTENSIONS = "*/User/globalStorage"  # of Visual Studio Code and its forks
# Homes, those of sessions among them: deja-vu#253; of extensions: cline#7742,
# ai-engineering-fluency#1491.
FORMAT = Format(
    NAME,
    "tasks of Cline, Roo Code and Kilo Code (their folders)",
    _sniff,
    read,
    part_of=part_of,
    homes=(
        Home(
            "cline",
            ("CLINE_SESSION_DATA_DIR", "CLINE_DATA_DIR/sessions", "CLINE_DIR/data/sessions"),
            ("~/.cline/data/sessions",),
        ),
        Home("cline", (), ("~/.cline/data/tasks",)),
        Home("cline", (), ("{config}",), (f"{_EXTENSIONS}/saoudrizwan.claude-dev/tasks",)),
        Home("roo", (), ("{config}",), (f"{_EXTENSIONS}/rooveterinaryinc.roo-cline/tasks",)),
        Home("kilo", (), ("{config}",), (f"{_EXTENSIONS}/kilocode.kilo-code/tasks",)),
    ),
)


# Sessions

_OF_SESSIONS = (*_READ, "metadata")
_MESSAGES = ".messages.json"
_SUMMARY = "compaction_summary"
_SESSION = {"version", "updated_at", "agent", "sessionId", "taskType", "origin", "messages"}


def _messages_of(path: Path) -> Path | None:
    """Return the messages file that a manifest or a compaction belongs to, if it exists."""
    stem = path.name.removesuffix(".json").removesuffix(".compaction")
    messages = path.with_name(f"{stem}{_MESSAGES}")
    return messages if messages != path and path.suffix == ".json" and messages.is_file() else None


def read_session(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Read the conversation of a session's file."""
    yield from islice(conversations(lines, _session), 1)


def _session(lines: jsonl.Lines, session: Any, _: int) -> Conversation:
    if not is_cline_session(session):
        raise InputError("a session of Cline has an id and messages")
    lines.pass_over_fields(session, _SESSION, "a session")
    # The session's manifest is a file beside it.
    manifest = dict_of(_beside(lines, lines.path.name.replace(_MESSAGES, ".json")))
    script = Script()
    script.locate(manifest.get("cwd") or manifest.get("workspace_root"))
    script.subagent = session.get("agent", "lead") != "lead"
    model = str(manifest.get("model") or "")
    for message in session["messages"]:
        with lines.at(0, message):
            model = _take_message(script, message, model, lines)
    stem = lines.path.name.removesuffix(".json").removesuffix(".messages")
    return script.conversation(stem, SESSION, lines.path, counted=True)


def _take_message(script: Script, message: Any, model: str, lines: jsonl.Lines) -> str:
    """Take a message; return the model from then on."""
    if not isinstance(message, dict):
        raise InputError("a message is an object")
    metadata = dict_of(message.get("metadata"))
    if metadata.get("displayOnly"):
        return model  # a note to the user
    time = time_of(message.get("ts"))
    plain = _as_anthropic(message)
    if metadata.get("kind") == _SUMMARY:
        before = count(metadata.get("tokensBefore"))
        boundary = script.compact(time, trigger="auto", tokens_before=before)
        for draft in chat.take(Script(), plain, lines, time=time, known=_OF_SESSIONS):
            copy = script.copy(draft)
            copy.role = "user"
            boundary.insert(copy, summary=True)
        pass_over_rest(lines, message, boundary.inserted, _OF_SESSIONS)
        return model
    model = str(dict_of(message.get("modelInfo")).get("id") or model)
    usage = _metered(message.get("metrics"))
    plain.pop("id", None)
    drafts = chat.take(script, plain, lines, call=Call(model, usage), time=time, known=_OF_SESSIONS)
    pass_over_rest(lines, message, [*drafts, *script.system], _OF_SESSIONS)
    return model


def _metered(metrics: Any) -> Usage | None:
    """Return the usage of an answer, whose input includes cached tokens."""
    if not isinstance(metrics, dict):
        return None
    keys = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    counts = counted(metrics, keys)
    return contained(*counts) if any(counts[:2]) else None


SESSIONS = Format(
    SESSION,
    "sessions of Cline's CLI and of its extensions from 4.1 on (JSON)",
    first_is(is_cline_session),
    read_session,
    part_of=_messages_of,
)
