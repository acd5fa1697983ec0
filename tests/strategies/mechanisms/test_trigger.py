"""When it is time to compact."""

import pytest

from compactlab.sim.core.message import Usage
from compactlab.strategies.mechanisms.estimate import last_usage
from compactlab.strategies.pi.compaction import raised_reserve, reserve_floor, should_compact


@pytest.mark.parametrize(("tokens", "over"), [(179_999, False), (180_000, False), (180_001, True)])
def test_the_context_must_have_grown_into_the_reserve(moment, tokens, over):
    now = moment("ua", reported=Usage(cache_read=tokens))
    assert should_compact(last_usage(now.host), now.host.window, 20_000) is over


def test_the_answer_counts(moment):
    now = moment("ua", reported=Usage(cache_read=180_000, output=1))
    assert should_compact(last_usage(now.host), now.host.window, 20_000)


def test_a_window_smaller_than_the_reserve_is_always_over_it(moment):
    now = moment("", window=10_000)
    assert should_compact(0, now.host.window, 20_000)


@pytest.mark.parametrize(
    ("tokens", "enabled", "now"),
    [(100, True, False), (101, True, True), (101, False, False), (float("nan"), True, False)],
)
def test_strictly_more_than_the_reserve_leaves(tokens, enabled, now):
    assert should_compact(tokens, 200, 100, enabled) is now


@pytest.mark.parametrize(
    ("floor", "meant"),
    [(None, 20_000), (-1, 20_000), (float("inf"), 20_000), (0, 0), (99.9, 99), ("9", 20_000)],
)
def test_a_floor_that_makes_no_sense_is_the_default(floor, meant):
    assert reserve_floor(floor) == meant


@pytest.mark.parametrize(
    ("reserve", "floor", "raised"),
    [(16_384, None, 20_000), (25_000, None, 25_000), (16_384, 0, 16_384), (100, 50, 100)],
)
def test_the_reserve_is_raised_to_the_floor(reserve, floor, raised):
    assert raised_reserve(reserve, floor) == raised
