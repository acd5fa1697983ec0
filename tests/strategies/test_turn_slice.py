"""The newest turns are sent whole."""

import pytest

from compactlab.strategies import TurnSlice


def test_it_sends_the_newest_turns_the_current_one_among_them(tell, sent):
    prompts = sent(tell("ucra ua ua"), TurnSlice(turns=2))
    assert prompts == ["u1", "u1 c2 r3", "u1 c2 r3 a4 u5", "u5 a6 u7"]


def test_one_turn_is_the_current_one(tell, sent):
    assert sent(tell("ucra ucra"), TurnSlice(turns=1))[2:] == ["u5", "u5 c6 r7"]


def test_users_in_a_row_are_a_turn_each(tell, sent):
    assert sent(tell("uuua"), TurnSlice(turns=2)) == ["u2 u3"]


def test_what_no_person_typed_is_no_turn(tell, sent):
    assert sent(tell("ua m m a ua"), TurnSlice(turns=2))[-1] == "u1 a2 m3 m4 a5 u6"


def test_no_more_turns_than_that_is_left_alone(moment):
    now = moment("ucra u")
    assert TurnSlice(turns=2).compact(now.view, now.host) is now.view


def test_with_no_more_turns_than_that_what_came_before_the_first_stays_too(moment):
    """The original gives the same array back: a summary in front is not lost so early."""
    now = moment("a u a u")
    assert TurnSlice(turns=2).compact(now.view, now.host) is now.view


def test_what_came_before_the_first_turn_goes_with_the_first_cut(moment, ids):
    now = moment("a u a u")
    assert ids(TurnSlice(turns=1).compact(now.view, now.host).messages) == "u4"


def test_it_acts_once_a_turn_so_the_rest_of_the_turn_only_grows(tell, play):
    steps = play(tell("ua" + "ucrcra" * 3), TurnSlice(turns=1)).steps
    assert [step.rewrite for step in steps] == [False] + [True, False, False] * 3


def test_the_session_goes_on_beneath_it(tell, sent):
    """It is a projection: after a turn the history is whole again, and is sliced anew."""
    assert sent(tell("ua ua ua <4 ua"), TurnSlice(turns=2))[-1] == "u3 a4 u7"


def test_an_answer_asked_for_again_gets_the_same_turns(tell, sent):
    """A rewind to a user's message, from which the script goes straight on with an answer."""
    prompts = sent(tell("ua ua ua <5 a"), TurnSlice(turns=2))
    assert prompts[-1] == prompts[-2] == "u3 a4 u5"


@pytest.mark.parametrize("turns", [0, -1])
def test_it_keeps_a_turn(turns):
    with pytest.raises(ValueError, match=f"turns must be at least 1, not {turns}"):
        TurnSlice(turns)
