"""When it is time to compact."""

import pytest

from compactlab.sim.core.message import Usage
from compactlab.strategies.mechanisms.estimate import last_usage
from compactlab.strategies.pi.compaction import raised_reserve, should_compact


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


@pytest.mark.parametrize(("tokens", "now"), [(100, False), (101, True), (float("nan"), False)])
def test_strictly_more_than_the_reserve_leaves(tokens, now):
    assert should_compact(tokens, 200, 100) is now


def test_the_reserve_is_raised_to_the_floor():
    assert [raised_reserve(16_384, 20_000), raised_reserve(100, 50)] == [20_000, 100]
