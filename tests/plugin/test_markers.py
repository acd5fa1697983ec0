"""Markers: what they take, from where their paths are taken, and what is said of a slip."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from compactlab.sim.experiment.sweep import Experiment
from compactlab.testing.settings import Settings
from compactlab.testing.tested import Replays
from tests.lines import lines_with

Agent = Callable[..., tuple[pytest.RunResult, str]]

WRONG = {
    "strateg='keep_all'": "unknown setting 'strateg'; did you mean strategy or strict?",
    "strategy='keep_all', strict='yes'": "strict must be True or False, not 'yes'",
    "strategy='keep_all', lenient=True": "unknown setting 'lenient'",
    "strategy='keep_al'": "unknown strategy 'keep_al'; did you mean keep_all",
    "strategy=5": "strategy must be a strategy or its spec, not 5",
    "strategy='sliding_window(kep=3)'": "kep",
    "'keep_all'": "all settings have names: strategy='keep_all'",
    "": "strategy is missing: a strategy or its spec",
    "strategy='keep_all', conversations='nowhere'": "nowhere",
    "strategy='keep_all', conversations=[]": "conversations must be a path, a scenario, or a list",
    "strategy='keep_all', conversations=[3]": "conversations must be a path, a scenario, or a list",
    "strategy='keep_all', model='claude-sonet'": "claude-sonet",
    "strategy='keep_all', window='64000'": "window must be a number of tokens, not '64000'",
    "strategy='keep_all', window=0": "window must be at least 1",
    "strategy='keep_all', seeds=True": "seeds must be a number, not True",
    "strategy='keep_all', summarizer=['lead']": "summarizer must be one summariser or its spec",
    "strategy='keep_all', summarizer='led'": "did you mean lead",
    "strategy='keep_all', loop='clsed'": "a loop is 'open' or 'closed'",
    "strategy='keep_all', churn='gone.json'": "gone.json",
    "strategy='keep_all', models_file='gone.toml'": "gone.toml",
}


def test_a_wrong_setting_names_the_test_and_what_was_meant(agent):
    tests = [
        f"@pytest.mark.compaction({given})\ndef test_{number}(compaction):\n    pass\n"
        for number, given in enumerate(WRONG)
    ]
    result, said = agent("\n".join(tests))
    result.assert_outcomes(errors=len(WRONG))
    for number, told in enumerate(WRONG.values()):
        name = f"test_agent.py::test_{number}: marker compaction: "
        (line,) = [line for line in said.splitlines() if line.startswith(name)]
        assert told in line


def test_what_is_not_understood_is_passed_over_unless_told_otherwise(agent):
    """The tests' own repository has a session; this one has a record that nobody knows."""
    result, said = agent("""
from pathlib import Path

import pytest

session = Path("sessions", "deploy.jsonl")
session.write_text(session.read_text() + '{"type": "poem", "text": "o rose"}')

@pytest.mark.compaction(strategy="keep_all")
def test_a(compaction):
    compaction.holds(amnesia_need="== 0")

@pytest.mark.compaction(strategy="keep_all", strict=True)
def test_b(compaction):
    compaction.holds(amnesia_need="== 0")
""")
    result.assert_outcomes(passed=1, failed=1)
    assert lines_with(said, "poem';") == snapshot("""\
E           deploy: sessions/deploy.jsonl:12: unknown type of line 'poem'; known:
compaction, fact, message, need, rewind\
""")


def test_the_marker_without_the_fixture_is_refused(agent):
    result, said = agent("""
@pytest.mark.compaction(strategy="keep_all")
def test_that_holds_nothing():
    pass

def test_that_the_module_has_marked():
    pass
""")
    result.assert_outcomes(errors=1, passed=1)
    assert lines_with(said, "give the test") == snapshot("""\
test_agent.py::test_that_holds_nothing: the marker compaction does nothing without the
fixture of that name; give the test an argument compaction\
""")


WRONG_RULES = [
    "",
    "cost='<= 2'",
    "cost_usd='=< 2'",
    "cost_usd=2",
    "cost_usd='+2%'",
    "cost_usd='+2%', than='keep_al'",
    "cost_usd='+2%', than='keep_all', baseline='x'",
    "cost_usd='+2%', than=5",
    "cost_usd='-5%', than='keep_all'",
    "structural_validity=['+1%', '+2%'], than='keep_all'",
    "cost_usd=[]",
    "cost_usd=['<= 2', 2]",
    "amnesia_need='== 0', type='decisions'",
    "amnesia_need='== 0', type=5",
]


def test_a_wrong_rule_is_told(agent, golden):
    asked = "\n    ".join(repr(given) + "," for given in WRONG_RULES)
    result, said = agent(f"""
@pytest.mark.compaction(strategy="keep_all")
@pytest.mark.parametrize("given", [
    {asked}
])
def test_it(compaction, given):
    eval(f"compaction.holds({{given}})")
""")
    result.assert_outcomes(failed=len(WRONG_RULES))
    golden("plugin/wrong-rules.txt", lines_with(said, "E   ") + "\n")


def test_the_nearest_marker_wins_setting_by_setting(agent):
    result, _ = agent("""
@pytest.mark.compaction(window=30_000, strategy="keep_none")
class TestAgent:
    def test_of_the_class(self, compaction):
        (run,) = compaction.results.runs
        assert (run.window, run.strategy, run.model) == (30_000, "keep_none()", "claude-sonnet-4-5")

    @pytest.mark.compaction(strategy="keep_all", model="gpt-5")
    def test_of_the_function(self, compaction):
        (run,) = compaction.results.runs
        assert (run.window, run.strategy, run.model) == (30_000, "keep_all()", "gpt-5")
""")
    result.assert_outcomes(passed=2)


