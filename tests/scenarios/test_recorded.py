"""The recorded sessions, against the figures that their SOURCES.md state."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from compactlab.scenarios.readers import transcript as transcripts
from compactlab.sim.core.conversation import Conversation, Rewind
from compactlab.sim.core.message import Usage

SESSIONS = {
    "entireio-cli": "claude-code",
    "oh-my-posh": "claude-code",
    "pi-mono": "pi",
    "agentv": "codex",
}


@cache
def read(path: Path) -> list[Conversation]:
    return list(transcripts.read(path))


def table(sources: Path) -> list[dict[str, str]]:
    """Read the table of a SOURCES.md."""
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in sources.read_text("utf-8").splitlines()
        if line.startswith("|")
    ]
    head, _, *body = rows
    return [dict(zip(head, row, strict=True)) for row in body]


def number(text: str) -> int:
    return int(text.replace(",", ""))


def stated_writes(cell: str) -> tuple[int, int]:
    """Read `total (5m / 1h)`, where the split may be in words."""
    match = re.fullmatch(r"([\d,]+) \((.*)\)", cell)
    assert match
    total, split = number(match[1]), match[2].split(" / ")
    return (number(split[0]), number(split[1])) if len(split) == 2 else (total, 0)


def stated_compactions(cell: str) -> list[tuple[str, int]]:
    count, _, rest = cell.partition(" ")
    told = ast.literal_eval(rest.strip() or "[]") or [":0"] * int(count)
    split = [str(one).rpartition(":") for one in told]
    assert len(split) == int(count)
    return [(trigger, int(tokens)) for trigger, _, tokens in split]


@pytest.mark.parametrize("folder", SESSIONS)
def test_the_figures_are_those_of_the_sources(recorded: Path, folder: str) -> None:
    for row in table(recorded / folder / "SOURCES.md"):
        (conversation,) = read(recorded / folder / row["file"])
        calls = [m.call for m in conversation.calls if m.call]
        usage = sum((call.usage for call in calls if call.usage), Usage())
        compactions = [(c.trigger, c.tokens_before) for c in conversation.compactions]
        minutes, hour = stated_writes(row["cache write (5m / 1h)"])
        assert len(calls) == number(row["calls"])
        assert Counter(call.model for call in calls) == ast.literal_eval(row["models"])
        assert compactions == stated_compactions(row["compactions"])
        assert usage == Usage(
            uncached=number(row["input uncached"]),
            cache_read=number(row["cache read"]),
            cache_write_5m=minutes,
            cache_write_1h=hour,
            output=number(row["output"]),
        )


@pytest.mark.parametrize(("folder", "format"), SESSIONS.items())
def test_the_sessions_are_whole(recorded: Path, folder: str, format: str) -> None:
    files, skipped = transcripts.find([recorded / folder])
    assert (len(files), skipped) == (len(table(recorded / folder / "SOURCES.md")), 1)
    for path in files:
        (conversation,) = read(path)
        assert conversation.format == format
        assert not any(isinstance(event, Rewind) for event in conversation.events)
        times = [message.time for message in conversation.messages]
        assert times == sorted(times)
        ids = [message.id for message in conversation.messages]
        assert len(set(ids)) == len(ids)
        results = [p for m in conversation.messages for p in m.parts if p.type == "tool_result"]
        assert all(part.name for part in results)
        for compaction in conversation.compactions:
            assert compaction.inserted
            assert compaction.kept_from == "" or compaction.kept_from in ids


def test_every_call_has_its_lifetime(recorded: Path) -> None:
    conversation = read(recorded / "oh-my-posh" / "d8-4718082c10-3.jsonl")[0]
    calls = [m.call for m in conversation.calls if m.call]
    assert {call.ttl for call in calls} >= {"5m", "1h"}


def test_other_data_is_passed_over(recorded: Path) -> None:
    assert transcripts.find([recorded / "complexity-trap"])[0] == []
