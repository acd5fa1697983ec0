"""What is chosen, how surely, and what the choice is worth where it was not made."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from compactlab.reports.analysis.trade_off import front, knee
from compactlab.reports.tune.choice import Choice, held_out, left_out, ratio

Floats = NDArray[np.float64]
NONE_MISSED = 0.0


def chosen_of(costs: Floats, missed: Floats | None = None, limit: float | None = None) -> Choice:
    """Settings by conversations, of which nothing is missed unless it is said."""
    return Choice(costs, np.full(costs.shape, NONE_MISSED) if missed is None else missed, limit)


def drawn(means: list[float], conversations: int, seed: int, noise: float = 0.3) -> Floats:
    """Costs of settings: conversations differ much, and settings in each of them a little."""
    rng = np.random.default_rng(seed)
    sizes = rng.lognormal(0, 0.7, conversations)
    factors = rng.lognormal(-(noise**2) / 2, noise, (len(means), conversations))
    return np.array(means)[:, None] * sizes * factors


@given(st.integers(1, 6), st.integers(2, 8), st.integers(0, 99), st.sampled_from([None, 0.5, 0.9]))
def test_the_cheapest_that_keeps_to_the_limit_is_chosen(settings, conversations, seed, limit):
    rng = np.random.default_rng(seed)
    costs, missed = rng.random((2, settings, conversations))
    allowed = [row for row in range(settings) if limit is None or 1 - missed[row].mean() >= limit]
    expected = min(allowed, key=lambda row: costs[row].sum(), default=None)
    assert Choice(costs, missed, limit).best() == expected


def test_without_needs_nothing_is_missed():
    costs = np.array([[1.0, 2.0], [2.0, 3.0]])
    assert Choice(costs, np.full((2, 2), np.nan), 0.9).best() == 0


def test_few_conversations_give_no_interval():
    assert chosen_of(drawn([1.0, 2.0], 9, 0)).candidates() is None
    assert chosen_of(drawn([1.0, 2.0], 10, 0)).candidates() is not None


def test_a_setting_that_is_clearly_dearer_is_no_candidate():
    inside = chosen_of(drawn([1.0, 1.02, 3.0], 20, 1)).candidates()
    assert inside is not None
    assert inside.tolist() == [True, True, False]


def test_settings_that_cost_the_same_are_all_candidates():
    costs = np.repeat(drawn([1.0], 12, 2), 3, axis=0)
    inside = chosen_of(costs).candidates()
    assert inside is not None
    assert inside.all()


def test_what_costs_a_little_more_in_every_conversation_is_dearer():
    costs = np.repeat(np.ones((1, 12)), 2, axis=0)
    costs[1] += 0.001
    inside = chosen_of(costs).candidates()
    assert inside is not None
    assert inside.tolist() == [True, False]


@pytest.mark.parametrize("conversations", [10, 20])
def test_the_interval_holds_the_true_optimum(conversations):
    """The first two settings are the cheapest in truth; the set holds each of them, 19 in 20."""
    means = [1.0, 1.0, 1.05, 1.2]
    samples = [chosen_of(drawn(means, conversations, seed)).candidates() for seed in range(200)]
    held = np.array([inside for inside in samples if inside is not None])
    # Of 200 samples, 183 or more are expected in all but one of 200 tests.
    assert held[:, 0].sum() >= 183
    assert held[:, 1].sum() >= 183
    assert held[:, 3].mean() < 0.9


@given(st.integers(0, 50), st.integers(4, 12))
def test_a_choice_is_never_better_than_the_best_of_the_other_half(seed, count):
    held = held_out(chosen_of(drawn([1.0, 1.1, 0.9], count, seed)), 0.05)
    assert held is not None
    assert held.chosen_on + held.reported_on == count
    assert held.regret is not None
    assert held.regret >= -1e-12
    assert held.mean is not None
    assert held.high is not None
    assert min(held.mean, held.high) >= -1e-12
    assert held.kept == 1.0


def test_a_choice_that_breaks_the_limit_elsewhere_is_told():
    """In half of the conversations the cheap setting misses nothing, in the others all."""
    costs = np.array([[1.0] * 8, [2.0] * 8])
    missed = np.array([[0.0, 1.0] * 4, [0.0] * 8])
    held = held_out(Choice(costs, missed, 0.8), 0.05)
    assert held is not None
    assert held.kept is not None
    assert held.kept < 1


def test_too_few_conversations_cannot_be_halved():
    assert held_out(chosen_of(np.ones((2, 3))), 0.05) is None


def test_leaving_one_out_does_not_flatter():
    """Each conversation has a setting that is cheap in it alone; chosen by others it is not."""
    costs = 2 - np.eye(6)
    saving = left_out(chosen_of(costs), 0)
    assert saving is not None
    in_sample = costs.min(axis=0).sum() / costs[0].sum()
    assert saving.value > in_sample


def test_a_ratio_is_of_sums_and_paired():
    ours, theirs = np.array([1.0, 3.0]), np.array([2.0, 2.0])
    assert ratio(ours, theirs).value == 1.0
    assert ratio(ours, theirs).low is None
    theirs = drawn([1.0], 20, 3)[0]
    half = ratio(theirs / 2, theirs)
    assert (half.low, half.value, half.high) == pytest.approx((0.5, 0.5, 0.5))
    assert half.cheaper
    assert not half.costs_more


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=8))
def test_the_front_has_what_no_other_beats(points):
    costs, missed = [float(x) for x, _ in points], [float(y) for _, y in points]
    kept = front(costs, missed)
    for row in range(len(points)):
        beaten = any(
            costs[other] <= costs[row]
            and missed[other] <= missed[row]
            and (costs[other], missed[other]) != (costs[row], missed[row])
            for other in range(len(points))
        )
        same = any((costs[k], missed[k]) == (costs[row], missed[row]) for k in kept)
        assert beaten or same
    assert all(costs[a] < costs[b] and missed[a] > missed[b] for a, b in pairwise(kept))


def test_the_knee_is_where_the_front_bends_most():
    costs = [1.0, 1.1, 1.2, 2.0, 3.0]
    missed = [1.0, 0.5, 0.1, 0.05, 0.0]
    assert knee(costs, missed) == 2
    assert knee(costs[:2], missed[:2]) is None


def test_of_what_costs_nearly_the_same_the_one_that_misses_least_is_taken():
    costs = np.array([[1.0] * 4, [1.01] * 4, [1.5] * 4])
    missed = np.array([[0.4] * 4, [0.1] * 4, [0.0] * 4])
    assert Choice(costs, missed, margin=0.02).advised() == 1
    assert Choice(costs, missed, margin=0.0).advised() == 0
    assert Choice(costs, missed, margin=0.5).advised() == 2


def test_of_settings_that_are_equal_in_both_the_own_one_stays():
    costs, missed = np.ones((3, 4)), np.zeros((3, 4))
    assert Choice(costs, missed, own=1).advised() == 1
    assert Choice(costs, missed).advised() == 2
