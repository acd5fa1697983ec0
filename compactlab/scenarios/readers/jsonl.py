"""Reading JSON written by others, line by line; no input causes a traceback."""

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

from compactlab.scenarios.readers import database
from compactlab.scenarios.readers.archive import MAGIC, ZSTD, Archive, unpacked
from compactlab.scenarios.readers.unread import characters_of, tokens_of, typed, unknown_fields
from compactlab.sim.core.conversation import PassedOver, added
from compactlab.sim.core.errors import InputError, RefusedError
from compactlab.sim.core.json import LARGEST, TOO_LARGE, JsonError, no_json

T = TypeVar("T")

# Largest transcript in bytes: ten times a session of 100,000 calls.
LARGEST_FILE = 4 * 2**30
_PEEK = 50  # lines used to detect a format
_TEXT = 4096  # characters of a text used to detect its format
_BOM = b"\xef\xbb\xbf"
_FOREIGN_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")
ANY, OBJECT = msgspec.json.Decoder(Any), msgspec.json.Decoder(dict[str, Any])
_RAW = msgspec.json.Decoder(msgspec.Raw)
_PLAIN = json.JSONDecoder()
_UNREADABLE = (ValueError, RecursionError, OverflowError, InputError)
# The start of a record: its first key.
_BEGIN = re.compile(r'\{\s*"[^"\\]{1,40}"')
_START = re.compile(rb'\s*(\{\s*"[^"\\]{1,40}")')
_NULS = re.compile(rb"\0+")
_BLOCK = re.compile(rb"\0{8,}")  # zeros left by a crash; UTF-16 and UTF-32 have up to three
_MOST_STARTS, _MOST_IN_A_LINE = 16, 64
_MOST_KINDS, _LONGEST_KIND = 50, 120


class Lines:
    """A transcript that is being read: its path, whether it is read strictly, and what was skipped.

    By default, intact records are read, and unknown content is counted by kind; if ``strict``, it
    is an error. ``session`` is the one to read of a database; "" for all.
    """

    def __init__(self, path: Path, strict: bool = False, session: str = "") -> None:
        self.path, self.strict, self.session = path, strict, session
        self.fault: InputError | None = None  # the first error that was skipped
        self.number = 0  # the current line, from 1
        self.has_lines = True  # a database has none
        self._passed: dict[str, PassedOver] = {}
        self._record = b""  # the current record
        self._value: Any = None  # the value being read from it
        self._number = 0  # the value's line
        self._starts: set[bytes] = set()  # first keys of intact records
        self._nul: set[int] = set()  # lines with NUL bytes

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield the records of the lines that are not blank, with line numbers from 1."""
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
        """Yield intact records that are not lines, such as those of a database."""
        for number, self._record in records:
            yield number, self._record

    def _records(self, line: bytes, number: int) -> Iterable[bytes]:
        """Return the intact records of a line, and its broken pieces, which fail to decode."""
        if self.strict or is_json(line):
            if len(self._starts) < _MOST_STARTS and (start := _START.match(line)):
                self._starts.add(start[1])
            return [line]
        pieces = [line]
        if b"\0" in line:
            if number not in self._nul:
                self._nul.add(number)
                self._count(PassedOver("block of NUL bytes", line=number))
            pieces = [piece for piece in _NULS.split(line) if piece.strip()]
            if is_json(whole := b"".join(pieces)):
                return [whole]
        return (record for piece in pieces for record in _apart(piece, self._starts))

    @contextmanager
    def at(self, number: int, value: Any = None) -> Iterator[None]:
        """Count errors in a line, or raise an error that names the line.

        ``value`` is the value being read, of a line or of a document without lines. Within a line,
        the number may be omitted.
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
            torn = in_line and not self.strict and not is_json(self._record)
            reason = _NOT_JSON if torn else _reason(error)
            fault = InputError(reason, str(self.path), number)
            if self.strict:
                raise fault from None
            self.fault = self.fault or fault
            named = (text for text in (_NOT_UTF8, _NOT_JSON) if reason.startswith(text))
            kind = next((f"line that is {text}" for text in named), f"line: {reason}")
            self._count(PassedOver(kind, 1, *self._sizes(number), self._line))
        finally:
            self._value, self._number = outer

    @property
    def _line(self) -> int:
        return self._number if self.has_lines else 0

    def _sizes(self, number: int) -> tuple[int, int]:
        """Return the characters of text and the tokens in the current value.

        Of a broken record, return all characters.
        """
        value = self._value
        if value is None and not number:
            return 0, 0
        try:
            value = decode(self._record, ANY) if value is None else value
        except _UNREADABLE:
            return len(self._record.decode("utf-8", "replace").strip()), 0
        return characters_of(value), tokens_of(value)

    def pass_over(self, kind: str, value: Any) -> None:
        """Count an unknown value with its text and tokens; an error if strict."""
        if self.strict:
            raise InputError(f"{kind} is not known")
        self._count(PassedOver(kind, 1, characters_of(value), tokens_of(value), self._line))

    def note(self, fault: str) -> None:
        """Count a fault of what is read all the same; an error if strict."""
        if self.strict:
            raise InputError(fault)
        self._count(PassedOver(f"{fault} (kept)", line=self._line))

    def pass_over_fields(self, value: Any, known: Collection[str], whose: str) -> None:
        """Count the fields of an object that are unknown and seem to have text."""
        for key, inner in unknown_fields(value, known):
            if self.strict:
                text = f"{whose} holds something under {key!r}, which is not read"
                raise InputError(text)
            self.pass_over(f"field {key!r} of {whose}", {key: inner})

    def pass_over_block(self, kind: str, block: Any) -> None:
        """Count a content block of unknown type, with its complete content in the record."""
        whole = None
        with suppress(*_UNREADABLE):
            record = self._value if self._value is not None else decode(self._record, ANY)
            whole = typed(record, kind) or record  # of a block without a type, the whole record
        self.pass_over(f"content block {kind!r}", whole or msgspec.to_builtins(block))

    def taken(self) -> tuple[PassedOver, ...]:
        passed, self._passed = self._passed, {}
        return tuple(passed.values())

    def _count(self, one: PassedOver) -> None:
        kind = one.kind[:_LONGEST_KIND]
        if kind not in self._passed and len(self._passed) >= _MOST_KINDS:
            kind = "other kinds"
        self._passed[kind] = added(self._passed.get(kind, PassedOver(kind, 0)), one)


