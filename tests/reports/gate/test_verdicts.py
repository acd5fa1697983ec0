"""Gates on figures: a regression of each kind, just above its rule and just below it."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.reports.analysis.aggregate import figures_of
from compactlab.reports.gate.baseline import GATED
from compactlab.reports.gate.rules import Demand, Outcome, Rule, fitting
from compactlab.reports.gate.verdict import Verdict
from compactlab.sim.store.results import Results

HOLDS, REGRESSED, UNJUDGED = Outcome.HOLDS, Outcome.REGRESSED, Outcome.UNJUDGED
CHANGED = Outcome.CHANGED

# A rule, a figure of every run within it, and one beyond; as the run had it, or as it is now.
PLANTED = {
    ("cost_usd", "+2%"): (lambda was, run: was * 1.0199, lambda was, run: was * 1.0201),
    ("cost_usd", "+0.003"): (lambda was, run: was + 0.00099, lambda was, run: was + 0.00101),
    ("amnesia_need", "+0.02"): (lambda was, run: was + 0.0199, lambda was, run: was + 0.0201),
    ("structural_validity", "-0.01"): (
        lambda was, run: was - 0.0099, lambda was, run: was - 0.0101
    ),
    ("rejected_calls", "+3"): (
        lambda was, run: was + 1, lambda was, run: was + 1 + (run.conversation == "a")
    ),
    ("overflows", "+0"): (
        lambda was, run: was, lambda was, run: was + (run.conversation == "b")
    ),
    ("write_spike_ratio", "<= 6"): (lambda was, run: 6.0, lambda was, run: 6.0001),
}  # fmt: skip


@pytest.mark.parametrize("rule", PLANTED)
def test_a_regression_is_found_just_above_its_rule_and_not_just_below(
    rule, two, changed, judged, of
):
    (metric, _), (within, beyond) = rule, PLANTED[rule]
    fine = judged(two(), changed(two(), **{metric: within}), rule)
    assert (fine.code, fine.word) == (0, "holds")
    worse = judged(two(), changed(two(), **{metric: beyond}), rule)
    assert (worse.code, worse.word) == (1, "regressed")
    assert [each.outcome for each in of(worse)] == [REGRESSED]
    assert [each.outcome for each in of(worse, "keep_all()")] == [HOLDS]


def test_a_figure_of_a_gate_is_that_of_the_report(two, changed, judged, of):
    after = changed(two(), cost_usd=lambda was, run: was * ord(run.conversation) / 97)
    after = changed(after, conversation="a", write_spike_ratio=1.5)
    metrics = [name for name in GATED if name in after.runs[0].metrics]
    verdict = judged(two(), after, *((name, "exact") for name in metrics))
    told = {each.demand.rule.metric: each.after for each in of(verdict)}
    assert told == {
        name: figures_of([run for run in after.runs if run.strategy.startswith("sliding")])[name]
        for name in metrics
    }


def test_without_rules_nothing_may_differ(two, changed, judged):
    assert judged(two(), two()).code == 0
    better = changed(two(), conversation="b", cost_usd=lambda was, run: was * 0.9)
    verdict = judged(two(), better)
    assert verdict.code == 1
    [found] = verdict.failed
    assert (found.name, found.reason) == snapshot(("cost_usd", "it changed in 1 of 3 runs"))
    assert (found.outcome, found.direction, verdict.word) == (CHANGED, "better", "changed")
    assert [move.conversation for move in found.moved] == ["b"]


def test_counts_are_equal_to_the_last_and_floats_to_the_ninth_digit(two, changed, judged):
    large = changed(two(), calls=10**12, cost_usd=1.0)
    assert judged(large, changed(large, calls=10**12 + 1)).code == 1
    assert judged(large, changed(large, cost_usd=1 + 1e-10)).code == 0
    assert judged(large, changed(large, cost_usd=1 + 1e-8)).code == 1


def test_a_need_that_is_no_longer_met_is_found_without_rules(two, judged):
    after = two()
    after.runs[1].rows["facts"].columns["needs_met"][1] = 4
    verdict = judged(two(), after)
    assert [each.name for each in verdict.failed] == snapshot(["amnesia_need of prohibition"])
    assert verdict.code == 1


def test_a_rule_may_be_of_a_type_of_fact(two, judged, of):
    after = two()
    for run in after.runs:
        run.rows["facts"].columns["needs_met"][:] = [8, 5]
    rule = Rule.parse("amnesia_need", "+0.05")
    verdict = judged(two(), after, Demand(rule, type=("*",)))
    assert [(each.type, each.outcome) for each in of(verdict)] == [
        ("decision", REGRESSED),
        ("prohibition", HOLDS),
    ]
    decision = of(verdict)[0]
    assert (decision.before, decision.after) == pytest.approx((0.1, 0.2))
    assert judged(two(), after, Demand(rule, type=("prohibition",))).code == 0
    for types in (("goal",), ("prohibition", "goal")):
        missed = judged(two(), after, Demand(rule, type=types))
        assert (missed.code, missed.failed[0].reason) == snapshot((2, "no run fits: type goal"))


@pytest.mark.parametrize(
    ("selectors", "code"),
    [
        ({"strategy": ("sliding_window",)}, 1),
        ({"strategy": ("sliding_*",)}, 1),
        ({"strategy": ("sliding_window(keep=20)",)}, 1),
        ({"strategy": ("keep_all",)}, 0),
        ({"strategy": ("keep_all", "nobody")}, 2),
        ({"scenario": ("claude-*",)}, 1),
        ({"model": ("recorded",)}, 1),
        ({"model": ("gpt-*",)}, 2),
        ({"scenario": ("coding_agent",)}, 2),
        ({"strategy": ("sliding_windows",)}, 2),
    ],
)
def test_a_rule_is_asked_of_what_its_selectors_fit_and_of_nothing_is_no_pass(
    selectors, code, two, changed, judged
):
    dearer = changed(two(), cost_usd=lambda was, run: was * 2)
    demand = Demand(Rule.parse("cost_usd", "+2%"), **selectors)
    assert judged(two(), dearer, demand).code == code


def test_the_conversations_that_moved_most_are_named_the_worst_first(two, changed, judged):
    steps = {"a": 1, "b": 5, "c": -9, "d": 3, "e": 2}
    moved = changed(two("abcde"), cost_usd=lambda was, run: was + steps[run.conversation])
    [found] = judged(two("abcde"), moved, ("cost_usd", "+1%")).failed
    assert [move.conversation for move in found.moved] == ["b", "d", "e"]
    [found] = judged(moved, two("abcde"), ("cost_usd", "-1%")).failed
    assert [move.conversation for move in found.moved] == ["b", "d", "e"]


def test_what_never_stood_as_a_rule_asks_is_told_with_where_it_stands_furthest_out(
    two, changed, judged
):
    over = changed(two(), overflows=lambda was, run: ord(run.conversation) - 97)
    demand = Demand(Rule.parse("overflows", "== 0"), strategy=("sliding_window",))
    [found] = judged(over, over, demand).failed
    assert found.reason == snapshot("the baseline breaks this rule, too")
    assert [move.conversation for move in found.moved] == ["c", "b", "a"]


def test_what_has_regressed_wins_over_what_cannot_be_judged(two, changed, judged):
    after = changed(two(), cost_usd=lambda was, run: was * 2, write_spike_ratio=None)
    verdict = judged(two(), after, ("cost_usd", "+2%"), ("write_spike_ratio", "+2%"))
    assert verdict.code == 1
    assert [each.outcome for each in verdict.failed] == [REGRESSED, UNJUDGED]


def test_a_figure_without_a_value_is_no_pass_unless_it_never_had_one(two, changed, judged):
    none = changed(changed(two(), write_spike_ratio=None), "keep_all()", write_spike_ratio=None)
    for rule in (("write_spike_ratio", "+2%"), ("write_spike_ratio", "<= 6")):
        assert judged(none, none, rule).code == 0
        assert judged(two(), none, rule).code == 2
    assert judged(none, none, ("write_spike_ratio", ">= 1")).code == 2
    assert judged(none, two(), ("write_spike_ratio", "+2%")).code == 2
    assert judged(none, two(), ("write_spike_ratio", "<= 6")).code == 0


FIGURES = st.floats(0, 1e6, allow_subnormal=False)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(FIGURES, st.floats(0, 1)), min_size=3, max_size=3),
    st.floats(0, 5, allow_subnormal=False),
)
def test_a_store_holds_against_itself_and_nothing_beyond_a_rule_passes(two, judged, drawn, amount):
    results = two()
    for index, (cost, need) in enumerate(drawn):
        results.runs[2 * index + 1].metrics |= {"cost_usd": cost, "amnesia_need": need}
    change = Rule("cost_usd", "+", amount, percent=True)
    rules = [Demand(change), Demand(Rule("amnesia_need", "-", amount)), Demand(change)]
    assert judged(results, results).code == 0
    assert judged(results, results, *rules).code == 0
    worse = Results([replace(run, metrics=dict(run.metrics)) for run in results.runs],
                    results.manifest)  # fmt: skip
    total = sum(cost for cost, _ in drawn)
    worse.runs[1].metrics["cost_usd"] += total * amount + total * 1e-3 + 1e-3
    assert judged(results, worse, *rules).code == 1
    assert judged(results, worse).code == 1


def test_what_stood_as_a_rule_asks_until_now_is_told_without_a_word_on_before(two, changed, judged):
    demand = Demand(Rule.parse("overflows", "== 0"), strategy=("sliding_window",))
    none, one = (changed(two(), overflows=number) for number in (0, 1))
    [found] = judged(none, one, demand).failed
    assert (found.outcome, found.reason) == (REGRESSED, "")


def test_furthest_out_is_what_is_furthest_from_where_it_must_stand(two, changed, judged):
    calls = {"a": 4, "b": 1, "c": 5}
    odd = changed(two(), calls=lambda was, run: calls[run.conversation])
    demand = Demand(Rule.parse("calls", "== 4"), strategy=("sliding_window",))
    [found] = judged(odd, odd, demand).failed
    assert [move.conversation for move in found.moved] == ["b", "c", "a"]


def test_what_came_or_went_has_moved_most(two, changed, judged):
    after = changed(two(), conversation="a", write_spike_ratio=9.0)
    after = changed(after, conversation="c", write_spike_ratio=None)
    [found] = judged(two(), after, ("write_spike_ratio", "exact")).failed
    assert [move.conversation for move in found.moved] == ["c", "a"]


def test_where_nothing_was_judged_nothing_has_passed():
    assert (Verdict().code, Verdict().word) == (2, "cannot judge")


def test_a_name_with_brackets_fits_itself():
    assert fitting("cut(kinds=['a'])", ("cut(kinds=['a'])",))
    assert not fitting("cut(kinds=['b'])", ("cut(kinds=['a'])",))
