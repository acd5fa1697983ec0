"""Three ways of a new user, in a clean folder, by the installed command: each a story."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome
from tests.cli.test_action import EXPERIMENT, Runner
from tests.recordings import claude_code

# Each command is a start of Python and draws a page.
pytestmark = pytest.mark.slow
TALK = ("--conversations", "coding_agent(turns=4, tokens=8000)")


class User:
    """Types commands in a folder of their own, at a home of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder / "work", folder / "home"
        for each in (self.folder, self.home):
            each.mkdir()

    def types(self, *words: str) -> Outcome:
        away = ("CLAUDE_CONFIG_DIR", "CODEX_HOME")
        environment = {name: value for name, value in os.environ.items() if name not in away}
        done = subprocess.run(
            [sys.executable, "-m", "compactlab", *words],
            cwd=self.folder,
            env=environment | {"HOME": str(self.home)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        outcome = Outcome(done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in outcome.said
        return outcome


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def test_from_logs_of_claude_code_to_a_page(user: User) -> None:
    project = user.home / ".claude" / "projects" / "-home-me-door"
    claude_code(project / "monday.jsonl")
    bill = user.types("audit")
    assert bill.code == 0, bill.said
    assert bill.out.startswith("$0.51 of input in 6 calls")
    strategies = ("--strategies", "as_recorded", "--strategies", "claude_code")
    done = user.types("run", "--conversations", str(project), *strategies, "--no-controls")
    assert done.code == 0, done.said
    assert "as_recorded" in done.out
    page = (user.folder / "compactlab-out" / "report.html").read_text("utf-8")
    assert "as_recorded" in page
    assert "claude_code" in page


FRAMEWORK = '''
"""What a framework has: a function of a list of messages, as dicts."""


def trim_messages(messages, last=8):
    """Keep the last messages, from a user's on."""
    kept = messages[-last:]
    while kept and kept[0]["role"] != "user":
        kept = kept[1:]
    return kept
'''
ADAPTER = '''
from dataclasses import dataclass

import compactlab
from framework import trim_messages


@dataclass(frozen=True)
class Trimmed(compactlab.Strategy):
    """What the framework sends."""

    last: int = 8

    def compact(self, view: compactlab.View, host: compactlab.Host) -> compactlab.View:
        plain = [{"role": each.role, "id": each.id} for each in view.messages]
        kept = {each["id"] for each in trim_messages(plain, self.last)}
        if not kept or len(kept) == len(plain):
            return view
        return view.with_messages(each for each in view.messages if each.id in kept)
'''


def test_ones_own_strategy_and_a_frameworks_are_rows_of_a_table(user: User) -> None:
    new = user.types("new", "strategy", "few_turns")
    assert new.code == 0, new.said
    assert "try it: compactlab run" in new.out
    file = user.folder / "few_turns.py"
    source = file.read_text("utf-8")
    assert "= 20\n" in source
    file.write_text(source.replace("= 20\n", "= 2\n"), encoding="utf-8")
    (user.folder / "framework.py").write_text(FRAMEWORK, encoding="utf-8")
    (user.folder / "trimmed.py").write_text(ADAPTER, encoding="utf-8")
    own = ("--strategies", "few_turns.py:FewTurns", "--strategies", "trimmed.py:Trimmed")
    done = user.types("run", *TALK, "--strategies", "keep_all", *own, "--no-controls")
    assert done.code == 0, done.said
    table = user.types("report", "compactlab-out")
    assert table.code == 0, table.said
    rows = [line.split()[0] for line in table.out.splitlines() if re.match(r"\w+.*\d", line)]
    assert {"keep_all", "few_turns", "trimmed"} <= set(rows), table.out


def test_a_gate_is_red_with_its_reason_once_something_has_changed(user: User) -> None:
    (user.folder / "experiment.toml").write_text(EXPERIMENT, encoding="utf-8")
    assert user.types("run", "experiment.toml").code == 0
    baseline = user.types("baseline", "compactlab-out", "-o", "baseline.json")
    assert baseline.code == 0, baseline.said
    gate = ("gate", "compactlab-out", "--baseline", "baseline.json")
    assert user.types(*gate).code == 0
    changed = EXPERIMENT.replace("keep=4", "keep=2") + 'out = "changed"\n'
    (user.folder / "experiment.toml").write_text(changed, encoding="utf-8")
    assert user.types("run", "experiment.toml").code == 0
    red = user.types("gate", "changed", "--baseline", "baseline.json")
    assert red.code == 1, red.said
    assert "sliding_window(keep=2)" in red.said
    assert "changed" in red.said.lower()


def test_so_is_the_action(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    (runner.work / "experiment.toml").write_text(EXPERIMENT)
    user = User.__new__(User)
    user.folder, user.home = runner.work, tmp_path
    assert user.types("run", "experiment.toml").code == 0
    assert user.types("baseline", "compactlab-out", "-o", "baseline.json").code == 0
    (runner.work / "experiment.toml").write_text(EXPERIMENT.replace("keep=4", "keep=2"))
    assert runner.play(experiment="experiment.toml", store="again") == 1
    assert "### Gate: changed" in runner.summary
