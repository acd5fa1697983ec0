"""A field for trials with processes: an experiment of five shards that waits at a gate.

The strategy `Gate` stops in the last two shards as long as the gate is shut, and leaves the number
of the worker there that has started its process. So a trial knows who is at work on what, without
looking at a clock.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from compactlab.sim.experiment.shard import FULL
from tests.cli.conftest import Outcome, files

SHARDS = 5
EACH = FULL // 8  # conversations in a shard, under four strategies
GATE = '''
import os, time
from dataclasses import dataclass
from pathlib import Path
from compactlab import Strategy

@dataclass(frozen=True)
class Gate(Strategy):
    """Leave everything alone, and wait where it is said."""

    def compact(self, view, host):
        gate = Path(os.environ["GATE"])
        if gate.with_name("slow").is_dir():
            time.sleep(0.01)
        if gate.is_dir() and view.messages[0].parts[0].text.startswith("Wait"):
            (gate / str(os.getppid())).touch()
            while gate.is_dir():
                time.sleep(0.01)
        return view
'''
SETTINGS = """
conversations = ["talks"]
strategies = ["keep_all", "keep_none", "as_recorded", "gate.py:Gate"]
models = ["claude-sonnet-4-5"]
metrics = ["money"]
tables = ["calls"]
loop = "open"
"""
TALK = """{"role": "user", "content": "%s: what is number %d?"}
{"role": "assistant", "content": "It is %d."}
{"role": "user", "content": "And the next one?"}
{"role": "assistant", "content": "It is %d."}
"""
# A shell that starts jobs in the background has them ignore what Ctrl-C sends. The page takes as
# long as all else, and is no part of the store.
START = """
import signal
import compactlab.reports.page.page
compactlab.reports.page.page.write = lambda results, path: None
signal.signal(signal.SIGINT, signal.default_int_handler)
from compactlab.__main__ import main
main()
"""

MOMENTS = range(20)


def until(true: Callable[[], object], seconds: float = 240) -> None:
    """Wait until something is true; the limit is for a test that fails."""
    for _ in range(int(seconds * 100)):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("it never came to pass")


def gone(pids: list[int]) -> None:
    """Wait until processes have ended."""
    until(lambda: not any(map(alive, pids)))


def children(pid: int) -> list[int]:
    """The processes that one has started, but for the one that tidies up behind the others."""
    lists = [file.read_text().split() for file in Path(f"/proc/{pid}/task").glob("*/children")]
    started = [int(child) for found in lists for child in found]
    return [child for child in started if b"resource_tracker" not in _command(child)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and that nobody asked about does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def deaf() -> None:
    """Take nothing for a reason to end."""
    for number in {*signal.valid_signals()} - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    while True:
        try:
            while True:
                pass
        except BaseException:
            continue


def hears_ctrl_c(pid: int) -> bool:
    """Whether a process would be stopped by what a terminal tells all of them."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (blocked,) = (int(line.split()[1], 16) for line in lines if line.startswith("SigBlk:"))
    return not blocked >> (signal.SIGINT - 1) & 1


@dataclass(frozen=True)
class Field:
    """A folder with conversations, an experiment and a gate."""

    folder: Path

    @classmethod
    def laid_out(cls, folder: Path) -> Field:
        (folder / "talks").mkdir(parents=True)
        for number in range(EACH * SHARDS):
            # The last ones of the last two shards.
            how = "Wait" if number + 1 in (EACH * (SHARDS - 1), EACH * SHARDS) else "Go on"
            said = TALK % (how, number, number, number + 1)
            (folder / "talks" / f"talk-{number:03}.jsonl").write_text(said)
        (folder / "gate.py").write_text(GATE)
        (folder / "experiment.toml").write_text(SETTINGS)
        return cls(folder)

    @property
    def gate(self) -> Path:
        return self.folder / "gate"

    @contextmanager
    def shut(self, what: str = "gate") -> Iterator[None]:
        """The gate is shut meanwhile."""
        (self.folder / what).mkdir()
        try:
            yield
        finally:
            shutil.rmtree(self.folder / what)

    def slow(self) -> AbstractContextManager[None]:
        """What goes through the gate does so slowly meanwhile."""
        return self.shut("slow")

    def waiting(self, out: Path) -> list[int]:
        """The two processes that wait at the gate, when all else is done and stored."""
        until(lambda: self.stored(out) == SHARDS - 2 and len(self._at_gate()) == 2)
        return self._at_gate()

    def _at_gate(self) -> list[int]:
        return [pid for file in self.gate.iterdir() if alive(pid := int(file.name))]

    def stored(self, out: Path) -> int:
        """How many shards there are in a store."""
        return len(list(out.glob("runs/[!.]*.parquet")))

    def moment(self, out: Path, seed: str) -> None:
        """Wait for a moment that is drawn: so many shards are there, and some time has gone."""
        draw = random.Random(seed)
        shards = draw.randrange(SHARDS)
        until(lambda: self.stored(out) >= shards)
        time.sleep(draw.random() / 3)

    @contextmanager
    def running(self, out: Path, *options: object) -> Iterator[subprocess.Popen[bytes]]:
        """The experiment, under way."""
        command = [sys.executable, "-c", START, "run", str(self.folder / "experiment.toml")]
        command += ["--allow-code"]
        with subprocess.Popen(
            [*command, "--out", str(out), *map(str, options)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env={**os.environ, "GATE": str(self.gate)},
            start_new_session=True,
        ) as process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)

    def run(self, out: Path, *options: object) -> Outcome:
        """The experiment, from beginning to end."""
        with self.running(out, *options) as process:
            return ended(process)


def ended(process: subprocess.Popen[bytes]) -> Outcome:
    """How it ended, and what it said."""
    told, complained = process.communicate(timeout=240)
    return Outcome(process.returncode, told.decode(), complained.decode())


def content(out: Path) -> dict[str, bytes]:
    """What is in a store, without what is not part of it."""
    aside = (".lock", ".counts", "report.html")
    return {name: held for name, held in files(out).items() if not name.startswith(aside)}
