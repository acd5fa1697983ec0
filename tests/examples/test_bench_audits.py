"""The audit beside other tools: whole processes over the same transcripts. Nothing is installed."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.recordings import CALM, claude_code


@pytest.fixture
def bench(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(root / "examples"))
    import bench_audits

    def gone(*_: object) -> Path:
        raise bench_audits.InstallError("there is no network")

    monkeypatch.setattr(bench_audits, "ready", gone)
    monkeypatch.setattr(bench_audits, "_ccusage", gone)
    monkeypatch.setattr(bench_audits, "RUNS", 1)
    yield bench_audits
    sys.modules.pop("bench_audits")


def test_what_cannot_be_had_is_named_and_the_others_are_measured(bench, tmp_path, capsys):
    claude_code(tmp_path / "calm.jsonl", CALM)
    assert bench.main([str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "1 sessions" in out
    assert "kvleak: there is no network" in out
    assert "ccusage: there is no network" in out
    rows = [line for line in out.splitlines() if line.startswith("compactlab audit")]
    assert len(rows) == 2


def test_a_tool_that_fails_is_no_measurement(bench, tmp_path):
    failing = bench.Command("broken", [sys.executable, "-c", "raise SystemExit(3)"], "")
    with pytest.raises(RuntimeError, match="broken failed"):
        bench.seconds(failing, tmp_path)
