"""Parses JSON from others; errors name the fault and its line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec

# Most bytes of a document or line, which is in memory several times while it is parsed.
LARGEST = 256 * 2**20
TOO_LARGE = f"above {LARGEST // 2**20} MB in one piece"

_AT = re.compile(r"\(byte (\d+)\)")
# Numbers of Python and JavaScript that JSON lacks; Python writes them by default.
_NO_JSON = re.compile(rb"-?(?:NaN|Infinity)\b")


class JsonError(ValueError):
    """Invalid JSON."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line  # counted from 1; 0 if not known


def no_json(error: Exception, data: bytes) -> JsonError:
    """Return an error with msgspec's fault in some data, and its line.

    Examples
    --------
    >>> data = b'{"cost": -Infinity}'
    >>> try:
    ...     msgspec.json.decode(data)
    ... except msgspec.DecodeError as error:
    ...     no_json(error, data)
    JsonError('-Infinity is not JSON: write null or a number')
    """
    at = _AT.search(str(error))
    if at is None:
        return JsonError(str(error))
    index = int(at[1])
    line = data.count(b"\n", 0, index) + 1
    number = _NO_JSON.match(data, index - (data[index - 1 : index] == b"-"))
    return JsonError(_no_number(number[0].decode()) if number else str(error), line)


def parse(content: bytes) -> Any:
    """Parse one document; refuse duplicate keys in objects."""

    def refuse(name: str) -> None:
        try:
            msgspec.json.decode(content)
        except msgspec.DecodeError as error:  # it has the position
            fault = no_json(error, content)
            raise JsonError(_no_number(name), fault.line if name in str(fault) else 0) from None

    try:
        return json.loads(content.decode(), object_pairs_hook=_once, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise JsonError(str(error), error.lineno) from None
    except RecursionError:
        raise JsonError("it is nested too deeply") from None


def _no_number(name: str) -> str:
    return f"{name} is not JSON: write null or a number"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; refuse duplicate keys, which may result from joining files by hand."""
    values = dict(pairs)
    if len(values) < len(pairs):
        twice = next(name for n, (name, _) in enumerate(pairs) if name in dict(pairs[:n]))
        raise JsonError(f"the key {twice!r} occurs twice")
    return values


def read_bytes(path: Path) -> bytes:
    """Return the content of a file; raise ValueError if it is too large for one document."""
    with path.open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise JsonError(TOO_LARGE)
    return content
