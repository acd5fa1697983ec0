"""Sessions of Cline's SDK: its CLI, and its extensions from 4.1 on (``*.messages.json``)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from compactlab.scenarios.readers import chat, jsonl
from compactlab.scenarios.readers.blocks import as_summary, owned
from compactlab.scenarios.readers.cline import READ, as_anthropic
from compactlab.scenarios.readers.counts import contained, count, counted
from compactlab.scenarios.readers.rest import pass_over_rest
from compactlab.scenarios.readers.script import Format, Script, conversations, time_of
from compactlab.scenarios.readers.shapes import dict_of, first_is, is_cline_session
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Call, Usage

NAME = "cline-session"

_READ = (*READ, "metadata")
_MESSAGES = ".messages.json"
_SUMMARY = "compaction_summary"
_SESSION = {"version", "updated_at", "agent", "sessionId", "taskType", "origin", "messages"}


def part_of(path: Path) -> Path | None:
    """The messages that a manifest or a compaction belongs to, if they are there."""
    stem = path.name.removesuffix(".json").removesuffix(".compaction")
    messages = path.with_name(f"{stem}{_MESSAGES}")
    return messages if messages != path and path.suffix == ".json" and messages.is_file() else None


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Yield the conversation of a file."""
    yield from islice(conversations(lines, partial(_conversation, lines)), 1)


def _conversation(lines: jsonl.Lines, session: Any, _: int) -> Conversation:
    if not is_cline_session(session):
        raise InputError("a session of Cline has an id and messages")
    lines.pass_over_fields(session, _SESSION, "a session")
    manifest = _manifest(lines)
    script = Script()
    script.locate(manifest.get("cwd") or manifest.get("workspace_root"))
    script.subagent = session.get("agent", "lead") != "lead"
    model = str(manifest.get("model") or "")
    for message in session["messages"]:
        with lines.at(0, message):
            model = _take(script, message, model, lines)
    stem = lines.path.name.removesuffix(".json").removesuffix(".messages")
    return script.conversation(stem, NAME, lines.path, counted=True)


def _manifest(lines: jsonl.Lines) -> dict[str, Any]:
    """What the file beside it tells of the session."""
    path = lines.path.with_name(lines.path.name.replace(_MESSAGES, ".json"))
    value = jsonl.load(path) if path != lines.path and path.is_file() else {}
    return dict_of(value)


def _take(script: Script, message: Any, model: str, lines: jsonl.Lines) -> str:
    """Take a message; return the model from then on."""
    if not isinstance(message, dict):
        raise InputError("a message is an object")
    metadata = message.get("metadata")
    metadata = dict_of(metadata)
    if metadata.get("displayOnly"):
        return model  # a note to the user
    time = time_of(message.get("ts"))
    plain = as_anthropic(message)
    if metadata.get("kind") == _SUMMARY:
        before = count(metadata.get("tokensBefore"))
        boundary = script.compact(time, trigger="auto", tokens_before=before)
        for draft in chat.take(Script(), plain, lines, time=time, known=_READ):
            copy = script.draft("user", None, time, True)
            owns = (owned(part, copy.id) for part in draft.parts)
            copy.parts = [as_summary(part, boundary.covered) for part in owns]
            boundary.inserted.append(copy)
        pass_over_rest(lines, message, boundary.inserted, _READ)
        return model
    info = message.get("modelInfo")
    model = str(info.get("id") or model) if isinstance(info, dict) else model
    usage = _usage(message.get("metrics"))
    plain.pop("id", None)
    drafts = chat.take(script, plain, lines, call=Call(model, usage), time=time, known=_READ)
    pass_over_rest(lines, message, [*drafts, *script.system], _READ)
    return model


def _usage(metrics: Any) -> Usage | None:
    """The usage of an answer, whose input contains what was cached."""
    if not isinstance(metrics, dict):
        return None
    keys = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    counts = counted(metrics, keys)
    return contained(*counts) if any(counts[:2]) else None


FORMAT = Format(
    NAME,
    "sessions of Cline's CLI and of its extensions from 4.1 on (JSON)",
    first_is(is_cline_session),
    read,
    part_of=part_of,
)
