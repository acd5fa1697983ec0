"""The folders in which clients keep their transcripts by default, or by configuration."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from glob import iglob
from pathlib import Path
from typing import NamedTuple


class Home(NamedTuple):
    """A home of one client: the variables that set its folder, the defaults, and its contents.

    ``variables`` are environment variables, of which the first that is set is used. A ``/`` in one
    separates it from a subfolder. A value may list several folders, separated by commas, as Claude
    Code's does for ccusage. ``inside`` are folders and files, or patterns of them.
    """

    client: str
    variables: tuple[str, ...]
    usual: tuple[str, ...]
    inside: tuple[str, ...]


# Placeholders for folders that differ by platform: settings, and data.
_CONFIG, _DATA = "{config}", "{data}"
_EXTENSIONS = "*/User/globalStorage"  # of Visual Studio Code and its forks

# Claude Code: its page on settings, and ccusage's (both 2026-11). Codex: `CODEX_HOME` in its page
# on configuration; `archived_sessions` beside `sessions` (codex-trace#212, second-hand). pi:
# `PI_CODING_AGENT_DIR` in its README (0.73). Kimi: `KIMI_CODE_HOME` and
# `sessions/*/session_*/agents/*/wire.jsonl` below it, as harbor 0.25.0 reads them.
# Hermes: `HERMES_HOME` in hermes_constants.py, `state.db` in hermes_state.py (2026-09), also of
# each profile (codeburn PR 544); on Windows `%LOCALAPPDATA%\hermes` (second-hand). Gemini CLI:
# `GEMINI_CLI_HOME` stands for the home of the user (google-gemini/gemini-cli,
# `packages/core/src/utils/paths.ts`). Copilot CLI: `COPILOT_HOME` in GitHub's reference of its
# configuration directory (2026). Qwen Code: `QWEN_HOME` in SpecStory's page on it (2026), whose
# `QWEN_RUNTIME_DIR` is not read. OpenCode: `Global.Path.data` is `opencode` below `XDG_DATA_HOME`
# on all platforms; a channel has a database of its own (its storage/db.ts, 2026-04). Kilo's command
# line is built on it. OpenClaw: `OPENCLAW_STATE_DIR`, else below `OPENCLAW_HOME` (openclaw#45765,
# #75204), with its former names. Cline: `CLINE_SESSION_DATA_DIR`, `CLINE_DATA_DIR`, `CLINE_DIR`
# (deja-vu#253); extensions: cline#7742, ai-engineering-fluency#1491.
HOMES = (
    Home("claude-code", ("CLAUDE_CONFIG_DIR",), ("~/.claude", "~/.config/claude"), ("projects",)),
    Home("codex", ("CODEX_HOME",), ("~/.codex",), ("sessions", "archived_sessions")),
    Home("pi", ("PI_CODING_AGENT_DIR",), ("~/.pi/agent",), ("sessions",)),
    Home("kimi", ("KIMI_CODE_HOME",), ("~/.kimi-code",), ("sessions",)),
    Home(
        "hermes",
        ("HERMES_HOME",),
        ("~/.hermes", f"{_DATA}/hermes"),
        ("state.db", "profiles/*/state.db", "sessions"),
    ),
    Home(
        "opencode",
        ("XDG_DATA_HOME/opencode",),
        ("~/.local/share/opencode", f"{_DATA}/opencode"),
        ("opencode*.db", "storage/session"),
    ),
    Home(
        "openclaw",
        ("OPENCLAW_STATE_DIR", "OPENCLAW_HOME/.openclaw"),
        ("~/.openclaw", "~/.moltbot", "~/.clawdbot"),
        ("agents/*/agent/openclaw-agent.sqlite", "agents/*/sessions"),
    ),
    Home("gemini", ("GEMINI_CLI_HOME",), ("~",), (".gemini/tmp",)),
    Home("copilot", ("COPILOT_HOME",), ("~/.copilot",), ("session-state",)),
    Home("qwen", ("QWEN_HOME",), ("~/.qwen",), ("projects",)),
    Home(
        "cline",
        ("CLINE_SESSION_DATA_DIR", "CLINE_DATA_DIR/sessions", "CLINE_DIR/data/sessions"),
        ("~/.cline/data/sessions",),
        ("",),
    ),
    Home("cline", (), ("~/.cline/data/tasks",), ("",)),
    Home("cline", (), (_CONFIG,), (f"{_EXTENSIONS}/saoudrizwan.claude-dev/tasks",)),
    Home("roo", (), (_CONFIG,), (f"{_EXTENSIONS}/rooveterinaryinc.roo-cline/tasks",)),
    Home("kilo", (), (_CONFIG,), (f"{_EXTENSIONS}/kilocode.kilo-code/tasks",)),
    Home(
        "kilo",
        ("XDG_DATA_HOME/kilo",),
        ("~/.local/share/kilo", f"{_DATA}/kilo"),
        ("kilo*.db", "storage/session"),
    ),
)
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
    apart = {_CONFIG: given.get("XDG_CONFIG_HOME") or "~/.config", _DATA: ""}
    if platform == "darwin":
        apart = dict.fromkeys(apart, "~/Library/Application Support")
    elif platform == "win32":
        apart = {_CONFIG: given.get("APPDATA", ""), _DATA: given.get("LOCALAPPDATA", "")}
    folders = []
    for folder in home.usual:
        name, slash, below = folder.partition("/")
        base = apart.get(name, name)
        folders += [f"{base}{slash}{below}"] if base else []
    return folders
