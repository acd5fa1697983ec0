"""How long the things take that people wait for: a cold run, the help text.

Aims: all recorded sessions under all built-in strategies in 60 s on two cores and under 1 GB,
``compactlab --help`` in 300 ms. Run by ``make bench``.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from pytest_benchmark.fixture import BenchmarkFixture

AGENTS = ("entireio-cli", "oh-my-posh", "pi-mono", "agentv")


def compactlab(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "compactlab", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True)


def test_help(benchmark: BenchmarkFixture) -> None:
    benchmark.extra_info["counters"] = {}
    benchmark(compactlab, "--help")


def test_all_recorded_sessions(benchmark: BenchmarkFixture, shared: Path, tmp_path: Path) -> None:
    paths = [f"--conversations={shared / 'recorded' / agent}" for agent in AGENTS]
    arguments = ("run", *paths, "--model=claude-opus-4-5", "--jobs=2", f"--out={tmp_path}")
    done = benchmark.pedantic(compactlab, arguments, rounds=1)
    assert re.search(r"report: ", done.stdout)
