"""Paths in an experiment file, which are taken from where the file stands."""

from __future__ import annotations

import glob
import re
from functools import partial
from pathlib import Path

from compactlab.scenarios.catalogue import is_pattern


def beside(folder: Path, name: str) -> str:
    """A path or a pattern, taken from a folder if it leads to something there; else as it is."""
    try:
        if (folder / name).exists():
            return str(folder / name)
        if is_pattern(name):
            pattern = str(Path(glob.escape(str(folder)), name))
            if next(glob.iglob(pattern, recursive=True), None) is not None:
                return pattern
    except (OSError, ValueError):  # too long, or no text that could be a path
        pass
    return name


def conversation_beside(folder: Path, text: str) -> str:
    """A path, a pattern or a scenario's spec, whose profile may be a file."""
    found = beside(folder, text)
    if found != text:
        return found
    return re.sub(r"(?<=profile=)(['\"])([^'\"]+\.toml)\1", partial(_profile, folder), text)


def _profile(folder: Path, found: re.Match[str]) -> str:
    return repr(beside(folder, found[2]))


def strategy_beside(folder: Path, text: str) -> str:
    """The spec of a strategy or a pipeline, with the files of classes taken from a folder."""
    return re.sub(r"[^\s+]+\.py(?=:)", lambda found: beside(folder, found[0]), text)


def class_beside(folder: Path, name: str) -> str:
    """The name of a strategy's class, with its file taken from a folder."""
    file, colon, cls = name.rpartition(":")
    return f"{beside(folder, file)}:{cls}" if colon and file.endswith(".py") else name
