"""The README is short, and no figure in it is another one than was measured and stored."""

import re
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

# Numbers of the prose that nobody measures: versions, parameters, and what a word means.
GIVEN = (
    "Python 3.11",
    "last 20 messages",
    "20,000 tokens",
    "exit code 0 is a pass, 1 a regression or a change, 2 that",
)
UNSEEN = re.compile(r"```.*?```|`[^`]*`|\]\([^)]*\)", re.DOTALL)


@pytest.fixture(scope="module")
def figures(root: Path) -> dict[str, Any]:
    return run_path(str(root / "examples" / "readme_figures.py"))


@pytest.fixture
def readme(root: Path) -> str:
    return (root / "README.md").read_text("utf-8")


def test_it_has_a_screen_and_a_tour(readme):
    assert len(readme.split()) <= 1_800


@pytest.mark.parametrize("name", ["README.md", "docs/concepts.md"])
def test_each_figure_is_the_stored_one(root, figures, name):
    page = (root / name).read_text("utf-8")
    assert figures["MARKED"].search(page)
    assert figures["renewed"](page) == page, "make picture, make recorded, or make docs"
    with pytest.raises(KeyError):
        figures["renewed"]("<!-- built-in:never_measured -->1<!-- -->")


def unmeasured(page: str, marked: re.Pattern[str]) -> list[str]:
    """The numbers of a page's prose that are neither stored figures nor given."""
    prose = UNSEEN.sub("", marked.sub("", page))
    for words in GIVEN:
        prose = prose.replace(words, "")
    return re.findall(r"\d[\d,.]*", prose)


def test_no_number_is_there_that_was_not_stored(readme, figures):
    assert unmeasured(readme, figures["MARKED"]) == []
    assert unmeasured("It costs 2.4 times as much.", figures["MARKED"]) == ["2.4"]


def test_what_is_stored_says_of_which_input_and_command(root):
    import json

    for name in ("built-in", "recorded", "asked"):
        held = json.loads((root / "docs" / "results" / f"{name}.json").read_text("utf-8"))
        assert held["command"]
        assert re.fullmatch(r"[0-9a-f]{64}", held["digest"])
