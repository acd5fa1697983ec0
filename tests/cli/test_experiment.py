"""Experiment files: the options of `compactlab run` in TOML."""

from __future__ import annotations

import json

import pytest

TINY = "coding_agent(turns=2, tokens=2000)"
SETTINGS = f"""
conversations = ["{TINY}"]
strategies = ["keep_all", "sliding_window(keep=4)"]
models = ["claude-sonnet-4-5"]
window = 9000
seeds = 2
jobs = 1
"""
OPTIONS = (
    *("--conversations", TINY, "--strategies", "keep_all"),
    *("--strategies", "sliding_window(keep=4)", "--model", "claude-sonnet-4-5"),
    *("--window", 9000, "--seeds", 2, "--jobs", 1),
)


@pytest.fixture
def toml(tmp_path):
    """Write an experiment."""

    def write(text: str, name: str = "experiment.toml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return write


def test_a_file_and_the_same_options_give_the_same_bytes(compactlab, toml, tmp_path, contents):
    written = []
    for n, how in enumerate(((toml(SETTINGS),), OPTIONS)):
        assert compactlab("run", *how, "--out", tmp_path / str(n)).code == 0
        written.append(contents(tmp_path / str(n)))
    assert written[0] == written[1]


def test_an_option_wins_over_the_file(compactlab, toml):
    file = toml(SETTINGS)
    done = compactlab("run", file, "--dry-run", "--strategies", "keep_none", "--seeds", 1)
    assert done.code == 0
    assert "1 strategy\n  keep_none\n" in done.out
    assert "1 conversation\n" in done.out


def test_an_empty_file_is_the_defaults(compactlab, toml):
    assert compactlab("run", toml(""), "--dry-run") == compactlab("run", "--dry-run")


def test_paths_of_conversations_are_taken_from_where_the_file_stands(compactlab, toml, chat):
    file = toml('conversations = ["talks/one.jsonl"]', "below/experiment.toml")
    chat(file.parent / "talks" / "one.jsonl")
    done = compactlab("run", file, "--dry-run")
    assert done.code == 0
    assert "  one\n" in done.out


def test_the_folder_of_the_results_is_taken_from_there_too(compactlab, toml, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    file = toml(f'{SETTINGS}\nout = "results"', "below/experiment.toml")
    assert compactlab("run", file).code == 0
    assert (file.parent / "results" / "manifest.json").exists()


def test_the_file_of_a_strategy_is_taken_from_there_too(compactlab, toml, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    file = toml('strategies = ["own.py:KeepAll"]', "below/experiment.toml")
    (file.parent / "own.py").write_text("from compactlab.strategies import KeepAll\n")
    assert compactlab("run", file, "--dry-run").code == 0


def test_everything_that_is_wrong_is_named_at_once(compactlab, toml):
    file = toml('window = "large"\nseeds = 0\nstrategies = "keep_all"\njobs = true\ncolour = 3')
    done = compactlab("run", file, "--dry-run")
    assert done.code == 2
    assert str(file) in done.err
    for name in ("window", "seeds", "strategies", "jobs", "colour"):
        assert f"\n  {name}" in done.err


WRONG = [
    "nonsense",
    "[",
    "a = 1\na = 2",
    "window = 0",
    "seeds = 1.5",
    "conversations = 3",
    "conversations = []",
    "conversations = [3]",
    'conversations = ["\\u0000"]',
    'conversations = ["a/\\u0000"]',
    f'conversations = ["{"long" * 80}"]',
    f'conversations = ["{"long" * 80}.jsonl"]',
    "strategies = []",
    'strategies = [""]',
    'strategies = ["\\u0000"]',
    'strategies = ["sliding_window(keep=1e400)"]',
    'strategies = ["sliding_window(keep=' + "(" * 300 + '"]',
    'summarizer = "\\u0000"',
    'summarizer = "lexrank(units=-1)"',
    "lenient = 1",
    "[out]\na = 1",
]


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:40])
def test_what_makes_no_sense_ends_with_2_and_a_word(compactlab, toml, text):
    done = compactlab("run", toml(text), "--dry-run")
    assert done.code == 2
    assert done.err.startswith("compactlab: ")


@pytest.mark.parametrize("out", ["\\u0000", "long" * 80])
def test_a_folder_that_cannot_be_ends_with_2(compactlab, toml, out):
    done = compactlab("run", toml(f'{SETTINGS}\nout = "{out}"'))
    assert done.code == 2
    assert "cannot write to" in done.err


def test_a_file_that_is_not_there_or_no_text_ends_with_2(compactlab, tmp_path):
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    for name in ("binary.toml", "missing.toml"):
        done = compactlab("run", tmp_path / name)
        assert done.code == 2
        assert f"{tmp_path / name}: no experiment" in done.err


def test_models_by_name_of_a_file_are_replayed(compactlab, toml, tmp_path):
    file = toml(SETTINGS.replace("claude-sonnet-4-5", "claude-haiku-4-5@none"))
    assert compactlab("run", file, "--out", tmp_path / "out").code == 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["models"] == ["claude-haiku-4-5@none"]
