"""The settings of a project: the table ``[tool.compactlab]`` of its ``pyproject.toml``.

A clone may come from a stranger, and its file is used without being named. So it may set what is
compared, but nothing that runs code, sends requests, or reads or writes elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compactlab.request.settings import FORMATS, SETTINGS, SUBJECT
from compactlab.request.toml_file import Faults, Place, each_of, parsed, quoted
from compactlab.sim.core.errors import InputError, UsageError, unknown
from compactlab.sim.core.toml import read_text
from compactlab.strategies.catalogue import STRATEGIES, code_in, names_in, reads_files

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

        The file is that of the working folder or of the nearest parent that has the table, up to
        the root of the repository; outside of a repository only the working folder counts.

        Raises
        ------
        InputError
            If a key is unknown or may not be set there.
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
        for place, name in _names(table.get("strategies"), ("strategies",)):
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


def _names(given: Any, place: Place) -> Iterator[tuple[Place, str]]:
    """The specs and names of strategies in a list of texts and tables."""
    for at, each in each_of(given, place).items():
        if isinstance(each, str):
            yield at, each
        elif isinstance(each, dict) and "pipeline" in each:
            yield from _names(each["pipeline"], (*at, "pipeline"))
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
