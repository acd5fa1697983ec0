"""Intervals and tests hold what they say, where the truth is known because it was planted.

Bounds are those of chance: what is claimed, less what so many simulations may be off.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

from compactlab.reports.analysis import bootstrap
from compactlab.reports.analysis.contrast import contrasts
from compactlab.reports.analysis.sample import Quotient, mean_of
from compactlab.reports.analysis.significance import holm, two_sided

Floats = NDArray[np.float64]

# Rows of simulations by conversations: ours and theirs; and what the figure truly is.
World = Callable[[Generator, int, int], tuple[Floats, Floats, float]]

CLAIMED = 0.93

# Simulations that fit into memory together.
_AT_ONCE = 50


def even_costs(draws: Generator, runs: int, count: int) -> tuple[Floats, Floats, float]:
    """Costs that differ by a factor of 1.6 (one standard deviation): 30 % off, give or take."""
    return _costs(draws, runs, count, 0.5)


def uneven_costs(draws: Generator, runs: int, count: int) -> tuple[Floats, Floats, float]:
    """Costs that differ by a factor of 2.7: in a hundred there is one of ten times the median."""
    return _costs(draws, runs, count, 1.0)


def shares(draws: Generator, runs: int, count: int) -> tuple[Floats, Floats, float]:
    """Of 20 needs, so many are forgotten: often none; 5.4 points more of them by ours."""
    hard = draws.beta(0.5, 4.5, (runs, count))
    theirs = draws.binomial(20, hard) / 20
    ours = draws.binomial(20, hard + 0.06 * (1 - hard)) / 20
    return ours, theirs, 0.06 * 0.9


def _costs(draws: Generator, runs: int, count: int, spread: float) -> tuple[Floats, Floats, float]:
    theirs = draws.lognormal(0, spread, (runs, count))
    ours = 0.7 * theirs * draws.lognormal(0, 0.3, (runs, count))
    return ours, theirs, 0.7 * math.exp(0.3**2 / 2)


WORLDS: dict[str, World] = {
    "even costs": even_costs,
    "uneven costs": uneven_costs,
    "shares": shares,
}


def coverage(name: str, count: int, runs: int, tails: Sequence[float] | None = None) -> float:
    """In which share of simulations the interval holds the truth."""
    # Each has draws of its own, so that one does not change with another.
    draws = np.random.default_rng([sorted(WORLDS).index(name), count])
    held = 0
    for some in [_AT_ONCE] * (runs // _AT_ONCE):
        ours, theirs, truth = WORLDS[name](draws, some, count)
        known = np.ones_like(ours, bool)
        figure = mean_of(ours - theirs, known) if name == "shares" else Quotient(ours, theirs)
        plain = None if tails is None else np.tile(tails, (some, 1))
        low, high = bootstrap.interval_ends(figure, plain)
        held += int(np.sum((low <= truth) & (truth <= high)))
    return held / runs


def error(share: float, *runs: int) -> float:
    """2.6 binomial standard errors: by more, one in a hundred is off."""
    return 2.6 * math.sqrt(share * (1 - share) * sum(1 / each for each in runs))


@pytest.mark.parametrize("count", [12, 30])
@pytest.mark.parametrize("name", ["even costs", "shares"])
def test_intervals_hold_the_truth(name, count):
    assert coverage(name, count, 150) >= CLAIMED - error(CLAIMED, 150)


@pytest.mark.slow
def test_what_was_planted_comes_back(compared):
    draws, runs, count = np.random.default_rng(1), 1_000, 30
    costs, needs = even_costs(draws, runs, count), shares(draws, runs, count)
    held = {"cost_usd": 0, "recall_20k": 0}
    for run in range(runs):
        table = {
            spec: {"cost_usd": costs[n][run].tolist(), "recall_20k": needs[n][run].tolist()}
            for n, spec in enumerate(("ours()", "keep_all()"))
        }
        comparison = compared(table)
        kept = comparison.reference
        assert kept is not None
        found = contrasts(comparison, kept)
        for metric, truth in (("cost_usd", costs[2]), ("recall_20k", needs[2])):
            own = found["ours()", metric]
            assert own.low is not None
            assert own.high is not None
            held[metric] += own.low <= truth <= own.high
    for metric, number in held.items():
        assert number / runs >= CLAIMED - error(CLAIMED, runs), metric


def alike(draws: Generator, runs: int, count: int) -> Floats:
    """Strategies that differ by nothing but noise, skewed and as unequal as conversations are."""
    size = draws.lognormal(0, 1, (1, count))
    found: Floats = size * draws.lognormal(0, 0.4, (runs, count))
    return found


@pytest.mark.parametrize(
    ("count", "runs"),
    [
        (8, 300),
        *(pytest.param(n, 4_000, marks=pytest.mark.slow) for n in (6, 9, 12, 15, 30)),
    ],
)
def test_what_is_alike_is_told_apart_in_five_of_a_hundred_at_most(count, runs):
    draws = np.random.default_rng(count)
    pairs = np.concatenate([np.diff(alike(draws, 2, count), axis=0) for _ in range(runs)])
    assert np.mean(two_sided(pairs) <= 0.05) <= 0.05 + error(0.05, runs)


@pytest.mark.slow
@pytest.mark.parametrize("count", [12, 30])
def test_of_twenty_that_are_alike_none_is_told_apart_19_times_in_20(count):
    draws, runs, wrong = np.random.default_rng(count), 1_000, 0
    for _ in range(runs):
        reference, *rest = alike(draws, 21, count)
        adjusted = holm(two_sided(np.array(rest) - reference).tolist())
        wrong += any(p is not None and p < 0.05 for p in adjusted)
    assert wrong / runs <= 0.05 + error(0.05, runs)


@pytest.mark.slow
def test_what_is_detectable_is_detected_in_eighty_of_a_hundred():
    draws, runs, count = np.random.default_rng(0), 2_000, 30
    # Student's t with 29 degrees of freedom: 2.0452 and 0.8542.
    least = (2.0452 + 0.8542) / math.sqrt(count)
    power = np.mean(two_sided(draws.normal(least, 1, (runs, count))) < 0.05)
    assert power == pytest.approx(0.8, abs=error(0.8, runs))
