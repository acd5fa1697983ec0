"""Runs foreign code in a separate process.

If the code raises, exits, crashes, hangs, changes folder, closes files, patches modules, prints or
uses all memory, this process continues and reports the outcome.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, NoReturn, Protocol, TypeVar

from compactlab.sim.core.errors import CompactlabError

T = TypeVar("T")

PACKAGE = __package__.partition(".")[0]
TOO_LONG = "it took longer than"
# A fork has everything loaded already. Forking may be unsafe (macOS) or impossible (Windows); there
# a new process is started.
FORKS = sys.platform == "linux"
# Bytes of output that are kept; the rest is read and dropped.
_PRINTED = 4_000
# Seconds between checks whether a process, or its parent, is still alive. Results arrive without
# this delay.
_PULSE = 0.25
_HEAD = 8  # size in bytes of a result's length prefix
_PDEATHSIG = 1  # of linux/prctl.h
_UNKNOWN = 1 << 8  # wait status of exit code 1
_KILLED = -int(getattr(signal, "SIGKILL", 9))
_LEAST_MEMORY = 1 << 30
_START = "from compactlab.sim.core.isolation import _started; _started()"


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """The outcome of work in a separate process."""

    value: T | None  # the result of the work; None without a result
    fault: str = ""  # the error; "" if there is a value
    printed: str = ""  # the start of standard output and standard error
    refused: bool = False  # whether the fault is an error of compactlab's own
    killed: bool = False  # whether it was killed from outside, such as for lack of memory


def is_foreign(code: object) -> bool:
    """Whether a class or a function is neither from compactlab nor from Python."""
    while isinstance(code, partial):
        code = code.func
    return str(getattr(code, "__module__", "")).partition(".")[0] not in (PACKAGE, "builtins")


def isolated(work: Callable[[], T], seconds: float | None = None) -> Outcome[T]:
    """Run work in a separate process, and wait for its end.

    A forked process has everything that ``work`` refers to. Otherwise ``work`` is pickled, with
    foreign code by value.
    """
    try:
        child = _copied(work) if FORKS else _new(work)
    except OSError as error:  # too many processes, or too little memory
        return Outcome(None, f"no process can be started for it: {error.strerror or error}")
    answer, printed = _Reader(child.answer, framed=True), _Reader(child.prints, most=_PRINTED)
    try:
        late = not _answered(answer, child, seconds)
        ended = late or bool(answer.message) or _ends(child)
    finally:
        code = child.end()
        printed.stop()
        answer.stop()
    output = bytes(printed.held[:_PRINTED]).decode("utf-8", "replace")
    output += " [...]" if len(printed.held) > _PRINTED else ""
    if late:
        return Outcome(None, f"{TOO_LONG} {seconds:g} s", output)
    try:
        value, fault, refused = pickle.loads(answer.message)  # noqa: S301
    except Exception:  # no, partial or foreign data
        fault = _death(code) if ended else "it closed the pipe for its result"
        return Outcome(None, fault, output, killed=ended and code == _KILLED)
    return Outcome(value, fault, output, refused)


def described(error: BaseException) -> str:
    """Describe an error and its location, without local paths."""
    every = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in every if frame.filename != __file__]
    where = "; ".join(f"{Path(f.filename).name}:{f.lineno} in {f.name}" for f in frames[-3:])
    return f"{type(error).__name__}: {error}" + (f" ({where})" if where else "")


def die_with(parent: int) -> None:
    """Make this process end when its parent ends.

    A killed parent cannot tell its children, which would continue for nothing.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_PULSE)
        # Including its children, if it leads a process group.
        if hasattr(os, "killpg") and os.getpgid(0) == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=watch, name="orphaned", daemon=True).start()


class _Child(Protocol):
    """A child process."""

    answer: int
    prints: int

    def dead(self) -> bool:
        """Whether the process has ended."""

    def end(self) -> int:
        """Kill the process and its children; return its exit code, below 0 for a signal."""


class _Reader(threading.Thread):
    """Reads a pipe continuously; keeps its start, or one message with its length."""

    def __init__(self, pipe: int, *, most: int = 0, framed: bool = False) -> None:
        super().__init__(name="reader", daemon=True)
        self.held = bytearray()
        self._pipe, self._most, self._framed = pipe, most, framed
        self._stopped = False
        self.start()

    def run(self) -> None:
        with suppress(OSError):
            while not self._whole and (bit := self._bit()):
                if self._framed or len(self.held) <= self._most:
                    self.held += bit
        os.close(self._pipe)

    def _bit(self) -> bytes:
        """Read the next bytes; empty at the end, or after :meth:`stop`."""
        if hasattr(select, "poll"):
            waiting = select.poll()
            waiting.register(self._pipe, select.POLLIN | select.POLLHUP)
            while not waiting.poll(_PULSE * 1000):
                if self._stopped:
                    return b""
        return os.read(self._pipe, 1 << 20)

    def stop(self) -> None:
        """Read the available data and stop: detached processes may keep the pipe open."""
        self.join(_PULSE)
        self._stopped = True

    @property
    def _whole(self) -> bool:
        return self._framed and len(self.held) >= _HEAD + int.from_bytes(self.held[:_HEAD])

    @property
    def message(self) -> bytes:
        return bytes(self.held[_HEAD:]) if len(self.held) >= _HEAD and self._whole else b""


