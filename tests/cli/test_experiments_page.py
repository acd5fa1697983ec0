"""The page on experiments: what it shows can be read, and makes what it says."""

import re
from pathlib import Path

import pytest

from compactlab.request.file import ExperimentSettings
from compactlab.scenarios.catalogue import sources


@pytest.fixture
def shown(root: Path, tmp_path: Path, chat):
    """Settings by the files that the page shows, after the first, where their folders are."""
    chat(tmp_path / "sessions" / "deep" / "one.jsonl")
    chat(tmp_path / "more" / "two.jsonl")
    page = (root / "docs" / "experiments.md").read_text("utf-8")
    found = []
    files = re.findall(r"```toml\n(?!# pyproject)(.*?)```", page, re.DOTALL)
    for number, text in enumerate(files[1:]):
        file = tmp_path / f"{number}.toml"
        file.write_text(text, encoding="utf-8")
        found.append(ExperimentSettings.load(file, {}))
    return found


def test_the_grids_make_what_the_page_says(shown):
    grid, pipelines, lists, _, several, windows, sweep = shown
    assert len(grid.strategies) == 8
    assert len(pipelines.strategies) == 2 * 2 + 1
    assert len(lists.strategies) == 1 + 2 + 2 + 1
    assert len(several.summarizer) == 5
    assert windows.window == [40_000, 100_000, 200_000]
    assert len(sweep.strategies) == 7


def test_the_conversations_are_those_that_the_page_says(shown):
    found, _ = sources(shown[3].conversations)
    assert [source.seed for source in found if source.name.startswith("coding")] == [3, 4, 5] * 2
    assert [source.name for source in found[6:]] == ["one"] * 5 + ["two"] * 5
