"""A pinned head and the newest messages; and the same, half of the history at a time."""

import pytest

from compactlab.sim.core.errors import UsageError
from compactlab.strategies import AmortizedForgetting, RecentEvents
from compactlab.strategies.catalogue import find_strategy


def test_the_first_and_the_newest_are_sent(tell, sent):
    prompts = sent(tell("uauauaua"), RecentEvents(max_events=3))
    assert prompts == ["u1", "u1 a2 u3", "u1 a4 u5", "u1 a6 u7"]


def test_the_original_sends_the_head_twice_as_long_as_the_history_fits(tell, sent):
    prompts = sent(tell("uauaua"), RecentEvents(max_events=4, mended=False))
    assert prompts == ["u1 u1", "u1 u1 a2 u3", "u1 u3 a4 u5"]


def test_the_session_goes_on_beneath_it(tell, sent):
    assert sent(tell("uauauaua <4 ua"), RecentEvents(max_events=5))[-1] == "u1 a2 u3 a4 u9"


def test_it_parts_calls_from_their_results(tell, sent):
    assert sent(tell("ucrcra"), RecentEvents(max_events=2))[-1] == "u1 r5"
    assert "pairs" in RecentEvents().breaks


def test_forgetting_by_halves_lets_the_prompt_grow_in_between(tell, sent, play):
    story, half = tell("ua" * 6), AmortizedForgetting(max_size=4)
    assert sent(story, half) == [
        "u1",
        "u1 a2 u3",
        "u1 u5",
        "u1 u5 a6 u7",
        "u1 u9",
        "u1 u9 a10 u11",
    ]
    assert [step.rewrite for step in play(story, half).steps] == [n in (2, 4) for n in range(6)]


def test_what_is_forgotten_stays_forgotten_until_the_user_goes_back(tell, sent):
    prompts = sent(tell("uauauaua <4 ua"), AmortizedForgetting(max_size=4))
    assert prompts[-1] == "u1 u9"


def test_nothing_need_be_pinned(tell, sent):
    assert sent(tell("uauaua"), AmortizedForgetting(max_size=4, keep_first=0))[-1] == "a4 u5"


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ("recent_events(keep_first=-1)", "keep_first"),
        ("recent_events(keep_first=3, max_events=3)", "max_events"),
        ("amortized_forgetting(max_size=0)", "max_size"),
        ("amortized_forgetting(max_size=8, keep_first=4)", "keep_first"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, field):
    with pytest.raises(UsageError, match=field):
        find_strategy(wrong)
