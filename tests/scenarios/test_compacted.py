"""A compacted context may be messages of any format, or plain text, and no broken transcript."""

from __future__ import annotations

from pathlib import Path

import pytest

from compactlab.scenarios.readers.transcript import read_compacted
from compactlab.sim.core.errors import InputError


def wrote(tmp_path: Path, data: str | bytes) -> Path:
    file = tmp_path / "context"
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    return file


def test_messages_are_read_as_messages(tmp_path: Path) -> None:
    (found,) = read_compacted(wrote(tmp_path, '{"role":"user","content":"hello"}\n'))
    assert (found.format, [m.text for m in found.messages]) == ("openai-chat", ["hello"])


@pytest.mark.parametrize(
    "text",
    [
        "Deploy target: eu-west-3",
        "[Summary]\nAll is well.",
        "# Notes\n\n42\n\n- one",
        "42",
        "\u00fc",
    ],
)
def test_anything_else_is_one_message_of_plain_text(tmp_path: Path, text: str) -> None:
    (found,) = read_compacted(wrote(tmp_path, text))
    (message,) = found.messages
    assert (found.format, message.role, message.text) == ("text", "user", text)


@pytest.mark.parametrize(
    "data",
    [
        '{"role":"user",',
        '[{"role":',
        '{"some":"thing"}',
        "[[1]]",
        "",
        "  \n",
        b"\xff\xfea",
        b"\x00",
        b"caf\xe9",
    ],
)
def test_broken_files_are_no_text(tmp_path: Path, data: str | bytes) -> None:
    with pytest.raises(InputError, match="context"):
        read_compacted(wrote(tmp_path, data))


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such"):
        read_compacted(tmp_path / "no such")
    with pytest.raises(InputError):
        read_compacted(tmp_path)
