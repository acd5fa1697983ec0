"""OpenCode's database, in both versions: its contents in the form of an export.

Versions before 2.0 have ``session``, ``message`` and ``part``. Versions from 2.0 on have
``session_v2`` and ``session_message``; an update keeps the older tables unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from compactlab.scenarios.readers.blocks import compact
from compactlab.scenarios.readers.database import Database, Record, plain

Told = tuple[Record, list[Record]]
"""A message, and its parts."""

_ANY = msgspec.json.Decoder(Record)
_OLDER = {"session": ("id", "directory"), "message": ("id", "session_id", "time_created", "data"),
          "part": ("id", "message_id", "data")}  # fmt: skip
_NEWER = {"session_message": ("id", "session_id", "type", "data")}
# Parts for the user interface; they are not sent to the model.
_LEFT_OUT = {"agent-switched", "model-switched", "location-switched", "idle"}


def is_store(tables: Mapping[str, list[str]]) -> bool:
    """Whether the tables are those of OpenCode."""
    return _has(tables, _OLDER) or ("session_v2" in tables and _has(tables, _NEWER))


def _has(tables: Mapping[str, list[str]], wanted: Mapping[str, tuple[str, ...]]) -> bool:
    return all({*columns} <= {*tables.get(name, ())} for name, columns in wanted.items())


class Store:
    """The sessions of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._older = _has(database.tables, _OLDER)
        self._newer = _has(database.tables, _NEWER)
        # Without this table, the newer messages are at most copies of the older ones.
        self._table = "session_v2" if "session_v2" in database.tables else "session"

    def sessions(self) -> dict[str, bool]:
        """Return the ids of all sessions, oldest first, and whether each is in the newer tables."""
        newer = self._listed(self._table, "session_message") if self._newer else []
        older = self._listed("session", "message") if self._older else []
        first, then = (newer, older) if self._table == "session_v2" else (older, newer)
        kept: dict[str, tuple[float, bool]] = {}
        for ids in (first, then):
            for id, time in ids:
                kept.setdefault(id, (time, ids is newer))
        return {id: is_newer for id, (_, is_newer) in sorted(kept.items(), key=lambda i: i[1][0])}

    def session(self, id: str, *, newer: bool) -> Record:
        table = self._table if newer else "session"
        (row,) = self._database.records(table, "id = ?", id)
        time = {"created": row.get("time_created") or 0, "updated": row.get("time_updated") or 0}
        named = {"id": id, "directory": row.get("directory"), "parentID": row.get("parent_id")}
        model = _decoded(row.get("model"))
        return {**row, **named, "time": time, "model": model.get("id"), "newer": newer}

    def messages(self, id: str, *, newer: bool) -> Iterator[tuple[str, str, list[bytes]]]:
        """Yield the messages of a session: type, id and content, with the content of its parts."""
        order = "time_created, id"
        if newer and "seq" in self._database.tables["session_message"]:
            order = "seq"
        type, table = ("type", "session_message") if newer else ("''", "message")
        query = f"SELECT {type}, id, data FROM {table} WHERE session_id = ? ORDER BY {order}"  # noqa: S608
        parts = "SELECT data FROM part WHERE message_id = ? ORDER BY id"
        for kind, key, data in self._database.rows(query, id):
            more = () if newer else self._database.rows(parts, plain(key))
            yield plain(kind), plain(key), [_raw(data), *(_raw(part) for (part,) in more)]

    def origin(self, created: float, before: float) -> str:
        """Return the session of a message's original, by the message's time; "" if it is not here.

        A fork copies messages under new ids, without naming their source.
        """
        query = (
            "SELECT s.id FROM message m JOIN session s ON s.id = m.session_id "
            "WHERE m.time_created = ? AND s.time_created < ? ORDER BY s.time_created LIMIT 1"
        )
        rows = self._database.rows(query, int(created), int(before)) if self._older else ()
        return next((plain(id) for (id,) in rows), "")

    def _listed(self, table: str, messages: str) -> list[tuple[str, float]]:
        if "id" not in self._database.tables.get(table, ()):
            return []
        timed = "time_created" in self._database.tables[table]
        query = (
            f"SELECT id, {'time_created' if timed else '0'} FROM {table} s "  # noqa: S608
            f"WHERE EXISTS (SELECT 1 FROM {messages} m WHERE m.session_id = s.id)"
        )
        rows = self._database.rows(query)
        return sorted(
            (plain(id), float(time) if isinstance(time, int | float) else 0.0)
            for id, time in rows
            if isinstance(id, bytes)
        )


