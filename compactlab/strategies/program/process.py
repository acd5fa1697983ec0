"""A program that runs beside this process, and the lines exchanged with it.

Any failure of the program (crash, hang, invalid or endless output, unread input) raises an error
within a time limit.
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

# Largest line in bytes; the view of a session of a million tokens has some four million.
LONGEST = 64 * 2**20
MOST_REQUESTS = 10_000
"""Of one view; a program that asks for ever would never be late, as the host works meanwhile."""
_CHUNK = 1 << 16
_WAITING = 64  # chunks read ahead; then the program must wait
_PULSE = 0.2
_SHOWN = 80  # characters of a line quoted in an error


def words_of(command: str) -> list[str]:
    """Split a command into the program and its arguments; no shell reads them.

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
    """Return the existing files that a command names."""
    files = []
    for word in words_of(command):
        with suppress(OSError, ValueError):
            if Path(word).is_file():
                files.append(Path(word))
    return files


class Process:
    """A started program that has sent its hello.

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
        If its hello is invalid.
    """

    def __init__(self, command: str, seconds: float) -> None:
        self.command, self.seconds = command, seconds
        pipe = subprocess.PIPE
        try:
            # Its standard error is that of this process.
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
        """Whether it has been stopped."""
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
        """Send a message that the program must answer within the time limit."""
        self._asked, self._until, self._requests = what, time.monotonic() + self.seconds, 0
        self.write(message)

    def reply(self, message: FromHost) -> None:
        """Answer a request of the program; the time it waited does not count."""
        self._requests += 1
        if self._requests > MOST_REQUESTS:
            self.fail(f"made more than {MOST_REQUESTS:,} requests")
        self._until += time.monotonic() - self._received
        self.write(message)

    def write(self, message: FromHost) -> None:
        """Send a message that needs no answer."""
        self._written.put(line_of(message))

    def receive(self) -> FromProgram:
        """Wait for the next message of the program.

        Raises
        ------
        ContractError
            If it sends nothing in time, has ended, or sends an invalid message.
        """
        line = self._line()
        self._received = time.monotonic()
        try:
            return read_line(line)
        except (ValueError, RecursionError) as error:
            shown = line[: 4 * _SHOWN].decode("utf-8", "replace")[:_SHOWN]
            shown += "..." if len(shown) < len(line) else ""
            self.fail(f"wrote {shown!r}, which is not a message of the protocol: {error}")

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
        """Describe why the program sends nothing any more."""
        try:
            code = self._process.wait(_PULSE * 5)
        except subprocess.TimeoutExpired:
            return "closed its output"
        return f"ended with exit code {code}" if code >= 0 else f"was killed by signal {-code}"

    def fail(self, what: str) -> NoReturn:
        """Stop the program, and raise an error."""
        self.end()
        raise ContractError(f"the program {self.command!r} {what} (asked {self._asked})")


def _feed(pipe: IO[bytes], lines: queue.SimpleQueue[bytes]) -> None:
    """Write queued lines until an empty one."""
    with suppress(OSError, ValueError):  # the program has ended or closed its input
        while line := lines.get():
            rest = memoryview(line)
            while rest:
                rest = rest[pipe.write(rest) :]


def _drain(pipe: IO[bytes], chunks: queue.Queue[bytes], over: threading.Event) -> None:
    """Read chunks while they are consumed; an empty chunk is the end."""
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
    """Stop a program and its threads."""
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
