"""The test by sign-flips is the count of all flips, or of enough of them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.reports.analysis.significance import (
    FLIPS,
    drawn_flips,
    signed_ranks,
    two_sided,
)

WHOLE = st.lists(st.integers(-4, 4), min_size=1, max_size=8)


@settings(max_examples=40)
@given(WHOLE)
def test_few_pairs_are_flipped_in_every_way(differences):
    sums = [
        sum(sign * value for sign, value in zip(signs, differences, strict=True))
        for signs in product((1, -1), repeat=len(differences))
    ]
    seen, values = sum(differences), np.array([differences], float)
    assert two_sided(values)[0] == sum(abs(s) >= abs(seen) for s in sums) / len(sums)


def test_tenths_add_up_as_tens_do():
    # 0.1 + 0.2 is not 0.3 in floats: as sums, they are as far out as each other.
    tens = np.array([[1.0, 2.0, -3.0, 1.0, 2.0, 3.0]])
    assert two_sided(tens / 10).tolist() == two_sided(tens).tolist()


@pytest.mark.parametrize("count", [15, 40])
def test_many_pairs_are_flipped_at_random(count):
    values = np.random.default_rng(count).normal(0.3, 1, (1, count))
    p = two_sided(values)[0]
    draws = np.random.default_rng(1)
    sums = [abs(values[0] @ draws.choice([-1, 1], count)) for _ in range(4_000)]
    exact = np.mean(np.array(sums) >= abs(values.sum()))
    error = np.sqrt(exact * (1 - exact) * (1 / FLIPS + 1 / 4_000))
    assert p == pytest.approx(exact, abs=4 * error + 1 / FLIPS)


def test_what_was_seen_is_one_of_the_flips():
    assert two_sided(np.ones((1, 60)))[0] == 1 / (FLIPS + 1)
    assert drawn_flips(60).shape == (FLIPS + 1, 60)
    assert drawn_flips(60)[0].tolist() == [1] * 60


def test_pairs_without_a_difference_do_not_count():
    few = np.array([[1.0, 2.0, 3.0]])
    many = np.zeros((1, 100))
    many[0, [4, 40, 90]] = few
    assert two_sided(many).tolist() == two_sided(few).tolist() == [0.25]
    assert two_sided(np.zeros((2, 3))).tolist() == [1.0, 1.0]


def test_ranks_share_what_is_tied():
    values = np.array([[0.3, -0.1 - 0.2, 0.0, 5.0, -1.0, 1.0, np.inf, 1.0]])
    assert signed_ranks(values).tolist() == [[1.5, -1.5, 0.0, 6.0, -4.0, 4.0, 7.0, 4.0]]
