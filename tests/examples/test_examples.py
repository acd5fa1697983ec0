"""The examples run, and so does what the README shows."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from compactlab.request.file import ExperimentSettings
from compactlab.request.plan import plan
from compactlab.strategies.line_up import ALL_STRATEGIES


def run(*arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, check=True, capture_output=True, text=True
    )
    return done.stdout


def test_compare_prints_a_table_and_the_compactions(root: Path, tmp_path: Path) -> None:
    said = run(str(root / "examples" / "compare.py"), cwd=tmp_path)
    assert "sliding_window(keep=20)" in said
    assert "fresh because of {'compaction':" in said


def test_an_own_strategy_runs_beside_the_built_in_ones(root: Path, tmp_path: Path) -> None:
    spec = f"{root / 'examples' / 'own_strategy.py'}:Stepwise(most=40, keep=10)"
    conversation = "coding_agent(turns=4, tokens=8000)"
    options = ["--conversations", conversation, "--strategies", spec, "--strategies", "keep_all"]
    said = run("-m", "compactlab", "run", *options, "--out", str(tmp_path), cwd=tmp_path)
    assert "stepwise" in said


def test_the_python_of_the_how_to_runs(root: Path, tmp_path: Path) -> None:
    page = (root / "docs" / "how-to" / "my-own-strategy.md").read_text("utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "block.py").write_text(block, encoding="utf-8")
    assert run("block.py", cwd=tmp_path)


def test_the_readmes_table_shows_all_its_columns_and_stores_what_it_shows(
    root: Path, tmp_path: Path
) -> None:
    page = (root / "README.md").read_text("utf-8")
    (tmp_path / "block.py").write_text(
        re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], encoding="utf-8"
    )
    said = run("block.py", cwd=tmp_path)
    for name in ("label", "cost_usd", "recall_20k", "prefix_reuse", "over_window"):
        assert name in said
    assert "..." not in said
    assert "keep_none" in run("-m", "compactlab", "report", "my-results", cwd=tmp_path)


def test_the_experiment_of_the_results_page_is_one(root: Path) -> None:
    settings = ExperimentSettings.load(root / "examples" / "suite.toml", {})
    planned = plan(
        settings.conversations,
        settings.strategies,
        window=settings.window,
        seeds=settings.seeds,
    )
    assert (len(planned.sources), len(planned.conditions)) == (20, len(ALL_STRATEGIES))


def test_a_synthetic_log_of_claude_code_is_read_and_audited(root: Path, tmp_path: Path) -> None:
    said = run(str(root / "examples" / "claude_session.py"), "logs/session.jsonl", cwd=tmp_path)
    assert said == "wrote logs/session.jsonl\n"
    told = run("-m", "compactlab", "inspect", "logs", cwd=tmp_path)
    assert "claude-code" in told
    assert "passed over        nothing" in told
    audit = run("-m", "compactlab", "audit", "logs", cwd=tmp_path)
    assert "claude-sonnet-4-5" in audit
    assert "ttl_expired" in audit


def test_every_validation_says_on_which_half_it_was_fitted(root: Path) -> None:
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
def test_without_recordings_a_script_says_that_it_is_skipped(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert import_module(name).main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("skipped: ")
