"""OpenClaw's databases, since 2026.8.1: the lines of its former files, one per row."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import IO, Any

from compactlab.scenarios.readers import database, jsonl, pi
from compactlab.scenarios.readers.archive import unpacked
from compactlab.scenarios.readers.database import Database, plain
from compactlab.scenarios.readers.script import Format, Home, stored
from compactlab.scenarios.readers.shapes import dict_of, first_is
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.json import LARGEST, TOO_LARGE

NAME = "openclaw"

_PACKED = "event_zstd"
_LARGEST_EVENT = 4 * 2**20  # bytes: OpenClaw's own limit
_EVENTS, _ARCHIVES, _NODES = "transcript_events", "session_transcript_archives", "session_nodes"
_OF_EVENTS = {"session_id", "seq", "event_json"}
_OF_ARCHIVES = {"session_id", "generation", "encoding", "archive_blob"}
_OF_NODES = {"current_session_id", "spawned_by", "fork_source_session_id"}


def _is_own(head: dict[str, Any]) -> bool:
    return {*dict_of(head.get("sqlite")).get(_EVENTS, ())} >= _OF_EVENTS


def read(lines: jsonl.Lines) -> Iterator[Conversation]:
    """Read the conversation of each session, including deleted and restarted ones."""
    with database.opened(lines.path) as opened:
        yield from stored(lines, opened, _sessions(opened), partial(_conversation, opened, lines))


def _sessions(opened: Database) -> Iterator[tuple[str, str]]:
    """Yield the ids of sessions, each with "" or the name of its archived part."""
    with opened.snapshot():
        ids = [*opened.distinct(_EVENTS, "session_id")]
        archived = []
        if {*opened.tables.get(_ARCHIVES, ())} >= _OF_ARCHIVES:
            query = f"SELECT session_id, generation FROM {_ARCHIVES} ORDER BY 1, 2"  # noqa: S608
            archived = [(plain(id), plain(name)) for id, name in opened.rows(query)]
    yield from ((id, "") for id in ids)
    yield from archived


def _conversation(opened: Database, lines: jsonl.Lines, id: str, generation: str) -> Conversation:
    if generation:
        records, named = _archived(opened, id, generation), f"{id}/{generation}"
    else:
        records, named = _live(opened, id), id
    name = f"{lines.path.stem}/{named}"
    conversation = pi.conversation_of(lines.over(records), lines, name)
    if not {*opened.tables.get(_NODES, ())} >= _OF_NODES:
        return conversation
    query = (
        f"SELECT spawned_by, fork_source_session_id FROM {_NODES} "  # noqa: S608
        "WHERE current_session_id = ?"
    )
    for spawned, forked in opened.rows(query, id):
        parent = plain(forked) or conversation.parent
        return replace(conversation, subagent=bool(spawned), parent=parent)
    return conversation


def _live(opened: Database, id: str) -> Iterator[tuple[int, bytes]]:
    """Yield the events of a session; since 2026.9.6, long ones are compressed in another column."""
    packed = _PACKED if _PACKED in opened.tables[_EVENTS] else "NULL"
    query = (
        f"SELECT event_json, {packed} FROM {_EVENTS} "  # noqa: S608
        "WHERE session_id = ? ORDER BY seq"
    )
    for number, (event, blob) in enumerate(opened.rows(query, id), 1):
        if event is None and isinstance(blob, bytes):
            yield number, _unpacked(blob, opened)
        else:
            yield number, event if isinstance(event, bytes) else b""


def _unpacked(blob: bytes, opened: Database) -> bytes:
    """Decompress an event; return nothing, which is counted as invalid JSON, if that fails."""
    try:
        return unpacked(io.BytesIO(blob), opened.path, _LARGEST_EVENT).read()
    except InputError:
        return b""


def _archived(opened: Database, id: str, generation: str) -> Iterator[tuple[int, bytes]]:
    query = (
        f"SELECT encoding, archive_blob FROM {_ARCHIVES} "  # noqa: S608
        "WHERE session_id = ? AND generation = ?"
    )
    for encoding, blob in opened.rows(query, id, generation):
        stream: IO[bytes] = io.BytesIO(blob if isinstance(blob, bytes) else b"")
        if plain(encoding) == "zstd":
            stream = unpacked(stream, opened.path, jsonl.LARGEST_FILE)
        for number, line in enumerate(iter(lambda: stream.readline(LARGEST + 1), b""), 1):  # noqa: B023
            if len(line) > LARGEST:
                raise InputError(TOO_LARGE, str(opened.path))
            if line.strip():
                yield number, line


# Homes: openclaw#45765, #75204; with its former names.
FORMAT = Format(
    NAME,
    "databases of OpenClaw (SQLite)",
    first_is(_is_own),
    read,
    homes=(
        Home(
            "openclaw",
            ("OPENCLAW_STATE_DIR", "OPENCLAW_HOME/.openclaw"),
            ("~/.openclaw", "~/.moltbot", "~/.clawdbot"),
            ("agents/*/agent/openclaw-agent.sqlite", "agents/*/sessions"),
        ),
    ),
)
