"""Reading JSON that others wrote: line by line, and never a traceback for any bytes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from compactlab.scenarios.readers import database, zstd
from compactlab.scenarios.readers.archive import MAGIC, Archive
from compactlab.scenarios.readers.unread import characters_of, tokens_of, typed, unknown_fields
from compactlab.sim.core.conversation import PassedOver, added
from compactlab.sim.core.errors import InputError, RefusedError
from compactlab.sim.core.json import LARGEST, TOO_LARGE, JsonError, no_json

T = TypeVar("T")

# Bytes of a transcript: ten times more than a session of 100,000 calls has.
LARGEST_FILE = 4 * 2**30
_PEEK = 50  # lines by which a format is told
_TEXT = 4096  # characters of a text by which it is told
_BOM = b"\xef\xbb\xbf"
_FOREIGN_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")
ANY, OBJECT = msgspec.json.Decoder(Any), msgspec.json.Decoder(dict[str, Any])
_RAW = msgspec.json.Decoder(msgspec.Raw)
_PLAIN = json.JSONDecoder()
_UNREADABLE = (ValueError, RecursionError, OverflowError, InputError)
# How a record starts: with its first key.
_BEGIN = re.compile(r'\{\s*"[^"\\]{1,40}"')
_START = re.compile(rb'\s*(\{\s*"[^"\\]{1,40}")')
_NULS = re.compile(rb"\0+")
_BLOCK = re.compile(rb"\0{8,}")  # a block that a crash left; UTF-16 and UTF-32 have up to three
_MOST_STARTS, _MOST_IN_A_LINE = 16, 64
_MOST_KINDS, _LONGEST_KIND = 50, 120


class Lines:
    """A transcript that is being read: its path, how strictly, and what was passed over.

    By default what is whole is read, and what is not understood is counted by kind.

    Parameters
    ----------
    path
        The file.
    strict
        Whether what is not understood is an error.
    session
        Which session of a database is read; "" for all.
    """

    def __init__(self, path: Path, strict: bool = False, session: str = "") -> None:
        self.path, self.strict, self.session = path, strict, session
        self.fault: InputError | None = None  # the first one that was passed over
        self.number = 0  # the newest line, from 1
        self._passed: dict[str, PassedOver] = {}
        self._record = b""  # the newest one
        self._value: Any = None  # what is being read of it
        self._number = 0  # its line
        self._starts: set[bytes] = set()  # how its whole records start
        self._nul: set[int] = set()  # lines with NUL bytes

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield the records of the lines that are not blank, with their lines from 1."""
        blank = True
        with _opened(self.path) as file:
            for number in range(1, 2**62):
                line = file.readline(LARGEST + 1)
                if not line:
                    break
                if number == 1:
                    line = _without_bom(line, self.path)
                if len(line) > LARGEST:
                    raise InputError(_TOO_LARGE, str(self.path), number)
                for record in self._records(line, number) if line.strip() else ():
                    blank, self._record, self.number = False, record, number
                    yield number, record
        if blank:
            raise InputError("the file is empty", str(self.path))

    def over(self, records: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        """Records that stand elsewhere than in lines, such as in a database; they are whole."""
        for number, self._record in records:
            yield number, self._record

    def _records(self, line: bytes, number: int) -> Iterable[bytes]:
        """The whole records of a line, and its torn pieces, which no decoder will take."""
        if self.strict or _is_json(line):
            if len(self._starts) < _MOST_STARTS and (start := _START.match(line)):
                self._starts.add(start[1])
            return [line]
        pieces = [line]
        if b"\0" in line:
            if number not in self._nul:
                self._nul.add(number)
                self._count(PassedOver("block of NUL bytes"))
            pieces = [piece for piece in _NULS.split(line) if piece.strip()]
            if _is_json(whole := b"".join(pieces)):
                return [whole]
        return (record for piece in pieces for record in _apart(piece, self._starts))

    @contextmanager
    def at(self, number: int, value: Any = None) -> Iterator[None]:
        """Count whatever is wrong with a line, or turn it into an error that names the line.

        ``value`` is what is read of the line, or of a document that has no lines; in a line that
        is being read, its number may be left out.
        """
        outer = self._value, self._number
        self._value = self._value if value is None else value
        self._number = number = number or self._number
        try:
            yield
        except RefusedError as error:
            raise RefusedError(error.message, str(self.path), error.line or number) from None
        except _UNREADABLE as error:
            in_line = number and self._value is None and self._record
            torn = in_line and not self.strict and not _is_json(self._record)
            reason = _NOT_JSON if torn else _reason(error)
            fault = InputError(reason, str(self.path), number)
            if self.strict:
                raise fault from None
            self.fault = self.fault or fault
            self._count(PassedOver(_kind(reason), 1, *self._sizes(number)))
        finally:
            self._value, self._number = outer

    def _sizes(self, number: int) -> tuple[int, int]:
        """Characters of text and tokens in what is being read."""
        if self._value is not None:
            return characters_of(self._value), tokens_of(self._value)
        return _sizes(self._record) if number else (0, 0)

    def pass_over(self, kind: str, value: Any) -> None:
        """Count what is not known, with its text and its tokens; if strict, it is an error."""
        if self.strict:
            raise InputError(f"{kind} is not known")
        self._count(PassedOver(kind, 1, characters_of(value), tokens_of(value)))

    def pass_over_fields(self, value: Any, known: Collection[str], whose: str) -> None:
        """Count the fields of an object that are not known and seem to say something."""
        for key, inner in unknown_fields(value, known):
            if self.strict:
                text = f"{whose} holds something under {key!r}, which is not read"
                raise InputError(text)
            self.pass_over(f"field {key!r} of {whose}", {key: inner})

    def pass_over_block(self, kind: str, block: Any) -> None:
        """Count a content block of a type that is not known, with all that its record has of it."""
        whole = None
        with suppress(*_UNREADABLE):
            record = self._value if self._value is not None else decode(self._record, ANY)
            whole = typed(record, kind) or record  # of a block without a type, all of its record
        self.pass_over(f"content block {kind!r}", whole or msgspec.to_builtins(block))

    def taken(self) -> tuple[PassedOver, ...]:
        """What was passed over since this was last asked."""
        passed, self._passed = self._passed, {}
        return tuple(passed.values())

    def _count(self, one: PassedOver) -> None:
        kind = one.kind[:_LONGEST_KIND]
        if kind not in self._passed and len(self._passed) >= _MOST_KINDS:
            kind = "other kinds"
        self._passed[kind] = added(self._passed.get(kind, PassedOver(kind, 0)), one)


def _is_json(line: bytes) -> bool:
    """Whether a line is one value, by its structure alone."""
    try:
        _RAW.decode(line)
    except _UNREADABLE:
        return bool(_SURROGATE_ESCAPE.search(line))
    return True


def _apart(piece: bytes, starts: Collection[bytes]) -> Iterator[bytes]:
    """Records that stand in one line, and the torn pieces between them.

    A record is known by its first key, which is that of a whole record of the file: what is nested
    in a torn one is no record.
    """
    text = piece.decode("utf-8", "surrogateescape")
    begins = (found.start() for found in _BEGIN.finditer(text) if found[0].encode() in starts)
    done = 0
    for begin in islice(begins, _MOST_IN_A_LINE):
        if begin < done:
            continue
        try:
            _, end = _PLAIN.raw_decode(text, begin)
        except (ValueError, RecursionError):
            continue
        for record in (text[done:begin], text[begin:end]):
            if record.strip():
                yield record.encode("utf-8", "surrogateescape")
        done = end
    if text[done:].strip():
        yield text[done:].encode("utf-8", "surrogateescape")


def decode(data: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """Decode one JSON value; surrogates that stand alone become U+FFFD.

    JavaScript cuts strings between the halves of a pair and then writes such escapes.
    """
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        if not _SURROGATE_ESCAPE.search(data):
            raise no_json(error, data) from None
    mended = json.dumps(json.loads(data), ensure_ascii=False)
    data = _SURROGATE.sub("\ufffd", mended).encode()
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as error:
        raise JsonError(str(no_json(error, data))) from None


def load(path: Path) -> Any:
    """Read a file that is one JSON document."""
    with _opened(path) as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise InputError(_TOO_LARGE, str(path))
    data = _without_bom(data, path)
    try:
        return decode(data, ANY)
    except _UNREADABLE as error:
        raise InputError(_reason(error), str(path), getattr(error, "line", 0)) from None


def values(lines: Lines) -> Iterator[tuple[int, Any]]:
    """Yield the values of a file with their lines: of each line, or of the one document.

    A file is taken for one document if its first line alone is no JSON and the whole is.
    """
    document = _document(lines.path)
    if document is not None:
        yield 0, document
        return
    for number, line in lines:
        with lines.at(number):
            value = decode(line, ANY)
            yield number, value


def peek(path: Path) -> list[Any]:
    """Read the first values of a file, by which its format can be told.

    Of a zip archive, that is an object with the names in it; of a database its tables, with their
    columns: ``[{"sqlite": {"table": ["column"]}}]``; of plain text, the text's beginning.
    """
    if database.is_database(path):
        return [{"sqlite": database.tables(path)}]
    if database.is_encrypted(path):
        raise InputError(database.ENCRYPTED, str(path))
    with _opened(path) as file:
        if file.read(len(MAGIC)) == MAGIC:
            with Archive(path) as archive:
                return [{"zip": archive.names}]
    document = _document(path)
    if document is not None:
        return [document]
    first = []
    lines = Lines(path)
    prose = seen = 0
    for number, line in islice(lines, _PEEK):
        seen += 1
        # A broken line is one of a transcript, if it begins as they do.
        prose += line.lstrip()[:1] not in (b"[", b"{")
        with lines.at(number):
            first.append(decode(line, ANY))
    # A text that quotes a transcript is none.
    return first if first and 2 * prose <= seen else [_document_or_text(path)]


def text(path: Path) -> str:
    """Read a file that is plain text."""
    with _opened(path) as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise InputError(TOO_LARGE, str(path))
    return _without_bom(data, path).decode("utf-8", "replace").replace("\r\n", "\n")


def _document_or_text(path: Path) -> Any:
    try:
        return load(path)
    except InputError:
        with _opened(path) as file:
            start = file.read(4 * _TEXT)
        return _without_bom(start, path).decode("utf-8", "replace")[:_TEXT]


def _document(path: Path) -> Any:
    """Read the one document that a file is, or None if it is lines."""
    _, first = next(iter(Lines(path)))
    if first.strip() in (b"[", b"{"):
        return load(path)
    try:
        decode(first, ANY)
    except _UNREADABLE:
        if first.lstrip()[:1] in (b"[", b"{"):
            with suppress(InputError):
                return load(path)
    return None


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        file = path.open("rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(reason, repr(str(path)) if "\0" in str(path) else str(path)) from None
    with file:
        try:
            if os.fstat(file.fileno()).st_size > LARGEST_FILE:
                text = f"above {LARGEST_FILE:,} bytes; write less into one file"
                raise InputError(text, str(path))
            packed = file.peek(len(zstd.MAGIC)).startswith(zstd.MAGIC)
            yield zstd.unpacked(file, path, LARGEST_FILE) if packed else file
        except OSError as error:
            raise InputError(error.strerror or str(error), str(path)) from None


def _without_bom(start: bytes, path: Path) -> bytes:
    if start.startswith(_FOREIGN_BOMS) or b"\0" in _BLOCK.sub(b"", start[:64]):
        raise InputError("not UTF-8 (it looks like UTF-16 or binary data)", str(path), 1)
    return start.removeprefix(_BOM)


def _kind(reason: str) -> str:
    """What a line is called that was passed over for a reason."""
    for known in (_NOT_UTF8, _NOT_JSON):
        if reason.startswith(known):
            return f"line that is {known}"
    return f"line: {reason}"


def _sizes(record: bytes) -> tuple[int, int]:
    """Characters of text and tokens in a record; of a torn one all characters."""
    try:
        value = decode(record, ANY)
    except _UNREADABLE:
        return len(record.decode("utf-8", "replace").strip()), 0
    return characters_of(value), tokens_of(value)


def _reason(error: Exception) -> str:
    if isinstance(error, InputError):
        return error.message
    if isinstance(error, UnicodeDecodeError):
        return _NOT_UTF8
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, msgspec.ValidationError):
        return f"not as expected: {error}"
    return f"{_NOT_JSON}: {error}"


_NOT_UTF8, _NOT_JSON = "not UTF-8", "not JSON"
_TOO_LARGE = f"{TOO_LARGE}; write it as JSON Lines, a message a line"
