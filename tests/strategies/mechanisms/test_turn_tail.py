"""The newest turns that fit a budget."""

import pytest

from compactlab.strategies.opencode import size, tail_budget, turn_tail


@pytest.mark.parametrize(
    ("usable", "tokens"),
    [(0, 2000), (8001, 2000), (20_000, 5000), (60_000, 15_000), (10**6, 15_000)],
)
def test_the_budget_is_a_quarter_within_bounds(usable, tokens):
    assert tail_budget(usable) == tokens


def test_whole_turns_are_kept_and_of_the_next_as_much_as_fits(moment):
    messages = moment("ucra ucra ua", size=100).messages
    one = size(messages[-1])
    assert turn_tail(messages, 2 * one) == 8
    assert turn_tail(messages, 3 * one) == 7
    assert turn_tail(messages, 5 * one) == 7  # a result does not begin a tail
    assert turn_tail(messages, 7 * one) == 4


def test_if_not_even_the_last_message_fits_nothing_is_kept(moment):
    assert turn_tail(moment("uaua", size=400).messages, 10) == 4


def test_if_everything_fits_everything_is_summarised(moment):
    assert turn_tail(moment("uaua").messages, 10_000) == 4
    assert turn_tail(moment("muaua").messages, 10_000) == 1


def test_where_nobody_has_spoken_there_is_no_turn(moment):
    assert turn_tail(moment("ma").messages, 10_000) == 2
    assert turn_tail(moment("").messages, 10_000) == 0
