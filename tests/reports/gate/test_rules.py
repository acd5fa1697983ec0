"""Rules as text: what they say, what they allow, and what is told of a slip."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.reports.gate.rules import Outcome, Rule, same
from compactlab.sim.core.errors import UsageError
from tests.lines import refusal

HOLDS, REGRESSED = Outcome.HOLDS, Outcome.REGRESSED
INCONCLUSIVE, UNJUDGED = Outcome.INCONCLUSIVE, Outcome.UNJUDGED

# A rule, what was, and values just inside and just outside of it.
EDGES = [
    ("+2%", 10.0, [10.2, 10.1999, 0.0], [10.2001, 99.0]),
    ("+0.02", 0.1, [0.12, 0.1199, 0.0], [0.1201]),
    ("-5%", 200.0, [190.0, 190.1, 500.0], [189.9]),
    ("-0.1", 0.9, [0.8, 1.0], [0.7999]),
    ("+0%", 0.3, [0.3, 0.1 + 0.2, 0.29], [0.300001]),
    ("+10%", -10.0, [-9.0, -12.0], [-8.9]),
    ("+50%", 0.0, [0.0], [0.001]),
    ("== 0", None, [0, 0.0, -0.0], [1, -1, 1e-6]),
    ("<= 6", None, [6, 6.0, -3], [6.001]),
    (">= 0.9", None, [0.9, 1.0], [0.8999]),
    ("< 1", None, [0.999], [1, 1.5]),
    ("> 0", None, [0.001], [0, -1]),
    ("exact", 0.3, [0.1 + 0.2], [0.3000001, 0.29]),
]


@pytest.mark.parametrize(("text", "before", "within", "beyond"), EDGES)
def test_a_rule_holds_up_to_its_limit_and_no_further(text, before, within, beyond):
    rule = Rule.parse("write_spike", text)  # it may be negative
    assert [rule.judge(before, value).outcome for value in within] == [HOLDS] * len(within)
    assert [rule.judge(before, value).outcome for value in beyond] == [REGRESSED] * len(beyond)


@pytest.mark.parametrize(
    ("text", "low", "high", "outcome"),
    [
        ("+2%", 9.0, 10.2, HOLDS),
        ("+2%", 9.0, 10.3, INCONCLUSIVE),
        ("+2%", 10.21, 10.3, REGRESSED),
        ("-2%", 9.8, 11.0, HOLDS),
        ("-2%", 9.7, 11.0, INCONCLUSIVE),
        ("-2%", 9.0, 9.7, REGRESSED),
        ("== 10", 10.0, 10.0, HOLDS),
        ("== 10", 9.0, 11.0, INCONCLUSIVE),
        ("== 10", 10.5, 11.0, REGRESSED),
        ("< 10", 9.0, 10.0, INCONCLUSIVE),
        ("exact", 10.0, 10.0, HOLDS),
        ("exact", 9.0, 11.0, INCONCLUSIVE),
    ],
)
def test_of_an_interval_all_must_be_within(text, low, high, outcome):
    assert Rule.parse("cost_usd", text).judge_between(10.0, low, high).outcome is outcome


def test_what_has_no_value_is_judged_by_whether_it_ever_had_one():
    change, place = Rule.parse("write_spike", "+2%"), Rule.parse("write_spike", "<= 6")
    assert change.judge(None, None).holds
    assert change.judge(None, 1.0).outcome is UNJUDGED
    assert change.judge(1.0, None).outcome is UNJUDGED
    assert change.judge(math.nan, 1.0).outcome is UNJUDGED
    assert place.judge(None, 1.0).holds
    assert place.judge(1.0, None).outcome is UNJUDGED


def test_what_never_pays_back_may_begin_to_and_what_did_may_not_cease():
    rule = Rule.parse("break_even_calls", "+5%")
    assert rule.judge(math.inf, 7.0).holds
    assert rule.judge(7.0, math.inf).outcome is REGRESSED
    assert Rule.parse("break_even_calls", "-5%").judge(math.inf, 7.0).outcome is REGRESSED


SLIPS = [
    ("2%", "did you mean '+2%' or '-2%'?"),
    ("0.02", "did you mean '== 0.02'?"),
    ("= 0", "did you mean '== 0'?"),
    ("=< 6", "did you mean '<= 6'?"),
    ("=> 6", "did you mean '>= 6'?"),
    ("\N{LESS-THAN OR EQUAL TO} 6", "did you mean '<= 6'?"),
    ("<= 5%", "did you mean '<= 0.05'?"),
    ("", "write '+2%'"),
    ("nonsense", "write '+2%'"),
    ("+2%%", "write '+2%'"),
    ("== nan", "write '+2%'"),
    ("+1e999", "the number is too large"),
    ("x" * 500, "x...' is not a rule"),
]


@pytest.mark.parametrize(("text", "told"), SLIPS)
def test_a_slip_is_told_with_what_was_probably_meant(text, told):
    with pytest.raises(UsageError) as caught:
        Rule.parse("cost_usd", text)
    assert told in str(caught.value)
    assert len(str(caught.value)) < 200


def test_a_metric_that_is_not_there_is_told_with_the_nearest():
    assert refusal(UsageError, lambda: Rule.parse("cost_us", "+2%")) == snapshot(
        "unknown metric 'cost_us'; did you mean cost_usd or side_cost_usd or cost_read_usd?"
    )


def test_a_rule_that_only_limits_gains_is_known():
    assert Rule.parse("prefix_reuse", "+2%").lopsided
    assert not Rule.parse("prefix_reuse", "-2%").lopsided
    assert not Rule.parse("calls", "-2%").lopsided
    assert not Rule.parse("cost_usd", "<= 2").lopsided


AMOUNTS = st.floats(0, 1e6, allow_subnormal=False)
FIGURES = st.floats(-1e9, 1e9, allow_subnormal=False)
ENDLESS = st.sampled_from([math.inf, -math.inf])


@given(FIGURES | ENDLESS, AMOUNTS, st.sampled_from(["+", "-"]), st.booleans())
def test_whatever_stays_as_it_was_keeps_every_rule_on_a_change(figure, amount, sign, percent):
    rule = Rule("cost_usd", sign, amount, percent)
    assert rule.judge(figure, figure).holds
    assert rule.judge_between(figure, figure, figure).holds
    assert Rule("cost_usd", "exact").judge(figure, figure).holds


@given(FIGURES, AMOUNTS, st.floats(1e-3, 1e3), st.sampled_from(["+", "-"]))
def test_what_goes_beyond_a_rule_is_never_a_pass(figure, amount, more, sign):
    rule = Rule("cost_usd", sign, amount)
    beyond = rule.limit(figure) + (more if sign == "+" else -more)
    further = beyond + (more if sign == "+" else -more)
    if not same(beyond, rule.limit(figure)):
        assert rule.judge(figure, beyond).outcome is REGRESSED
        assert not rule.judge_between(figure, figure, beyond).holds
        low, high = sorted((beyond, further))
        assert rule.judge_between(figure, low, high).outcome is REGRESSED


@given(st.sampled_from(["+", "-", "==", "<=", ">=", "<", ">"]), AMOUNTS, st.booleans())
def test_a_rule_is_read_again_as_it_is_written(sign, amount, percent):
    rule = Rule("cost_usd", sign, round(amount, 6), percent and sign in "+-")
    again = Rule.parse("cost_usd", rule.text)
    assert (again.sign, again.percent) == (rule.sign, rule.percent)
    assert math.isclose(again.amount, rule.amount, rel_tol=1e-6, abs_tol=1e-9)
