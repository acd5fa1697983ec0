"""The examples run, and so does what the README shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from compactlab.api import Plan
from compactlab.cli.experiment import ExperimentSettings


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


@pytest.mark.parametrize("number", range(2))
def test_the_readmes_python_runs(root: Path, tmp_path: Path, number: int) -> None:
    page = (root / "README.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "block.py").write_text(blocks[number], encoding="utf-8")
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


def test_the_experiment_of_the_readmes_verdict_is_one(root: Path) -> None:
    settings = ExperimentSettings.load(root / "examples" / "suite.toml", {})
    planned = Plan(
        settings.conversations,
        settings.strategies,
        settings.models,
        summarizer=settings.summarizer,
        window=settings.window,
        seeds=settings.seeds,
    ).experiment()
    assert (len(planned.sources), len(planned.conditions)) == (40, 48)


def test_every_validation_says_on_which_half_it_was_fitted(root: Path) -> None:
    for script in (root / "examples").glob("validate_*.py"):
        assert "verdict.basis(" in script.read_text("utf-8"), script.name
        assert script.name in (root / "docs" / "validation.md").read_text("utf-8"), script.name
