"""The folders in which clients keep their transcripts by default, or by configuration."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from glob import iglob
from pathlib import Path

from compactlab.scenarios.readers.script import Home
from compactlab.scenarios.readers.transcript import FORMATS

HOMES = tuple(home for each in FORMATS for home in each.homes)
CLIENTS = tuple(dict.fromkeys(home.client for home in HOMES))
# All environment variables that are read.
VARIABLES = {name.partition("/")[0] for home in HOMES for name in home.variables}
VARIABLES |= {"XDG_CONFIG_HOME", "APPDATA", "LOCALAPPDATA"}


def places(
    client: str = "", given: Mapping[str, str] = os.environ, platform: str = sys.platform
) -> Iterator[tuple[str, Path]]:
    """Yield where a client, or every client, may keep its transcripts, as patterns.

    Examples
    --------
    >>> [(client, str(path)) for client, path in places("pi", {"PI_CODING_AGENT_DIR": "/work"})]
    [('pi', '/work/sessions')]
    """
    for name, folder, inside in _folders(client, given, platform):
        yield name, folder / inside


def here(client: str = "") -> list[tuple[str, Path]]:
    """Return the existing folders and files of a client, or of every client."""
    found: dict[Path, str] = {}
    for name, folder, inside in _folders(client, os.environ, sys.platform):
        if not inside and folder.is_dir():
            found.setdefault(folder, name)
        for match in sorted(iglob(inside, root_dir=folder, include_hidden=True)):
            found.setdefault(folder / match, name)
    return [(name, path) for path, name in found.items()]


def _folders(
    client: str, given: Mapping[str, str], platform: str
) -> Iterator[tuple[str, Path, str]]:
    for home in HOMES:
        if client not in ("", home.client):
            continue
        for folder in _named(home, given) or _usual(home, given, platform):
            for inside in home.inside:
                yield home.client, Path(folder).expanduser(), inside


def _named(home: Home, given: Mapping[str, str]) -> list[str]:
    for variable in home.variables:
        name, slash, below = variable.partition("/")
        if folders := [each.strip() for each in given.get(name, "").split(",") if each.strip()]:
            return [f"{folder}{slash}{below}" for folder in folders]
    return []


def _usual(home: Home, given: Mapping[str, str], platform: str) -> list[str]:
    """Return the default folders on this platform."""
    apart = {"{config}": given.get("XDG_CONFIG_HOME") or "~/.config", "{data}": ""}
    if platform == "darwin":
        apart = dict.fromkeys(apart, "~/Library/Application Support")
    elif platform == "win32":
        apart = {"{config}": given.get("APPDATA", ""), "{data}": given.get("LOCALAPPDATA", "")}
    folders = []
    for folder in home.usual:
        name, slash, below = folder.partition("/")
        base = apart.get(name, name)
        folders += [f"{base}{slash}{below}"] if base else []
    return folders
