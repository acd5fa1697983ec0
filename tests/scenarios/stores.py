"""Databases as clients make them, small."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

Record = dict[str, Any]

OPENCODE = """
CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, directory text,
  title text, version text, time_created integer, time_updated integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer,
  time_updated integer, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer,
  time_updated integer, data text NOT NULL);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
"""
NEWER = """
CREATE TABLE session_v2 (id text PRIMARY KEY, parent_id text, fork_session_id text,
  directory text, title text, version text, model text, cost real DEFAULT 0,
  tokens_input integer DEFAULT 0, tokens_output integer DEFAULT 0,
  tokens_reasoning integer DEFAULT 0, tokens_cache_read integer DEFAULT 0,
  tokens_cache_write integer DEFAULT 0, time_created integer, time_updated integer);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text, type text, seq integer,
  time_created integer, time_updated integer, data text NOT NULL);
CREATE UNIQUE INDEX session_message_session_seq_idx ON session_message (session_id, seq);
"""
OPENCLAW = """
CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL,
  event_json TEXT NOT NULL, created_at INTEGER NOT NULL, PRIMARY KEY (session_id, seq)) STRICT;
CREATE TABLE session_transcript_archives (session_id TEXT NOT NULL, generation TEXT NOT NULL,
  reason TEXT NOT NULL, encoding TEXT NOT NULL, archive_blob BLOB NOT NULL,
  PRIMARY KEY (session_id, generation)) STRICT;
"""
HERMES = """
CREATE TABLE system_prompts (hash TEXT PRIMARY KEY, prompt TEXT NOT NULL);
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, model TEXT, model_config TEXT,
  system_prompt TEXT, system_prompt_hash TEXT, parent_session_id TEXT, started_at REAL,
  ended_at REAL, end_reason TEXT, input_tokens INTEGER, output_tokens INTEGER,
  cache_read_tokens INTEGER, cache_write_tokens INTEGER, reasoning_tokens INTEGER,
  api_call_count INTEGER, billing_provider TEXT, cwd TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT,
  content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL,
  finish_reason TEXT, reasoning TEXT, _compressed_summary INTEGER DEFAULT 0,
  active INTEGER DEFAULT 1, compacted INTEGER DEFAULT 0);
CREATE TABLE session_model_usage (session_id TEXT, model TEXT, billing_provider TEXT, task TEXT,
  api_call_count INTEGER, input_tokens INTEGER, output_tokens INTEGER,
  cache_read_tokens INTEGER, cache_write_tokens INTEGER, first_seen REAL);
CREATE INDEX idx_messages_session_id ON messages(session_id, id);
"""


def made(path: Path, schema: str, *rows: tuple[str, Record], wal: bool = True) -> Path:
    """A database with rows of its tables, that its client has closed."""
    with closing(sqlite3.connect(path)) as connection:
        if wal:
            connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(schema)
        put(connection, rows)
    return path


def put(connection: sqlite3.Connection, rows: Iterable[tuple[str, Record]]) -> None:
    for table, row in rows:
        values = [json.dumps(v) if isinstance(v, dict | list) else v for v in row.values()]
        marks = ", ".join("?" * len(values))
        connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", values)
    connection.commit()


def opencode_rows(
    *messages: Record, session: str = "ses_1", **more: Any
) -> list[tuple[str, Record]]:
    """The rows of a session that `opencode export` would write as these messages."""
    row = {"id": session, "directory": "/work/site", "time_created": 1, "version": "1.18.0", **more}
    rows: list[tuple[str, Record]] = [("session", row)]
    for message in messages:
        info = {
            key: value for key, value in message["info"].items() if key not in ("id", "sessionID")
        }
        id = f"{session}/{message['info']['id']}"
        time = int(info["time"]["created"])
        rows.append(
            ("message", {"id": id, "session_id": session, "time_created": time, "data": info})
        )
        for number, part in enumerate(message["parts"]):
            own = {"id": f"{id}/{number:03}", "message_id": id, "session_id": session}
            rows.append(("part", {**own, "data": part}))
    return rows


def newer_rows(
    messages: Sequence[tuple[str, Record]], session: str = "ses_2", **more: Any
) -> list[tuple[str, Record]]:
    """The rows of a session of OpenCode 2: messages of a type each."""
    row = {"id": session, "directory": "/work/site", "time_created": 1, "version": "2.0.3", **more}
    rows: list[tuple[str, Record]] = [("session_v2", row)]
    for seq, (type, data) in enumerate(messages):
        rows.append(("session_message", {"id": f"msg_{session}_{seq}", "session_id": session,
                                         "type": type, "seq": seq, "data": data}))  # fmt: skip
    return rows


def openclaw_rows(session: str, *events: Record) -> list[tuple[str, Record]]:
    head = {"type": "session", "version": 3, "id": session, "timestamp": "2026-11-01T10:00:00.000Z",
            "cwd": "/srv/shop"}  # fmt: skip
    return [
        (
            "transcript_events",
            {"session_id": session, "seq": seq, "event_json": event, "created_at": 1},
        )
        for seq, event in enumerate((head, *events))
    ]


def openclaw_talk(id: str, written: int) -> tuple[Record, Record]:
    """A question and its answer."""
    asks = {"role": "user", "content": [{"type": "text", "text": f"Hello {id}."}]}
    usage = {"input": 10, "output": 20, "cacheRead": 0, "cacheWrite": written}
    says = {"role": "assistant", "content": [{"type": "text", "text": f"Hi {id}."}],
            "model": "claude-opus-4-5", "stopReason": "stop", "usage": usage}  # fmt: skip
    at = "2026-11-01T10:00:01.000Z"
    return (
        {"type": "message", "id": f"{id}u", "parentId": None, "timestamp": at, "message": asks},
        {"type": "message", "id": f"{id}a", "parentId": f"{id}u", "timestamp": at, "message": says},
    )
