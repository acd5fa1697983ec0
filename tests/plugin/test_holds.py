"""Rules in somebody's tests: they hold, or the test says what was forgotten and what it cost."""

from collections.abc import Callable
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from compactlab import api
from compactlab.reports.gate.baseline import Baseline, written
from tests.lines import lines_with
from tests.plugin.conftest import session

Agent = Callable[..., tuple[pytest.RunResult, str]]


def test_what_is_kept_holds_and_figures_can_be_asked_for(agent):
    result, said = agent("""
@pytest.mark.compaction(strategy="keep_all")
def test_it_remembers(compaction):
    compaction.holds(amnesia_need="<= 0.05", cost_usd="<= 2.00", overflows="== 0")
    assert compaction.figures["calls"] == 4
    assert compaction.figures["amnesia_need"] == 0
    assert [run.conversation for run in compaction.results.runs] == ["deploy"]
    assert compaction.frame()["calls"].tolist() == [4]
    assert compaction.under("keep_none").figures["amnesia_need"] == 1
""")
    result.assert_outcomes(passed=1)
    assert "warning" not in said


def test_a_failure_says_what_was_forgotten_and_what_it_cost(agent):
    result, said = agent("""
@pytest.mark.compaction(strategy="sliding_window(keep=2)")
def test_it_remembers(compaction):
    compaction.holds(amnesia_need="<= 0.05", overflows="== 0")
""")
    result.assert_outcomes(failed=1)
    assert lines_with(said, "E   ") == snapshot("""\
E       AssertionError: sliding_window(keep=2) under claude-sonnet-4-5 does not hold over
1 conversation:
E         amnesia_need <= 0.05: 100%
E         holds: overflows == 0
E         forgotten: 1 need of 1, of 1 fact:
E           decision deploy target: eu-west-3, said in message 1 (u1), needed at call 4
(lag <1k) and gone
E         it cost 0.000432 USD, in 3 compactions\
""")


def test_no_frame_of_the_plug_in_is_shown(agent):
    _, said = agent("""
@pytest.mark.compaction(strategy="keep_none")
def test_it_remembers(compaction):
    compaction.holds(amnesia_need="<= 0.05")

@pytest.mark.compaction(strategy="keep_none")
def test_it_is_asked_wrongly(compaction):
    compaction.holds(forgetfulness="<= 0.05")

@pytest.mark.compaction(strategy="keep")
def test_it_is_marked_wrongly(compaction):
    pass
""")
    assert "plugin" not in said.partition("= ERRORS =")[2]
    assert "compaction = <compaction of keep_none>" in said
    assert said.count(">       compaction.holds(") == 2
    assert "During handling" not in said


def test_rules_on_a_change_are_held_against_another_strategy(agent, golden):
    result, said = agent("""
@pytest.mark.compaction(strategy="keep_none")
@pytest.mark.parametrize("rule", ["+5%", "exact", "-1"])
def test_cost(compaction, rule):
    compaction.holds(tokens_output=rule, than="keep_all")

@pytest.mark.compaction(strategy="keep_none")
def test_memory(compaction):
    compaction.holds(amnesia_need="+0.5", overflows="== 0", than="keep_all")
""")
    result.assert_outcomes(passed=3, failed=1)
    golden("plugin/change.txt", lines_with(said, "E   ") + "\n")


def test_the_needs_of_one_type_of_fact_can_be_asked_for(agent):
    result, said = agent(
        """
pytestmark.append(pytest.mark.compaction(strategy="keep_none"))

def test_decisions(compaction):
    compaction.holds(amnesia_need="== 0", type="decision")

def test_cost_of_decisions(compaction):
    compaction.holds(cost_usd="<= 1", type="decision")

def test_goals(compaction):
    compaction.holds(amnesia_need="== 0", type="goal")
""".replace("pytestmark.append", "pytestmark = [pytestmark]; pytestmark.append")
    )
    result.assert_outcomes(failed=3)
    assert lines_with(said, "E   ") == snapshot("""\
E       AssertionError: keep_none under claude-sonnet-4-5 does not hold over 1
conversation:
E         amnesia_need of decision == 0: 100%
E         forgotten: 1 need of 1, of 1 fact:
E           decision deploy target: eu-west-3, said in message 1 (u1), needed at call 4
(lag <1k) and gone
E         it cost 0.000396 USD, in 3 compactions
E       AssertionError: compaction.holds: of a type of fact there is only amnesia_need;
give the others apart
E       AssertionError: keep_none under claude-sonnet-4-5 does not hold over 1
conversation:
E         amnesia_need == 0 (cannot judge): no run fits: type goal
E         it cost 0.000396 USD, in 3 compactions\
""")


