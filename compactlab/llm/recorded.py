"""Recorded answers of language models: JSON Lines, to which several processes may add at once."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec

from compactlab.sim.core.errors import InputError, UsageError
from compactlab.sim.core.files import append_to, lock_file, open_file

SUFFIX = ".jsonl"
LONGEST = 16 * 2**20
"""Bytes of one recorded answer; a longer line is refused."""

_LOCK = ".lock"
# As many tokens as a transcript may count, and as many dollars as a run may cost.
Tokens = Annotated[int, msgspec.Meta(ge=0, le=10**12)]
Dollars = Annotated[float, msgspec.Meta(ge=0, le=1e15)]


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a model answered: a line of a recording.

    Parameters
    ----------
    key
        The key of the request.
    model, draw
        As in the request, for whoever reads the file.
    text
        The answer, without secrets.
    ended
        Why it ends there, in the endpoint's word: ``stop``, ``length``, ``end_turn``.
    prompt, output
        Tokens of the request and of the answer, as the endpoint counted them.
    usd
        What it cost; None where no price of the model is known.
    served
        The model's name in the endpoint's answer.
    date
        The day on which it was asked.
    """

    key: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
    model: str
    draw: int
    text: str
    ended: str
    prompt: Tokens
    output: Tokens
    usd: Dollars | None
    served: str = ""
    date: str = ""

    @property
    def line(self) -> bytes:
        """As a line of a recording; a ValueError, if it could not be read again."""
        line = msgspec.json.encode(self) + b"\n"
        if len(line) > LONGEST:
            raise ValueError(f"it has {len(line):,} bytes, and no answer has more than {LONGEST:,}")
        msgspec.json.decode(line, type=Answer)
        return line


@dataclass
class _Known:
    """What was read of a file, as far as it was read."""

    inode: int = 0
    changed: int = -1
    size: int = 0
    lines: int = 0
    spent: float = 0.0
    answers: dict[str, Answer] = field(default_factory=dict)


# By file, in this process. Of a file that has only grown, the new lines are read.
_known: dict[Path, _Known] = {}


@dataclass(frozen=True)
class Recording:
    """The answers of one model in a folder.

    Of two answers to the same request, the first is the answer; both were paid.
    """

    file: Path

    @classmethod
    def of(cls, folder: Path, model: str) -> Recording:
        """That of a model.

        Examples
        --------
        >>> Recording.of(Path("answers"), "org/small:8b").file.name
        'org-small-8b.jsonl'
        """
        name = re.sub(r"[^\w.-]+", "-", model).strip("-.") or "model"
        return cls(folder / f"{name[:100]}{SUFFIX}")

    def get(self, key: str) -> Answer | None:
        """The answer to a request; None if there is none."""
        return self._read().answers.get(key)

    def __len__(self) -> int:
        return self._read().lines

    @property
    def spent(self) -> float:
        """Dollars that all of its answers cost."""
        return self._read().spent

    def add(self, answer: Answer) -> Answer:
        """Add an answer, and give back the one that counts: another process may have been first."""
        try:
            line = answer.line
        except ValueError as error:
            raise InputError(f"an answer is not recorded: {error}", str(self.file)) from None
        with locked(self.file.parent):
            _append(self.file, line)
            return self._read().answers[answer.key]

    def _read(self) -> _Known:
        """What it holds now."""
        try:
            now = self.file.stat()
        except FileNotFoundError:
            return _Known()
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", str(self.file)) from None
        known = _known.get(self.file)
        seen = (now.st_ino, now.st_mtime_ns, now.st_size)
        if known and seen == (known.inode, known.changed, known.size):
            return known
        if not known or known.inode != now.st_ino or known.size > now.st_size:
            known = _Known(now.st_ino)
        # It is forgotten while it is read: what cannot be read is never taken for read.
        _known.pop(self.file, None)
        self._read_on(known)
        known.changed = now.st_mtime_ns
        _known[self.file] = known
        return known

    def _read_on(self, known: _Known) -> None:
        try:
            with open_file(self.file) as file:
                file.seek(known.size)
                while line := file.readline(LONGEST + 1):
                    known.lines += 1
                    known.size += len(line)
                    answer = self._answer(line, known.lines)
                    known.spent += answer.usd or 0.0
                    known.answers.setdefault(answer.key, answer)
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"cannot be read: {reason}", str(self.file)) from None

    def _answer(self, line: bytes, number: int) -> Answer:
        if len(line) > LONGEST:
            raise InputError(f"is longer than {LONGEST:,} bytes", str(self.file), number)
        if not line.endswith(b"\n"):
            raise InputError("the line breaks off: take it out", str(self.file), number)
        try:
            return msgspec.json.decode(line, type=Answer)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            fault = f"is no recorded answer: {error}"
            raise InputError(fault, str(self.file), number) from None


def recordings(folder: Path) -> list[Recording]:
    """All recordings of a folder."""
    try:
        return [Recording(file) for file in sorted(folder.glob(f"*{SUFFIX}"))]
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", str(folder)) from None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Nobody else adds to the folder meanwhile; whoever wants to, waits."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = lock_file(folder / _LOCK)
    except (OSError, ValueError, NotImplementedError) as error:
        raise UsageError(f"cannot write to {str(folder)!r}: {error}") from None
    try:
        yield
    finally:
        lock.release()


def _append(file: Path, line: bytes) -> None:
    """Add a line in one piece, and not through a link."""
    try:
        with append_to(file) as end:
            rest = memoryview(line)
            while rest:
                rest = rest[end.write(rest) :]
            os.fsync(end.fileno())
    except OSError as error:
        raise UsageError(f"cannot write {str(file)!r}: {error.strerror or error}") from None
