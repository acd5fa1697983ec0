"""Chance decides what is kept, and keeps to what it has decided."""

import pytest

from compactlab.strategies import RandomKeep


def test_a_share_of_one_keeps_everything_and_of_zero_the_current_turn(tell, sent):
    story = tell("ucra ucra ucra")
    assert sent(story, RandomKeep(share=1))[-1] == "u1 c2 r3 a4 u5 c6 r7 a8 u9 c10 r11"
    assert sent(story, RandomKeep(share=0))[-1] == "u9 c10 r11"


def test_a_result_shares_the_fate_of_its_call(tell, sent):
    kept = sent(tell("uc2rra" * 30), RandomKeep(share=0.5))[-1].split()
    calls = {int(id[1:]) for id in kept if id[0] == "c"}
    results = {int(id[1:]) for id in kept if id[0] == "r"}
    assert results == {call + n for call in calls for n in (1, 2)}
    assert 5 < len(calls) < 25


def test_about_the_share_is_kept(tell, sent):
    kept = sent(tell("ua" * 300), RandomKeep(share=0.3))[-1].split()
    assert 0.25 < len(kept) / 600 < 0.35


def test_another_seed_is_another_choice(tell, sent):
    story = tell("ua" * 30)
    first, again, other = (sent(story, RandomKeep(), seed=seed) for seed in (1, 1, 2))
    assert first == again != other


def test_it_tosses_when_a_turn_begins_and_lets_the_turn_grow(tell, play):
    steps = play(tell("ua" * 10 + "ucrcra"), RandomKeep(share=0.5)).steps
    assert [step.compaction for step in steps[-2:]] == [False, False]


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_is_between_nothing_and_everything(share):
    with pytest.raises(ValueError, match="share must be between 0 and 1"):
        RandomKeep(share)


def test_a_result_that_comes_a_turn_late_shares_the_fate_of_its_call(tell, play):
    """Its call was tossed for a turn earlier, and there is no second toss for the result."""
    story = tell("uc ura ua ua ua")
    fates = set()
    for seed in range(20):
        (*_, last) = play(story, RandomKeep(share=0.5), seed=seed).prompts()
        kept = {message.id for message in last}
        fates.add(("c2" in kept, "r4" in kept))
    assert fates == {(True, True), (False, False)}
