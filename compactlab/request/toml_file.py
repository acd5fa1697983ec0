"""TOML files of the user (experiments and rules of gates), and their faults."""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from compactlab.request.settings import FORMATS, SETTINGS, SUBJECT
from compactlab.sim.core.errors import CompactlabError, InputError, UsageError, unknown
from compactlab.sim.core.toml import loads, read_text
from compactlab.strategies.catalogue import STRATEGIES, code_in, names_in, reads_files

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


# The settings of a project: the table ``[tool.compactlab]`` of its ``pyproject.toml``.
#
# A clone may come from a stranger, and its file is used without being named. So it may set what is
# compared, but nothing that runs code, sends requests, or reads or writes elsewhere.

FILE, TABLE = "pyproject.toml", "[tool.compactlab]"
PLACE = ("tool", "compactlab")
_SETTINGS = ("window", "models", "strategies")
_RULES = ("rules", "rule")
KEYS = (*_SETTINGS, *_RULES, "format")


@dataclass(frozen=True)
class Project:
    """What a project sets, as written in its file."""

    path: Path = Path(FILE)  # from the working folder
    settings: dict[str, Any] = field(default_factory=dict)  # of a run
    rules: dict[str, Any] = field(default_factory=dict)  # of a gate
    format: str = ""  # of a run's output

    @classmethod
    def here(cls) -> Project:
        """The project of the working folder; empty without the table.

        The file is that of the working folder or of the nearest parent that has the table,
        up to the root of the repository; outside of a repository only the working folder
        counts. Raises an InputError if a key is unknown or may not be set there.
        """
        for path in _files(Path.cwd()):
            if (table := _table(path)) is not None:
                return cls._of(Path(os.path.relpath(path)), table)
        return cls()

    @classmethod
    def _of(cls, path: Path, table: Any) -> Project:
        faults = Faults()
        if not isinstance(table, dict):
            raise InputError(f"{TABLE} must be a table, not {quoted(table)}", str(path))
        for key in table:
            if key not in KEYS:
                faults.add((key,), _refused(key))
        for place, name in _names_of(table.get("strategies"), ("strategies",)):
            _check_built_in(name, place, faults)
        if table.get("format", "table") not in FORMATS:
            faults.add(("format",), unknown("format", str(table["format"]), FORMATS))
        if faults:
            raise faults.error(str(path), PLACE)
        settings, rules = ({k: table[k] for k in s if k in table} for s in (_SETTINGS, _RULES))
        return cls(path, settings, rules, table.get("format", ""))

    def line(self, *keys: str) -> str:
        """What it sets, in one line."""
        every = {**self.settings, "format": self.format}
        parts = [f"{key} = {_short(every[key])}" if key in every else key for key in keys]
        return f"{self.path}: {TABLE} sets {', '.join(parts)}"


def _short(value: Any) -> str:
    text = repr(value).replace("'", '"')
    return text if len(text) <= 60 else f"{text[:50]}…"


def _files(folder: Path) -> Iterator[Path]:
    """The files that may have the table, the nearest first."""
    above = (folder, *folder.parents)
    root = next((each for each in above if (each / ".git").exists()), folder)
    for each in above[: above.index(root) + 1]:
        if (each / FILE).is_file():
            yield each / FILE


def _table(path: Path) -> Any:
    """The table of a file; None without one. A file that does not name it need not be valid."""
    with suppress(OSError, ValueError):
        if "compactlab" not in read_text(path):
            return None
    tool = parsed(path, "project").get("tool")
    return tool.get("compactlab") if isinstance(tool, dict) else None


def _refused(key: str) -> str:
    if key not in SUBJECT | SETTINGS:
        return unknown("key", key, KEYS)
    return "may not be set here: name it on the command line or in an experiment file"


def _names_of(given: Any, place: Place) -> Iterator[tuple[Place, str]]:
    """The specs and names of strategies in a list of texts and tables."""
    for at, each in each_of(given, place).items():
        if isinstance(each, str):
            yield at, each
        elif isinstance(each, dict) and "pipeline" in each:
            yield from _names_of(each["pipeline"], (*at, "pipeline"))
        elif isinstance(each, dict) and isinstance(each.get("name"), str):
            yield (*at, "name"), each["name"]
            if "answers" in each:
                yield at, f"{each['name']}(answers='')"


def _check_built_in(text: str, place: Place, faults: Faults) -> None:
    """Report code: programs, classes in files, and strategies of installed packages."""
    with faults.at(place):
        installed = (name for name in names_in(text) if name in STRATEGIES.installed())
        if code := code_in(text) or next(installed, ""):
            raise UsageError(f"{code} is not a built-in strategy, and no other may be named here")
        if reads_files(text):
            raise UsageError(f"{text}: no file of answers may be named here")