def _answered(answer: _Reader, child: _Child, seconds: float | None) -> bool:
    """Wait until there is an answer or can be none; return False after a timeout."""
    end = None if seconds is None else time.monotonic() + seconds
    while answer.is_alive():
        left = _PULSE if end is None else end - time.monotonic()
        if left <= 0:
            return False
        over = child.dead()
        answer.join(min(left, _PULSE))
        if over:  # its children may keep the pipe open
            break
    return True


def _ends(child: _Child) -> bool:
    """Whether a process that cannot answer any more ends soon by itself."""
    for _ in range(int(_PULSE * 100)):
        if child.dead():
            return True
        time.sleep(0.01)
    return child.dead()


def _death(code: int) -> str:
    """Describe how a process without an answer ended."""
    if code < 0:
        name = signal.Signals(-code).name
        more = ": out of memory, or killed by a user" if name == "SIGKILL" else ""
        return f"its process was killed by {name}{more}"
    return f"it ended its process, with exit code {code}"


class _Copy:
    """A fork of this process."""

    def __init__(self, pid: int, answer: int, prints: int) -> None:
        self.answer, self.prints = answer, prints
        self._pid = pid
        self._status: int | None = None

    def dead(self) -> bool:
        if self._status is None:
            pid, status = self._waited(os.WNOHANG)
            self._status = status if pid else None
        return self._status is not None

    def _waited(self, how: int) -> tuple[int, int]:
        try:
            return os.waitpid(self._pid, how)
        except ChildProcessError:  # SIGCHLD is ignored by inheritance
            return self._pid, _UNKNOWN

    def end(self) -> int:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)
        if self._status is None:
            with suppress(ProcessLookupError):  # it may not lead a group yet
                os.kill(self._pid, signal.SIGKILL)
            self._status = self._waited(0)[1]
        return os.waitstatus_to_exitcode(self._status)


def _copied(work: Callable[[], Any]) -> _Child:
    answer, answered = os.pipe()
    prints, printed = os.pipe()
    with warnings.catch_warnings():
        # Python warns about forks of processes with threads. The fork has none of them, does not
        # use them, and never returns.
        warnings.simplefilter("ignore", DeprecationWarning)
        parent = os.getpid()
        try:
            pid = os.fork()
        except OSError:
            for pipe in (answer, answered, prints, printed):
                os.close(pipe)
            raise
    if not pid:
        _live(work, parent, answered, printed)
    os.close(answered)
    os.close(printed)
    return _Copy(pid, answer, prints)


class _New:
    """A new process of the same Python."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.answer, self.prints = os.dup(process.stdout.fileno()), os.dup(process.stderr.fileno())
        self._process = process

    def dead(self) -> bool:
        return self._process.poll() is not None

    def end(self) -> int:
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        with self._process:
            return self._process.wait()


def _new(work: Callable[[], Any]) -> _Child:
    import cloudpickle

    pipe = subprocess.PIPE
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-P", "-c", _START],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        start_new_session=True,
    )
    assert process.stdin is not None
    with suppress(OSError), process.stdin as given:  # it may be dead already
        pickle.dump((os.getpid(), sys.path), given)
        given.write(cloudpickle.dumps(work))
    return _New(process)


def _started() -> NoReturn:
    """Run as a new process; the work comes from standard input."""
    with sys.stdin.buffer as given:
        parent, sys.path = pickle.load(given)  # noqa: S301
        pickled = given.read()

    def work() -> Any:
        return pickle.loads(pickled)()  # noqa: S301

    # Unpickling may run foreign code, so it is part of the isolated work.
    _live(work, parent, os.dup(1), os.dup(2))


def _live(work: Callable[[], Any], parent: int, answer: int, prints: int) -> NoReturn:
    """Run the work in this process, and exit."""
    code = 1
    try:
        _settle(parent, answer, prints)
        me = os.getpid()
        message = memoryview(_framed(work))
        # Forks made by the work get here, too.
        if os.getpid() == me:
            while message:
                message = message[os.write(answer, message) :]
            code = 0
    finally:
        os._exit(code)


def _framed(work: Callable[[], Any]) -> bytes:
    """Return the outcome of the work with a length prefix."""
    try:
        content = pickle.dumps((work(), "", False))
    except CompactlabError as error:
        content = pickle.dumps((None, str(error), True))
    except BaseException as error:
        content = pickle.dumps((None, described(error), False))
    for stream in (sys.stdout, sys.stderr):
        with suppress(BaseException):
            stream.flush()
    return len(content).to_bytes(_HEAD) + content


def _settle(parent: int, answer: int, prints: int) -> None:
    """Detach from the parent process: its files, its terminal, its signals."""
    if hasattr(os, "setsid"):
        with suppress(PermissionError):  # it is a session leader already
            os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for old, new in ((nothing, 0), (prints, 1), (prints, 2)):
        os.dup2(old, new)
    # Inherited files must not stay open, nor be written to.
    os.closerange(3, answer)
    os.closerange(answer + 1, os.sysconf("SC_OPEN_MAX") if hasattr(os, "sysconf") else 1 << 12)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    for name, number in _STREAMS.items():
        stream = open(number, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    _limit_memory()
    if sys.platform == "linux":  # also works if no thread can run
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
    die_with(parent)


_STREAMS = MappingProxyType({"stdout": 1, "stderr": 2})


def _limit_memory() -> None:
    """Limit this process to a quarter of the memory, and make it the first to be killed."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        quarter = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        limit = max(quarter, _LEAST_MEMORY)
        if most == resource.RLIM_INFINITY or limit < most:
            resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
