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
from inline_snapshot import snapshot

from compactlab.scenarios.readers import archive
from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.errors import InputError, RefusedError
from tests.lines import refusal

Record = dict[str, Any]
EVAL = {"task": "sort", "model": "x", "created": "2026-11-01T10:00:00Z"}


def said(role: str, words: str) -> Record:
    return {"role": role, "content": words}


def event(asked: list[Record], words: str, usage: Record | None = None, **more: Any) -> Record:
    choices = [{"message": said("assistant", words)}]
    output = {"model": "claude-sonnet-4-5", "choices": choices, "usage": usage}
    return {"event": "model", "model": "x", "input": asked, "output": output, **more}


def sample(*events: Record, **more: Any) -> Record:
    return {"id": "a", "epoch": 1, "events": list(events), **more}


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
    assert [one.kind for one in session.passed_over] == snapshot(["line that is not JSON"])


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
    assert refusal(RefusedError, lambda: list(transcripts.read(path))) == snapshot("""\
a.eval: its samples are in chunks (Inspect's log version 3): write it again as version 2,
or as JSON, with `inspect log convert`\
""")


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_SMALL", 100)
    monkeypatch.setattr(archive, "_LARGEST_RATIO", 10)
    members = {"header.json": HEADER, "samples/1.json": b" " * 100_000}
    assert refusal(
        RefusedError, lambda: list(transcripts.read(packed(tmp_path / "a.eval", members)))
    ) == snapshot("a.eval: 'samples/1.json' is packed more than 10 times")
    monkeypatch.setattr(archive, "_LARGEST_DIRECTORY", 10)
    assert refusal(RefusedError, lambda: list(transcripts.read(tmp_path / "a.eval"))) == snapshot(
        "a.eval: above 100,000 files in one archive"
    )


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
