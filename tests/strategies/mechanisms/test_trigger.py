"""When it is time to compact; as pi's."""

from math import nan

import pytest

from compactlab.sim.core.message import Usage
from compactlab.strategies.mechanisms.estimate import last_usage
from compactlab.strategies.pi.compaction import raised_reserve, should_compact


@pytest.mark.parametrize(
    ("tokens", "window", "over"),
    [
        (180_000, 200_000, False),
        (180_001, 200_000, True),
        (0, 10_000, True),  # a window smaller than the reserve
        (nan, 200_000, False),
    ],
)
def test_the_context_must_have_grown_into_the_reserve(tokens, window, over):
    assert should_compact(tokens, window, 20_000) is over


def test_the_answer_counts(moment):
    now = moment("ua", reported=Usage(cache_read=180_000, output=1))
    assert should_compact(last_usage(now.host), now.host.window, 20_000)


def test_the_reserve_is_raised_to_the_floor():
    assert [raised_reserve(16_384, 20_000), raised_reserve(100, 50)] == [20_000, 100]
