"""A second of 60: legal in a time stamp, and read as the start of the next minute."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.errors import InputError
from tests.corpus.stories import MARKED

NOON = "2026-01-01T12:00:00.000Z"
STAMPED = sorted(name for name, lines in MARKED.items() if NOON in json.dumps(lines))
DAWN = 1_483_228_800.0  # 2017-01-01, before which a second was put in


# To a trace that was exported a time is a label: one that cannot be read is not known.
EXPORTED = {"langfuse", "langsmith"}


def times(path: Path, lines: list[Any], stamp: str) -> set[float]:
    path.write_text("\n".join(map(json.dumps, lines)).replace(NOON, stamp))
    (first, *_) = transcripts.read(path, strict=True)
    return {message.time for message in first.messages}


@pytest.mark.parametrize("name", STAMPED)
@pytest.mark.parametrize(
    "stamp",
    [
        "2016-12-31T23:59:60Z",
        "2016-12-31T23:59:60.999Z",
        "2017-01-01T05:29:60+05:30",
        "2016-12-31t23:59:60z",
        "2016-12-31 23:59:60",
    ],
)
def test_it_is_the_start_of_the_next_minute(tmp_path, name, stamp):
    assert times(tmp_path / "talk.jsonl", MARKED[name], stamp) == {DAWN}


@pytest.mark.parametrize("name", sorted({*STAMPED} - EXPORTED))
def test_a_second_of_61_is_none(tmp_path, name):
    with pytest.raises(
        InputError, match=r"not as expected: Invalid RFC3339.*`\$(\.\w+)*\.timestamp`"
    ):
        times(tmp_path / "talk.jsonl", MARKED[name], "2016-12-31T23:59:61Z")


def test_there_are_such_formats():
    assert STAMPED == [
        "atif", "claude-code", "codex", "copilot", "gemini", "langfuse", "langsmith", "pi", "qwen",
    ]  # fmt: skip
