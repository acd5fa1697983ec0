"""What a project's pyproject.toml may set, what of it is told, and what it may never do."""

from pathlib import Path

import pytest
from inline_snapshot import snapshot

from compactlab.request.toml_file import Project
from compactlab.sim.core.errors import InputError
from compactlab.sim.store.results import Results
from tests.cli.conftest import Outcome, endings
from tests.lines import fitting, refusal

TINY = "coding_agent(turns=2, tokens=2000)"
CHEAP = ("--conversations", TINY, "--loop", "open", "--no-controls", "--metrics", "money")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Write the table of a repository's file; the working folder is one in it."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")

    def write(table: str) -> Path:
        file = tmp_path / "pyproject.toml"
        file.write_text(f'[project]\nname = "mine"\n\n[tool.compactlab]\n{table}\n')
        return file

    return write


def test_a_project_sets_window_models_and_strategies_and_that_is_told(compactlab, project):
    project('window = 40_000\nmodels = ["claude-opus-4-5"]\nstrategies = ["codex"]\nformat = "md"')
    done = compactlab("run", *CHEAP)
    assert done.code == 0
    assert fitting(done.err.splitlines()[0]) == snapshot("""\
../pyproject.toml: [tool.compactlab] sets window = 40000, models = ["claude-opus-4-5"],
strategies = ["codex"], format = "md"\
""")
    assert "| strategy |" in done.out
    (run,) = Results.load("compactlab-out").runs
    assert (run.window, run.model, run.label) == (40_000, "claude-opus-4-5", "codex")


def test_options_and_the_experiment_win(compactlab, project):
    project('window = 40_000\nmodels = ["claude-opus-4-5"]\nstrategies = ["codex"]')
    Path("experiment.toml").write_text('models = ["claude-sonnet-4-5"]\n')
    done = compactlab("run", "experiment.toml", *CHEAP, "--strategies", "pi", "-q")
    assert (done.code, done.err) == (0, "")
    (run,) = Results.load("compactlab-out").runs
    assert (run.window, run.model, run.label) == (40_000, "claude-sonnet-4-5", "pi")


def test_the_nearest_table_of_the_repository_counts(tmp_path, project):
    outer = project("window = 40_000")
    Path("pyproject.toml").write_text("[tool.other]\nwindow = 1\n")
    assert Project.here().path == Path("../pyproject.toml")
    Path("pyproject.toml").write_text("[tool.compactlab]\nwindow = 50_000\n")
    assert Project.here().settings == {"window": 50_000}
    Path("pyproject.toml").unlink()
    (tmp_path / ".git").rmdir()
    # Outside of a repository nobody's file above the working folder counts.
    assert outer.exists()
    assert Project.here() == Project()


FORBIDDEN = [
    "windw = 1",
    'out = "/tmp"',
    'answers = "a"',
    'models_file = "m.toml"',
    'summarizer = "lexrank"',
    'ask = "record"',
    "budget = 5",
    'dask = "tcp://10.0.0.1:8786"',
    'conversations = ["/etc"]',
    "strategies = [\"exec('touch started')\"]",
    'strategies = ["keep_all + own.py:Own"]',
    'strategies = [{ name = "own.py:Own" }]',
    'strategies = [{ name = "exec", command = "x" }]',
    'strategies = [{ pipeline = ["keep_all", "own.py:Own"] }]',
    "strategies = [\"scored_pruning(answers='a.jsonl')\"]",
    'strategies = [{ name = "user_rules", answers = "a" }]',
    'strategies = ["codx"]',
    'window = "40k"',
    'models = ["claude"]',
    'format = "xml"',
    "format = []",
]


def test_nothing_else_may_be_set(compactlab, project, golden):
    Path("own.py").write_text(
        "open('started', 'w')\nfrom compactlab.strategies import KeepAll as Own"
    )

    def run(line: str) -> Outcome:
        project(line)
        return compactlab("run", *CHEAP, "--allow-code")

    golden("faults/project.txt", endings(run, zip(FORBIDDEN, strict=True)))
    assert not Path("started").exists()
    assert not Path("compactlab-out").exists()


def test_a_strategy_of_an_installed_package_may_not_be_named(project, monkeypatch):
    monkeypatch.setattr(
        "compactlab.request.toml_file.STRATEGIES",
        type("", (), {"installed": lambda: {"theirs": ""}}),
    )
    project('strategies = ["theirs(keep=2)"]')
    assert refusal(InputError, Project.here) == snapshot("""\
../pyproject.toml: settings are wrong:
  line 5: strategies[0]: theirs is not a built-in strategy, and no other may be named here\
""")


@pytest.mark.parametrize("table", ["[tool]\ncompactlab = 3", "[[tool.compactlab]]\nwindow = 1"])
def test_what_is_no_table_is_refused(project, table):
    project("").write_text(table)
    with pytest.raises(InputError, match=r"must be a table"):
        Project.here()


def test_a_file_that_does_not_name_compactlab_need_not_be_valid(project):
    project("").write_text("[project\n")
    assert Project.here() == Project()
    project("window = ")
    assert refusal(InputError, Project.here) == snapshot(
        "pyproject.toml:5: no project: Invalid value (at line 5, column 10)"
    )


def test_rules_of_a_project_judge_a_gate(compactlab, project):
    project('[tool.compactlab.rules]\ncost_usd = "<= 0.000001"')
    compactlab("run", *CHEAP, "--strategies", "codex")
    compactlab("baseline", "compactlab-out")
    done = compactlab("gate", "compactlab-out")
    assert done.code == 1
    assert done.err == snapshot("../pyproject.toml: [tool.compactlab] sets rules\n")
    # Rules that are named win.
    Path("gate.toml").write_text('[rules]\ncost_usd = "+2%"\n')
    assert compactlab("gate", "compactlab-out", "--rules", "gate.toml").code == 0
    project('[tool.compactlab.rules]\ncost_us = "+2%"')
    assert compactlab("gate", "compactlab-out").told() == snapshot("""\
2
compactlab: ../pyproject.toml: settings are wrong:
  line 6: rules.cost_us: unknown metric 'cost_us'; did you mean cost_usd or side_cost_usd or
cost_read_usd?\
""")


def test_a_gate_and_a_baseline_are_for_one_window(compactlab, project):
    project("")
    compactlab("run", *CHEAP, "--strategies", "codex", "--window", 40_000, "--window", 60_000)
    for command in (("baseline",), ("gate",)):
        assert compactlab(*command, "compactlab-out").told() == snapshot("""\
2
compactlab: a baseline and a gate are for one window, and this store has 40,000 and 60,000
tokens: run each window into a folder of its own\
""")
