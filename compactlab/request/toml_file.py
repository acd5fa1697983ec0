"""TOML files of the user (experiments and rules of gates), and their faults."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from compactlab.sim.core.errors import CompactlabError, InputError, unknown
from compactlab.sim.core.toml import loads, read_text

# Faults of an experiment file, with their places in it.

Place = tuple[str | int, ...]
Fault = tuple[Place, str]
# The maximum of faults shown; a grid may be invalid at each of its points.
_SHOWN = 50

# Messages for the errors of pydantic, by type; `KIND` is an error of ours.
KIND = "kind"
_WORDS = {
    KIND: "{words}",
    "bool_type": "true or false",
    "float_type": "a number",
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "at least {ge}",
    "int_type": "a whole number",
    "list_type": "a list",
    "string_type": "text",
    "too_short": "a list with something in it",
    "tuple_type": "a list",
}


def _message(error: ErrorDetails, known: Iterable[str]) -> str:
    """The message of an error, in our words."""
    if error["type"] == "extra_forbidden":
        return unknown("key", str(error["loc"][-1]), known)
    words = _WORDS.get(error["type"], "").format(**error.get("ctx", {}))
    if error["type"] == "literal_error":
        words = error["ctx"]["expected"].replace(", ", " or ")
    if not words:
        return error["msg"][:1].lower() + error["msg"][1:]
    return f"must be {words}, not {quoted(error['input'])}"


class Faults:
    """The faults of a file, without duplicates, in the order of their discovery."""

    def __init__(self) -> None:
        self._messages: dict[Fault, None] = {}

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Fault]:
        return iter(self._messages)

    def add(self, place: Place, message: str) -> None:
        """Add a fault at a place."""
        self._messages.setdefault((place, message))

    def extend(self, faults: Iterable[Fault]) -> None:
        """Add faults that were found elsewhere."""
        self._messages |= dict.fromkeys(faults)

    @contextmanager
    def at(self, place: Place, keys: Iterable[str] = ()) -> Iterator[None]:
        """Turn errors that are raised inside into faults at a place; ``keys`` are valid there."""
        try:
            yield
        except CompactlabError as error:
            self.add(place, str(error))
        except ValidationError as error:
            for each in error.errors():
                self.add((*place, *each["loc"]), _message(each, keys))

    def error(self, path: str, table: Place = ()) -> InputError:
        """All faults as one error of a file, with their lines; ``table`` has their places.

        Examples
        --------
        >>> faults = Faults()
        >>> faults.add(("strategies", 2, "keep"), "must be a whole number, not 'x'")
        >>> print(faults.error("my.toml"))
        my.toml: settings are wrong:
          strategies[2].keep: must be a whole number, not 'x'
        """
        numbers = _lines(path)
        lines = []
        for place, message in self._messages:
            line = _line_of((*table, *place), numbers)
            lines.append(f"{f'line {line}: ' if line else ''}{written(place)}: {message}")
        if len(lines) > _SHOWN:
            lines[_SHOWN:] = [f"and {len(lines) - _SHOWN:,} more"]
        return InputError("\n  ".join(["settings are wrong:", *lines]), path)


# A header, or the name of a key: bare, quoted or dotted.
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")


def _lines(path: str) -> dict[Place, int]:
    """The line of each key and header of a file, by its place."""
    numbers: dict[Place, int] = {}
    try:
        text = read_text(Path(path))
    except (OSError, ValueError):
        return numbers
    opened: Counter[Place] = Counter()  # the tables of each list
    table: Place = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _names(header[2])
            if header[1] == "[[":
                opened[table] += 1
                table = (*table, opened[table] - 1)
            numbers.setdefault(table, number)
        elif key := _KEY.match(line):
            numbers.setdefault((*table, *_names(key[1])), number)
    return numbers


def _names(dotted: str) -> Place:
    return tuple(name.strip().strip("\"'") for name in dotted.split("."))


def _line_of(place: Place, numbers: Mapping[Place, int]) -> int:
    """The line of a place, or of the innermost key that holds it; 0 if it is unknown."""
    holders = (place[:size] for size in range(len(place), 0, -1))
    return next((numbers[each] for each in holders if each in numbers), 0)


def written(place: Place) -> str:
    """A path of keys in the usual notation.

    Examples
    --------
    >>> written(("strategies", 2, "keep", 1))
    'strategies[2].keep[1]'
    """
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return "".join(steps).removeprefix(".") or "file"


def each_of(value: Any, place: Place) -> dict[Place, Any]:
    """Values by their paths, from a single value or a list.

    Examples
    --------
    >>> each_of("a", ("files",)), each_of(["a"], ("files",))
    ({('files',): 'a'}, {('files', 0): 'a'})
    """
    if not isinstance(value, list):
        return {place: value}
    return {(*place, number): each for number, each in enumerate(value)}


def quoted(value: object) -> str:
    """A value for a message, truncated if it is long.

    Examples
    --------
    >>> quoted("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..."
    """
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:40]}..."


# TOML files of the user: experiments, and rules of gates.


def parsed(path: Path, what: str) -> dict[str, Any]:
    """Parse a TOML file (``what``: e.g. an experiment); raises an error with the invalid line."""
    try:
        text = read_text(path)
        return loads(text)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"\(at line (\d+), column \d+\)$", str(error))
        line = int(where[1]) if where else len(text.splitlines())
        raise InputError(f"no {what}: {error}", str(path), line) from None
    except FileNotFoundError:
        raise InputError(f"no {what}: there is no such file", str(path)) from None
    except (OSError, ValueError) as error:
        raise InputError(f"no {what}: {error}", str(path)) from None
