"""The work on one transcript: commands in processes of their own, one after the other.

Each writes a page, which is kept in memory. The folder with the transcript and all results is
always deleted at the end.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import IO, Any, Literal

from compactlab.reports.render.text import clean
from compactlab.sim.core.files import lock_file

State = Literal["waiting", "running", "done", "failed", "stopped"]
TRANSCRIPT = "transcript"
# The process ends when this one does; nothing is imported from a folder.
_START = (
    "import os; from compactlab.sim.core.isolation import die_with; die_with(os.getppid()); "
    "from compactlab.__main__ import main; main()"
)
_PREFIX, _LOCK = "compactlab-serve-", ".lock"
# The number of last lines of a command that are kept to explain a failure; and their characters.
_LINES, _LONG = 12, 400


@dataclass(frozen=True)
class Step:
    """A command that makes a page from the transcript.

    Parameters
    ----------
    name, title
        Its name in addresses, and on the page.
    words
        The words of the command, from the output folder, the transcript, and the user's choices.
    page
        The path of its page in the folder.
    """

    name: str
    title: str
    words: Callable[[Path, Path, str], Sequence[str]]
    page: str


class JobFolder(TemporaryDirectory[str]):
    """The folder of a job, locked as long as the server process lives."""

    def __init__(self) -> None:
        super().__init__(prefix=_PREFIX)
        self._lock = lock_file(Path(self.name, _LOCK), seconds=0)

    def cleanup(self) -> None:
        """Delete the folder."""
        self._lock.release()
        super().cleanup()


def delete_left() -> int:
    """Delete the folders of this user's killed servers, and count them."""
    deleted = 0
    for folder in Path(gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if _is_own(folder) and (folder / _LOCK).is_file():
                lock_file(folder / _LOCK, seconds=0).release()
                shutil.rmtree(folder)
                deleted += 1
    return deleted


def _is_own(folder: Path) -> bool:
    """Whether a folder belongs to this user, and is not a link."""
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == getattr(os, "getuid", int)()


class Progress:
    """The progress of a step."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.state: State = "waiting"
        self.lines: list[str] = []
        self.page = b""

    def data(self) -> dict[str, Any]:
        """The progress as JSON data: the last line while it runs, all lines if it failed."""
        lines = self.lines if self.state == "failed" else self.lines[-1:]
        told = "\n".join(lines) if self.state in ("running", "failed") else ""
        return {
            "name": self.step.name,
            "title": self.step.title,
            "state": self.state,
            "text": told,
            "page": bool(self.page),
        }


class Job:
    """All steps on one transcript; started with :meth:`start`, in a thread of its own.

    The transcript is the one in the folder, or ``log``, which is not moved.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        folder: JobFolder,
        chosen: str,
        log: Path | None = None,
    ) -> None:
        self._folder, self._chosen = folder, chosen
        self._transcript = log or Path(folder.name) / TRANSCRIPT
        self.steps = [Progress(step) for step in steps]
        self._stopped = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="serve-job")

    @property
    def running(self) -> bool:
        """Whether steps remain."""
        return self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End it now with all its processes, and wait until everything is deleted."""
        self._stopped.set()
        with self._lock:
            if self._process is not None:
                _kill(self._process)
        self.wait()

    def wait(self) -> None:
        if self._thread.ident is not None:
            self._thread.join()

    def data(self) -> dict[str, Any]:
        """The progress of all steps as JSON data."""
        return {"running": self.running, "steps": [each.data() for each in self.steps]}

    def page(self, name: str) -> bytes:
        """The page of a step; empty if there is none."""
        return next((each.page for each in self.steps if each.step.name == name), b"")

    def _run(self) -> None:
        with self._folder as folder:
            for each in self.steps:
                if self._stopped.is_set():
                    each.state = "stopped"
                else:
                    self._do(each, Path(folder))

    def _do(self, each: Progress, folder: Path) -> None:
        each.state = "running"
        code = self._call(each, folder, each.step.words(folder, self._transcript, self._chosen))
        written = folder / each.step.page
        if self._stopped.is_set():
            each.state = "stopped"
            return
        with suppress(OSError):
            each.page = written.read_bytes()
        # A command may end with 1 because it left something out; its page says what.
        each.state = "done" if each.page and code in (0, 1) else "failed"

    def _call(self, each: Progress, folder: Path, words: Sequence[str]) -> int:
        command = [sys.executable, "-P", "-c", _START, *words]
        with self._lock:
            if self._stopped.is_set():
                return -1
            self._process = subprocess.Popen(  # noqa: S603
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
        with self._process as process:
            if process.stderr is not None:
                _follow(process.stderr, each.lines, f"{folder}{os.sep}")
            code = process.wait()
        with self._lock:
            self._process = None
        return code


def _follow(stream: IO[str], lines: list[str], folder: str) -> None:
    """Keep the last lines of a command's output, without the path of the folder."""
    for line in stream:
        text = clean(line.rstrip("\n").replace(folder, ""))[:_LONG]
        if text.strip():
            lines.append(text.removeprefix("compactlab: "))
            del lines[:-_LINES]


def _kill(process: subprocess.Popen[str]) -> None:
    """End a process and its children, which are in its session."""
    with suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
