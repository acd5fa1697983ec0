"""Reading JSON that others wrote: line by line, and never a traceback for any bytes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from compactlab.sim.core.errors import InputError
from compactlab.sim.core.json import LARGEST, TOO_LARGE, JsonError, no_json

T = TypeVar("T")

# Bytes of a transcript: ten times more than a session of 100,000 calls has.
LARGEST_FILE = 4 * 2**30
_PEEK = 50  # lines by which a format is told
_BOM = b"\xef\xbb\xbf"
_FOREIGN_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ANY = msgspec.json.Decoder(Any)
_UNREADABLE = (ValueError, RecursionError, OverflowError, InputError)


class Lines:
    """The lines of a file, and how many of them were passed over."""

    def __init__(self, path: Path, lenient: bool = False) -> None:
        self.path, self.lenient = path, lenient
        self._skipped = 0

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield the lines that are not blank with their numbers, from 1."""
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
                if line.strip():
                    blank = False
                    yield number, line
        if blank:
            raise InputError("the file is empty", str(self.path))

    @contextmanager
    def at(self, number: int) -> Iterator[None]:
        """Turn whatever is wrong with a line into an error that names it, or pass it over."""
        try:
            yield
        except _UNREADABLE as error:
            if not self.lenient:
                raise InputError(_reason(error), str(self.path), number) from None
            self._skipped += 1

    def skipped(self) -> int:
        """Say how many lines were passed over since this was last asked."""
        count, self._skipped = self._skipped, 0
        return count


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
        return decode(data, _ANY)
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
            value = decode(line, _ANY)
            yield number, value


def peek(path: Path) -> list[Any]:
    """Read the first values of a file, by which its format can be told."""
    document = _document(path)
    if document is not None:
        return [document]
    first = []
    lines = Lines(path, lenient=True)
    prose = seen = 0
    for number, line in islice(lines, _PEEK):
        seen += 1
        # A broken line is one of a transcript, if it begins as they do.
        prose += line.lstrip()[:1] not in (b"[", b"{")
        with lines.at(number):
            first.append(decode(line, _ANY))
    # A text that quotes a transcript is none.
    return first if first and 2 * prose <= seen else [load(path)]


def _document(path: Path) -> Any:
    """Read the one document that a file is, or None if it is lines."""
    _, first = next(iter(Lines(path)))
    if first.strip() in (b"[", b"{"):
        return load(path)
    try:
        decode(first, _ANY)
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
            yield file
        except OSError as error:
            raise InputError(error.strerror or str(error), str(path)) from None


def _without_bom(start: bytes, path: Path) -> bytes:
    if start.startswith(_FOREIGN_BOMS) or b"\0" in start[:64]:
        raise InputError("not UTF-8 (it looks like UTF-16 or binary data)", str(path), 1)
    return start.removeprefix(_BOM)


def _reason(error: Exception) -> str:
    if isinstance(error, InputError):
        return error.message
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, msgspec.ValidationError):
        return f"not as expected: {error}"
    return f"not JSON: {error}"


_TOO_LARGE = f"{TOO_LARGE}; write it as JSON Lines, a message a line"
