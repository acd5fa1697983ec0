"""Compactions of Codex, one by one: planted ones are met, others are missed, recorded ones told."""

import re
from pathlib import Path
from typing import Any

import pytest
import validate_codex as script

from tests.recordings import codex, written


def line(kind: str, /, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-03-01T10:00:00Z", "type": kind, "payload": payload}


def said(role: str, text: str) -> dict[str, Any]:
    words = [{"type": "input_text", "text": text}]
    return {"type": "message", "role": role, "content": words}


def rollout(
    path: Path, at: int = 246_000, order: tuple[int, ...] = (1, 0, 2), stays: int = 4000
) -> Path:
    """A session with a compaction within its second turn, as Codex makes them."""
    asked = [said("developer", "Rules."), said("user", "first wish"), said("user", "second wish")]
    records = [line("session_meta", id="s"), line("turn_context", model="gpt-5.5")]
    total = 0

    def called(number: int, tokens: int) -> None:
        nonlocal total
        call = {"type": "function_call", "name": "shell", "arguments": "{}"}
        total += tokens
        used = {"input_tokens": tokens - 20, "output_tokens": 20, "total_tokens": tokens}
        info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": used}
        text = "fine" if number else "a long file " * 6000
        output = {"type": "function_call_output", "call_id": f"c{number}", "output": text}
        records.append(line("response_item", **call, call_id=f"c{number}"))
        records.append(line("event_msg", type="token_count", info=info))
        records.append(line("response_item", **output))

    records += [line("response_item", **item) for item in asked[:2]]
    called(0, 1800)
    records.append(line("response_item", **asked[2]))
    called(1, 200_000)
    called(2, at)
    history = [*(asked[n] for n in order), {"type": "compaction", "encrypted_content": "sealed"}]
    records.append(line("compacted", message="", replacement_history=history))
    called(3, stays)
    return written(path, records)


def missed(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    code = script.main([str(folder)])
    told = capsys.readouterr().out
    left = told.partition("\nmissed:")[2]
    assert bool(code) == (left.split()[0] != "0")
    return left


def test_what_codex_does_is_met(tmp_path, capsys):
    for name in "ab":
        rollout(tmp_path / f"{name}.jsonl")
    assert missed(tmp_path, capsys).split() == ["0"]


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"order": (0, 1, 2)}, "order of the 3 messages"),
        ({"at": 230_000}, "at 230,000; ours has not fired there"),
        ({"stays": 9000}, "8,980 tokens stay; ours 3,9"),
    ],
)
def test_what_it_does_not_do_is_missed(tmp_path, capsys, other, told):
    for name in "abd":
        rollout(tmp_path / f"{name}.jsonl")
    rollout(tmp_path / "c.jsonl", **other)
    left = missed(tmp_path, capsys)
    assert told in left
    assert left.split()[0] == "1"


def test_too_few_sessions_are_refused(tmp_path, capsys):
    rollout(tmp_path / "a.jsonl")
    codex(tmp_path / "b.jsonl")
    assert script.main([str(tmp_path)]) == 2
    assert "two sessions of Codex" in capsys.readouterr().err


def test_of_the_recorded_ones_one_trigger_is_missed(shared, capsys):
    code = script.main([str(shared / "recorded")])
    told = capsys.readouterr().out
    assert (code, len(re.findall("MISSED", told)), len(re.findall("  met  ", told))) == (1, 1, 20)
    assert "MISSED  00-34f597b72d-1: at 95,808; ours has not fired there" in told
