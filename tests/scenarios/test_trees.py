"""Lines that hang from each other, in any order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.errors import InputError

Transcript = Callable[..., Path]


def typed(uuid: str, parent: str) -> dict[str, Any]:
    """A prompt of Claude Code."""
    line = {"type": "user", "uuid": uuid, "parentUuid": parent, "message": {"content": "hi"}}
    return {**line, "timestamp": "2026-03-01T10:00:00.000Z"}


def test_a_line_may_hang_from_one_that_comes_later(transcript: Transcript) -> None:
    count = 3_000
    lines = [typed(f"u{n}", f"u{n + 1}") for n in range(count)]
    (conversation,) = transcripts.read(transcript(*lines))
    assert len(conversation.messages) == count
    with pytest.raises(InputError, match=rf":{count + 1}: 'u{count}' hangs from 'u0'"):
        list(transcripts.read(transcript(*lines, typed(f"u{count}", "u0")), strict=True))