def test_recall_can_be_asked_for_where_something_is_needed_so_late(agent, golden, pytester):
    late = session().replace("And the tests?", "And these tests? " + "one failed, " * 8_000)
    pytester.mkdir("late").joinpath("talk.jsonl").write_text(late)
    result, said = agent("""
@pytest.mark.compaction(strategy="keep_none")
def test_short(compaction):
    compaction.holds(recall_20k=">= 0.9")

@pytest.mark.compaction(strategy="keep_none", conversations="late")
def test_long(compaction):
    compaction.holds(recall_20k=">= 0.9")

@pytest.mark.compaction(strategy="keep_all", conversations="late")
def test_kept(compaction):
    compaction.holds(recall_20k=">= 0.9")
    compaction.holds(recall_20k="-0.02", than="keep_none")
""")
    result.assert_outcomes(passed=1, failed=2)
    golden("plugin/recall.txt", lines_with(said, "E   ") + "\n")


@pytest.fixture
def stored(agent: Agent, pytester: pytest.Pytester) -> Path:
    """A baseline of two strategies over the session."""
    both = ("sliding_window(keep=2)", "keep_all")
    found = api.run(pytester.path / "sessions", both, ["claude-sonnet-4-5"])
    path = pytester.path / "baseline.json"
    path.write_text(written(Baseline.of(found)))
    return path


HELD = """
@pytest.mark.compaction(strategy="sliding_window(keep=2)")
def test_it_is_as_agreed(compaction):
    compaction.holds(amnesia_need="+0.02", cost_usd="exact", baseline="baseline.json")
"""


def test_a_figure_that_a_baseline_lacks_cannot_be_judged_by_it(agent, golden, pytester, stored):
    found = api.run(pytester.path / "sessions", "keep_all", ["claude-sonnet-4-5"])
    stored.write_text(written(Baseline.of(found, ["cost_usd", "amnesia_need"])))
    result, said = agent("""
@pytest.mark.compaction(strategy="keep_all")
def test_recall(compaction):
    compaction.holds(amnesia_need="+0", baseline="baseline.json")
    compaction.holds(recall_20k="-0.02", baseline="baseline.json")
""")
    result.assert_outcomes(failed=1)
    golden("plugin/baseline-without.txt", lines_with(said, "E   ") + "\n")


def test_a_stored_baseline_holds_what_it_holds(agent, golden, stored):
    result, _ = agent(HELD)
    result.assert_outcomes(passed=1)
    text = stored.read_text()
    stored.write_text(text.replace('"amnesia_need": 1.0', '"amnesia_need": 0.5'))
    assert stored.read_text() != text
    result, said = agent(HELD)
    result.assert_outcomes(failed=1)
    golden("plugin/baseline.txt", lines_with(said, "E   ") + "\n")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda path: path.unlink(), "no baseline: there is no such file"),
        (lambda path: path.write_text("{}"), "no baseline: it has version None"),
        (
            lambda path: path.write_text(path.read_text().replace('"window": 0', '"window": 9')),
            "cannot judge: other provenance: the window: was 9, is 0",
        ),
        (
            lambda path: path.write_text(path.read_text().replace("keep=2", "keep=3")),
            "amnesia_need +0.02 (cannot judge): 100%; it is not in the baseline",
        ),
    ],
    ids=["gone", "no baseline", "of another window", "without the strategy"],
)
def test_a_baseline_that_says_nothing_is_no_pass(agent, stored, change, told):
    change(stored)
    result, said = agent(HELD)
    result.assert_outcomes(failed=1)
    assert told in said


