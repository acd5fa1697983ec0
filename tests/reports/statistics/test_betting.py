"""Tests by betting hold for any distribution of shares, however few conversations there are."""

from collections.abc import Callable
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator
from numpy.typing import NDArray

from compactlab.reports.analysis import betting
from compactlab.reports.analysis.betting import interval, p_at_least

Floats = NDArray[np.float64]
World = Callable[[Generator, tuple[int, int]], Floats]

# Each with its true mean.
WORLDS: dict[str, tuple[World, float]] = {
    "even": (lambda draws, size: draws.uniform(0.1, 0.3, size), 0.2),
    "uneven": (lambda draws, size: draws.beta(0.5, 2, size), 0.2),
    "rare": (lambda draws, size: (draws.random(size) < 0.1).astype(float), 0.1),
}

SHARES = st.lists(st.integers(0, 8).map(lambda eighths: eighths / 8), min_size=1, max_size=30)


@pytest.mark.parametrize("count", [8, 14, 30, 60])
@pytest.mark.parametrize("name", WORLDS)
def test_a_true_mean_is_rejected_in_one_of_forty_at_the_most(name, count):
    world, mean = WORLDS[name]
    samples = world(np.random.default_rng([18, count]), (1_000, count))
    wrong = np.mean([p_at_least(values, mean) <= 0.025 for values in samples])
    assert wrong <= 0.025


@given(values=SHARES)
@settings(max_examples=40)
def test_the_mean_of_the_sample_is_never_ruled_out(values):
    low, high = interval(np.array(values))
    assert -1e-9 <= low <= np.mean(values) + 1e-9
    assert np.mean(values) - 1e-9 <= high <= 1 + 1e-9


@given(values=SHARES, claims=st.lists(st.floats(0, 1), min_size=2, max_size=2))
def test_a_larger_claim_is_rejected_more_surely(values, claims):
    less, more = (p_at_least(np.array(values), claim) for claim in sorted(claims))
    assert more <= less * (1 + 1e-9)


@given(eighths=st.lists(st.integers(0, 8), min_size=1, max_size=6), claim=st.integers(1, 7))
def test_the_capital_is_that_of_each_bet_done_in_fractions(eighths, claim):
    mean = Fraction(claim, 8)
    capitals = [
        prod(1 + Fraction(bet) / (1 - mean) * (mean - Fraction(value, 8)) for value in eighths)
        for bet in map(float, betting._FRACTIONS)
    ]
    expected = min(1.0, float(len(capitals) / sum(capitals)))
    found = p_at_least(np.array(eighths) / 8, claim / 8)
    assert found == pytest.approx(expected, rel=1e-9)
