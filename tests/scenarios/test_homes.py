"""Where clients keep their logs, by client and platform."""

from __future__ import annotations

from pathlib import Path

import pytest

from compactlab.scenarios.readers.homes import CLIENTS, VARIABLES, here, places
from tests.cli.conftest import called
from tests.corpus.stories import stories_of
from tests.scenarios.stores import OPENCLAW, made, openclaw_rows, openclaw_talk


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which no client is."""
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def below(home: Path, client: str, platform: str, **given: str) -> list[str]:
    found = [str(path) for _, path in places(client, given, platform)]
    return [path.replace(str(home), "~") for path in found]


def test_each_platform_has_places_of_its_own(home: Path) -> None:
    cline = "User/globalStorage/saoudrizwan.claude-dev/tasks"
    assert below(home, "cline", "linux")[-1] == f"~/.config/*/{cline}"
    assert below(home, "cline", "linux", XDG_CONFIG_HOME="/c")[-1] == f"/c/*/{cline}"
    mac = "~/Library/Application Support"
    assert below(home, "cline", "darwin")[-1] == f"{mac}/*/{cline}"
    assert below(home, "cline", "win32", APPDATA="/roaming")[-1] == f"/roaming/*/{cline}"
    assert below(home, "hermes", "win32", LOCALAPPDATA="/local")[-3:] == [
        "/local/hermes/state.db", "/local/hermes/profiles/*/state.db", "/local/hermes/sessions",
    ]  # fmt: skip
    assert below(home, "opencode", "linux") == [
        "~/.local/share/opencode/opencode*.db", "~/.local/share/opencode/storage/session",
    ]  # fmt: skip
    assert "~/.codex/archived_sessions" in below(home, "codex", "darwin")


def test_the_first_variable_that_is_set_counts(home: Path) -> None:
    agents = ["agents/*/agent/openclaw-agent.sqlite", "agents/*/sessions"]
    both = {"OPENCLAW_STATE_DIR": "/state", "OPENCLAW_HOME": "/home"}
    assert below(home, "openclaw", "linux", **both) == [f"/state/{each}" for each in agents]
    own = {"OPENCLAW_HOME": "/home"}
    assert below(home, "openclaw", "linux", **own) == [f"/home/.openclaw/{a}" for a in agents]
    assert len(below(home, "openclaw", "linux")) == 6
    assert below(home, "kimi", "linux", KIMI_CODE_HOME="/k") == ["/k/sessions"]
    assert below(home, "hermes", "linux", HERMES_HOME="/h") == [
        "/h/state.db", "/h/profiles/*/state.db", "/h/sessions",
    ]  # fmt: skip
    assert below(home, "claude-code", "linux", CLAUDE_CONFIG_DIR="/a, /b") == [
        "/a/projects", "/b/projects",
    ]  # fmt: skip


def test_every_client_has_a_place_on_every_platform() -> None:
    for platform in ("linux", "darwin", "win32"):
        given = {"APPDATA": "/roaming", "LOCALAPPDATA": "/local"}
        assert {client for client, _ in places("", given, platform)} == {*CLIENTS}


def test_what_is_here_is_found_once(home: Path) -> None:
    agent = home / ".openclaw" / "agents" / "main"
    for name in ("agent", "sessions"):
        (agent / name).mkdir(parents=True)
    (agent / "agent" / "openclaw-agent.sqlite").touch()
    data = home / ".local" / "share" / "opencode"
    data.mkdir(parents=True)
    (data / "opencode.db").touch()
    (data / "opencode.db-wal").touch()
    assert here() == [
        ("opencode", data / "opencode.db"),
        ("openclaw", agent / "agent" / "openclaw-agent.sqlite"),
        ("openclaw", agent / "sessions"),
    ]
    assert here("codex") == []


def test_a_home_of_an_odd_name_is_no_pattern(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = home / "[a]*"
    (folder / "sessions").mkdir(parents=True)
    monkeypatch.setenv("CODEX_HOME", str(folder))
    assert here("codex") == [("codex", folder / "sessions")]


def test_commands_find_databases_without_being_told(home: Path) -> None:
    data = home / ".local" / "share" / "opencode"
    stories_of("stores")["OpenCode's database tells what its export does"].write(data)
    agent = home / ".openclaw" / "agents" / "main" / "agent"
    agent.mkdir(parents=True)
    rows = openclaw_rows("s1", *openclaw_talk("s1", 9000))
    made(agent / "openclaw-agent.sqlite", OPENCLAW, *rows)
    audited = called("audit")
    assert f"reading {data / 'opencode.db'} (opencode)" in audited.err
    assert "in 2 sessions and 3 calls" in audited.out
    inspected = called("inspect", "--client", "openclaw")
    assert inspected.out.startswith("openclaw-agent/s1\n")
    assert "opencode" not in inspected.out
    done = called("inspect", "--client", "codex")
    assert done.code == 2
    assert "none of the default folders exists" in done.err
