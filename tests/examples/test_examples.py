"""The examples run, and so does what the README shows."""

import re
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from runpy import run_path

import pytest

from compactlab import api
from compactlab.reports.analysis.comparison import comparisons
from compactlab.request.file import ExperimentSettings
from compactlab.request.names import plan
from compactlab.strategies import AGENTS, ALL_STRATEGIES, DEFAULT_STRATEGIES


def run(*arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, check=True, capture_output=True, text=True
    )
    return done.stdout


def test_compare_prints_a_table_and_the_compactions(root, tmp_path):
    said = run(str(root / "examples" / "compare.py"), cwd=tmp_path)
    assert "sliding_window(keep=20)" in said
    assert "fresh because of {'compaction':" in said


def test_an_own_strategy_runs_beside_the_built_in_ones(root, tmp_path):
    spec = f"{root / 'examples' / 'own_strategy.py'}:Stepwise(most=40, keep=10)"
    conversation = "coding_agent(turns=4, tokens=8000)"
    options = ["--conversations", conversation, "--strategies", spec, "--strategies", "keep_all"]
    said = run("-m", "compactlab", "run", *options, "--out", str(tmp_path), cwd=tmp_path)
    assert "stepwise" in said


def test_the_python_of_the_how_to_runs(root, tmp_path):
    page = (root / "docs" / "how-to" / "my-own-strategy.md").read_text("utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "block.py").write_text(block, encoding="utf-8")
    assert run("block.py", cwd=tmp_path)


def test_the_readmes_table_shows_all_its_columns_and_stores_what_it_shows(root, tmp_path):
    page = (root / "README.md").read_text("utf-8")
    (tmp_path / "block.py").write_text(
        re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], encoding="utf-8"
    )
    said = run("block.py", cwd=tmp_path)
    for name in ("label", "cost_usd", "recall_20k", "prefix_reuse", "over_window"):
        assert name in said
    assert "..." not in said
    assert "keep_none" in run("-m", "compactlab", "report", "my-results", cwd=tmp_path)


@pytest.mark.parametrize(
    ("name", "sources", "strategies"),
    [
        ("agents", 100, DEFAULT_STRATEGIES),
        ("million", 20, AGENTS),
        ("rules", 20, ALL_STRATEGIES),
        ("small", 20, DEFAULT_STRATEGIES),
    ],
)
def test_the_experiments_of_the_results_page_are_what_it_says(root, name, sources, strategies):
    settings = ExperimentSettings.load(root / "examples" / "results" / f"{name}.toml", {})
    planned = plan(
        settings.conversations,
        settings.strategies,
        settings.models,
        window=settings.window,
        seeds=settings.seeds,
    )
    windows = len(settings.window) if isinstance(settings.window, list) else 1
    assert len(planned.sources) == sources
    assert len(planned.conditions) == windows * len(strategies)


def test_the_results_page_names_the_version_of_every_agent(root):
    page = run_path(str(root / "examples" / "results_page.py"))
    assert set(page["VERSIONS"]) == set(DEFAULT_STRATEGIES)


def test_ranks_are_ranges_and_differences_are_of_the_reference(root):
    """Twelve sessions under three rules, of which one is dearer in each."""
    measured = run_path(str(root / "examples" / "results_run.py"))
    specs = ("claude_code", "codex", "keep_none")
    given = {"loop": "open", "window": 12_000, "seeds": 12, "controls": False, "tables": []}
    results = api.run("support_chat(turns=30, tokens=14000)", specs, ["claude-sonnet-4-5"], **given)
    (compared,) = comparisons(results)
    rows = {row["label"]: row for row in measured["figures"](compared)}
    assert rows["claude_code"]["change"] == [None, None, None]
    value, low, high = rows["codex"]["change"]
    assert low <= value <= high
    costs = {label: row["usd"] for label, row in rows.items()}
    assert value == pytest.approx(costs["codex"] / costs["claude_code"] - 1, abs=1e-5)
    for label in ("claude_code", "codex"):
        first, last = rows[label]["ranks"]["cost_usd"]
        assert 1 <= first <= last <= 2
    stopped = measured["complete"](replace(results, runs=results.runs[1:]))
    assert {run.conversation for run in results.runs} - {r.conversation for r in stopped.runs} == {
        results.runs[0].conversation
    }


def test_a_synthetic_log_of_claude_code_is_read_and_audited(root, tmp_path):
    said = run(str(root / "examples" / "claude_session.py"), "logs/session.jsonl", cwd=tmp_path)
    assert said == "wrote logs/session.jsonl\n"
    told = run("-m", "compactlab", "inspect", "logs", cwd=tmp_path)
    assert "claude-code" in told
    assert "passed over        nothing" in told
    audit = run("-m", "compactlab", "audit", "logs", cwd=tmp_path)
    assert "claude-sonnet-4-5" in audit
    assert "ttl_expired" in audit


def test_every_validation_says_on_which_half_it_was_fitted(root):
    for script in (root / "examples").glob("validate_*.py"):
        assert "verdict.basis(" in script.read_text("utf-8"), script.name
        assert script.name in (root / "docs" / "validation.md").read_text("utf-8"), script.name


@pytest.mark.parametrize(
    "name",
    [
        "bars", "bench_audits", "validate_answers", "validate_complexity_trap", "validate_locomo",
        "validate_needs", "validate_score", "validate_summaries", "validate_tau_bench",
    ],
)  # fmt: skip
def test_without_recordings_a_script_says_that_it_is_skipped(name, tmp_path, capsys):
    assert import_module(name).main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("skipped: ")
