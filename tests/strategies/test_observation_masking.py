"""All but the newest observations give way to a line; calls and words stay."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.view import Messages
from compactlab.strategies import ObservationMasking
from compactlab.strategies.openhands import mask_last_n, mask_window, told_as_user


@pytest.fixture
def masked(play):
    """Of every prompt, the ids of the messages that are masked."""

    def of(conversation, strategy, **more):
        trace = play(conversation, strategy, **more)
        return [
            " ".join(m.id for m in prompt if any(p.kind == "stub" for p in m.parts))
            for prompt in trace.prompts()
        ]

    return of


def test_the_line_says_how_much_was_there(tell, play):
    prompt = list(play(tell("ucrcra"), ObservationMasking(n=1)).prompts())[-1]
    assert prompt[2].text == "Old environment output: (1 lines omitted)"
    (part,) = prompt[2].parts
    assert (part.kind, part.call_id) == ("stub", prompt[1].parts[0].call_id)


def test_with_polling_the_mask_moves_now_and_then_and_the_prompt_only_grows_between(tell, play):
    story = tell("u" + "cr" * 9 + "a")
    every = [step.rewrite for step in play(story, ObservationMasking(n=1)).steps]
    third = [step.rewrite for step in play(story, ObservationMasking(n=1, polling=3)).steps]
    assert every == [False] * 2 + [True] * 8
    assert third == [n in (2, 5, 8) for n in range(10)]


def test_of_parallel_calls_each_result_keeps_its_line(tell, play):
    prompt = list(play(tell("uc2rrcra"), ObservationMasking(n=1)).prompts())[-1]
    assert [m.text[:3] for m in prompt if m.role == "tool"] == ["Old", "Old", "r6 "]


def test_openhands_counts_all_messages(tell, masked, play):
    window = ObservationMasking(n=3, system="openhands")
    story = tell("ucrcrcra")
    assert masked(story, window) == ["", "", "", "r3"]
    assert list(play(story, window).prompts())[-1][1].text == "<MASKED>"


def test_openhands_leaves_out_the_call_of_what_it_masks(tell, play):
    """Its conversation memory keeps no call without a result; `<MASKED>` is the user's message."""
    story = tell("ucrcrcra")
    last = list(play(story, ObservationMasking(n=3, system="openhands")).prompts())[-1]
    assert [(m.id, m.role) for m in last][:3] == [
        ("u1", "user"),
        ("r3", "user"),
        ("c4", "assistant"),
    ]


def test_a_line_may_be_longer_than_what_it_stands_for(moment):
    now = moment("ucrcr", sizes={"r3": 1, "r5": 1})
    masked = ObservationMasking(n=1).compact(now.view, now.host)
    assert now.host.count(masked) > now.host.count(now.view)
    assert "size" in ObservationMasking.breaks


@settings(max_examples=60)
@given(data=st.data(), n=st.integers(1, 5), polling=st.integers(1, 4))
def test_a_mask_that_is_kept_is_the_one_that_is_made_anew(data, n, polling, straight):
    """The originals mask the full history at each request; here the session keeps its mask."""
    rule = ObservationMasking(n, polling, ("keep",), ("remove",))
    kept = window = said = Messages()
    for message in data.draw(straight).messages:
        said, kept, window = (m.append(message) for m in (said, kept, window))
        task = int(any(m.starts_turn for m in said))
        if not task:
            continue
        kept, window = mask_last_n(kept, rule, task), mask_window(window, n)
        assert kept == mask_last_n(said, rule, task)
        assert window == mask_window(said, n)


@given(steps=st.integers(0, 12), n=st.integers(0, 9))
def test_what_openhands_tells_of_a_kept_mask_is_what_it_tells_of_one_made_anew(steps, n, tell):
    said = window = Messages()
    for message in tell("u" + "cr" * steps).messages:
        said, window = said.append(message), told_as_user(mask_window(window.append(message), n))
        assert window == told_as_user(mask_window(said, n))
