"""What one strategy is against another, in figures that can be reckoned on paper."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.reports.analysis.contrast import contrasts
from compactlab.sim.core.errors import UsageError
from tests.lines import refusal

FORGOT = [0.1, 0.4, 0.2, 0.0, 0.3, 0.2]
LESS = [0.1, 0.2, 0.1, 0.1, 0.1, 0.0]

# How each kind of metric is put together.
KINDS = ["amnesia_need", "break_even_calls", "calls", "cost_usd", "prompt_tokens_peak"]


def random(seed: int, count: int) -> list[float]:
    return np.random.default_rng(seed).lognormal(0, 0.5, count).round(6).tolist()


def test_a_share_differs_by_the_mean_of_its_differences(contrasted):
    found = contrasted("amnesia_need", LESS, FORGOT)
    assert (found.subject, found.reference) == ("ours()", "theirs()")
    assert (found.kind, found.conversations) == ("difference", 6)
    # -0.2, -0.1, 0.1, -0.2, -0.2 of six.
    assert found.estimate == -0.1
    assert (found.wins, found.ties, found.losses) == (4, 1, 1)
    # In tenths -6 was seen. Of the 32 ways to flip five differences one gives -8 and two give -6,
    # by the sign of one of the tenths, and as many are on the other side.
    assert found.p == 6 / 32 == found.adjusted
    assert found.correction == "BH"  # no headline
    # Ranks 4, 4, 4 and 1.5 for, 1.5 against.
    assert found.effect == pytest.approx((13.5 - 1.5) / 15)
    assert (found.low, found.high, found.method) == (None, None, "")
    assert (found.determined, found.better, found.worse) == (False, False, False)


def test_money_differs_by_the_ratio_of_its_sums(contrasted):
    found = contrasted("cost_usd", [1.0, 2.0, 3.0], [2.0, 2.0, 8.0])
    assert (found.kind, found.estimate) == ("ratio", 0.5)
    assert found.geometric == pytest.approx((1 / 2 * 1 * 3 / 8) ** (1 / 3), rel=1e-8)
    assert (found.wins, found.ties, found.losses) == (2, 1, 0)
    assert found.p == 0.5
    assert found.same == 1


@pytest.mark.parametrize("theirs", [[0.0] * 12, [0.0] * 11 + [5.0], [-1.0] + [2.0] * 11])
def test_without_a_sum_to_divide_by_money_differs_by_a_difference(theirs, contrasted):
    found = contrasted("side_cost_usd", [1.0] * 12, theirs)
    assert found.kind == "difference"
    assert found.estimate == pytest.approx(1 - sum(theirs) / 12, rel=1e-8)
    assert found.geometric is None
    # A share of what may be nothing is no margin.
    cost = contrasted("cost_usd", [1.0] * 12, theirs)
    assert (cost.margin, cost.no_worse) == (None, None)


def test_counts_differ_by_so_many_a_conversation(contrasted):
    found = contrasted("rewrites", [4, 2, 0, 2], [1, 1, 1, 1])
    assert (found.kind, found.estimate, found.correction) == ("difference", 1.0, "BH")
    assert (found.wins, found.ties, found.losses) == (1, 0, 3)


def test_medians_differ_by_the_median_of_the_differences(contrasted):
    ours = [5.0, 9.0, 8.0, math.inf, 7.0, 3.0, 4.0, 6.0, 5.0, 4.0, math.inf, 8.0]
    found = contrasted("break_even_calls", ours, [4.0] * 11 + [math.inf])
    # -inf, -1, 0, 0, 1, 1, 2, 3, 4, 5, inf, inf, of which the ends leave out two on either side.
    assert (found.estimate, found.low, found.high) == (1.5, 0.0, 5.0)
    assert found.method == "order"
    assert (found.wins, found.ties, found.losses) == (2, 2, 8)
    # Ranks 2 to 10 without ties at the ends: -10 and -2 against 2, 2, 4, 5, 6, 7, 9 and 9.
    assert found.p is not None
    assert 0.05 < found.p < 1


def test_of_the_largest_there_is_a_difference_and_no_interval(contrasted):
    ours, theirs = random(1, 40), random(2, 40)
    found = contrasted("prompt_tokens_peak", ours, theirs)
    assert found.estimate == pytest.approx(max(ours) - max(theirs), abs=1e-7)
    assert (found.low, found.detectable) == (None, None)


def test_a_single_conversation_does_not_turn_the_others_round(contrasted):
    """Smaller in 29 of 30, and the largest all the same: that is not surely larger."""
    theirs = [100.0 + n for n in range(30)]
    found = contrasted("prompt_tokens_peak", [50.0] * 29 + [200.0], theirs)
    assert (found.estimate, found.wins, found.losses) == (71.0, 29, 1)
    assert found.p is not None
    assert found.p < 0.05
    assert not found.determined
    assert contrasted("prompt_tokens_peak", [50.0] * 30, theirs).better
    assert contrasted("prompt_tokens_peak", [500.0] * 30, theirs).worse


def test_a_pooled_share_is_that_of_the_sums(compared):
    ours = {"overflows": [1, 0, 3], "calls": [10, 20, 10]}
    theirs = {"overflows": [0, 0, 2], "calls": [10, 10, 20]}
    comparison = compared({"ours()": ours, "theirs()": theirs})
    (found,) = [
        contrasts(comparison, row, ["over_window"])["ours()", "over_window"]
        for row in comparison.rows
        if row.spec == "theirs()"
    ]
    assert found.estimate == pytest.approx(4 / 40 - 2 / 40)
    assert (found.wins, found.ties, found.losses) == (0, 1, 2)
    # Less a share of 6 in 80 each, the pairs pull by 1, -0.75 and 1.75: of the eight ways to flip
    # them, two pull as far as 2, and two further.
    assert found.p == 4 / 8


def test_so_do_tokens_read(compared, make):
    from compactlab.reports.analysis.comparison import comparisons
    from compactlab.sim.store.results import Results

    prompts = {"keep_all()": [(0, 1_000), (1_000, 1_000)], "cut()": [(0, 1_000), (0, 1_000)]}
    runs = [make(spec, prompts[spec], name) for name in ("one", "two") for spec in prompts]
    (comparison,) = comparisons(Results(runs, {}))
    kept = comparison.reference
    assert kept is not None
    found = contrasts(comparison, kept, ["prefix_reuse"])["cut()", "prefix_reuse"]
    assert found.estimate == pytest.approx(-1 / 3)
    assert (found.losses, found.p) == (2, 0.5)


@pytest.mark.parametrize("metric", [kind for kind in KINDS if kind != "amnesia_need"])
@pytest.mark.parametrize("count", [1, 2, 9, 12, 40])
def test_a_strategy_against_itself_is_the_same(metric, count, contrasted):
    values = random(3, count)
    found = contrasted(metric, values, values)
    same = 1 if metric == "cost_usd" else 0
    assert found.estimate == same == found.same
    assert found.low is None or metric == "break_even_calls"
    assert (found.p, found.adjusted, found.ties, found.effect) == (1.0, 1.0, count, 0.0)
    assert (found.determined, found.better, found.worse) == (False, False, False)
    assert found.detectable is None
    assert found.geometric in (1.0, None)


SAMPLES = st.integers(1, 45).flatmap(
    lambda n: st.tuples(
        *[st.lists(st.integers(1, 50).map(lambda v: v / 8), min_size=n, max_size=n)] * 2
    )
)


@settings(max_examples=15)
@given(samples=SAMPLES, metric=st.sampled_from(KINDS))
def test_the_other_way_round_it_is_the_reverse(samples, metric, both_ways):
    there, back = both_ways(metric, *samples)
    assert there.estimate is not None
    assert back.estimate is not None
    if there.kind == "ratio":
        assert there.estimate * back.estimate == pytest.approx(1, rel=1e-7)
        assert there.geometric is not None
        assert there.geometric * (back.geometric or 0) == pytest.approx(1, rel=1e-7)
    else:
        assert there.estimate == -back.estimate
        assert (there.low is None) == (back.low is None)
        if there.low is not None and back.high is not None:
            # The draws are the same, and so are their quantiles, but for the spread of them.
            width = (there.high or 0) - there.low
            assert there.low == pytest.approx(-back.high, abs=1e-6 + 1e-3 * width)
    assert (there.p, there.wins, there.ties) == (back.p, back.losses, back.ties)
    assert there.effect == -back.effect
    assert there.better <= back.worse or there.kind == "ratio"


@settings(max_examples=5)
@given(order=st.permutations(range(12)))
def test_the_order_of_conversations_changes_nothing(order, compared):
    tables = {f"s{n}()": {m: random(n + 7 * k, 12) for k, m in enumerate(KINDS)} for n in range(3)}
    names = [f"c{n:02}" for n in range(12)]
    moved = {
        spec: {metric: [values[n] for n in order] for metric, values in tables[spec].items()}
        for spec in reversed(tables)
    }
    one = compared(tables, names)
    two = compared(moved, [names[n] for n in order])
    (first, second) = (
        contrasts(some, next(row for row in some.rows if row.spec == "s0()"), KINDS)
        for some in (one, two)
    )
    assert first == second


def test_replays_of_a_conversation_are_one_value(compared):
    comparison = compared({"a()": {"cost_usd": [1.0, 2.0]}, "b()": {"cost_usd": [2.0, 2.0]}})
    rows = [
        replace(row, runs=(*row.runs, *(replace(run, seed=1, metrics={"cost_usd": 4.0})
                                        for run in row.runs[:1])))
        for row in comparison.rows
    ]  # fmt: skip
    again = replace(comparison, rows=tuple(rows))
    reference = next(row for row in rows if row.spec == "b()")
    found = contrasts(again, reference)["a()", "cost_usd"]
    assert found.conversations == 2
    assert found.estimate == pytest.approx((2.5 + 2) / (3 + 2))


def test_each_primary_metric_is_corrected_for_strategies_and_the_others_together(compared):
    draws = np.random.default_rng(0)
    primary = ("recall_20k", "cost_usd")
    metrics = [*primary, "calls", "rewrites"]
    table = {
        f"s{n}()": {m: draws.normal(20 + n, 1, 12).round(3).tolist() for m in metrics}
        for n in range(4)
    }
    comparison = compared(table)
    reference = next(row for row in comparison.rows if row.spec == "s0()")
    found = contrasts(comparison, reference, metrics)
    assert list(found) == [
        (row.spec, metric) for row in comparison.rows if row is not reference for metric in metrics
    ]
    assert comparison.primary == primary
    for metric in primary:
        own = [found[spec, metric] for spec in ("s1()", "s2()", "s3()")]
        smallest = min(own, key=lambda each: each.p or 0)
        assert {each.correction for each in own} == {"Holm"}
        assert smallest.adjusted == pytest.approx(min(1, 3 * (smallest.p or 0)))
    others = [own for (_, metric), own in found.items() if metric not in primary]
    assert {own.correction for own in others} == {"BH"}
    assert max(own.adjusted or 0 for own in others) <= max(own.p or 0 for own in others)
    assert found["s3()", "calls"].determined
    assert (found["s3()", "calls"].better, found["s3()", "calls"].worse) == (False, False)
    assert found["s3()", "rewrites"].worse
    assert found["s3()", "cost_usd"].worse


def test_beyond_chance_is_what_both_the_test_and_the_interval_say(contrasted):
    found = contrasted("cost_usd", random(1, 12), [5.0] * 12)
    assert found.better
    assert not replace(found, high=1.0).determined
    assert not replace(found, adjusted=0.05).determined
    assert replace(found, low=None, high=None).determined


def test_what_has_no_value_is_left_out(contrasted):
    some = contrasted("amnesia_need", [0.5, None, 0.25], [0.25, 0.5, None])
    assert (some.conversations, some.estimate, some.p) == (1, 0.25, 1.0)
    none = contrasted("amnesia_need", [0.5, None], [None, math.nan])
    assert (none.conversations, none.estimate, none.p, none.adjusted) == (0, None, None, None)
    assert (none.wins, none.ties, none.losses, none.determined) == (0, 0, 0, False)
    assert contrasted("severity", [1.0, 2.0], [None, None]).estimate is None


def test_what_is_infinite_is_ranked(contrasted):
    for metric in ("survival_half_life", "cost_usd"):
        found = contrasted(metric, [math.inf] * 10, [1.0] * 9 + [math.inf])
        assert (found.estimate, found.low, found.no_worse) == (None, None, None)
        assert found.p == 2 / 2**9
        assert not found.determined


ODD = st.sampled_from([None, math.nan, math.inf, -1.0, 0.0, 1e-9, 0.1, 0.3, 0.1 + 0.2, 1.0, 1e12])
ODDITIES = st.integers(1, 40).flatmap(
    lambda n: st.tuples(*[st.lists(ODD, min_size=n, max_size=n)] * 2)
)


@settings(max_examples=40)
@given(samples=ODDITIES, metric=st.sampled_from(KINDS))
def test_whatever_the_values_are_nothing_breaks(samples, metric, contrasted):
    found = contrasted(metric, *samples)
    missing = [[v is None or math.isnan(v) for v in values] for values in samples]
    known = sum(not (ours or theirs) for ours, theirs in zip(*missing, strict=True))
    assert found.conversations == known == found.wins + found.ties + found.losses
    figures = [found.estimate, found.low, found.high, found.detectable, found.geometric]
    assert all(figure is None or math.isfinite(figure) for figure in figures)
    assert (found.low is None) == (found.high is None) == (found.method == "")
    assert known >= 10 or found.low is None
    if found.low is not None:
        assert found.low <= (found.high or 0)
    assert (found.p is None) == (known == 0)
    if found.p is not None:
        assert 0 < found.p <= (found.adjusted or 0) <= 1
    assert not (found.better and found.worse)
    assert -1 <= found.effect <= 1


def test_a_conversation_that_costs_one_of_them_nothing_is_no_matter(contrasted):
    found = contrasted("cost_usd", [1.0, 2.0, 0.0], [0.0, 2.0, 4.0])
    assert (found.kind, found.estimate, found.geometric) == ("ratio", 0.5, None)


def test_rounding_is_no_difference(contrasted):
    found = contrasted("amnesia_need", [0.1 + 0.2] * 12, [0.3] * 12)
    assert (found.estimate, found.ties, found.p) == (0.0, 12, 1.0)


def test_unlike_things_are_not_compared(compared):
    table = {"a()": {"cost_usd": [1.0, 2.0]}, "b()": {"cost_usd": [2.0, 2.0]}}
    one, other = compared(table), compared(table, ["c0000", "\x1b[31mred"])
    with pytest.raises(
        UsageError, match=r"not over the same conversations.*only one of them has"
    ) as caught:
        contrasts(one, other.rows[0])
    assert "\x1b" not in str(caught.value)
    assert refusal(UsageError, lambda: contrasts(one, one.rows[0], ["cost_usdd"])) == snapshot(
        "unknown metric 'cost_usdd'; did you mean cost_usd or side_cost_usd or cost_read_usd?"
    )
    assert len(contrasts(one, compared(table).rows[0], ["cost_usd"])) == 2


def test_all_are_compared_with_what_could_be_had(compared):
    def named(*specs: str) -> str | None:
        found = compared({spec: {"cost_usd": [1.0]} for spec in specs}).reference
        return found and found.spec

    assert named("a()", "as_recorded()", "keep_all()") == "keep_all()"  # the two are the same
    assert named("a()", "as_recorded()", "keep_none()") == "as_recorded()"
    assert named("keep_none()", "b()", "a()") == "b()"
    assert named("keep_none()", "random_keep()") is None


def test_alone_nothing_is_compared(compared):
    comparison = compared({"a()": {"cost_usd": [1.0]}})
    assert contrasts(comparison, comparison.rows[0]) == {}


def test_more_is_better_where_the_metric_says_so(contrasted):
    more, less = np.linspace(0.8, 0.9, 12).tolist(), [0.5] * 12
    assert contrasted("forward_need", more, less).better
    assert contrasted("forward_need", less, more).worse
    assert contrasted("amnesia", more, less).worse


def test_of_replays_the_largest_is_the_largest_of_the_conversation(compared):
    peaks = {"a()": {"prompt_tokens_peak": [5.0, 2.0]}, "b()": {"prompt_tokens_peak": [3.0, 4.0]}}
    rows = [
        replace(row, runs=(*row.runs, replace(row.runs[0], seed=1,
                                              metrics={"prompt_tokens_peak": 1.0})))
        for row in compared(peaks).rows
    ]  # fmt: skip
    again = replace(compared(peaks), rows=tuple(rows))
    reference = next(row for row in rows if row.spec == "b()")
    (found,) = contrasts(again, reference, ["prompt_tokens_peak"]).values()
    assert found.estimate == 5 - 4


@pytest.mark.parametrize("count", [10, 40])
def test_shares_that_are_the_same_in_all_have_no_interval(count, contrasted):
    values = [0.5, 0.75] * (count // 2)
    found = contrasted("recall_20k", values, values)
    assert (found.estimate, found.low, found.high, found.determined) == (0.0, None, None, False)


def test_a_difference_of_shares_has_the_interval_of_student(contrasted):
    """With 11 degrees of freedom: 2.2010 standard errors to either side."""
    less = np.linspace(0.6, 0.7, 12).tolist()
    found = contrasted("recall_20k", less, [0.8] * 12)
    assert (found.worse, found.method) == (True, "student")
    half = 2.2010 * float(np.std(less, ddof=1)) / 12**0.5
    assert (found.low, found.high) == pytest.approx((-0.15 - half, -0.15 + half), rel=1e-4)
    assert contrasted("cost_usd", less, [0.8] * 12).method == "percentile"
