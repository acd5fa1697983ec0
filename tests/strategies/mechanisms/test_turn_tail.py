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


@pytest.mark.parametrize(
    ("script", "tokens", "begin"),
    [
        ("uaua", 10, 4),  # not even the last message fits
        ("uaua", 10_000, 4),  # everything fits, and is summarised
        ("muaua", 10_000, 1),
        ("ma", 10_000, 2),  # nobody has spoken
        ("", 10_000, 0),
    ],
)
def test_at_the_ends_nothing_or_everything_is_kept(moment, script, tokens, begin):
    assert turn_tail(moment(script, size=400).messages, tokens) == begin
