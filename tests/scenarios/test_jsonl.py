"""Bytes that others wrote: all are either read, or an error with file and line."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.scenarios.readers import jsonl, transcript
from compactlab.sim.core.errors import InputError
from tests.lines import refusal

HELLO = b'{"role":"user","content":"hello"}\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "story.jsonl"


def texts(path: Path, strict: bool = True) -> list[str]:
    return [m.text for c in transcript.read(path, strict=strict) for m in c.messages]


def test_a_file_that_is_too_large_is_refused_unread(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "LARGEST_FILE", 3 * len(HELLO) - 1)
    file.write_bytes(HELLO * 3)
    assert refusal(InputError, lambda: texts(file)) == snapshot(
        "story.jsonl: above 101 bytes; write less into one file"
    )
    file.write_bytes(HELLO * 2)
    assert texts(file) == ["hello", "hello"]


def test_a_byte_order_mark_is_no_harm(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + HELLO)
    assert texts(file) == ["hello"]


def test_blank_lines_and_dos_line_ends_are_no_harm(file: Path) -> None:
    file.write_bytes(b"\r\n" + HELLO.replace(b"\n", b"\r\n") + b"\n  \n" + HELLO.rstrip())
    assert texts(file) == ["hello", "hello"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_other_encodings_are_named(file: Path, encoding: str) -> None:
    file.write_bytes(HELLO.decode().encode(encoding))
    with pytest.raises(InputError, match=r"story\.jsonl:1: not UTF-8"):
        texts(file)


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (b'{"role":"user","content":"caf\xe9"}\n', "not UTF-8"),
        (b'{"role":"user","con', "not JSON"),
        (b'{"role":"user","content":NaN}\n', "not JSON: NaN is not JSON: write null or a number"),
        (b'{"role":"user","id":-Infinity}\n', "not JSON: -Infinity is not JSON"),
        (b'{"role":"\\ud800","id":Infinity}\n', "not JSON: Infinity is not JSON"),
        (b'{"role":"user","content":"x","id":1e999}\n', "not as expected"),
        (b'{"role":"user","content":' + b"9" * 5000 + b"}\n", "not as expected"),
        (b'{"role":"user","content":5}\n', "not as expected"),
        (b'{"role":"user","content":' + b"[" * 100_000 + b"\n", "nested too deeply"),
        (b"5\n", "neither a message"),
    ],
)
def test_a_bad_line_is_named_or_counted(file: Path, second: bytes, reason: str) -> None:
    file.write_bytes(HELLO + second)
    with pytest.raises(InputError, match=rf"story\.jsonl:2: {reason}"):
        texts(file)
    (conversation,) = transcript.read(file)
    assert [m.text for m in conversation.messages] == ["hello"]
    (passed,) = conversation.passed_over
    assert passed.count == 1


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_an_error(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(InputError, match="empty"):
        texts(file, strict=False)


def test_a_missing_file_is_an_error(file: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        texts(file)


def test_half_a_surrogate_pair_is_replaced(file: Path) -> None:
    file.write_bytes(rb'{"role":"user","content":"cut \ud83d, whole \ud83d\ude80, shown \\ud83d"}')
    assert texts(file) == ["cut \ufffd, whole \N{ROCKET}, shown \\ud83d"]


def test_a_document_may_be_spread_over_lines(file: Path) -> None:
    file.write_text('[\n  {"role": "user",\n   "content": "hello"}\n]')
    assert texts(file) == ["hello"]


def test_a_broken_document_is_named_with_the_line(file: Path) -> None:
    file.write_text('[\n  {"role": "user",\n   "content": oops}\n]')
    with pytest.raises(InputError, match=r"story\.jsonl:3: not JSON"):
        texts(file)


def test_what_is_too_large_in_one_piece_is_refused(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "LARGEST", 40)
    file.write_text('[\n{"role": "user", "content": "hello"},\n{"role": "user", "content": "!"}\n]')
    with pytest.raises(InputError, match="write it as JSON Lines"):
        texts(file)
    file.write_bytes(HELLO + HELLO.replace(b"hello", b"hello" * 9))
    with pytest.raises(InputError, match=r"story\.jsonl:2: above"):
        texts(file)
    file.write_bytes(HELLO * 9)
    assert len(texts(file)) == 9


@given(data=st.binary(max_size=60), strict=st.booleans())
def test_no_bytes_give_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, strict: bool
) -> None:
    file = tmp_path_factory.mktemp("bytes") / "story.jsonl"
    for content in (data, HELLO + data):
        file.write_bytes(content)
        with suppress(InputError):
            texts(file, strict=strict)


def test_decoding_reports_what_is_really_wrong() -> None:
    decoder = msgspec.json.Decoder(int)
    with pytest.raises(msgspec.ValidationError):
        jsonl.decode(rb'"\ud800"', decoder)


def passed(path: Path) -> list[tuple[str, int, int]]:
    return [
        (each.kind, each.count, each.characters)
        for conversation in transcript.read(path)
        for each in conversation.passed_over
    ]


def test_a_record_that_a_crash_cut_off_costs_itself(file: Path) -> None:
    file.write_bytes(HELLO + b'{"role":"user","content":"good')
    assert texts(file, strict=False) == ["hello"]
    assert passed(file) == [("line that is not JSON", 1, 30)]


def test_a_torn_record_and_the_one_that_was_written_behind_it_come_apart(file: Path) -> None:
    torn = b'{"role":"user","content":{"role":"'
    file.write_bytes(HELLO + torn + HELLO + HELLO.strip() + HELLO)
    assert texts(file, strict=False) == ["hello"] * 4
    assert passed(file) == [("line that is not JSON", 1, len(torn))]


def test_what_is_nested_in_a_torn_record_is_no_record(file: Path) -> None:
    file.write_bytes(HELLO + b'{"role":"user","content":[{"type":"text","text":"a"}')
    assert texts(file, strict=False) == ["hello"]


@pytest.mark.parametrize("before", [b"", HELLO, HELLO.strip(), b'{"role":"us'])
def test_a_block_of_nul_bytes_costs_what_it_stands_on(file: Path, before: bytes) -> None:
    file.write_bytes(before + b"\0" * 4096 + HELLO)
    whole = before.count(b"hello") + 1
    if before.startswith(b'{"role":"us') and not whole > 1:
        file.write_bytes(HELLO + file.read_bytes())
        whole += 1
    assert texts(file, strict=False) == ["hello"] * whole
    assert ("block of NUL bytes", 1, 0) in passed(file)
    with pytest.raises(InputError):
        texts(file)


def test_thousands_of_kinds_are_counted_as_a_few(file: Path) -> None:
    lines = [json.dumps({"role": f"r{n}", "content": "x" * 9}) + "\n" for n in range(3_000)]
    file.write_bytes(HELLO * 50 + "".join(lines).encode())  # it is told by its first lines
    found = passed(file)
    assert len(found) <= 51
    assert sum(count for _, count, _ in found) == 3_000


def test_a_line_of_thousands_of_beginnings_takes_no_longer_than_one(file: Path) -> None:
    file.write_bytes(HELLO + b'{"role":' * 200_000)
    assert texts(file, strict=False) == ["hello"]
