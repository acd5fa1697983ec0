"""The audit of recorded sessions beside the nearest tools: processor time of whole processes.

Usage: python examples/bench_audits.py [FOLDER...], or `make bench-peers`. Each FOLDER holds
transcripts of Claude Code. A tool is started anew each time, so its start and imports count; the
best of several runs is told. ccusage and kvleak only add up and classify: neither forecasts a call,
and ccusage names no cause. A tool that cannot be had is named with the reason.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from peers.environment import InstallError, Tool, ready, succeed

FOLDERS = ("../shared/recorded/entireio-cli", "../shared/recorded/oh-my-posh")
PEERS = Path(__file__).parents[1] / ".peers"
RUNS = 3
KVLEAK = Tool("kvleak", ("kvleak==0.12.0",), "", "adds up, and classifies misses", "no forecasts")
CCUSAGE = "18.0.11"  # the last in JavaScript, 2026-11; later ones are binaries for some systems


class Command(NamedTuple):
    """What is measured, and what it does."""

    name: str
    words: Sequence[str]
    does: str


def commands(folder: Path) -> Iterator[Command]:
    """The tools that can be had, each as a command over the transcripts of a folder."""
    ours = [sys.executable, "-m", "compactlab", "audit", str(folder)]
    yield Command("compactlab audit", ours, "forecasts, causes, what could be avoided, the bill")
    yield Command("compactlab audit --sums", [*ours, "--sums"], "the bill")
    try:
        python = ready(KVLEAK, PEERS)
        words = [str(python.parent / "kvleak"), "audit", "--path", str(folder), "--no-color"]
        yield Command("kvleak 0.12.0", words, "the bill, misses by class")
    except InstallError as error:
        print(f"kvleak: {error}")
    try:
        yield Command(f"ccusage {CCUSAGE}", [*_ccusage(), "session", "--offline"], "the bill")
    except InstallError as error:
        print(f"ccusage: {error}")


def _ccusage() -> list[str]:
    place = PEERS / "ccusage"
    program = place / "node_modules" / ".bin" / "ccusage"
    if not program.exists():
        if shutil.which("npm") is None:
            raise InstallError("needs npm, and there is none here")
        quiet = ["--no-audit", "--no-fund", "--silent"]
        succeed(["npm", "install", *quiet, "--prefix", str(place), f"ccusage@{CCUSAGE}"])
    return [str(program)]


def seconds(command: Command, home: Path) -> float:
    """Processor time of a command and its children: the best of several runs."""
    environment = {**os.environ, "CLAUDE_CONFIG_DIR": str(home)}
    spent = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(  # noqa: S603
            command.words, env=environment, capture_output=True, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise RuntimeError(f"{command.name} failed: {done.stderr.decode()[-300:]}")
        used = (after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime)
        spent.append(sum(used))
    return min(spent)


def main(arguments: Sequence[str]) -> int:
    folders = [Path(each) for each in arguments or FOLDERS]
    files = [file for folder in folders if folder.is_dir() for file in folder.glob("*.jsonl")]
    if not files:
        print(f"skipped: there are no transcripts in {folders[0]}; name a folder")
        return 0
    with tempfile.TemporaryDirectory() as made:
        home = Path(made)
        (home / "projects" / "all").mkdir(parents=True)
        for file in files:
            shutil.copyfile(file, home / "projects" / "all" / f"{file.parent.name}-{file.name}")
        size = sum(file.stat().st_size for file in files) / 1e6
        print(f"\n{len(files)} sessions, {size:.1f} MB; seconds of processor time, start included")
        for command in commands(home / "projects"):
            print(f"{command.name:<24}{seconds(command, home):>7.2f}   {command.does}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
