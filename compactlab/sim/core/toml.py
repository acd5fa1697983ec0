"""Reads a TOML table key by key, with errors that name file, key, type and range."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, time
from pathlib import Path
from typing import Any

from compactlab.sim.core.errors import InputError, unknown

# Larger TOML files are refused before parsing. So many characters hold 100,000 strategies with a
# table each, and are parsed in a few seconds.
LARGEST = 8 * 2**20
# Most names in a dotted key. Parsing takes quadratic time in them, and our keys have at most four.
DEEPEST = 32


@dataclass(frozen=True)
class Kind:
    """The kind of a value: a description, and a test."""

    words: str
    fits: Callable[[Any], bool]


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _finite(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value)


def _is_day(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(date.fromisoformat(value))
    except ValueError:
        return False


TEXT = Kind("text", lambda value: isinstance(value, str))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
COUNT = Kind("a whole number from 1", lambda value: _whole(value) and value >= 1)
SIZE = Kind("a whole number from 0", lambda value: _whole(value) and value >= 0)
FACTOR = Kind("a number above 0", lambda value: _finite(value) and value > 0)
AMOUNT = Kind("a number from 0", lambda value: _finite(value) and value >= 0)
NUMBER = Kind("a number", _finite)
DAY = Kind("a day, e.g. 2026-12-31", _is_day)
LIST = Kind("a list", lambda value: isinstance(value, list))
TABLE = Kind("a table", lambda value: isinstance(value, dict))


def one_of(*names: str) -> Kind:
    """Return a kind: one of several texts."""
    return Kind(" or ".join(map(repr, names)), lambda value: value in names)


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Read a TOML file; dates in it become texts, so that JSON can store everything."""
    try:
        return parse_toml(read_text(path))
    except OSError as error:
        raise InputError(f"no {what}: {error.strerror}", str(path)) from None
    except ValueError as error:
        raise InputError(f"no {what}: {error}", str(path)) from None


def read_text(path: Path) -> str:
    """Return the text of a TOML file; raise ValueError if it is too large."""
    with path.open(encoding="utf-8") as file:
        text = file.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise ValueError(f"it has more than {LARGEST:,} characters; write less, or several files")
    return text


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML; dates and times in it become texts.

    Examples
    --------
    >>> parse_toml("asof = 2026-11-21")
    {'asof': '2026-11-21'}
    """
    try:
        table: dict[str, Any] = _plain(loads(text))
    except RecursionError:
        raise ValueError(_NESTED) from None
    return table


def loads(text: str) -> dict[str, Any]:
    """Parse TOML with a limit on key length; raise ValueError with fault and position.

    Examples
    --------
    >>> loads("key." * 40 + "key = 1")
    Traceback (most recent call last):
    ...
    tomllib.TOMLDecodeError: A key has more than 32 names (at line 1, column 1)
    """
    # Dots in strings and comments are not part of keys. Unterminated strings match, too, so that no
    # text is scanned twice.
    bare = _STRINGS.sub(lambda string: _hidden(string[0]), text)
    if deep := _DEEP.search(bare):
        line = bare.count("\n", 0, deep.start()) + 1
        column = deep.start() - bare.rfind("\n", 0, deep.start())
        raise tomllib.TOMLDecodeError(
            f"A key has more than {DEEPEST} names (at line {line}, column {column})"
        )
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError(_NESTED) from None


_NESTED = "it is nested too deeply"
_STRINGS = re.compile(
    r'''"""(?:[^\\]|\\.)*?(?:"""|\Z)|"(?:[^"\\\n]|\\.)*+"?'''
    r"""|'''.*?(?:'''|\Z)|'[^'\n]*+'?|\#[^\n]*+""",
    re.DOTALL,
)
_DEEP = re.compile(rf"(?<![\w-])[\w-]++(?:[ \t]*+\.[ \t]*+[\w-]++){{{DEEPEST}}}")


def _hidden(string: str) -> str:
    """Replace a string or comment by one of equal length and lines that is one key name."""
    return "".join(c if c == "\n" else "_" for c in string)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.isoformat() if isinstance(value, date | time) else value


@dataclass(frozen=True)
class Section:
    """A table with its position in the file.

    Examples
    --------
    >>> row = Section({"window": 0}, "own.toml", "models.mine")
    >>> row.take("window", COUNT)
    Traceback (most recent call last):
    ...
    compactlab.sim.core.errors.InputError: own.toml: models.mine.window must be a whole number \
from 1, not 0
    """

    values: dict[str, Any]
    file: str = ""  # the file's name, for errors
    path: str = ""  # its dotted key; "" for the file itself

    def only(self, keys: Iterable[str]) -> Section:
        """Return this section if it has no other keys; else raise."""
        for key in self.values:
            if key not in keys:
                raise self.fault("", unknown("key", key, keys))
        return self

    def take(self, key: str, kind: Kind, *default: Any) -> Any:
        if key not in self.values:
            if default:
                return default[0]
            raise self.fault(key, f"is missing; it must be {kind.words}")
        value = self.values[key]
        if not kind.fits(value):
            raise self.fault(key, f"must be {kind.words}, not {json.dumps(value)}")
        return value

    def section(self, key: str) -> Section:
        """Return the table under a key; an empty one if there is none."""
        return Section(self.take(key, TABLE, {}), self.file, self._at(key))

    def sections(self) -> Iterator[tuple[str, Section]]:
        """Yield all values by key; all must be tables."""
        return ((key, self.section(key)) for key in self.values)

    def listed(self, key: str) -> Iterator[Section]:
        """Yield the tables of a list; none if there is no list."""
        rows = {str(n): row for n, row in enumerate(self.take(key, LIST, []))}
        return (section for _, section in Section(rows, self.file, self._at(key)).sections())

    def fault(self, key: str, message: str) -> InputError:
        """Return an error with file and key; without a key, for the section itself."""
        at = self._at(key)
        return InputError(f"{at}{' ' if key or not at else ': '}{message}".strip(), self.file)

    def _at(self, key: str) -> str:
        return ".".join(name for name in (self.path, key) if name)
