"""Which values are tried: few, and those that matter."""

import math
from collections.abc import Callable

from hypothesis import assume, example, given
from hypothesis import strategies as st

from compactlab.reports.tune.search import FINEST, coarse, next_value, rounded, span

SIZES = st.integers(20_000, 900_000)
Cost = Callable[[float], float]


def searched(cost: Cost, low: int, high: int, most: int = 30, margin: float = 0.0) -> list[float]:
    """All values that are tried, in their order."""
    tried = [float(each) for each in coarse(low, high, 6)]
    while len(tried) < most:
        value = next_value({each: cost(each) for each in tried}, margin)
        if value is None:
            break
        tried.append(value)
    return tried


@given(SIZES, SIZES, st.integers(2, 12))
def test_a_coarse_row_rises_from_one_end_to_the_other(low, high, count):
    assume(low < high)
    row = coarse(low, high, count)
    assert row == sorted(set(row))
    assert len(row) <= count
    assert row[0] == rounded(low, 2)
    assert row[-1] == rounded(high, 2)


@given(SIZES, SIZES, st.floats(0, 1), st.floats(0.5, 3), st.floats(0.5, 3))
@example(20_000, 900_000, 0.0, 1.0, 1.0)
@example(20_000, 900_000, 1.0, 1.0, 1.0)
def test_in_one_valley_the_search_is_as_good_as_a_fine_grid(low, high, at, left, right):
    """A valley whose sides are of any steepness: the grid has 200 values, the search some 15."""
    assume(high > 2 * low)
    bottom = low * (high / low) ** at

    def cost(value: float) -> float:
        steep = left if value < bottom else right
        return 10 + steep * abs(math.log(value / bottom))

    grid = [low * (high / low) ** (step / 199) for step in range(200)]
    tried = searched(cost, low, high)
    # Finer than 8 % it does not look, so it may stop two such steps from the bottom.
    slack = 2 * max(left, right) * math.log(FINEST)
    assert min(map(cost, tried)) <= min(map(cost, grid)) + slack
    assert len(tried) <= 20


@given(st.dictionaries(SIZES.map(float), st.floats(0, 100), min_size=1, max_size=8))
def test_what_is_tried_next_is_new_and_beside_the_best(known):
    value = next_value(known, 0.0)
    if value is None:
        return
    best = min(known, key=lambda each: (known[each], -each))
    between = [each for each in known if min(best, value) < each < max(best, value)]
    assert value not in known
    assert not between


def test_a_flat_valley_is_not_looked_at_closely():
    flat = {50_000.0: 10.1, 100_000.0: 10.0, 200_000.0: 10.1}
    assert next_value(flat, 0.02) is None
    assert next_value(flat, 0.001) is not None


def test_what_is_not_allowed_only_bounds_the_search():
    known = {50_000.0: math.inf, 100_000.0: 12.0, 200_000.0: 15.0}
    value = next_value(known, 0.02)
    assert value is not None
    assert 50_000 < value < 200_000
    assert next_value({50_000.0: math.inf}, 0.02) is None


def test_triggers_are_looked_for_above_what_a_session_begins_with():
    low, high = span(40_000, 150_000)
    assert (low, high) == (60_000, 150_000)
    assert span(0, 100_000) == (20_000, 100_000)
