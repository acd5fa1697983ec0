"""The newest turns before the current one are sent whole."""

import pytest

from compactlab.strategies import TurnSlice
from compactlab.strategies.catalogue import find_strategy


def test_it_sends_the_newest_turns_before_the_current_one(tell, sent):
    """The original slices what it loads, and the user's new prompt is not yet in there."""
    prompts = sent(tell("ucra ua ua"), TurnSlice(history_limit=1))
    assert prompts == ["u1", "u1 c2 r3", "u1 c2 r3 a4 u5", "u5 a6 u7"]


def test_users_in_a_row_are_a_turn_each(tell, sent):
    assert sent(tell("uuuua"), TurnSlice(history_limit=2)) == ["u2 u3 u4"]


def test_what_no_person_typed_is_no_turn(tell, sent):
    assert sent(tell("ua m m a ua"), TurnSlice(history_limit=1))[-1] == "u1 a2 m3 m4 a5 u6"


def test_no_more_turns_than_that_is_left_alone(moment):
    now = moment("ucra u u")
    assert TurnSlice(history_limit=2).compact(now.view, now.host) is now.view


def test_with_no_more_turns_than_that_what_came_before_the_first_stays_too(moment):
    """The original gives the same array back: a summary in front is not lost so early."""
    now = moment("a u a u")
    assert TurnSlice(history_limit=1).compact(now.view, now.host) is now.view


def test_what_came_before_the_first_turn_goes_with_the_first_cut(moment, ids):
    now = moment("a u a u u")
    assert ids(TurnSlice(history_limit=1).compact(now.view, now.host).messages) == "u4 u5"


def test_the_summary_of_an_earlier_compaction_goes_with_the_turns(tell, play):
    """A summary is no turn, so nothing holds it when the limit is reached: what it told is lost."""
    story = tell("ua" * 10, size=40, sizes={"a2": 4000, "a4": 4000, "a6": 1200})
    compacting = "auto_compact(reserve_tokens=1000, reserve_tokens_floor=0, keep_recent_tokens=400)"

    def told(spec):
        trace = play(story, find_strategy(spec), window=3000)
        return [any(p.kind == "summary" for p in sent[0].parts) for sent in trace.prompts()]

    assert told(compacting) == [False] * 2 + [True] * 8
    assert (
        told(f"{compacting} + turn_slice(history_limit=3)")
        == [False] * 2 + [True] * 4 + [False] * 4
    )


def test_it_acts_once_a_turn_so_the_rest_of_the_turn_only_grows(tell, play):
    steps = play(tell("ua" + "ucrcra" * 4), TurnSlice(history_limit=1)).steps
    assert [step.rewrite for step in steps] == [False] * 4 + [True, False, False] * 3


def test_the_session_goes_on_beneath_it(tell, sent):
    """It is a projection: after a turn the history is whole again, and is sliced anew."""
    assert sent(tell("ua ua ua <4 ua"), TurnSlice(history_limit=1))[-1] == "u3 a4 u7"


def test_an_answer_asked_for_again_gets_the_same_turns(tell, sent):
    """A rewind to a user's message, from which the script goes straight on with an answer."""
    prompts = sent(tell("ua ua ua <5 a"), TurnSlice(history_limit=1))
    assert prompts[-1] == prompts[-2] == "u3 a4 u5"


# Between the first call and its result somebody spoke.
LATE = "ua cur a u"


def test_from_2026_2_17_on_calls_and_results_are_put_together_afterwards(moment, ids):
    now = moment(LATE)
    assert ids(TurnSlice().compact(now.view, now.host).messages) == "u1 a2 c3 r5 u4 a6 u7"


def test_and_a_result_whose_call_was_cut_off_goes(moment, ids):
    now = moment(LATE)
    assert ids(TurnSlice(history_limit=1).compact(now.view, now.host).messages) == "u4 a6 u7"


def test_before_that_they_were_not(moment, ids):
    now = moment(LATE)
    older = TurnSlice(history_limit=1, repair=False)
    assert ids(older.compact(now.view, now.host).messages) == "u4 r5 a6 u7"
    assert not older.breaks


def test_where_the_repair_leaves_nothing_the_history_stays(moment):
    now = moment("o m o u")
    sliced = TurnSlice(history_limit=1).compact(now.view, now.host)
    assert [m.id for m in sliced.messages] == ["m2", "u4"]
    lost = moment("o o u")
    assert TurnSlice(history_limit=1).compact(lost.view, lost.host) is lost.view


@pytest.mark.parametrize("turns", [0, -1])
def test_it_keeps_a_turn(turns):
    with pytest.raises(ValueError, match=f"history_limit must be at least 1, not {turns}"):
        TurnSlice(turns)
