"""The interval of a strategy's own figure."""

import numpy as np
import pytest

from compactlab.reports.analysis import bootstrap
from compactlab.reports.analysis.bootstrap import Interval, interval_of, row_interval
from compactlab.reports.analysis.comparison import Comparison, Row
from compactlab.reports.analysis.significance import rank_biserial

VALUES = np.random.default_rng(0).lognormal(0, 0.6, 40).tolist()


def test_a_sum_is_a_mean_times_the_conversations():
    mean, total = interval_of(VALUES, "mean"), interval_of(VALUES, "sum")
    assert mean.method == total.method == "percentile"
    assert mean.low is not None
    assert mean.high is not None
    assert mean.low < np.mean(VALUES) < mean.high
    assert (total.low, total.high) == pytest.approx((40 * mean.low, 40 * mean.high))


def test_the_order_of_values_changes_nothing():
    assert interval_of(VALUES[::-1], "mean") == interval_of(VALUES, "mean")
    assert interval_of([None, *VALUES, float("nan")], "median") == interval_of(VALUES, "median")


def test_of_few_values_and_of_the_largest_there_is_none():
    assert interval_of(VALUES[:9], "mean") == Interval()
    assert interval_of(VALUES, "maximum") == Interval()
    assert interval_of([], "sum") == Interval()
    assert interval_of([float("inf"), *VALUES], "mean") == Interval()


@pytest.mark.parametrize(("worst", "method"), [(1.0, "betting"), (1.1, "percentile")])
def test_only_shares_have_the_interval_of_shares(worst, method):
    values = [0.0] * 19 + [worst]
    assert interval_of(values, "mean", share=True).method == method
    assert interval_of(values, "mean").method == "percentile"


def test_between_two_of_the_values_lies_the_median():
    # Of ten, a coin leaves out one on either side in 2.1 % of throws, and two in 10.9 %.
    assert interval_of([float(n) for n in range(1, 11)], "median") == Interval(2, 9, "order")
    assert interval_of([1.0] * 3 + [float("inf")] * 7, "median") == Interval()
    # Of five, none can be left out: all on one side are 6.2 %.
    assert bootstrap.median_ends(np.arange(5.0)) == (-np.inf, np.inf)


@pytest.mark.parametrize("count", [6, 9, 10, 25, 100])
def test_the_median_lies_outside_in_five_per_cent_at_the_most(count):
    low, _ = bootstrap.median_ends(np.arange(1.0, count + 1))
    heads = np.random.default_rng(count).binomial(count, 0.5, 100_000)

    def missed(cut: float) -> float:
        return float(np.mean((heads < cut) | (heads > count - cut)))

    assert missed(low) <= 0.05 + 0.002
    assert missed(low + 1) > 0.05 - 0.002


def rows(comparison: Comparison) -> dict[str, Row]:
    return {row.spec: row for row in comparison.rows}


def test_a_row_has_the_interval_of_how_it_is_put_together(compared):
    calls = [float(10 + n % 5) for n in range(40)]
    overflows = [float(n % 3) for n in range(40)]
    table = {
        "cost_usd": VALUES,
        "amnesia_need": [min(1.0, value / 4) for value in VALUES],
        "calls": calls,
        "overflows": overflows,
    }
    row = rows(compared({"a()": table}))["a()"]
    assert row_interval(row, "cost_usd") == interval_of(VALUES, "sum")
    assert row_interval(row, "amnesia_need") == interval_of(
        table["amnesia_need"], "mean", share=True
    )
    pooled = row_interval(row, "over_window")
    share = sum(overflows) / sum(calls)
    assert pooled.low is not None
    assert pooled.high is not None
    assert share - 0.03 < pooled.low < share < pooled.high < share + 0.03
    assert row_interval(row, "prefix_reuse") == Interval()


def test_a_pooled_share_has_an_interval_from_ten_conversations_on(compared):
    def interval(count: int) -> Interval:
        table = {"calls": [10.0] * count, "overflows": [float(n % 3) for n in range(count)]}
        return row_interval(rows(compared({"a()": table}))["a()"], "over_window")

    assert interval(bootstrap.FEWEST - 1) == Interval()
    assert interval(bootstrap.FEWEST).method


def test_ranks_say_who_wins_by_how_much():
    ranks = np.array([[1.0, 2, 3], [-1, -2, -3], [3, -1, -2], [0, 0, 0]])
    assert rank_biserial(ranks).tolist() == [1, -1, 0, 0]
