"""TOML files of the user, experiments and rules of gates, and what is wrong in them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from compactlab.sim.core.errors import CompactlabError, InputError, unknown
from compactlab.sim.core.toml import loads, read_text

# What is wrong in an experiment file, each with its place in it.

Place = tuple[str | int, ...]
Fault = tuple[Place, str]
# So many are shown; a grid may be wrong at each of its points.
_SHOWN = 50

# The words for what pydantic finds wrong, by the type of its error; `KIND` is an error of ours.
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
    """What is wrong, in our words."""
    if error["type"] == "extra_forbidden":
        return unknown("key", str(error["loc"][-1]), known)
    words = _WORDS.get(error["type"], "").format(**error.get("ctx", {}))
    if error["type"] == "literal_error":
        words = error["ctx"]["expected"].replace(", ", " or ")
    if not words:
        return error["msg"][:1].lower() + error["msg"][1:]
    return f"must be {words}, not {quoted(error['input'])}"


class Faults:
    """What is wrong in a file, each once, in the order in which it was found."""

    def __init__(self) -> None:
        self._messages: dict[Fault, None] = {}

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Fault]:
        return iter(self._messages)

    def add(self, place: Place, message: str) -> None:
        """Say what is wrong at a place."""
        self._messages.setdefault((place, message))

    def extend(self, faults: Iterable[Fault]) -> None:
        """Say what was found wrong elsewhere."""
        self._messages |= dict.fromkeys(faults)

    @contextmanager
    def at(self, place: Place, keys: Iterable[str] = ()) -> Iterator[None]:
        """Whatever is raised on purpose inside is wrong at a place, which may have some keys."""
        try:
            yield
        except CompactlabError as error:
            self.add(place, str(error))
        except ValidationError as error:
            for each in error.errors():
                self.add((*place, *each["loc"]), _message(each, keys))

    def error(self, path: str) -> InputError:
        """All of them as one error of a file.

        Examples
        --------
        >>> faults = Faults()
        >>> faults.add(("strategies", 2, "keep"), "must be a whole number, not 'x'")
        >>> print(faults.error("my.toml"))
        my.toml: settings are wrong:
          strategies[2].keep: must be a whole number, not 'x'
        """
        lines = [f"{written(place)}: {message}" for place, message in self._messages]
        if len(lines) > _SHOWN:
            lines[_SHOWN:] = [f"and {len(lines) - _SHOWN:,} more"]
        return InputError("\n  ".join(["settings are wrong:", *lines]), path)


def written(place: Place) -> str:
    """A place as one would write it.

    Examples
    --------
    >>> written(("strategies", 2, "keep", 1))
    'strategies[2].keep[1]'
    """
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return "".join(steps).removeprefix(".") or "file"


def each_of(value: Any, place: Place) -> dict[Place, Any]:
    """Values by their places, where one may stand alone or several in a list.

    Examples
    --------
    >>> each_of("a", ("files",)), each_of(["a"], ("files",))
    ({('files',): 'a'}, {('files', 0): 'a'})
    """
    if not isinstance(value, list):
        return {place: value}
    return {(*place, number): each for number, each in enumerate(value)}


def quoted(value: object) -> str:
    """A value as it is shown in a message: not more of it than helps.

    Examples
    --------
    >>> quoted("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..."
    """
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:40]}..."


# TOML files of the user: experiments, and rules of gates.


def parsed(path: Path, what: str) -> dict[str, Any]:
    """Read a file of TOML, an ``experiment``, say; what is none is an error with its line."""
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