def is_json(line: bytes) -> bool:
    """Whether a line is one value, judged by its structure alone."""
    try:
        _RAW.decode(line)
    except _UNREADABLE:
        return bool(_SURROGATE_ESCAPE.search(line))
    return True


def _apart(piece: bytes, starts: Collection[bytes]) -> Iterator[bytes]:
    """Split a line into several records and the broken pieces between them.

    A record begins with a first key of the file's intact records, so that objects nested in a
    broken record are not taken for records.
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
    """Decode one JSON value; unpaired surrogates become U+FFFD.

    JavaScript can cut strings within a surrogate pair, and then writes such escapes.
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
    data = _bytes(path, _TOO_LARGE)
    try:
        return decode(data, ANY)
    except _UNREADABLE as error:
        raise InputError(_reason(error), str(path), getattr(error, "line", 0)) from None


def _bytes(path: Path, too_large: str) -> bytes:
    with _opened(path) as file:
        data: bytes = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise InputError(too_large, str(path))
    return _without_bom(data, path)


def values(lines: Lines) -> Iterator[tuple[int, Any]]:
    """Yield the values of a file with their lines: one of each line, or the one document.

    A file is one document if its first line alone is not JSON but the whole file is.
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
    """Read the first values of a file, to detect its format.

    For a zip archive, return an object with its names; for a database, its tables and columns:
    ``[{"sqlite": {"table": ["column"]}}]``; for plain text, its beginning.
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
        # A broken line is taken for a transcript's if it begins like one.
        prose += line.lstrip()[:1] not in (b"[", b"{")
        with lines.at(number):
            first.append(decode(line, ANY))
    # A text that quotes a transcript is not a transcript.
    return first if first and 2 * prose <= seen else [_document_or_text(path)]


def text(path: Path) -> str:
    """Read a file of plain text."""
    return _bytes(path, TOO_LARGE).decode("utf-8", "replace").replace("\r\n", "\n")


def _document_or_text(path: Path) -> Any:
    try:
        return load(path)
    except InputError:
        with _opened(path) as file:
            start = file.read(4 * _TEXT)
        return _without_bom(start, path).decode("utf-8", "replace")[:_TEXT]


def _document(path: Path) -> Any:
    """Read a file's single document; return None if it consists of lines."""
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
            packed = file.peek(len(ZSTD)).startswith(ZSTD)
            yield unpacked(file, path, LARGEST_FILE) if packed else file
        except OSError as error:
            raise InputError(error.strerror or str(error), str(path)) from None


def _without_bom(start: bytes, path: Path) -> bytes:
    if start.startswith(_FOREIGN_BOMS) or b"\0" in _BLOCK.sub(b"", start[:64]):
        raise InputError("not UTF-8 (it looks like UTF-16 or binary data)", str(path), 1)
    return start.removeprefix(_BOM)


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
