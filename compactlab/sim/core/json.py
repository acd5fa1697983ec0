"""JSON that others wrote: what is none is named, with its line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec

# Bytes of one document, or of one line; all of it is in memory several times while it is read.
LARGEST = 256 * 2**20
TOO_LARGE = f"above {LARGEST // 2**20} MB in one piece"

_AT = re.compile(r"\(byte (\d+)\)")
# What Python and JavaScript have for numbers, and Python also writes unless it is told not to.
_NO_JSON = re.compile(rb"-?(?:NaN|Infinity)\b")


class JsonError(ValueError):
    """Something is no JSON."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line  # counted from 1; 0 where nobody knows


def no_json(error: Exception, data: bytes) -> JsonError:
    """What msgspec found wrong with some data, and on which of its lines.

    Examples
    --------
    >>> data = b'{"cost": -Infinity}'
    >>> try:
    ...     msgspec.json.decode(data)
    ... except msgspec.DecodeError as error:
    ...     no_json(error, data)
    JsonError('-Infinity is no JSON: write null or a number')
    """
    at = _AT.search(str(error))
    if at is None:
        return JsonError(str(error))
    place = int(at[1])
    line = data.count(b"\n", 0, place) + 1
    number = _NO_JSON.match(data, place - (data[place - 1 : place] == b"-"))
    return JsonError(_no_number(number[0].decode()) if number else str(error), line)


def parse(content: bytes) -> Any:
    """One document, in which no object has a key twice."""

    def refuse(name: str) -> None:
        try:
            msgspec.json.decode(content)
        except msgspec.DecodeError as error:  # which says where
            fault = no_json(error, content)
            raise JsonError(_no_number(name), fault.line if name in str(fault) else 0) from None

    try:
        return json.loads(content.decode(), object_pairs_hook=_once, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise JsonError(str(error), error.lineno) from None
    except RecursionError:
        raise JsonError("it is nested too deeply") from None


def _no_number(name: str) -> str:
    return f"{name} is no JSON: write null or a number"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object without a key twice, which joining two files by hand may leave."""
    values = dict(pairs)
    if len(values) < len(pairs):
        twice = next(name for n, (name, _) in enumerate(pairs) if name in dict(pairs[:n]))
        raise JsonError(f"the key {twice!r} is there twice")
    return values


def read_bytes(path: Path) -> bytes:
    """The content of a file; a ValueError, if it is too large for one document."""
    with path.open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise JsonError(TOO_LARGE)
    return content
