"""A program that runs beside this process, and the lines between the two.

Whatever it does (die, hang, print garbage or without end, never read), the one who asked gets an
error that says so, within a time limit.
"""

from __future__ import annotations

import queue
import shlex
import subprocess
import threading
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import IO, NoReturn

from compactlab.sim.core.errors import ContractError, UsageError
from compactlab.strategies.program.protocol import (
    VERSION,
    FromHost,
    FromProgram,
    Greeting,
    Hello,
    kind_of,
    line_of,
    read_line,
)

# Bytes of a line; the view of a session of a million tokens has some four million.
LONGEST = 64 * 2**20
MOST_REQUESTS = 10_000
"""Of one view; a program that asks for ever would never be late, as the host works meanwhile."""
_CHUNK = 1 << 16
_WAITING = 64  # chunks that are read ahead; then the program waits until somebody wants them
_PULSE = 0.2
_SHOWN = 80  # characters of a line, in an error


def words_of(command: str) -> list[str]:
    """The program and its arguments; no shell reads them.

    Raises
    ------
    UsageError
        If there are none, or a quote is not closed.

    Examples
    --------
    >>> words_of("node 'my compactor.mjs' --keep 20; rm x")
    ['node', 'my compactor.mjs', '--keep', '20;', 'rm', 'x']
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"the command {command!r} cannot be read: {error}") from None
    if not words or not words[0] or "\0" in command:
        raise UsageError(f"the command {command!r} names no program")
    return words


def files_of(command: str) -> list[Path]:
    """The files that a command names and that are there."""
    files = []
    for word in words_of(command):
        with suppress(OSError, ValueError):
            if Path(word).is_file():
                files.append(Path(word))
    return files


class Process:
    """A program that has been started, and has said hello.

    Parameters
    ----------
    command
        The program and its arguments.
    seconds
        How long each of its answers may take.

    Raises
    ------
    UsageError
        If there is no such program.
    ContractError
        If it does not say hello as it should.
    """

    def __init__(self, command: str, seconds: float) -> None:
        self.command, self.seconds = command, seconds
        pipe = subprocess.PIPE
        try:
            # What it writes to standard error goes where that of this process goes.
            self._process = subprocess.Popen(  # noqa: S603
                words_of(command), bufsize=0, stdin=pipe, stdout=pipe
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"the program {command!r} cannot be started: {reason}") from None
        self._read: queue.Queue[bytes] = queue.Queue(_WAITING)
        self._written: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._buffer = b""
        self._over = over = threading.Event()
        self._asked = "for its hello"
        self._until = self._received = (
            0.0  # times: when it must have answered, and when it last did
        )
        self._requests = 0
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        threads = [
            threading.Thread(target=_feed, args=(process.stdin, self._written), daemon=True),
            threading.Thread(target=_drain, args=(process.stdout, self._read, over), daemon=True),
        ]
        for thread in threads:
            thread.start()
        self.end = weakref.finalize(self, _ended, process, over, self._written, threads)
        self.hello = self._greeted()

    @property
    def ended(self) -> bool:
        """Whether it is of no use any more."""
        return not self.end.alive

    def _greeted(self) -> Hello:
        self.ask(Greeting(VERSION), "for its hello")
        hello = self.receive()
        if not isinstance(hello, Hello):
            self.fail(f"wrote {kind_of(hello)!r} where its hello was to come")
        if hello.protocol != VERSION:
            self.fail(f"speaks version {hello.protocol} of the protocol, and this is {VERSION}")
        return hello

    def ask(self, message: FromHost, what: str) -> None:
        """Write something whose answer is waited for, within the time limit."""
        self._asked, self._until, self._requests = what, time.monotonic() + self.seconds, 0
        self.write(message)

    def reply(self, message: FromHost) -> None:
        """Write what it has asked for; the time that this took was not its own."""
        self._requests += 1
        if self._requests > MOST_REQUESTS:
            self.fail(f"made more than {MOST_REQUESTS:,} requests")
        self._until += time.monotonic() - self._received
        self.write(message)

    def write(self, message: FromHost) -> None:
        """Write something that needs no answer."""
        self._written.put(line_of(message))

    def receive(self) -> FromProgram:
        """Wait for what it writes next.

        Raises
        ------
        ContractError
            If it writes nothing in time, nothing any more, or something else than a message.
        """
        line = self._line()
        self._received = time.monotonic()
        try:
            return read_line(line)
        except (ValueError, RecursionError) as error:
            shown = line[: 4 * _SHOWN].decode("utf-8", "replace")[:_SHOWN]
            shown += "..." if len(shown) < len(line) else ""
            self.fail(f"wrote {shown!r}, which is no message of the protocol: {error}")

    def _line(self) -> bytes:
        pieces, size = [self._buffer], len(self._buffer)
        while b"\n" not in pieces[-1]:
            if size > LONGEST:
                self.fail(f"wrote a line of more than {LONGEST // 2**20} MB")
            try:
                piece = self._read.get(timeout=max(0.0, self._until - time.monotonic()))
            except queue.Empty:
                self.fail(f"took longer than {self.seconds:g} s")
            if not piece:
                self.fail(self._death())
            pieces.append(piece)
            size += len(piece)
        line, _, self._buffer = b"".join(pieces).partition(b"\n")
        return line

    def _death(self) -> str:
        """How it came that it writes nothing any more."""
        try:
            code = self._process.wait(_PULSE * 5)
        except subprocess.TimeoutExpired:
            return "closed its output"
        return f"ended with exit code {code}" if code >= 0 else f"was killed by signal {-code}"

    def fail(self, what: str) -> NoReturn:
        """End it, and say what is wrong."""
        self.end()
        raise ContractError(f"the program {self.command!r} {what} (asked {self._asked})")


def _feed(pipe: IO[bytes], lines: queue.SimpleQueue[bytes]) -> None:
    """Write lines as they come, until an empty one."""
    with suppress(OSError, ValueError):  # it is gone, or has closed its input
        while line := lines.get():
            rest = memoryview(line)
            while rest:
                rest = rest[pipe.write(rest) :]


def _drain(pipe: IO[bytes], chunks: queue.Queue[bytes], over: threading.Event) -> None:
    """Read what comes, as long as somebody takes it; an empty chunk is the end."""
    chunk = b"begin"
    while chunk and not over.is_set():
        try:
            chunk = pipe.read(_CHUNK)
        except (OSError, ValueError):
            chunk = b""
        while not over.is_set():
            with suppress(queue.Full):
                chunks.put(chunk, timeout=_PULSE)
                break


def _ended(
    process: subprocess.Popen[bytes],
    over: threading.Event,
    lines: queue.SimpleQueue[bytes],
    threads: list[threading.Thread],
) -> None:
    """End a program and its threads."""
    over.set()
    lines.put(b"")
    with suppress(OSError):
        process.kill()
    process.wait()
    for thread in threads:
        thread.join(_PULSE)
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            if pipe is not None:
                pipe.close()
