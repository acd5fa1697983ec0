"""Logs that a client has compressed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import zstandard

from compactlab.scenarios.readers import jsonl
from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.errors import InputError
from tests.scenarios.stores import openclaw_rows, openclaw_talk

WHOLE = "".join(
    json.dumps(row["event_json"]) + "\n" for _, row in openclaw_rows("s", *openclaw_talk("s", 9))
).encode()


def packed(path: Path, data: bytes) -> Path:
    path.write_bytes(zstandard.compress(data))
    return path


def test_a_compressed_log_is_read_as_the_plain_one(tmp_path: Path) -> None:
    plain = tmp_path / "log.jsonl"
    plain.write_bytes(WHOLE)
    (one,) = transcripts.read(plain)
    (other,) = transcripts.read(packed(tmp_path / "log.jsonl.zst", WHOLE))
    assert one.events == other.events
    assert transcripts.find([tmp_path]) == ([plain, tmp_path / "log.jsonl.zst"], 0)


def test_what_it_stands_for_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / "log.jsonl.zst", WHOLE + b'{"type": "custom"}\n' * 100_000)
    assert path.stat().st_size < 5_000
    assert len(list(transcripts.read(path))) == 1
    monkeypatch.setattr(jsonl, "LARGEST_FILE", 1_000_000)
    with pytest.raises(InputError, match="above 1,000,000 bytes when unpacked"):
        list(transcripts.read(path))


def test_a_frame_may_not_ask_for_all_memory(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl.zst"
    # A window of 2 GB, and nothing in it.
    path.write_bytes(b"\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00")
    with pytest.raises(InputError, match=r"not to be unpacked: .*memory"):
        list(transcripts.read(path))


@pytest.mark.parametrize("size", range(4, 60, 7))
def test_a_torn_one_is_read_as_far_as_it_is_whole(tmp_path: Path, size: int) -> None:
    path = packed(tmp_path / "log.jsonl.zst", WHOLE)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(InputError) as error:
        list(transcripts.read(path))
    assert error.value.path == str(path)


def test_what_only_begins_like_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + b"garbage" * 9)
    with pytest.raises(InputError, match="not to be unpacked"):
        list(transcripts.read(path))
