"""Running code that is not ours in a process of its own.

Whatever it does there (raise, exit, die, hang, change folder, close files, patch modules, print,
take all memory), this process goes on, and knows what happened.
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
# A copy of this process has everything loaded already. Elsewhere a copy may not be safe (macOS) or
# cannot be had (Windows), and a new process is started.
FORKS = sys.platform == "linux"
# Bytes of what is printed that are kept; the rest is read and dropped.
_PRINTED = 4_000
# Seconds after which somebody looks whether a process, or the one that it works for, is still
# there. A result is never waited for so long: it is read as it comes.
_PULSE = 0.25
_HEAD = 8  # bytes in front of a result, which say how long it is
_PDEATHSIG = 1  # of linux/prctl.h
_UNKNOWN = 1 << 8  # as a process ends with exit code 1
_KILLED = -int(getattr(signal, "SIGKILL", 9))
_LEAST_MEMORY = 1 << 30
_START = "from compactlab.sim.core.isolation import _started; _started()"


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What came of work in a process of its own."""

    value: T | None  # what the work returned; None if nothing came back
    fault: str = ""  # why nothing came back; "" if something did
    printed: str = ""  # how standard output and standard error begin
    refused: bool = False  # whether the fault is an error of compactlab's own
    killed: bool = False  # whether somebody else killed the process, such as a system out of memory


def is_foreign(code: object) -> bool:
    """Whether a class or a function is neither compactlab's own nor Python's."""
    while isinstance(code, partial):
        code = code.func
    return str(getattr(code, "__module__", "")).partition(".")[0] not in (PACKAGE, "builtins")


def isolated(work: Callable[[], T], seconds: float | None = None) -> Outcome[T]:
    """Do work in a process of its own, which ends with it.

    Where processes can be copied, the copy has whatever ``work`` refers to. Elsewhere ``work`` is
    pickled, by value what no other process could import.
    """
    try:
        child = _copied(work) if FORKS else _new(work)
    except OSError as error:  # too many processes, or too little memory
        return Outcome(None, f"there can be no process for it: {error.strerror or error}")
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
    except Exception:  # nothing came, or half of it, or what somebody else has written
        fault = _death(code) if ended else "it closed the pipe for its result"
        return Outcome(None, fault, output, killed=ended and code == _KILLED)
    return Outcome(value, fault, output, refused)


def described(error: BaseException) -> str:
    """An error with where it came from, without the paths of this machine."""
    every = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in every if frame.filename != __file__]
    where = "; ".join(f"{Path(f.filename).name}:{f.lineno} in {f.name}" for f in frames[-3:])
    return f"{type(error).__name__}: {error}" + (f" ({where})" if where else "")


