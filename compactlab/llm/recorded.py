"""Recorded answers of language models: JSON Lines that several processes can extend at once."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from compactlab.privacy import Redactor
from compactlab.sim.core.errors import InputError, UsageError
from compactlab.sim.core.files import append_to, lock_file, open_file
from compactlab.sim.core.message import encoded


class Turn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One turn of the conversation with the model."""

    role: Literal["user", "assistant"]
    text: str


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A request to a model, independent of its endpoint and purpose.

    Parameters
    ----------
    model
        The model's name, as its endpoint knows it.
    turns
        The turns, oldest first.
    max_tokens
        The most tokens of its answer.
    system
        The system prompt; "" for none.
    temperature
        The sampling temperature; None for the endpoint's default, because newer models of OpenAI
        and Anthropic refuse other values.
    draw
        The index among several answers to the same request. It is sent as the seed if the endpoint
        takes one.

    Examples
    --------
    >>> request = Request("some-model", (Turn("user", "Write to ann@example.org."),), 100)
    >>> request.redacted.turns[0].text
    'Write to [redacted Mail Address 1].'
    >>> request.key == request.redacted.key != msgspec.structs.replace(request, draw=1).key
    True
    """

    model: str
    turns: tuple[Turn, ...]
    max_tokens: int
    system: str = ""
    temperature: float | None = None
    draw: int = 0

    @cached_property
    def redacted(self) -> Request:
        """The request without secrets, which is sent and identified by the key."""
        redactor = Redactor()
        turns = tuple(Turn(turn.role, redactor.text(whole(turn.text))) for turn in self.turns)
        system = redactor.text(whole(self.system))
        return msgspec.structs.replace(self, turns=turns, system=system)

    @cached_property
    def key(self) -> str:
        """Thirty-two hex digits: a digest of the request without its secrets."""
        return hashlib.blake2b(encoded(self.redacted), digest_size=16).hexdigest()


def turns_of(texts: Iterable[tuple[Literal["user", "assistant"], str]]) -> tuple[Turn, ...]:
    r"""Merge texts into alternating turns for an endpoint: user first, none empty.

    Examples
    --------
    >>> [turn.text for turn in turns_of([("user", "a"), ("user", ""), ("user", "b")])]
    ['a\n\nb']
    >>> [turn.role for turn in turns_of([("assistant", "Done.")])]
    ['user', 'assistant']
    """
    turns: list[Turn] = []
    for role, text in texts:
        if not text.strip():
            continue
        if turns and turns[-1].role == role:
            turns[-1] = Turn(role, f"{turns[-1].text}\n\n{text}")
        else:
            if not turns and role == "assistant":
                turns.append(Turn("user", "(What came before is left out.)"))
            turns.append(Turn(role, text))
    return tuple(turns)


def whole(text: str) -> str:
    """Replace unpaired surrogates by question marks, so that a text can be sent and stored."""
    return text.encode("utf-8", "replace").decode("utf-8")


SUFFIX = ".jsonl"
LONGEST = 16 * 2**20
"""Most bytes of one recorded answer; a longer line is refused."""

_LOCK = ".lock"
# The limits for tokens of a transcript and for dollars of a run.
Tokens = Annotated[int, msgspec.Meta(ge=0, le=10**12)]
Dollars = Annotated[float, msgspec.Meta(ge=0, le=1e15)]


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model's answer: a line of a recording.

    Parameters
    ----------
    key
        The key of the request.
    model, draw
        As in the request, for human readers.
    text
        The answer, without secrets.
    ended
        The stop reason in the endpoint's term: ``stop``, ``length``, ``end_turn``.
    prompt, output
        Tokens of the request and of the answer, according to the endpoint.
    usd
        Its cost; None if the model's price is not known.
    served
        The model's name according to the endpoint.
    date
        The day of the request.
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
        """Return a line of a recording; raise ValueError if it could not be read again."""
        line = msgspec.json.encode(self) + b"\n"
        if len(line) > LONGEST:
            raise ValueError(f"it has {len(line):,} bytes, and no answer has more than {LONGEST:,}")
        msgspec.json.decode(line, type=Answer)
        return line


@dataclass
class _Known:
    """The content read from a file so far."""

    inode: int = 0
    changed: int = -1
    size: int = 0
    lines: int = 0
    spent: float = 0.0
    answers: dict[str, Answer] = field(default_factory=dict)


# Known content by file, in this process. If a file has only grown, the new lines are read.
_known: dict[Path, _Known] = {}


@dataclass(frozen=True)
class Recording:
    """The recorded answers of one model in a folder.

    Of two answers to the same request, the first one counts; both were paid.
    """

    file: Path

    @classmethod
    def of(cls, folder: Path, model: str) -> Recording:
        """Return the recording of a model.

        Examples
        --------
        >>> Recording.of(Path("answers"), "org/small:8b").file.name
        'org-small-8b.jsonl'
        """
        name = re.sub(r"[^\w.-]+", "-", model).strip("-.") or "model"
        return cls(folder / f"{name[:100]}{SUFFIX}")

    def get(self, key: str) -> Answer | None:
        """Return the answer to a request; None if there is none."""
        return self._read().answers.get(key)

    def __len__(self) -> int:
        return self._read().lines

    @property
    def spent(self) -> float:
        """Return the dollars of all its answers."""
        return self._read().spent

    def add(self, answer: Answer) -> Answer:
        """Add an answer; return the one that counts: another process may have been first."""
        try:
            line = answer.line
        except ValueError as error:
            raise InputError(f"an answer is not recorded: {error}", str(self.file)) from None
        with locked(self.file.parent):
            _append(self.file, line)
            return self._read().answers[answer.key]

    def _read(self) -> _Known:
        """Return the current content."""
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
        # Removed during the read, so that an unreadable file never counts as read.
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
            fault = f"is not a recorded answer: {error}"
            raise InputError(fault, str(self.file), number) from None


def recordings(folder: Path) -> list[Recording]:
    """Return all recordings of a folder."""
    try:
        return [Recording(file) for file in sorted(folder.glob(f"*{SUFFIX}"))]
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", str(folder)) from None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold an exclusive lock on the folder."""
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
    """Append a line in one write; never through a link."""
    try:
        with append_to(file) as end:
            rest = memoryview(line)
            while rest:
                rest = rest[end.write(rest) :]
            os.fsync(end.fileno())
    except OSError as error:
        raise UsageError(f"cannot write {str(file)!r}: {error.strerror or error}") from None
