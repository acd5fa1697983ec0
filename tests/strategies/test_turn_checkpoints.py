"""A checkpoint behind the task for every so many turns: The Complexity Trap's LLM summary."""

from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.replay.host import Services
from compactlab.strategies import TurnCheckpoints

SMALL = TurnCheckpoints(every=3, keep=2)
LONG = "u" + "cr" * 9 + "a"


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


@given(every=st.integers(1, 6), keep=st.integers(0, 6), turns=st.integers(0, 40))
def test_so_many_turns_stand_at_every_request_as_on_paper(tell, sent, every, keep, turns):
    prompts = sent(tell("u" + "cr" * turns + "a"), TurnCheckpoints(every, keep))
    for done, prompt in enumerate(prompts):
        written = max(0, done - keep) // every
        assert prompt.count("summary") == written
        assert prompt.count("c") == done - written * every
