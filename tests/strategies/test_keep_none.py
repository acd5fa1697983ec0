"""The current turn alone is sent."""

from compactlab.strategies import KeepNone


def test_it_sends_the_current_turn(tell, sent):
    prompts = sent(tell("ucra ucra"), KeepNone())
    assert prompts == ["u1", "u1 c2 r3", "u5", "u5 c6 r7"]


def test_what_no_person_typed_starts_no_turn(tell, sent):
    assert sent(tell("ua m a"), KeepNone()) == ["u1", "u1 a2 m3"]


def test_before_anybody_has_spoken_everything_is_the_current_turn(tell, sent):
    assert sent(tell("m a m a"), KeepNone()) == ["m1", "m1 a2 m3"]


def test_a_rewind_into_an_earlier_turn_brings_that_turn_back(tell, sent):
    assert sent(tell("ucraua <4 m a"), KeepNone())[-1] == "u1 c2 r3 a4 m7"


def test_every_turn_begins_with_a_compaction(tell, play):
    steps = play(tell("ucra ucra ucra"), KeepNone()).steps
    assert [step.compaction for step in steps] == [False, False, True, False, True, False]
