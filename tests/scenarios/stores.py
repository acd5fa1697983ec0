"""Databases as clients make them, small."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

Record = dict[str, Any]

OPENCLAW = """
CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL,
  event_json TEXT NOT NULL, created_at INTEGER NOT NULL, PRIMARY KEY (session_id, seq)) STRICT;
CREATE TABLE session_transcript_archives (session_id TEXT NOT NULL, generation TEXT NOT NULL,
  reason TEXT NOT NULL, encoding TEXT NOT NULL, archive_blob BLOB NOT NULL,
  PRIMARY KEY (session_id, generation)) STRICT;
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