def test_what_fails_to_run_is_no_pass(agent, pytester):
    pytester.makepyfile(
        broken="""
        from dataclasses import dataclass
        from compactlab import Strategy

        @dataclass(frozen=True)
        class Broken(Strategy):
            def compact(self, view, host):
                raise ValueError("no way")
    """
    )
    result, said = agent("""
pytestmark = [pytestmark, pytest.mark.compaction(strategy="broken.py:Broken")]

def test_rules(compaction):
    compaction.holds(overflows="== 0")

def test_figures(compaction):
    compaction.figures
""")
    result.assert_outcomes(failed=2)
    failures = said.partition("= short test summary info =")[0]
    assert failures.count("deploy: ValueError: no way (session.py:") == 2
    assert lines_with(said, "cannot judge") == snapshot("""\
E         overflows == 0 (cannot judge): all its runs failed
E         cannot judge: 1 run failed: deploy under broken\
""")


FAILING = """
    from dataclasses import dataclass
    from compactlab import Strategy

    @dataclass(frozen=True)
    class Broken(Strategy):
        def compact(self, view, host):
            if len(view.messages) > {most}:
                raise ValueError("no way")
            return view
"""


@pytest.mark.parametrize("most", [0, 6])
def test_what_failed_before_and_fails_now_is_no_pass(most, agent, pytester):
    sessions = pytester.path / "sessions"
    short = session(id="short").splitlines(keepends=True)[:5]
    (sessions / "short.jsonl").write_text("".join(short))
    pytester.makepyfile(broken=FAILING.format(most=most))
    spec = f"{pytester.path / 'broken.py'}:Broken"
    found = api.run(sessions, spec, ["claude-sonnet-4-5"], jobs=1)
    assert len(found.failed) == (2 if most == 0 else 1)
    (pytester.path / "baseline.json").write_text(written(Baseline.of(found)))
    result, said = agent("""
@pytest.mark.compaction(strategy="broken.py:Broken")
@pytest.mark.parametrize("rule", ["exact", "+2%", "<= 9"])
def test_a_baseline(compaction, rule):
    compaction.holds(cost_usd=rule, baseline="baseline.json")

@pytest.mark.compaction(strategy="broken.py:Broken")
def test_itself(compaction):
    compaction.holds(cost_usd="+2%", than="broken.py:Broken")

@pytest.mark.compaction(strategy="keep_all")
def test_another(compaction):
    compaction.holds(cost_usd="+900%", than="broken.py:Broken")
""")
    result.assert_outcomes(failed=5)
    assert said.count("cannot judge: ") == 4
    runs = "2 runs" if most == 0 else "1 run"
    assert f"cost_usd +900% (cannot judge): {runs} of broken failed" in said
    assert said.count("deploy: ValueError: no way (session.py:") == 5
    assert "no value USD" not in said
    assert "not in the baseline" not in said


def test_without_a_model_nothing_passes_by_what_failed_likewise(agent):
    result, said = agent("""
@pytest.mark.compaction(strategy="keep_none", model="")
def test_it(compaction):
    compaction.holds(cost_usd="+2%", than="keep_all")
""")
    result.assert_outcomes(failed=1)
    assert lines_with(said, "cannot judge") == snapshot("""\
E         cost_usd +2% (cannot judge): 1 run of keep_all failed
E         cannot judge: 1 run failed: deploy under keep_none\
""")


def test_several_rules_on_a_figure_must_all_hold(agent, golden):
    result, said = agent("""
@pytest.mark.compaction(strategy="keep_none")
@pytest.mark.parametrize("least", ["-99%", "-1%"])
def test_cost(compaction, least):
    compaction.holds(cost_usd=["+0", least], than="keep_all")
""")
    result.assert_outcomes(passed=1, failed=1)
    golden("plugin/several-rules.txt", lines_with(said, "E   ") + "\n")


def test_a_wrong_strategy_beside_shows_no_frame_of_the_plug_in(agent, golden):
    result, said = agent("""
@pytest.mark.compaction(strategy="keep_none")
@pytest.mark.parametrize("other", ["keep_al", 5])
def test_it(compaction, other):
    compaction.under(other)
""")
    result.assert_outcomes(failed=2)
    golden("plugin/wrong-strategy.txt", lines_with(said, "E   ") + "\n")
    assert "plugin" not in said.partition("= FAILURES =")[2]