def test_a_case_is_nearer_than_its_test_and_a_class_than_its_bases(agent):
    result, _ = agent("""
mark = pytest.mark.compaction

@mark(strategy="keep_all", window=30_000)
@pytest.mark.parametrize(
    "spec", ["keep_all()", pytest.param("keep_none()", marks=mark(strategy="keep_none"))]
)
def test_cases(compaction, spec):
    (run,) = compaction.results.runs
    assert (run.strategy, run.window) == (spec, 30_000)

@mark(strategy="keep_all")
@mark(strategy="keep_none")
def test_of_two_the_one_next_to_the_test(compaction):
    assert compaction.strategy.spec == "keep_none()"

class Root:
    pytestmark = [mark(window=30_000, strategy="oracle")]

@mark(strategy="keep_all")
class TestBase(Root):
    spec = "keep_all()"

    def test_it(self, compaction):
        (run,) = compaction.results.runs
        assert (run.strategy, run.window) == (self.spec, 30_000)

@mark(strategy="keep_none")
class TestDerived(TestBase):
    spec = "keep_none()"

class TestLikeIts(TestDerived):
    pass

class TestAlone(Root):
    pytestmark = mark(strategy="keep_none")

    def test_it(self, compaction):
        assert compaction.strategy.spec == "keep_none()"
""")
    result.assert_outcomes(passed=7)


def test_one_process_does_without_temporary_folders(agent):
    result, _ = agent(
        """
@pytest.mark.compaction(strategy="keep_all")
def test_it(compaction):
    compaction.holds(overflows="== 0")
""",
        "-p",
        "no:tmpdir",
    )
    result.assert_outcomes(passed=1)


def test_paths_are_those_of_the_repository_or_of_the_test(tmp_path):
    tests = tmp_path / "tests"
    for name in ("sessions", "tests/sessions", "tests/mine"):
        (tmp_path / name).mkdir(parents=True)
    (tests / "own.py").touch()
    folders = (tmp_path, tests)

    def read(**given: Any) -> Settings:
        marker = pytest.mark.compaction(**{"strategy": "keep_all", **given})
        return Settings.read([marker.mark], folders)

    placed = read(conversations=["sessions", "mine", Path("tests/mine"), "rewinds()", "gone"])
    assert placed.given["conversations"] == [
        str(tmp_path / "sessions"), str(tests / "mine"), str(tests / "mine"), "rewinds()", "gone",
    ]  # fmt: skip
    assert read(conversations="mine", churn="own.py").given["churn"] == str(tests / "own.py")


OWN = """
from dataclasses import dataclass
from compactlab import Strategy

@dataclass(frozen=True)
class Own(Strategy):
    keep: int = {keep}

    def compact(self, view, host):
        return view
"""


def test_of_strategies_in_both_folders_that_of_the_repository_is_meant(tmp_path):
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "own.py").write_text(OWN.format(keep=2))
    marker = pytest.mark.compaction(strategy="own.py:Own", conversations="rewinds()").mark
    assert Settings.read([marker], (tmp_path, tests)).strategy.spec == "own(keep=2)"
    (tmp_path / "own.py").write_text(OWN.format(keep=1))
    assert Settings.read([marker], (tmp_path, tests)).strategy.spec == "own(keep=1)"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was replayed, in order."""
    found: list[str] = []
    run = Experiment.run

    def counting(self: Experiment, *given: Any) -> Any:
        found.extend(strategy.label for strategy in self.strategies)
        return run(self, *given)

    monkeypatch.setattr(Experiment, "run", counting)
    return found


def test_the_same_replay_is_made_once(agent, made):
    result, _ = agent("""
@pytest.mark.compaction(strategy="keep_none")
@pytest.mark.parametrize("time", range(3))
def test_it(compaction, time):
    compaction.holds(cost_usd="+500%", amnesia_need="+1", than="keep_all")
    compaction.holds(overflows="== 0")

@pytest.mark.compaction(strategy="keep_all()")
def test_the_other(compaction):
    compaction.holds(overflows="== 0")

@pytest.mark.compaction(strategy="keep_all", window=50_000)
def test_another_setting(compaction):
    compaction.holds(overflows="== 0")

@pytest.mark.compaction(strategy="oracle")
def test_that_asks_for_nothing(compaction):
    pass
""")
    result.assert_outcomes(passed=6)
    assert sorted(made) == ["keep_all", "keep_all", "keep_none"]


def test_processes_share_replays(tmp_path, made):
    marker = pytest.mark.compaction(
        strategy="keep_all", conversations="rewinds(turns=2, tokens=2000)"
    )
    settings = Settings.read([marker.mark], (tmp_path,))
    planned = settings.experiment(settings.strategy)
    one, other = (Replays(tmp_path / "shared").of(planned) for _ in range(2))
    assert made == ["keep_all"]
    assert one.frame().equals(other.frame())


@pytest.mark.slow
def test_workers_of_xdist_share_them_too(agent, pytester):
    agent("""
@pytest.mark.compaction(strategy="keep_none")
@pytest.mark.parametrize("time", range(6))
def test_it(compaction, time):
    compaction.holds(overflows="== 0", amnesia_need="+0.5", than="keep_all")
""")
    base = pytester.path / "base"
    result = pytester.runpytest_subprocess(
        "-W", "error", "-p", "no:benchmark", "-n", "2", f"--basetemp={base}"
    )
    result.assert_outcomes(failed=6)
    assert "needed at call 4 (lag <1k) and gone" in result.stdout.str()
    assert len(list((base / "compactlab").glob("*/manifest.json"))) == 2


def test_whoever_never_asks_for_it_does_not_wait_for_it():
    code = (
        "import sys, pytest; before = set(sys.modules); import compactlab.testing; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["compactlab", "compactlab.testing"]
