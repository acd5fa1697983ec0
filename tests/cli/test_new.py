"""`compactlab new strategy`: what it writes works at once."""

import ast
import subprocess
import sys

import pytest
from inline_snapshot import snapshot

from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.catalogue import find_summarizer
from compactlab.testing.contract import check_strategy
from compactlab.testing.summaries import check_summarizer
from tests.cli.conftest import Outcome, endings

KINDS = {
    "strategy": (
        "drop_old_turns",
        "DropOldTurns",
        lambda at: check_strategy(find_strategy(f"{at}(keep=0.2)"), 20),
    ),
    "summarizer": (
        "quote_users",
        "QuoteUsers",
        lambda at: check_summarizer(find_summarizer(f"{at}(characters=9)"), 4),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_it_writes_keeps_the_contract_and_its_test_passes_as_it_stands(
    compactlab, tmp_path, kind
):
    name, cls, faults = KINDS[kind]
    done = compactlab("new", kind, name, "--dir", tmp_path / "mine")
    assert done.code == 0
    path = tmp_path / "mine" / f"{name}.py"
    assert f"wrote {path}" in done.out
    assert f"{path}:{cls}" in done.out
    assert faults(f"{path}:{cls}") == []
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path.parent)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout
    assert "2 passed" in ran.stdout


def test_it_can_be_run_from_the_command_line(compactlab, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    compactlab("new", "strategy", "few")
    what = ("--conversations", "coding_agent(turns=4, tokens=8000)", "--seeds", 2, "--jobs", 2)
    done = compactlab("run", *what, "--strategies", "few.py:Few(keep=0.1)")
    assert done.code == 0, done.said
    assert "few(keep=0.1)" in done.out


def test_nothing_is_overwritten(compactlab, tmp_path):
    (tmp_path / "test_mine.py").write_text("precious")
    done = compactlab("new", "strategy", "mine", "--dir", tmp_path)
    assert done.told(tmp_path, out=False) == snapshot("""\
2
compactlab: test_mine.py exists already; nothing was written\
""")
    assert [path.name for path in tmp_path.iterdir()] == ["test_mine.py"]


NAMES = [("strategy", n) for n in ("DropOld", "drop-old", "class", "", "../up", "a b", "keep_all")]
NAMES += [("summarizer", "lexrank")]


def test_a_name_that_is_none_or_taken_ends_with_2(compactlab, tmp_path, golden):
    def new(*words: str) -> Outcome:
        return compactlab("new", *words, "--dir", tmp_path)

    golden("faults/new.txt", endings(new, NAMES, tmp_path))
    assert not list(tmp_path.iterdir())


def test_two_different_strategies_of_one_name_are_not_compared(compactlab, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from dataclasses import dataclass\n"
        "import compactlab\n"
        "@dataclass(frozen=True)\n"
        "class KeepAll(compactlab.Strategy):\n"
        "    def compact(self, view, host):\n"
        "        return view\n"
    )
    mine = f"{path}:KeepAll"
    done = compactlab("run", "--strategies", "keep_all", "--strategies", mine, "--dry-run")
    assert done.told(tmp_path, out=False) == snapshot("""\
2
compactlab: two different strategies are called keep_all(): rename the class of one\
""")


def test_who_replaces_what_is_new_has_acted(compactlab, tmp_path, monkeypatch):
    """It changes no prompt that was sent, and is compared with nobody: but it did something."""
    monkeypatch.chdir(tmp_path)
    session = "coding_agent(turns=4, tokens=30000)"
    small = "offload_outputs(max_text_chars=2000, preview_chars=1000)"
    done = compactlab("run", "--conversations", session, "--strategies", small)
    assert done.code == 0
    assert "Never compacted" not in done.said


def test_strategies_to_start_from_run_nothing_at_import(compactlab, tmp_path, root):
    """A file of a strategy is loaded by every worker: it holds imports and classes alone."""
    assert compactlab("new", "strategy", "my_idea", "--dir", tmp_path).code == 0
    allowed = (ast.Import, ast.ImportFrom, ast.ClassDef)
    for file in (tmp_path / "my_idea.py", root / "examples" / "own_strategy.py"):
        docstring, *others = ast.parse(file.read_text("utf-8")).body
        assert isinstance(docstring, ast.Expr)
        assert all(isinstance(each, allowed) for each in others)
        (cls,) = [each for each in others if isinstance(each, ast.ClassDef)]
        assert ast.unparse(cls.decorator_list[0]) == "dataclass(frozen=True)"


def test_a_summariser_can_be_run_from_the_command_line_and_from_a_file(
    compactlab, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    compactlab("new", "summarizer", "mine", "--dir", "sub")
    story = "coding_agent(turns=2, tokens=8000)"
    options = ("--conversations", story, "--strategies", "full_summary", "--window", "6000")
    done = compactlab("run", *options, "--summarizer", "sub/mine.py:Mine(characters=80)")
    assert done.code == 0, done.said
    experiment = tmp_path / "sub" / "e.toml"
    head = f'conversations = ["{story}"]\nstrategies = ["full_summary"]\nwindow = 6000\n'
    for written in (
        'summarizer = "mine.py:Mine(characters=80)"',
        'summarizer = { name = "mine.py:Mine", characters = [80] }',
    ):
        experiment.write_text(f"{head}{written}\n")
        again = compactlab("run", experiment, "-o", "compactlab-out", "--allow-code")
        assert "nothing to run" in again.out, again.said
