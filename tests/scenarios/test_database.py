"""Databases of clients: read while they write, and their folders stay as they are."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from compactlab.scenarios.catalogue import find_conversation, sources
from compactlab.scenarios.readers import database
from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.errors import InputError
from tests.cli.conftest import called
from tests.lines import refusal
from tests.scenarios.stores import OPENCLAW, made, openclaw_rows, openclaw_talk, put

Rows = list[tuple[str, dict[str, Any]]]

WRITER = """
import json, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode=WAL")
connection.execute("SELECT count(*) FROM transcript_events").fetchone()
print("ready", flush=True)
for line in sys.stdin:
    connection.execute(line)
    print("done", flush=True)
"""
INSERT = "INSERT INTO transcript_events VALUES ('s1', {}, '{{\"type\": \"custom\"}}', 1)\n"


def sessions(count: int) -> Rows:
    return [row for n in range(count) for row in openclaw_rows(f"s{n}", *openclaw_talk(f"s{n}", n))]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "client"
    folder.mkdir()
    return made(folder / "openclaw-agent.sqlite", OPENCLAW, *sessions(3))


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for what is temporary."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def write() -> Iterator[Callable[[Path], subprocess.Popen[str]]]:
    """Start a client of a database, which runs what it is sent."""
    started: list[subprocess.Popen[str]] = []

    def start(path: Path) -> subprocess.Popen[str]:
        words = [sys.executable, "-c", WRITER, str(path)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        process = subprocess.Popen(words, text=True, **pipes)  # type: ignore[call-overload]
        assert process.stdout.readline() == "ready\n"
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def run(process: subprocess.Popen[str], statement: str) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(statement)
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"


def seen(folder: Path) -> dict[str, tuple[int, str]]:
    """What is in a folder, to the byte."""
    return {
        path.name: (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in sorted(folder.iterdir())
    }


def ids(path: Path | str) -> list[str]:
    return [each.id for each in transcripts.read(path)]


NAMES = [f"openclaw-agent/s{n}" for n in range(3)]


def test_a_database_of_no_running_client_is_read_from_a_copy(store: Path, copies: Path) -> None:
    before = seen(store.parent)
    reading = transcripts.read(store)
    assert next(reading).id == NAMES[0]
    left = [path for path in copies.rglob("*") if path.is_file()]
    assert os.name != "posix" or not left  # nothing that a kill could leave
    assert [each.id for each in reading] == NAMES[1:]
    assert list(copies.iterdir()) == []
    assert seen(store.parent) == before
    assert list(before) == [store.name]


def test_a_copy_goes_however_the_reading_ends(store: Path, copies: Path) -> None:
    reading = transcripts.read(store)
    next(reading)
    reading.close()  # type: ignore[attr-defined]
    assert list(copies.iterdir()) == []
    store.write_bytes(store.read_bytes()[:5000] + b"\xff" * 9000)
    with pytest.raises(InputError):
        ids(store)
    assert list(copies.iterdir()) == []


def test_a_client_writes_meanwhile_and_sees_nothing_of_it(
    store: Path, copies: Path, write: Callable[[Path], subprocess.Popen[str]]
) -> None:
    client = write(store)
    run(client, INSERT.format(7))
    before = seen(store.parent)
    assert sorted(before) == [store.name, f"{store.name}-shm", f"{store.name}-wal"]
    assert ids(store) == NAMES
    assert seen(store.parent) == before
    assert list(copies.iterdir()) == []

    with database.opened(store) as opened:
        rows = opened.rows("SELECT count(*) FROM transcript_events")
        with opened.snapshot():
            assert list(rows) == [(10,)]
            run(client, INSERT.format(8))  # it is not kept from it
            again = opened.rows("SELECT count(*) FROM transcript_events")
            assert list(again) == [(10,)]  # a session is of one moment
        with opened.snapshot():
            assert list(opened.rows("SELECT count(*) FROM transcript_events")) == [(11,)]
        run(client, "PRAGMA wal_checkpoint(TRUNCATE)\n")  # nor from tidying up
    after = seen(store.parent)
    assert ids(store) == NAMES
    assert seen(store.parent) == after


def test_what_a_client_that_was_killed_left_is_read(
    store: Path, copies: Path, write: Callable[[Path], subprocess.Popen[str]]
) -> None:
    client = write(store)
    session = openclaw_rows("s9", *openclaw_talk("s9", 9))
    for _, row in session:
        event = json.dumps(row["event_json"])
        run(client, f"INSERT INTO transcript_events VALUES ('s9', {row['seq']}, '{event}', 1)\n")
    client.send_signal(signal.SIGKILL)
    client.wait()
    before = seen(store.parent)
    assert ids(store) == [*NAMES, "openclaw-agent/s9"]
    assert seen(store.parent) == before
    (store.parent / f"{store.name}-shm").unlink()
    before = seen(store.parent)
    assert ids(store) == [*NAMES, "openclaw-agent/s9"]  # from a copy of the file and its log
    assert seen(store.parent) == before


def test_a_rollback_that_is_left_is_made_in_the_copy(tmp_path: Path, copies: Path) -> None:
    folder = tmp_path / "client"
    folder.mkdir()
    path = made(folder / "store.sqlite", OPENCLAW, *sessions(2), wal=False)
    with closing(sqlite3.connect(path, isolation_level=None)) as client:
        client.execute("PRAGMA cache_size=1")
        client.execute("BEGIN")
        client.execute("UPDATE transcript_events SET event_json = 'gone' || hex(zeroblob(50000))")
        torn = tmp_path / "torn"
        torn.mkdir()
        for file in folder.iterdir():
            shutil.copy(file, torn)
    before = seen(torn)
    assert f"{path.name}-journal" in before
    assert len(ids(torn / path.name)) == 2
    assert seen(torn) == before


def test_a_copy_is_bounded(store: Path, copies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LARGEST_COPY", 1000)
    assert refusal(InputError, lambda: ids(store)) == snapshot(
        "client/openclaw-agent.sqlite: above 1,000 bytes: start its client, or copy less"
    )
    monkeypatch.undo()
    tight = shutil.disk_usage(store.parent)._replace(free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: tight)
    with pytest.raises(InputError, match="no room for a private copy"):
        ids(store)


def test_a_database_that_changes_while_it_is_copied_is_copied_again(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, copied = shutil.copyfile, []

    def copied_late(source: str, target: str, **named: Any) -> Any:
        if source == str(store):
            copied.append(source)
            if len(copied) == 1:
                os.utime(store, ns=(1, 1))
        return copy(source, target, **named)

    monkeypatch.setattr(shutil, "copyfile", copied_late)
    assert ids(store) == NAMES
    assert len(copied) == 2


def test_a_session_is_named_behind_a_sign(store: Path, tmp_path: Path) -> None:
    assert ids(f"{store}#s1") == NAMES[1:2]
    found = find_conversation(f"{store}#s1")
    assert found.messages[0].text == "Hello s1."
    assert find_conversation(store, "s2").messages[0].text == "Hello s2."
    (one,), _ = sources([f"{store}#s1"])
    (all_of_it,), _ = sources([store])
    assert one.key != all_of_it.key
    assert refusal(InputError, lambda: ids(f"{store}#zzz")) == snapshot(
        "client/openclaw-agent.sqlite: there is no session 'zzz' in it"
    )
    own = tmp_path / "odd#s1.sqlite"
    shutil.copy(store, own)
    assert [id.partition("/")[2] for id in ids(own)] == ["s0", "s1", "s2"]
    assert [id.partition("/")[2] for id in ids(f"{own}#s2")] == ["s2"]


def test_the_audit_takes_a_database_or_a_session_of_it(store: Path) -> None:
    assert "in 3 sessions and 3 calls" in called("audit", store).out
    assert "of input in 1 call: cold" in called("audit", f"{store}#s2").out
    assert "in 3 sessions and 3 calls" in called("audit", store.parent).out
    done = called("audit", f"{store}#zzz")
    assert done.code
    assert "there is no session 'zzz' in it" in done.err


def test_what_stands_beside_a_database_is_no_file_of_unknown_format(
    store: Path, write: Callable[[Path], subprocess.Popen[str]]
) -> None:
    write(store)
    assert transcripts.find([store.parent]) == ([store], 0)


def test_a_change_in_the_log_changes_the_key(
    store: Path, write: Callable[[Path], subprocess.Popen[str]]
) -> None:
    client = write(store)
    (source,), _ = sources([store])
    before = source.key
    run(client, INSERT.format(99))
    (source,), _ = sources([store])
    assert source.key != before


HEADER = b"SQLite format 3\0"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (HEADER, "breaks off in its header"),
        (HEADER + b"\0" * 200, "or an encrypted one|malformed"),
        (HEADER + os.urandom(4096), "or an encrypted one|malformed|unsupported"),
        (b"\x8a\x1f\x00\xc3" * 1024, "or an encrypted one"),
    ],
)
def test_what_is_none_is_named(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(content)
    with pytest.raises(InputError, match=reason):
        ids(path)
    done = called("audit", path)
    assert done.code == 2
    assert "Traceback" not in done.err


def test_any_damage_is_an_error_or_is_passed_over(store: Path, copies: Path) -> None:
    whole = store.read_bytes()
    for index in range(100, len(whole), 997):
        store.write_bytes(whole[:index] + b"\xff\x00\x41" + whole[index + 3 :])
        try:
            read = list(transcripts.read(store))
        except InputError as error:
            assert error.path == str(store)  # noqa: PT017
        else:
            assert len(read) <= 3
    for size in range(0, len(whole), 1500):
        store.write_bytes(whole[:size])
        with suppress(InputError):
            list(transcripts.read(store))
    assert list(copies.iterdir()) == []


def test_a_stranger_s_schema_runs_nothing(tmp_path: Path) -> None:
    path = made(
        tmp_path / "store.db", OPENCLAW.replace("TABLE transcript_events", "TABLE real_one")
    )
    with closing(sqlite3.connect(path)) as connection:
        # Endless, if it were asked.
        connection.executescript(
            "CREATE VIEW transcript_events AS WITH RECURSIVE n(session_id, seq, event_json) AS "
            "(SELECT 'a', 1, '{}' UNION ALL SELECT 'a', seq + 1, '{}' FROM n) SELECT * FROM n;"
        )
    with pytest.raises(InputError, match="a database of no known client: it holds real_one"):
        ids(path)
    made(tmp_path / "other.db", OPENCLAW, *sessions(1))
    with database.opened(tmp_path / "other.db") as opened:
        for statement in (
            "ATTACH 'x.db' AS x",
            "DELETE FROM transcript_events",
            "CREATE TABLE x(y)",
            "PRAGMA journal_mode=DELETE",
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT * FROM n",
        ):
            with pytest.raises(InputError, match=r"not authorized|prohibited"):
                list(opened.rows(statement))


def test_a_search_without_end_ends(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_STEPS", 200_000)
    monkeypatch.setattr(database, "_STEPS_PER_BYTE", 0)
    with closing(sqlite3.connect(store)) as connection:
        put(connection, sessions(200)[9:])
    with database.opened(store) as opened:
        product = "SELECT count(*) FROM transcript_events a, transcript_events b, transcript_events"
        assert refusal(InputError, lambda: list(opened.rows(product))) == snapshot(
            "client/openclaw-agent.sqlite: it takes too long to search: are its indexes gone?"
        )


@pytest.mark.parametrize("event", [b"\xff\xfe", "{", "[1]", '{"type": 5}', "", "\ud83d"[:0]])
def test_an_event_that_is_none_costs_itself_alone(tmp_path: Path, event: Any) -> None:
    schema = OPENCLAW.replace("STRICT", "")
    rows = sessions(2)
    rows[1][1]["event_json"] = event
    path = made(tmp_path / "store.db", schema, *rows)
    read = list(transcripts.read(path))
    assert [each.id for each in read] == ["store/s0", "store/s1"]
    assert sum(each.count for whole in read for each in whole.passed_over) == 1
    with pytest.raises(InputError) as error:
        list(transcripts.read(path, strict=True))
    assert error.value.path == str(path)


def test_a_cell_above_the_limit_costs_its_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = sessions(3)
    rows[4][1]["event_json"] = "x" * 100_000
    path = made(tmp_path / "store.db", OPENCLAW, *rows)
    monkeypatch.setitem(database._LIMITS, sqlite3.SQLITE_LIMIT_LENGTH, 50_000)
    read = list(transcripts.read(path))
    assert [each.id for each in read] == ["store/s0", "store/s2"]
    passed = [each.kind for whole in read for each in whole.passed_over]
    assert passed == snapshot(["line: string or blob too big"])


def test_links_are_as_those_to_transcripts(store: Path, tmp_path: Path) -> None:
    link = tmp_path / "linked.sqlite"
    link.symlink_to(store)
    before = seen(store.parent)
    assert [id.partition("/")[2] for id in ids(link)] == ["s0", "s1", "s2"]
    assert seen(store.parent) == before
    folder = tmp_path / "folder"
    folder.mkdir()
    link.rename(folder / "linked.sqlite")
    assert refusal(InputError, lambda: transcripts.find([folder])) == snapshot(
        "folder/linked.sqlite: a link to a transcript outside of folder; name the transcript itself"
    )
    secret = tmp_path / "secret"
    secret.write_bytes(b"x" * 100)
    (store.parent / f"{store.name}-wal").symlink_to(secret)
    assert refusal(InputError, lambda: ids(store)) == snapshot(
        "client/openclaw-agent.sqlite: openclaw-agent.sqlite-wal beside it is not a regular file"
    )
