"""The newest messages are sent, and nothing of them is found in the cache."""

import pytest

from compactlab.sim.core.errors import UsageError
from compactlab.strategies import SlidingWindow
from compactlab.strategies.catalogue import find_strategy


def test_it_sends_the_newest_messages(tell, sent):
    assert sent(tell("uauaua"), SlidingWindow(keep=3)) == ["u1", "u1 a2 u3", "u3 a4 u5"]


def test_a_full_window_is_left_alone(moment):
    now = moment("uau")
    assert SlidingWindow(keep=3).compact(now.view, now.host) is now.view


def test_it_sends_fewer_where_the_first_would_be_a_result_without_its_call(tell, sent):
    assert sent(tell("ucra u a"), SlidingWindow(keep=3))[-1] == "a4 u5"
    assert sent(tell("uc2rr a u a"), SlidingWindow(keep=4))[-1] == "a5 u6"


def test_in_a_long_turn_it_drops_what_the_user_asked_for(tell, sent):
    assert sent(tell("u cr cr a"), SlidingWindow(keep=3))[-1] == "c4 r5"


def test_a_full_window_is_rewritten_at_every_call(tell, play):
    steps = play(tell("ua" * 10), SlidingWindow(keep=4)).steps
    assert [step.compaction for step in steps] == [False, False] + [True] * 8


def test_only_the_system_prompt_is_read_once_the_window_is_full(tell, play):
    steps = play(tell("ua" * 10, size=4000, system=2000), SlidingWindow(keep=4)).steps
    assert {step.usage.cache_read for step in steps[3:]} == {2640}
    assert all(step.causes.keys() == {"append", "compaction"} for step in steps[3:])


def test_a_rewind_brings_back_what_had_slid_out(tell, sent):
    assert sent(tell("uauaua <2 ua"), SlidingWindow(keep=3))[-1] == "u1 a2 u7"


@pytest.mark.parametrize("keep", [0, -3])
def test_it_keeps_something(keep):
    with pytest.raises(ValueError, match="keep must be at least 1"):
        SlidingWindow(keep)
    with pytest.raises(UsageError, match=f"sliding_window: keep must be at least 1, not {keep}"):
        find_strategy(f"sliding_window(keep={keep})")
