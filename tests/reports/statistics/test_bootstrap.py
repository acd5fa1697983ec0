"""Intervals are those of the bootstrap, done the long way."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from compactlab.reports.analysis import bootstrap
from compactlab.reports.analysis.sample import (
    RESAMPLES,
    Gap,
    Quotient,
    mean_of,
    products,
    resamples,
)

Floats = NDArray[np.float64]

PLAIN = np.array([[0.025, 0.975]])


def skewed(seed: int, count: int) -> tuple[Floats, Floats]:
    """Costs of one strategy and of another, conversation by conversation."""
    draws = np.random.default_rng(seed)
    theirs = draws.lognormal(0, 0.7, count)
    return theirs * draws.lognormal(-0.3, 0.3, count), theirs


def slowly(above: Floats, below: Floats) -> tuple[float, float]:
    """Percentiles, resample by resample, each of them a list of conversations."""
    count = len(above)
    picked = [np.repeat(np.arange(count), times) for times in resamples(count)]
    draws = np.array([above[some].sum() / below[some].sum() for some in picked])
    low, high = np.quantile(draws, PLAIN[0])
    return float(low), float(high)


@pytest.mark.parametrize("seed", range(2))
def test_the_interval_is_that_of_its_definition(seed):
    above, below = skewed(seed, 35)
    low, high = bootstrap.interval_ends(Quotient(above[None], below[None]), PLAIN)
    assert (low[0], high[0]) == pytest.approx(slowly(above, below), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("count", [12, 40])
def test_scipy_finds_the_same_intervals_by_its_own_draws(count):
    from scipy import stats

    above, below = skewed(5, count)
    own = bootstrap.interval_ends(Quotient(above[None], below[None]), PLAIN)
    other = stats.bootstrap(
        (above, below),
        lambda a, b, axis: a.sum(axis=axis) / b.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=20_000,
        method=bootstrap.PERCENTILE,
        rng=np.random.default_rng(1),
    )
    # An end of 10,000 draws has a standard error of about 3 % of the interval's width: five of
    # them, and those of scipy's own.
    width = other.confidence_interval.high - other.confidence_interval.low
    assert own[0][0] == pytest.approx(other.confidence_interval.low, abs=0.15 * width)
    assert own[1][0] == pytest.approx(other.confidence_interval.high, abs=0.15 * width)


def test_each_resample_has_as_many_conversations_as_there_are():
    counts = resamples(7)
    assert counts.shape == (RESAMPLES, 7)
    assert set(counts.sum(axis=1).tolist()) == {7}
    # Each is drawn once on the average: 70,000 draws, with a standard error of 0.009.
    assert counts.mean(axis=0) == pytest.approx(np.ones(7), abs=0.05)


def test_the_draws_are_the_same_on_every_machine():
    assert resamples(12)[:2].tolist() == [
        [2, 2, 1, 0, 0, 0, 1, 1, 1, 0, 2, 2],
        [2, 3, 1, 0, 1, 0, 0, 2, 1, 0, 0, 2],
    ]


def test_products_are_those_of_the_matrices_whatever_their_size():
    draws = np.random.default_rng(0)
    values, ways = draws.normal(size=(43, 130)), draws.integers(0, 4, (1_037, 130))
    sums = np.concatenate([some for _, some in products(values, ways)], axis=1)
    assert sums == pytest.approx(values @ ways.T)


def test_a_conversation_without_a_value_counts_for_nothing():
    draws = np.random.default_rng(3)
    values = draws.normal(1, 1, (1, 60))
    known = draws.random((1, 60)) < 0.5
    low, high = bootstrap.interval_ends(mean_of(values, known))
    less = values[known][None]
    every = np.ones_like(less, bool)
    near = bootstrap.interval_ends(mean_of(less, every))
    assert (low[0], high[0]) == pytest.approx((near[0][0], near[1][0]), abs=0.1)
    assert low[0] < values[known].mean() < high[0]


def test_a_denominator_that_all_strategies_share_is_the_same_to_the_last_bit():
    below = np.random.default_rng(0).lognormal(size=(1, 20))
    shared = Quotient(np.repeat(below, 3, axis=0), np.repeat(below, 3, axis=0)).below_resampled()
    assert np.array_equal(shared, Quotient(below, below).below_resampled())


def test_conversations_of_unequal_weight_are_worth_fewer():
    below = np.array([[1.0] * 10, [3.0] + [1.0] * 9, [1.0] + [0.0] * 9])
    worth = Quotient(below, below).effective()
    assert worth == pytest.approx([10, 144 / 18, 1])
    widths = np.diff(bootstrap.widened(worth), axis=1).ravel()
    assert widths[0] < widths[1] < widths[2] < 1


@pytest.mark.parametrize("count", [10, 30, 1_000])
def test_the_tails_are_those_of_an_interval_by_students_t(count):
    from scipy.special import ndtri, stdtrit

    low, high = bootstrap.widened(np.array([float(count)]))[0]
    # The percentile interval of normal data: the resampled mean is normal, and spreads by
    # sqrt((n - 1) / n) of the standard error.
    spread = math.sqrt((count - 1) / count)
    assert ndtri(high) * spread == pytest.approx(stdtrit(count - 1, 0.975))
    assert low == pytest.approx(1 - high)


def test_a_resample_without_any_value_counts_as_the_figure():
    # Of twenty conversations three have a value: in one of 26 resamples there is none of them.
    values, known = np.full((1, 20), 5.0), np.zeros((1, 20), bool)
    known[0, :3], values[0, 1] = True, 5.3
    low, high = bootstrap.interval_ends(mean_of(values, known), PLAIN)
    assert 5 <= low[0] < high[0] <= 5.3


def test_a_gap_is_worth_the_fewer_and_pulled_by_both():
    even = Quotient(np.array([[1.0, 2, 3]]), np.ones((1, 3)))
    uneven = Quotient(np.array([[0.0, 0, 8]]), np.array([[1.0, 1, 2]]))
    assert Gap(even, uneven).effective() == Gap(uneven, even).effective() == [16 / 6]
    # -1, 0 and 1 around a mean of 2; -2, -2 and 4 around a share of 2, 4 / 3 below each.
    pull = Gap(even, uneven).influence(np.array([3]))
    assert pull.tolist() == [[-1 + 1.5, 1.5, 1 - 3]]
