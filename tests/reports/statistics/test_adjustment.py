"""Corrections for many comparisons, by hand and by their laws."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.reports.analysis.significance import benjamini_hochberg, holm

# Most of them near 5 %, in steps that no rounding hides.
CHANCES = st.lists(st.integers(0, 1_000).map(lambda n: (n / 1_000) ** 3), max_size=12)


def test_holm_by_hand():
    # Times 4, 3, 2 and 1 by rank; the third would come out below the second.
    assert holm([0.01, 0.02, 0.022, 0.5]) == pytest.approx([0.04, 0.06, 0.06, 0.5])


def test_benjamini_and_hochberg_by_hand():
    # Times 4/1, 4/2, 4/3 and 4/4 by rank; the second would come out above the third.
    found = benjamini_hochberg([0.01, 0.025, 0.03, 0.5])
    assert found == pytest.approx([0.04, 0.04, 0.04, 0.5])


@settings(max_examples=40)
@given(CHANCES)
def test_a_p_is_below_its_level_if_it_is_chosen_at_that_level(chances):
    # As both papers have it: go through the ranks, and choose up to the first or the last one.
    order = sorted(range(len(chances)), key=chances.__getitem__)
    many, level = len(chances), 0.05
    misses = [chances[n] > level / (many - rank) for rank, n in enumerate(order)]
    holds = [chances[n] <= level * (rank + 1) / many for rank, n in enumerate(order)]
    by_holm = misses.index(True) if True in misses else many
    by_share = many - holds[::-1].index(True) if True in holds else 0
    assert sum((p or 0) <= level for p in holm(chances)) == by_holm
    assert sum((p or 0) <= level for p in benjamini_hochberg(chances)) == by_share


@settings(max_examples=40)
@given(CHANCES)
def test_a_correction_never_makes_smaller_and_keeps_the_order(chances):
    strict, lenient = holm(chances), benjamini_hochberg(chances)
    order = sorted(range(len(chances)), key=chances.__getitem__)
    for found in (strict, lenient):
        values = [value for value in found if value is not None]
        assert len(values) == len(chances)
        assert all(p <= value <= 1 for p, value in zip(chances, values, strict=True))
        assert [values[n] for n in order] == sorted(values)
    assert all((a or 0) >= (b or 0) - 1e-12 for a, b in zip(strict, lenient, strict=True))


def test_what_was_not_tested_counts_for_nothing():
    assert holm([0.02, None, 0.5]) == [0.04, None, 0.5]
    assert benjamini_hochberg([None, 0.02]) == [None, 0.02]
    assert holm([]) == []
