"""TOML files of the user, experiments and rules of gates, and what is wrong in them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from compactlab.sim.core.errors import CompactlabError, InputError

# What is wrong in an experiment file, each with its place in it.

Place = tuple[str | int, ...]
# So many are told; a grid may be wrong at each of its points.
_TOLD = 50


class Faults:
    """What is wrong in a file, each once, in the order in which it was found."""

    def __init__(self) -> None:
        self._found: dict[tuple[Place, str], None] = {}

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[tuple[Place, str]]:
        return iter(self._found)

    def add(self, place: Place, message: str) -> None:
        """Say what is wrong at a place."""
        self._found.setdefault((place, message))

    @contextmanager
    def at(self, place: Place) -> Iterator[None]:
        """Whatever is raised on purpose inside is wrong at a place."""
        try:
            yield
        except CompactlabError as error:
            self.add(place, str(error))

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
        lines = [f"{written(place)}: {message}" for place, message in self._found]
        if len(lines) > _TOLD:
            lines[_TOLD:] = [f"and {len(lines) - _TOLD:,} more"]
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
    """Read a file of TOML.

    Parameters
    ----------
    path
        The file.
    what
        What it should be: ``experiment``, say.

    Raises
    ------
    InputError
        If it cannot be read, or is no TOML; with the line.
    """
    try:
        text = path.read_text("utf-8")
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"\(at line (\d+), column \d+\)$", str(error))
        line = int(where[1]) if where else len(text.splitlines())
        raise InputError(f"no {what}: {error}", str(path), line) from None
    except FileNotFoundError:
        raise InputError(f"no {what}: there is no such file", str(path)) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"no {what}: {error}", str(path)) from None
