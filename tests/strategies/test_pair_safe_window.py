"""After each turn the newest messages stay, cut where a user speaks."""

import pytest

from compactlab.sim.core.errors import UsageError
from compactlab.strategies import PairSafeWindow
from compactlab.strategies.catalogue import find_strategy


def test_it_cuts_after_a_turn_where_a_user_speaks(tell, sent):
    prompts = sent(tell("ua ua ua ua"), PairSafeWindow(window_size=3))
    assert prompts == ["u1", "u1 a2 u3", "u3 a4 u5", "u5 a6 u7"]


def test_within_a_turn_it_lets_everything_grow(tell, sent):
    assert sent(tell("ucrcrcra ua"), PairSafeWindow(window_size=3))[3] == "u1 c2 r3 c4 r5 c6 r7"


def test_where_no_user_speaks_it_cuts_at_a_call_whose_result_follows(tell, sent):
    assert sent(tell("ucrcrcra ua"), PairSafeWindow(window_size=4))[-1] == "c6 r7 a8 u9"


def test_if_asked_before_every_so_many_calls_it_cuts_then_too(tell, sent):
    prompts = sent(tell("ucrcrcrcra"), PairSafeWindow(window_size=2, per_turn=2))
    assert prompts == ["u1", "c2 r3", "c2 r3 c4 r5", "c6 r7", "c6 r7 c8 r9"]


def test_the_first_messages_can_be_pinned_for_good(tell, sent):
    prompts = sent(tell("ua ua ua ua"), PairSafeWindow(window_size=3, pin_first=1))
    assert prompts[-2:] == ["u1 u3 a4 u5", "u1 u5 a6 u7"]


def test_the_other_half_of_a_pinned_call_is_pinned_with_it(tell, sent):
    prompts = sent(tell("ucra ua ua"), PairSafeWindow(window_size=2, pin_first=2))
    assert prompts[-1] == "u1 c2 r3 u5 a6 u7"


def test_a_rewind_behind_the_first_cut_takes_the_pins_back(tell, sent):
    prompts = sent(tell("ua ua <2 ua ua"), PairSafeWindow(window_size=2, pin_first=1))
    assert prompts[-2:] == ["u1 a2 u5", "u1 u5 a6 u7"]


def test_when_it_does_not_fit_the_oldest_result_is_shortened_first(tell, play):
    story = tell("ucrcra", sizes={"r3": 4000, "r5": 400})
    *_, last = play(story, PairSafeWindow(), window=700).prompts()
    assert [message.id for message in last] == ["u1", "c2", "r3", "c4", "r5"]
    (part,) = last[2].parts
    assert part.kind == "truncated"
    assert "...\n\n... [truncated: 3600 chars removed] ...\n\n..." in part.text
    assert [(s.start, s.end) for s in part.sources] == [(0, 200), (3800, -1)]


def test_and_then_the_front_is_cut_off_until_it_fits(tell, play):
    story = tell("ua ua ua u cr a", size=800, sizes={"r8": 4000})
    step = play(story, PairSafeWindow(), window=900).steps[-1]
    assert not step.overflow


def test_a_single_message_that_is_too_large_cannot_be_helped(tell, play):
    (step,) = play(tell("ua", sizes={"u1": 9000}), PairSafeWindow(), window=900).steps
    assert step.overflow


def test_it_can_act_before_the_window_of_the_model_is_full(tell, play):
    story = tell("ua" * 12, size=400)
    steps = play(story, PairSafeWindow(trigger=0.5), window=2000).steps
    assert max(step.usage.prompt for step in steps) < 1000


def test_a_result_that_comes_late_may_lose_its_call(tell, sent):
    """It looks at the next message alone, and a reminder counts as a user's words."""
    prompts = sent(tell("ucmra ua"), PairSafeWindow(window_size=3))
    assert prompts[-1] == "m3 r4 a5 u6"
    assert "pairs" in PairSafeWindow.breaks


@pytest.mark.parametrize("wrong", ["window_size=-1", "pin_first=-1", "per_turn=-1", "trigger=1.5"])
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(UsageError, match=wrong.partition("=")[0]):
        find_strategy(f"pair_safe_window({wrong})")
