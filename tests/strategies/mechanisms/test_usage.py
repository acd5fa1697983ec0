"""Which report still holds."""

from compactlab.sim.core.message import Usage
from compactlab.sim.replay.host import Compacted
from compactlab.strategies.mechanisms.estimate import (
    at_most,
    is_little,
    is_stale,
    known_tokens,
    reported_tokens,
)

USED = Usage(uncached=100, cache_read=500, output=50)


def test_before_the_first_report_everything_is_estimated(moment):
    now = moment("uau", size=40)
    assert reported_tokens(now.host) is None
    assert known_tokens(now.view, now.host) == 30


def test_what_came_after_the_last_answer_is_added_to_the_report(moment):
    now = moment("uac2rr", size=40, reported=USED)
    assert reported_tokens(now.host) == 650
    assert known_tokens(now.view, now.host) == 650 + 20


def test_after_a_compaction_a_report_is_stale_until_the_next_answer(moment):
    now = moment("uaua u", size=40, reported=USED)
    for last, stale in (("u3", False), ("a4", True), ("u5", True), ("gone", False)):
        now.host.state.compactions = [Compacted(2, 1, last)]
        assert is_stale(now.host) is stale, last
    now.host.state.compactions = [Compacted(2, 1, "u5")]
    assert reported_tokens(now.host) is None
    assert known_tokens(now.view, now.host) == 50


def test_what_is_reserved_is_a_quarter_of_a_small_window(moment):
    now = moment("u", window=40_000)
    assert at_most(13_000, now.host) == 10_000
    assert at_most(9000, now.host) == 9000
    assert is_little(399, now.host)
    assert not is_little(400, now.host)