def die_with(parent: int) -> None:
    """See to it that this process ends when the one that it works for does.

    Killed, that process could tell nobody, and this one would go on for nothing.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_PULSE)
        # With whatever it has started, if it leads a group of its own.
        if hasattr(os, "killpg") and os.getpgid(0) == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=watch, name="orphaned", daemon=True).start()


class _Child(Protocol):
    """A process that works for this one."""

    answer: int
    prints: int

    def dead(self) -> bool:
        """Whether it has ended."""

    def end(self) -> int:
        """Kill it, with all that it has started; its exit code, below 0 for a signal."""


class _Reader(threading.Thread):
    """Reads a pipe as it is written; keeps its beginning, or one message with its length."""

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
        """What comes next; nothing at the end, or when nobody wants to know any more."""
        if hasattr(select, "poll"):
            waiting = select.poll()
            waiting.register(self._pipe, select.POLLIN | select.POLLHUP)
            while not waiting.poll(_PULSE * 1000):
                if self._stopped:
                    return b""
        return os.read(self._pipe, 1 << 20)

    def stop(self) -> None:
        """Read what is there and no more: others may hold the pipe open that went their own way."""
        self.join(_PULSE)
        self._stopped = True

    @property
    def _whole(self) -> bool:
        return self._framed and len(self.held) >= _HEAD + int.from_bytes(self.held[:_HEAD])

    @property
    def message(self) -> bytes:
        """The message, without its length."""
        return bytes(self.held[_HEAD:]) if len(self.held) >= _HEAD and self._whole else b""


def _answered(answer: _Reader, child: _Child, seconds: float | None) -> bool:
    """Wait for an answer, or until there can be none; False if it took too long."""
    end = None if seconds is None else time.monotonic() + seconds
    while answer.is_alive():
        left = _PULSE if end is None else end - time.monotonic()
        if left <= 0:
            return False
        over = child.dead()
        answer.join(min(left, _PULSE))
        if over:  # what it has started may hold the pipe open
            break
    return True


def _ends(child: _Child) -> bool:
    """Whether a process that can give no answer any more ends by itself, and soon."""
    for _ in range(int(_PULSE * 100)):
        if child.dead():
            return True
        time.sleep(0.01)
    return child.dead()


def _death(code: int) -> str:
    """How a process ended that gave no answer."""
    if code < 0:
        name = signal.Signals(-code).name
        more = ": out of memory, or by somebody's hand" if name == "SIGKILL" else ""
        return f"its process was killed by {name}{more}"
    return f"it ended its process, with exit code {code}"


class _Copy:
    """A copy of this process."""

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
        except ChildProcessError:  # whoever started this process has it ask after none
            return self._pid, _UNKNOWN

    def end(self) -> int:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)
        if self._status is None:
            with suppress(ProcessLookupError):  # it may not have come to leading a group yet
                os.kill(self._pid, signal.SIGKILL)
            self._status = self._waited(0)[1]
        return os.waitstatus_to_exitcode(self._status)


def _copied(work: Callable[[], Any]) -> _Child:
    answer, answered = os.pipe()
    prints, printed = os.pipe()
    with warnings.catch_warnings():
        # Python warns of copies where there are threads: of those none goes on in the copy, which
        # asks nothing of them and never returns.
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
    with suppress(OSError), process.stdin as given:  # it may have died already
        pickle.dump((os.getpid(), sys.path), given)
        given.write(cloudpickle.dumps(work))
    return _New(process)


def _started() -> NoReturn:
    """Begin as a new process: what to do comes on standard input."""
    with sys.stdin.buffer as given:
        parent, sys.path = pickle.load(given)  # noqa: S301
        pickled = given.read()

    def work() -> Any:
        return pickle.loads(pickled)()  # noqa: S301

    # To read what it is may run code that is not ours, so that comes later, too.
    _live(work, parent, os.dup(1), os.dup(2))


def _live(work: Callable[[], Any], parent: int, answer: int, prints: int) -> NoReturn:
    """Do the work in this process, which has no other purpose, and end."""
    code = 1
    try:
        _settle(parent, answer, prints)
        me = os.getpid()
        message = memoryview(_framed(work))
        # A copy that the work has made of this process comes here, too.
        if os.getpid() == me:
            while message:
                message = message[os.write(answer, message) :]
            code = 0
    finally:
        os._exit(code)


def _framed(work: Callable[[], Any]) -> bytes:
    """What comes of the work, with the length of that in front."""
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
    """Part with the process that this is a copy of: its files, its terminal, its signals."""
    if hasattr(os, "setsid"):
        with suppress(PermissionError):  # it leads a session already
            os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for old, new in ((nothing, 0), (prints, 1), (prints, 2)):
        os.dup2(old, new)
    # Files of others must not be held open here, nor be written to.
    os.closerange(3, answer)
    os.closerange(answer + 1, os.sysconf("SC_OPEN_MAX") if hasattr(os, "sysconf") else 1 << 12)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    for name, number in _STREAMS.items():
        stream = open(number, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    _limit_memory()
    if sys.platform == "linux":  # also where no thread gets a turn any more
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
    die_with(parent)


_STREAMS = MappingProxyType({"stdout": 1, "stderr": 2})


def _limit_memory() -> None:
    """Let this process have a quarter of the machine's memory, and be the first to go without."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        quarter = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        limit = max(quarter, _LEAST_MEMORY)
        if most == resource.RLIM_INFINITY or limit < most:
            resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
