"""Ways of a new user, in a clean folder: each a short story."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest

import compactlab as package
from tests.cli.conftest import TINY, Outcome
from tests.cli.test_action import EXPERIMENT, Runner
from tests.recordings import CALM, claude_code

Types = Callable[..., Outcome]
TALK = ("--conversations", "coding_agent(turns=4, tokens=8000)")
AGENTS = ("--strategies", "claude_code", "--strategies", "codex")
SMALL = ("--conversations", TINY, "--window", 24_000, "--no-controls", "--loop", "open")


@pytest.fixture
def types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compactlab: Types) -> Types:
    """Commands in a folder of one's own, at a home of one's own."""
    for folder in ("work", "home"):
        (tmp_path / folder).mkdir()
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "work")

    def call(*words: object, code: int = 0) -> Outcome:
        done = compactlab(*words)
        assert done.code == code, done.said
        return done

    return call


def costs(runs: pd.DataFrame) -> dict[tuple[str, str, int], float]:
    """What each run cost, in USD."""
    key = zip(runs["conversation"], runs["label"], runs["window"], strict=True)
    return dict(zip(key, runs["cost_usd"], strict=True))


def test_a_researcher_has_the_same_figures_as_table_json_and_frame(types):
    printed = json.loads(types("run", *SMALL, *AGENTS, "--seeds", 2, "--format", "json").out)
    results = package.Results.load("compactlab-out")
    frame = results.frame()
    csv = pd.read_csv(StringIO(types("report", "compactlab-out", "--format", "csv").out))
    rows = pd.DataFrame({**run, **run["metrics"]} for run in printed["runs"])
    assert len(frame) == 4
    assert costs(frame) == costs(csv) == costs(rows)
    means = frame.groupby("label")["cost_usd"].mean().to_dict()
    summary = results.summary().set_index("strategy")["cost_usd"].to_dict()
    assert summary == pytest.approx(means)
    table = types("report", "compactlab-out", "--brief").out
    shown = dict(re.findall(r"^(\w+) +(\d+\.\d+) ", table, re.MULTILINE))
    assert shown == {label: f"{cost:.2g}" for label, cost in means.items()}
    # The bounds cost what one conversation costs, too, as the rows above them do.
    bounds = results.frame(bounds=True).query("bound").groupby("label")["cost_usd"].mean()
    told = re.findall(r"(keep_\w+) \(([\d.]+) USD", table)
    assert told
    assert all(cost == f"{bounds[label]:.2g}" for label, cost in told)
    assert len(repr(results)) < 100


def test_a_researcher_sweeps_windows_and_has_a_chart_for_a_paper(types):
    types("run", *SMALL, "--window", 32_000, *AGENTS)
    frame = package.Results.load("compactlab-out").frame()
    under = {(label, window) for label in AGENTS[1::2] for window in (24_000, 32_000)}
    assert {(label, window) for _, label, window in costs(frame)} == under
    paper = ("--distance", "1k", "--format", "pdf", "--width", "3.3in", "--no-title")
    types("report", "compactlab-out", "--charts", "figures", "--only", "cost-and-memory", *paper)
    charts = [chart.read_bytes() for chart in Path("figures").iterdir()]
    assert charts
    assert all(chart.startswith(b"%PDF") for chart in charts)


def test_an_author_audits_replays_explains_tunes_and_scores_two_sessions(types):
    logs = Path.home() / ".claude" / "projects" / "-home-me-door"
    claude_code(logs / "monday.jsonl")
    claude_code(logs / "tuesday.jsonl", CALM)
    bill = json.loads(types("audit", "--format", "json").out)
    asked = ("--strategies", "as_recorded", "--no-controls", "--loop", "open")
    types("run", "--conversations", logs, *asked, "--strategies", "claude_code")
    frame = package.Results.load("compactlab-out").frame()
    recorded = frame[frame["label"] == "as_recorded"].set_index("conversation")
    assert set(recorded.index) == {"monday", "tuesday"}
    assert bill["spent"]["total_usd"] == pytest.approx(recorded["recorded_usd"].sum())
    page = Path("compactlab-out", "report.html").read_text("utf-8")
    assert "as_recorded" in page
    story = types("explain", logs / "monday.jsonl", *asked[:2], "--format", "json").out
    assert json.loads(story)["figures"]["cost_usd"] == pytest.approx(recorded["cost_usd"]["monday"])
    types("tune", logs, "--over", "trigger=20000", "-o", "tuned")
    (tuned,) = json.loads(Path("tuned", "tune.json").read_text("utf-8"))["strategies"]
    assert tuned["sessions"] == ["monday", "tuesday"]
    own = next(each for each in tuned["settings"] if each["trigger"] is None)
    claude = frame[frame["label"] == "claude_code"]
    assert own["cost_usd"] == pytest.approx(claude["cost_usd"].sum())
    Path("compacted.txt").write_text("All questions have been answered.", encoding="utf-8")
    scored = types("score", logs / "monday.jsonl", "compacted.txt", "--format", "json").out
    assert json.loads(scored)["tokens_after"] < json.loads(scored)["tokens_before"]


def test_a_gate_passes_finds_a_change_and_says_what_it_cannot_judge(types):
    types("new", "experiment")
    file = Path("experiment.toml")
    assert "[rules]" in file.read_text("utf-8")
    file.write_text(EXPERIMENT + '[rules]\ncost_usd = "exact"\n', encoding="utf-8")
    gate = ("gate", "compactlab-out", "--rules", file, "--json", "gate.json")
    assert not types("run", file, "-q").err
    types(*gate, code=2)  # no baseline
    types("baseline", "compactlab-out", "-o", "baseline.json")
    types(*gate)
    assert json.loads(Path("gate.json").read_text("utf-8"))["exit_code"] == 0
    file.write_text(file.read_text("utf-8").replace("keep=4", "keep=2"), encoding="utf-8")
    types("run", file, "-q")
    types(*gate, code=1)
    found = json.loads(Path("gate.json").read_text("utf-8"))
    outcomes = {each["label"]: each["outcome"] for each in found["findings"]}
    assert outcomes == {"keep_all": "holds", "sliding_window(keep=2)": "regressed"}
    types("gate", "compactlab-out", code=1)  # without rules no figure may change
    types("run", *SMALL, "--strategies", "codex", "--out", "other")
    types("gate", "other", "--rules", file, code=2)


def test_a_design_review_gets_one_page_of_agents_over_conversations(types, drawn):
    more = ("--conversations", "research_assistant(turns=2, tokens=2000)", "--metrics", "cost_usd")
    types("run", *SMALL, *more, *AGENTS)
    page = Path("compactlab-out", "report.html").read_text("utf-8")
    for shown in ("claude_code", "codex", "<svg", "<figure"):
        assert shown in page
    assert not re.search(r"(?:src|href)=[\"']?https?://[^\"']*\.(?:js|css|png)", page)
    assert "prefers-color-scheme" in page
    assert 'name="viewport"' in page or "name=viewport" in page
    assert types("report", "compactlab-out", "--format", "html").out == page


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


@pytest.mark.slow
def test_ones_own_strategy_and_a_frameworks_are_rows_of_a_table(user):
    new = user.types("new", "strategy", "few_turns")
    assert new.code == 0, new.said
    assert "try it: compactlab run" in new.out
    file = user.folder / "few_turns.py"
    source = file.read_text("utf-8")
    assert "= 0.8\n" in source
    file.write_text(source.replace("= 0.8\n", "= 0.2\n"), encoding="utf-8")
    (user.folder / "framework.py").write_text(FRAMEWORK, encoding="utf-8")
    (user.folder / "trimmed.py").write_text(ADAPTER, encoding="utf-8")
    own = ("--strategies", "few_turns.py:FewTurns", "--strategies", "trimmed.py:Trimmed")
    done = user.types("run", *TALK, "--strategies", "keep_all", *own, "--no-controls")
    assert done.code == 0, done.said
    table = user.types("report", "compactlab-out")
    assert table.code == 0, table.said
    rows = [line.split()[0] for line in table.out.splitlines() if re.match(r"\w+.*\d", line)]
    assert {"keep_all", "few_turns", "trimmed"} <= set(rows), table.out


@pytest.mark.slow
def test_a_gate_of_the_action_is_red(tmp_path):
    runner = Runner(tmp_path)
    (runner.work / "experiment.toml").write_text(EXPERIMENT)
    user = User.__new__(User)
    user.folder, user.home = runner.work, tmp_path
    assert user.types("run", "experiment.toml").code == 0
    assert user.types("baseline", "compactlab-out", "-o", "baseline.json").code == 0
    (runner.work / "experiment.toml").write_text(EXPERIMENT.replace("keep=4", "keep=2"))
    assert runner.play(experiment="experiment.toml", store="again") == 1
    assert "### Gate: changed" in runner.summary
