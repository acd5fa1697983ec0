"""Inspect: a sample's requests, from a document or an archive."""

from __future__ import annotations

import io
import json
import struct
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import archive
from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.errors import InputError, RefusedError
from compactlab.sim.core.message import Usage

Record = dict[str, Any]
EVAL = {"task": "sort", "model": "x", "created": "2026-11-01T10:00:00Z"}


def said(role: str, words: str) -> Record:
    return {"role": role, "content": words}


def event(asked: list[Record], words: str, usage: Record | None = None, **more: Any) -> Record:
    choices = [{"message": said("assistant", words)}]
    output = {"model": "claude-sonnet-4-5", "choices": choices, "usage": usage}
    return {"event": "model", "model": "x", "input": asked, "output": output, **more}


def counts(plain: int, read: int, total: int) -> Record:
    told = {"input_tokens": plain, "input_tokens_cache_read": read, "output_tokens": 5}
    return {**told, "total_tokens": total}


def sample(*events: Record, **more: Any) -> Record:
    return {"id": "a", "epoch": 1, "events": list(events), **more}


def log(path: Path, *samples: Record) -> Path:
    path.write_text(json.dumps({"version": 2, "eval": EVAL, "samples": samples}))
    return path


def test_the_total_says_whether_the_input_holds_what_was_cached(tmp_path: Path) -> None:
    first, second = said("user", "Sort."), said("assistant", "Look.")
    path = log(
        tmp_path / "log.json",
        sample(
            event([first], "Look.", counts(10, 50, 65)),
            event([first, second, said("user", "Go.")], "Done.", counts(60, 50, 65)),
            event([first, second, said("user", "Go.")], "Done.", counts(9, 0, 14), cache="read"),
        ),
    )
    (session,) = transcripts.read(path, strict=True)
    assert [c.call.usage for c in session.calls if c.call] == [Usage(10, 50, output=5)] * 2
    assert session.messages[0].time == 1_793_527_200


def test_judges_talk_apart_and_what_no_event_tells_is_billed_beside(tmp_path: Path) -> None:
    whole = {"x": {"input_tokens": 30, "output_tokens": 12, "total_tokens": 42}}
    told = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    path = log(
        tmp_path / "log.json",
        sample(
            event([said("system", "Sort."), said("user", "b a")], "a b", told),
            event([said("user", "Is it right?")], "Yes.", told),
            model_usage=whole,
        ),
    )
    first, judge = transcripts.read(path, strict=True)
    assert (first.id, judge.id) == ("log/a", "log/a#2")
    assert [part.text for part in first.system] == ["Sort."]
    (rest,) = first.side_requests
    assert (rest.purpose, rest.call.usage) == ("not in the events", Usage(10, output=2))


def test_pooled_messages_and_attachments_are_put_back(tmp_path: Path) -> None:
    pool = {"messages": [said("user", "attachment://t"), said("assistant", "ho")]}
    path = log(
        tmp_path / "log.json",
        sample(
            event([], "ho", input_refs=[[0, 1]]),
            event([], "end", input_refs=[[0, 2]]),
            events_data=pool,
            attachments={"t": "a long text"},
        ),
    )
    (session,) = transcripts.read(path, strict=True)
    assert [m.text for m in session.messages] == ["a long text", "ho", "end"]


def test_a_compaction_is_known_by_what_the_next_prompt_repeats(tmp_path: Path) -> None:
    task, look, more = said("user", "Sort."), said("assistant", "Look."), said("user", "Go on.")
    kept = said("assistant", "I go.")
    path = log(
        tmp_path / "log.json",
        sample(
            event([task], "Look."),
            event([task, look, more], "I go."),
            {"event": "compaction", "tokens_before": 900},
            event([task, said("user", "So far."), kept, said("user", "End.")], "Done."),
        ),
    )
    (session,) = transcripts.read(path, strict=True)
    (compaction,) = session.compactions
    assert [m.text for m in compaction.inserted] == ["Sort.", "So far."]
    assert [p.kind for m in compaction.inserted for p in m.parts] == ["recovered", "summary"]
    kept_message = next(m for m in session.messages if m.id == compaction.kept_from)
    assert (kept_message.text, compaction.tokens_before) == ("I go.", 900)


# Archives


def packed(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


HEADER = json.dumps({"eval": EVAL}).encode()
SAMPLE = json.dumps(sample(event([said("user", "hi")], "ho"))).encode()


def test_an_archive_is_read_sample_by_sample(tmp_path: Path) -> None:
    members = {"header.json": HEADER, "samples/1_epoch_1.json": SAMPLE, "samples/2.json": b"{torn"}
    (session,) = transcripts.read(packed(tmp_path / "log.eval", members))
    assert [m.text for m in session.messages] == ["hi", "ho"]
    assert [one.kind for one in session.passed_over] == ["line that is not JSON"]


def test_members_may_be_packed_with_zstd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "log.eval"
    names = {"header.json": HEADER, "samples/1.json": SAMPLE}
    with zipfile.ZipFile(path, "w") as file:  # stored, and then called zstd's
        for name, data in names.items():
            file.writestr(name, zstandard.compress(data))
    data = path.read_bytes()
    for signature, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        start = 0
        while (start := data.find(signature, start)) >= 0:
            data = data[: start + at] + struct.pack("<H", 93) + data[start + at + 2 :]
            start += 4
    path.write_bytes(data)
    assert len(list(transcripts.read(path))) == 1
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(RefusedError, match="install the package `zstandard`"):
        list(transcripts.read(path))


def test_chunks_are_refused_by_name(tmp_path: Path) -> None:
    path = packed(
        tmp_path / "a.eval", {"header.json": HEADER, "samples/1_epoch_1/sample.json": b""}
    )
    with pytest.raises(RefusedError, match="inspect log convert"):
        list(transcripts.read(path))


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_SMALL", 100)
    monkeypatch.setattr(archive, "_LARGEST_RATIO", 10)
    members = {"header.json": HEADER, "samples/1.json": b" " * 100_000}
    with pytest.raises(RefusedError, match="more than 10 times"):
        list(transcripts.read(packed(tmp_path / "a.eval", members)))
    monkeypatch.setattr(archive, "_LARGEST_DIRECTORY", 10)
    with pytest.raises(RefusedError, match="files in one archive"):
        list(transcripts.read(tmp_path / "a.eval"))


@pytest.mark.parametrize("cut", [10, 60, 200])
def test_a_torn_archive_is_an_error(tmp_path: Path, cut: int) -> None:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as file:
        file.writestr("header.json", HEADER)
        file.writestr("samples/1.json", SAMPLE)
    path = tmp_path / "a.eval"
    path.write_bytes(whole.getvalue()[:-cut])
    with pytest.raises(InputError, match="not a whole zip archive"):
        list(transcripts.read(path))
