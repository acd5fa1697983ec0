"""Where clients keep their transcripts, unless somebody has told them another place."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple


class Home(NamedTuple):
    """A place of one client: a variable that names its folder, the usual folder, and what is in it.

    ``variable`` may name several folders, with commas between them, as Claude Code's does for
    ccusage.
    """

    client: str
    variable: str
    usual: tuple[str, ...]
    inside: str


# Claude Code: its page on settings, and ccusage's (both 2026-11). Codex: `CODEX_HOME` in its page
# on configuration. pi: `PI_CODING_AGENT_DIR` in its README (0.73). Kimi: `KIMI_CODE_HOME` and
# `sessions/*/session_*/agents/*/wire.jsonl` below it, as harbor 0.25.0 reads them.
# Hermes: `HERMES_HOME` in hermes_constants.py, `sessions/session_*.json` in run_agent.py (0.19.0);
# it writes them only if its option `sessions.write_json_snapshots` is set. Gemini CLI:
# `GEMINI_CLI_HOME` stands for the home of the user (google-gemini/gemini-cli,
# `packages/core/src/utils/paths.ts`). Copilot CLI: `COPILOT_HOME` in GitHub's reference of its
# configuration directory (2026). Qwen Code: `QWEN_HOME` in SpecStory's page on it (2026), whose
# `QWEN_RUNTIME_DIR` is not read. OpenCode: `Global.Path.data` is `opencode` below `XDG_DATA_HOME`
# (its page on troubleshooting, 2026); from 1.2 on it keeps sessions in a database.
HOMES = (
    Home("claude-code", "CLAUDE_CONFIG_DIR", ("~/.claude", "~/.config/claude"), "projects"),
    Home("codex", "CODEX_HOME", ("~/.codex",), "sessions"),
    Home("pi", "PI_CODING_AGENT_DIR", ("~/.pi/agent",), "sessions"),
    Home("kimi", "KIMI_CODE_HOME", ("~/.kimi-code",), "sessions"),
    Home("hermes", "HERMES_HOME", ("~/.hermes",), "sessions"),
    Home("opencode", "XDG_DATA_HOME", ("~/.local/share",), "opencode/storage/session"),
    Home("gemini", "GEMINI_CLI_HOME", ("~",), ".gemini/tmp"),
    Home("copilot", "COPILOT_HOME", ("~/.copilot",), "session-state"),
    Home("qwen", "QWEN_HOME", ("~/.qwen",), "projects"),
)
CLIENTS = tuple(home.client for home in HOMES)


def places(client: str = "", given: Mapping[str, str] = os.environ) -> Iterator[tuple[str, Path]]:
    """Where a client may keep its transcripts, or every client; there or not.

    Examples
    --------
    >>> [(client, str(path)) for client, path in places("codex", {"CODEX_HOME": "/work"})]
    [('codex', '/work/sessions')]
    """
    for home in HOMES:
        if client not in ("", home.client):
            continue
        named = [each.strip() for each in given.get(home.variable, "").split(",") if each.strip()]
        for folder in named or home.usual:
            yield home.client, Path(folder).expanduser() / home.inside
