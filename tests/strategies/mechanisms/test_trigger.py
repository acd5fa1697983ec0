"""When it is time to compact."""

import pytest

from compactlab.sim.message import Usage
from compactlab.strategies.mechanisms.trigger import over_reserve, pressure


@pytest.mark.parametrize(("tokens", "over"), [(179_999, False), (180_000, False), (180_001, True)])
def test_the_context_must_have_grown_into_the_reserve(moment, tokens, over):
    now = moment("ua", reported=Usage(cache_read=tokens))
    assert over_reserve(now.view, now.host, 20_000) is over


def test_the_answer_counts(moment):
    now = moment("ua", reported=Usage(cache_read=180_000, output=1))
    assert over_reserve(now.view, now.host, 20_000)


def test_a_window_smaller_than_the_reserve_is_always_over_it(moment):
    now = moment("", window=10_000)
    assert over_reserve(now.view, now.host, 20_000)


def test_pressure_is_the_share_of_the_window(moment):
    now = moment("ua", window=1000, reported=Usage(uncached=500, output=220))
    assert pressure(now.view, now.host) == 0.72
