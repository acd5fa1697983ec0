"""What looks like a secret is hidden in what the plug-in finds and says, if it is told so."""

from collections.abc import Callable
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from compactlab import api
from compactlab.reports.gate.baseline import Baseline, written
from tests.lines import lines_with
from tests.plugin.conftest import session

Agent = Callable[..., tuple[pytest.RunResult, str]]

TOKEN, MAIL, WORD = "sk-proj-abcdefghijklmnopqrstuvwx1234", "ann@example.org", "hunter2"
SAID = {TOKEN, MAIL, WORD}
TESTS = """
pytestmark = [pytestmark, pytest.mark.compaction(strategy="keep_none")]

def test_rules(compaction):
    compaction.holds(amnesia_need="<= 0.05")

def test_baseline(compaction):
    compaction.holds(amnesia_need="+0", cost_usd="exact", baseline="baseline.json")

def test_rows(compaction):
    print([(run.conversation, run.source, run.rows["facts"]) for run in compaction.results.runs])
    print(compaction.frame()[["conversation", "source"]].to_csv())
    assert False

@pytest.mark.compaction(strategy="ann@example.org.py:Own")
def test_a_wrong_marker(compaction):
    pass

def test_a_wrong_rule(compaction):
    compaction.holds(cost_usd="+2%", than="ann@example.org.py:Own")

def test_another_wrong_strategy(compaction):
    compaction.under("ann@example.org.py:Own")
"""


@pytest.fixture
def secret(agent: Agent, pytester: pytest.Pytester) -> Agent:
    """The agent, whose sessions say a token, a password and a mail address."""
    folder = Path(pytester.path / "sessions")
    (folder / "token.jsonl").write_text(session(TOKEN, f"t {MAIL}"))
    password = session(WORD, "word").replace("We deploy to hunter2", f"password='{WORD}'")
    (folder / "word.jsonl").write_text(password)
    keep(pytester.path, redact=False)
    return agent


def keep(folder: Path, *, redact: bool) -> None:
    found = api.run(folder / "sessions", "keep_none", ["claude-sonnet-4-5"], redact=redact, jobs=1)
    (folder / "baseline.json").write_text(written(Baseline.of(found)))


def test_unless_it_is_told_what_was_forgotten_is_said(secret):
    result, said = secret(TESTS)
    result.assert_outcomes(failed=4, passed=1, errors=1)
    assert all(word in said for word in SAID)


@pytest.mark.parametrize("way", ["option", "configuration"])
def test_nothing_of_a_secret_is_said_if_it_is_told(way, secret, pytester):
    if way == "configuration":
        pytester.makeini("[pytest]\ncompaction_redact = true\n")
    tests = TESTS.replace("ann@example.org.py", "own.py")
    result, said = secret(tests, *(["--compaction-redact"] if way == "option" else []), "-l")
    result.assert_outcomes(failed=4, passed=1, errors=1)
    assert not [word for word in SAID if word in said]
    assert lines_with(said, "forgotten:", "said in") == snapshot("""\
E         forgotten: 3 needs of 3, of 3 facts:
E           deploy: decision deploy target: eu-west-3, said in message 1 (u1), needed at
call 4 (lag <1k) and gone
E           t [redacted Mail Address 1]: decision deploy target: [redacted OpenAI Token
1], said in message 1 (u1), needed at call 4 (lag <1k) and gone
E           word: decision deploy target: [redacted Secret Keyword 1], said in message 1
(u1), needed at call 4 (lag <1k) and gone\
""")


def test_a_wrong_setting_is_told_without_it(secret):
    _, said = secret(TESTS, "--compaction-redact", "--tb=line")
    told = [line for line in said.splitlines() if "cannot be loaded" in line]
    assert len(told) >= 3
    assert all("[redacted Mail Address 1]" in line and MAIL not in line for line in told)


def test_a_baseline_may_have_been_hidden_too(secret, pytester):
    keep(pytester.path, redact=True)
    assert MAIL not in (pytester.path / "baseline.json").read_text()
    result, _ = secret(TESTS, "--compaction-redact", "-k", "test_baseline")
    result.assert_outcomes(passed=1, deselected=5)


def test_no_figure_changes(secret, pytester):
    tests = """
@pytest.mark.compaction(strategy="sliding_window(keep=2)")
def test_figures(compaction):
    with open("figures.txt", "a") as file:
        print(compaction.figures, file=file)
"""
    secret(tests)
    secret(tests, "--compaction-redact")
    one, other = (pytester.path / "figures.txt").read_text().splitlines()
    assert one == other
