"""Hermes' database, ``state.db``: sessions in the form of an export, and what they used."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from compactlab.scenarios.readers.database import Database, plain
from compactlab.scenarios.readers.shapes import dict_of
from compactlab.sim.core.conversation import SideRequest
from compactlab.sim.core.message import Call, Usage

Record = dict[str, Any]

_TABLES = {
    "sessions": {"id", "model", "started_at"},
    "messages": {"id", "session_id", "role", "content", "tool_calls"},
}
# Content that is no text is kept as JSON behind this.
_JSON = "\0json:"
_CLASSES = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
_MOST = 10_000  # requests that a total is divided into


def is_store(tables: Mapping[str, list[str]]) -> bool:
    """Whether tables are those of Hermes."""
    return all(columns <= {*tables.get(name, ())} for name, columns in _TABLES.items())


def sessions(database: Database) -> list[str]:
    """The ids of all sessions, the oldest first."""
    rows = database.rows("SELECT id FROM sessions ORDER BY started_at, id")
    return [plain(id) for (id,) in rows if isinstance(id, bytes)]


def session(database: Database, id: str) -> Record:
    """A session as an export has it, without its messages."""
    (row,) = database.records("sessions", "id = ?", id)
    if not row.get("system_prompt") and "system_prompts" in database.tables:
        query = "SELECT prompt FROM system_prompts WHERE hash = ?"
        for (prompt,) in database.rows(query, row.get("system_prompt_hash")):
            row["system_prompt"] = plain(prompt)
    parent, marks = row.get("parent_session_id"), _decoded(row.get("model_config"))
    ended = ""
    if parent and "end_reason" in row:
        query = "SELECT end_reason FROM sessions WHERE id = ?"
        ended = next((plain(reason) for (reason,) in database.rows(query, parent)), "")
    branched = bool(marks.get("_branched_from")) or ended == "branched"
    row["continues"] = ended == "compression" and not branched
    row["forked"] = branched
    return row


def messages(database: Database, id: str) -> Iterator[Record]:
    """The messages of a session, in the order in which they were written."""
    for row in database.records("messages", "session_id = ?", id, order="id"):
        content = row.get("content")
        if isinstance(content, str) and content.startswith(_JSON):
            row["content"] = json.loads(content.removeprefix(_JSON))
        yield {key: value for key, value in row.items() if value is not None or key == "content"}


def requests(database: Database, row: Record) -> Iterator[SideRequest]:
    """What a session used, which is counted for all of it: by model and task, or in one sum.

    A sum is divided by its number of calls, so that none looks as long as all of them.
    """
    id = row["id"]
    rest = _usage(row)
    calls = _count(row.get("api_call_count"))
    if "session_model_usage" in database.tables:
        for each in database.records("session_model_usage", "session_id = ?", id):
            task = each.get("task") or ""
            if not task:
                rest = [a - b for a, b in zip(rest, _usage(each), strict=True)]
                calls -= _count(each.get("api_call_count"))
            start = each.get("first_seen") or row["started_at"]
            yield from _divided(each, task, f"{id}/{task}", start)
    if min(rest) >= 0:
        left = dict(zip(_CLASSES, rest, strict=True))
        whole = {**row, **left, "api_call_count": calls}
        yield from _divided(whole, "", f"{id}/rest", row["started_at"])


def _divided(row: Record, task: str, id: str, time: Any) -> Iterator[SideRequest]:
    counts, model = _usage(row), str(row.get("model") or "")
    number = max(1, min(_count(row.get("api_call_count")), _MOST))
    provider = row.get("billing_provider") or ""
    for share in range(number if any(counts) else 0):
        uncached, read, write, output = ((n + share) // number for n in counts)
        usage = Usage(uncached, read, write, output=output)
        name = f"{id}/{provider}/{model}/{share}"
        moment = float(time) if isinstance(time, int | float) else 0.0
        yield SideRequest(task or "session", Call(model, usage, id=name), moment)


def _usage(row: Record) -> list[int]:
    """Tokens by class; the input is without what the cache held, the output with reasoning."""
    return [_count(row.get(key)) for key in _CLASSES]


def _count(value: Any) -> int:
    return min(value, 10**15) if isinstance(value, int) and value > 0 else 0


def _decoded(text: Any) -> Record:
    try:
        value = json.loads(text or "{}")
    except (ValueError, TypeError, RecursionError):
        return {}
    return dict_of(value)
