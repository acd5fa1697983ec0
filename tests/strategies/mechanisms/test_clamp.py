"""What was found in memory is shown as far as a budget goes."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.tokens import utf16_length
from compactlab.strategies.openclaw.recovery import clamp


def test_whole_ones_are_kept_while_they_fit():
    assert clamp(["abc", "de", "f"], 5) == ["abc", "de"]


def test_the_first_that_does_not_fit_is_cut_and_a_shorter_one_after_it_is_not_shown():
    assert clamp(["abc", "defgh", "i"], 5) == ["abc", "de"]


@pytest.mark.parametrize("none", [None, 0, -5, math.nan])
def test_without_a_budget_there_is_no_limit(none):
    assert clamp(["abc", "", "defgh"], none) == ["abc", "", "defgh"]


def test_an_empty_one_passes_only_while_something_is_left():
    assert clamp(["", "abc", ""], 4) == ["", "abc", ""]
    assert clamp(["", "abc", ""], 3) == ["", "abc"]


def test_of_a_fraction_the_whole_part_is_shown():
    assert clamp(["abcd"], 2.9) == ["ab"]


@given(st.lists(st.text(max_size=8)), st.integers(1, 30))
def test_what_is_shown_is_a_beginning_within_the_budget(snippets, budget):
    kept = clamp(snippets, budget)
    assert sum(map(utf16_length, kept)) <= budget
    assert kept[:-1] == snippets[: len(kept)][:-1]
    if sum(map(utf16_length, snippets)) < budget:
        assert kept == snippets