def told(type: str, id: str, data: list[Record]) -> Told | None:
    """Return a message in the form of an export; None if it is not sent to the model.

    Raises a KeyError for an unknown type.
    """
    info, *parts = data
    if not type:
        return {**info, "id": id}, parts
    if type in _LEFT_OUT:
        return None
    return _CONVERTED[type]({**info, "id": id})


def _assistant(data: Record) -> Told:
    model = data.get("model") or {}
    parts = [_part(each) for each in data.get("content") or []]
    return {**data, "role": "assistant", "modelID": model.get("id")}, parts


def _compaction(data: Record) -> Told | None:
    if data.get("status") == "running":
        return None
    parts = [{"type": "compaction", "auto": data.get("reason") == "auto"}]
    parts += [{"type": "text", "text": data[key]} for key in ("summary", "recent") if data.get(key)]
    info, _ = _assistant({**data, "content": []})
    return {**info, "summary": True}, parts


def _user(data: Record) -> Told:
    skills = (each["text"] for each in data.get("skills") or [] if each.get("text"))
    parts = [_text(text, synthetic=True) for text in skills]
    parts += [_text(data["text"])] if data.get("text") else []
    return {**data, "role": "user"}, parts + [_file(each) for each in data.get("files") or []]


def _unasked(data: Record) -> Told:
    """Convert a text that the client wrote with the user role."""
    output = data.get("output")
    said = [data.get("command"), output.get("output") if isinstance(output, dict) else output]
    texts = [data.get("text"), *said]
    return {**data, "role": "user"}, [_text(text, synthetic=True) for text in texts if text]


_CONVERTED = {
    "assistant": _assistant,
    "compaction": _compaction,
    "user": _user,
    **dict.fromkeys(("synthetic", "system", "skill", "shell"), _unasked),
}


def _part(each: Record) -> Record:
    if each.get("type") != "tool":
        return each
    state = dict(each["state"])
    content, error = state.pop("content", None), state.get("error")
    if content is not None:
        texts = [item["text"] for item in content if item.get("type") == "text"]
        state["output"] = "\n".join(texts)
        state["attachments"] = [_file(item) for item in content if item.get("type") != "text"]
    elif state.get("status") == "completed" and "output" not in state:
        state["output"] = compact(state.get("result", state.get("structured")))
    if isinstance(error, dict):
        state["error"] = str(error.get("message", ""))
        state.pop("output", None)
    state.pop("result", None)
    state.pop("structured", None)
    return {"type": "tool", "tool": each["name"], "callID": each.get("id"), "state": state}


def _file(each: Record) -> Record:
    source = each.get("source")
    source = source if isinstance(source, dict) else each
    url = source.get("uri") or each.get("uri") or f",{source.get('data') or ''}"
    named = {"filename": each["name"]} if each.get("name") else {}
    return {"type": "file", "mime": each.get("mime", ""), "url": url, **named}


def _text(text: str, *, synthetic: bool = False) -> Record:
    return {"type": "text", "text": text, "synthetic": synthetic}


def _raw(value: Any) -> bytes:
    return value if isinstance(value, bytes) else b""


def _decoded(value: Any) -> Record:
    try:
        return _ANY.decode(value or "{}")
    except (msgspec.DecodeError, TypeError):
        return {}
