"""The bars of the cache model: what they measure, and that none is missed where sessions are."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.recordings import CALM, claude_code, codex, pi


@pytest.fixture(scope="module")
def bars(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("bars", root / "examples" / "bars.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bars"] = module
    spec.loader.exec_module(module)
    return module


def test_made_up_sessions_are_measured_as_on_paper(bars: ModuleType, tmp_path: Path) -> None:
    claude_code(tmp_path / "idle.jsonl")
    claude_code(tmp_path / "calm.jsonl", CALM)
    pi(tmp_path / "talk.jsonl", CALM)
    codex(tmp_path / "rollout.jsonl")
    found = {bar.name: bar for bar in bars.bars(bars.audits_of(tmp_path))}
    assert len(found) == 13
    median = found["Claude Code, recorded sizes: session input cost off by, median"]
    worst = found["Claude Code, recorded sizes: session input cost off by, worst"]
    # One of two sessions is right to the token; the other's last call lost 42,400 tokens.
    lost = 42_400 * 3.45e-6 / (126_700 * 3.75e-6 + 123_000 * 0.3e-6)
    assert worst.measured == pytest.approx(lost)
    assert median.measured == pytest.approx(lost / 2)
    named = found["Claude Code alone: write tokens with a named cause"]
    assert named.measured == pytest.approx(1 - 42_400 / 157_600)
    assert not named.meets(named.must)
    assert found["Claude Code and pi: rebuilds that follow from the log: found"].measured == 1
    # A made-up cache without a grid is off by what the grid leaves out: 48 and 8 tokens.
    total = found["Codex: cached tokens off by, in total"].measured
    assert total == pytest.approx(56 / 60_600)


def test_without_recordings_it_says_so(root: Path, tmp_path: Path) -> None:
    for folder, reason in ((tmp_path / "gone", "no folder"), (tmp_path, "recorded usage")):
        done = subprocess.run(
            [sys.executable, str(root / "examples" / "bars.py"), str(folder)],
            check=True,
            capture_output=True,
            text=True,
        )
        assert done.stdout.startswith("skipped: ")
        assert reason in done.stdout


@pytest.mark.slow
def test_no_must_is_missed_on_the_recorded_sessions(
    bars: ModuleType, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = bars.main([str(shared / "recorded")])
    said = capsys.readouterr().out
    assert said.splitlines()[0].split() == ["bar", "must", "aim", "measured", "met", "aim", "met"]
    assert code == 0, said