def test_replays_of_a_conversation_forget_the_same_fact(agent):
    result, said = agent("""
@pytest.mark.compaction(strategy="keep_none", seeds=3)
def test_it(compaction):
    compaction.holds(amnesia_need="<= 0.05")
""")
    result.assert_outcomes(failed=1)
    assert lines_with(said, "forgotten:", "2 times more") == snapshot("""\
E         forgotten: 3 needs of 3, of 1 fact:
E           deploy: decision deploy target: eu-west-3, said in message 1 (u1), needed at
call 4 (lag <1k) and gone, and 2 times more\
""")


def test_nothing_is_a_command_to_the_machine_that_reads_the_log(agent, pytester):
    hostile = session("##[add-mask]x", "::error::pwned")
    (pytester.path / "sessions" / "evil.jsonl").write_text(hostile)
    tests = """
@pytest.mark.compaction(strategy="keep_none")
def test_it_remembers(compaction):
    compaction.holds(amnesia_need="<= 0.05")
"""
    for style in ("line", "short", "long"):
        _, said = agent(tests, f"--tb={style}")
        told = [line.removeprefix("E").lstrip() for line in said.splitlines()]
        assert not [line for line in told if line.startswith("::")]
        assert "##[" not in said
        assert ": :error::pwned: decision" in said


def test_what_strangers_wrote_has_no_power_over_the_terminal(agent, pytester):
    folder = pytester.path / "sessions"
    (folder / "evil.jsonl").write_text(
        session("\x1b]0;x\x07\u202eeu\nwest" + "9" * 5_000, "a\x1b[2J")
    )
    result, said = agent("""
@pytest.mark.compaction(strategy="keep_none")
def test_it_remembers(compaction):
    compaction.holds(amnesia_need="<= 0.05")
""")
    result.assert_outcomes(failed=1)
    assert lines_with(said, "forgotten:") == snapshot(
        "E         forgotten: 2 needs of 2, of 2 facts:"
    )
    assert not set(said) & {"\x1b", "\x07", "\u202e"}
    assert max(map(len, said.splitlines())) < 400


SPIRAL = """
CALM, SPIRAL = "high_floor(tokens=8000, floor=2000)", "high_floor(tokens=8000, floor=24000)"
RULES = dict(
    compactions_per_100_calls="<= 10",
    compactions_with_recovery="<= 10",
    compaction_stall_max_s="<= 120",
)
of = dict(strategy="claude_code", model="gpt-5", window=32_000, loop="closed")
"""


def test_compaction_after_compaction_fails_a_test(agent):
    result, said = agent(f"""{SPIRAL}
@pytest.mark.compaction(**of, conversations=CALM)
def test_it_gets_on_with_its_work(compaction):
    compaction.holds(**RULES)

@pytest.mark.compaction(**of, conversations=SPIRAL)
def test_it_compacts_again_and_again(compaction):
    compaction.holds(**RULES, compaction_interval_min=">= 10", compactions_small_gain="<= 0.1",
                     compaction_floor="<= 0.8", compactions_by_rereads="<= 0.2")
""")
    result.assert_outcomes(passed=1, failed=1)
    told = [line.removeprefix("E").strip() for line in said.splitlines() if line[:2] == "E "]
    broken = [line.partition(":")[0] for line in told if " <= " in line or " >= " in line][:-1]
    assert broken == [
        "compactions_per_100_calls <= 10",
        "compactions_with_recovery <= 10",
        "compaction_interval_min >= 10",
        "compactions_small_gain <= 0.1",
        "compaction_floor <= 0.8",
    ]
    assert "holds: compaction_stall_max_s <= 120, compactions_by_rereads <= 0.2" in "\n".join(told)


def test_an_interval_where_nothing_compacted_twice_is_no_pass(agent):
    result, said = agent(f"""{SPIRAL}
@pytest.mark.compaction(**of, conversations=CALM)
def test_it_is_asked_for_what_is_not_there(compaction):
    compaction.holds(compaction_interval_min=">= 10")
""")
    result.assert_outcomes(failed=1)
    assert lines_with(said, "E         comp") == snapshot(
        "E         compaction_interval_min >= 10 (cannot judge): it has no value"
    )
