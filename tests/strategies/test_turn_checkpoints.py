"""A checkpoint behind the task for every so many turns: The Complexity Trap's LLM summary."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.errors import UsageError
from compactlab.sim.replay.host import Services
from compactlab.strategies import TurnCheckpoints
from compactlab.strategies.catalogue import find_strategy

SMALL = TurnCheckpoints(every=3, keep=2)
LONG = "u" + "cr" * 9 + "a"


def test_it_acts_when_so_many_turns_stand_before_those_that_stay(tell, sent):
    prompts = sent(tell(LONG), SMALL)
    assert prompts[4] == "u1 c2 r3 c4 r5 c6 r7 c8 r9"
    assert prompts[5] == "u1 summary-1 c8 r9 c10 r11"


def test_checkpoints_pile_up_behind_the_task_as_in_the_original(tell, sent):
    assert sent(tell(LONG), SMALL)[8] == "u1 summary-1 summary-2 c14 r15 c16 r17"


def test_or_the_new_one_stands_for_those_before_it_too(tell, sent):
    alone = TurnCheckpoints(every=3, keep=2, pile=False)
    assert sent(tell(LONG), alone)[8] == "u1 summary-2 c14 r15 c16 r17"


def test_a_checkpoint_is_written_from_the_one_before_and_is_the_agents(tell, play):
    first, second = (step for step in play(tell(LONG), SMALL).steps if step.compaction)
    assert [first.added[0].parts[1].text, second.added[0].parts[1].text] == [
        "notes on 6 messages",
        "notes on 12 messages",
    ]
    assert first.added[0].role == "assistant"
    assert first.added[0].parts[0].text == "Checkpoint for the last 3 turns:\n"


def test_the_first_request_holds_the_task_and_the_turns_alone(moment):
    now = moment("u" + "cr" * 5, size=40)
    given = []
    now.host._services = Services(summarize=lambda host, view, request: given.append(request) or ())
    SMALL.compact(now.view, now.host)
    (request,) = given
    assert [message.id for message in request.messages] == ["c2", "r3", "c4", "r5", "c6", "r7"]
    assert "u1 says" in request.transcript
    assert "c8 says" not in request.transcript
    assert request.rides == "fresh"


def test_answers_and_results_that_belong_together_are_not_parted(tell, sent):
    """A reminder may stand between a call and its late result."""
    prompts = sent(tell("u c2rmr crcra"), TurnCheckpoints(every=1, keep=2))
    assert prompts[-1] == "u1 summary-1 m4 c6 r7 c8 r9"


def test_nothing_but_answers_that_call_tools_makes_a_turn(tell, sent):
    assert sent(tell("ua" * 9), TurnCheckpoints(every=1, keep=0))[-1].count("a") == 8


def test_without_a_task_the_checkpoint_comes_first(tell, sent):
    assert sent(tell("mcrcra"), TurnCheckpoints(every=1, keep=1))[-1] == "summary-1 c4 r5"


@given(every=st.integers(1, 6), keep=st.integers(0, 6), turns=st.integers(0, 40))
def test_so_many_turns_stand_at_every_request_as_on_paper(tell, sent, every, keep, turns):
    prompts = sent(tell("u" + "cr" * turns + "a"), TurnCheckpoints(every, keep))
    for done, prompt in enumerate(prompts):
        written = max(0, done - keep) // every
        assert prompt.count("summary") == written
        assert prompt.count("c") == done - written * every


@pytest.mark.parametrize("wrong", ["every=0", "keep=-1"])
def test_wrong_sizes_are_refused(wrong):
    with pytest.raises(UsageError):
        find_strategy(f"turn_checkpoints({wrong})")
