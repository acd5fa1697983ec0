"""Old tool results give way to a place-holder once the prompt is large."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.message import verbatim
from compactlab.sim.core.view import Messages
from compactlab.sim.replay.strategy import Lifetime
from compactlab.strategies import ClearToolResults
from compactlab.strategies.mechanisms.estimate import approximate
from compactlab.strategies.providers.clearing import (
    Clearable,
    Past,
    clear_tool_uses,
    without_thinking,
)

SMALL = ClearToolResults(trigger=600, keep=1)


@pytest.fixture
def story(tell):
    """Results of about 250 tokens; calls are short."""
    return lambda script, **more: tell(
        script, size=20, sizes={f"r{n}": 1000 for n in range(40)} | more
    )


@pytest.fixture
def cleared(play):
    """Of every prompt, the ids of the messages that are not as they were said."""

    def of(conversation, strategy, **more):
        said = {id(message) for message in conversation.messages}
        trace = play(conversation, strategy, **more)
        return [" ".join(m.id for m in p if id(m) not in said) for p in trace.prompts()]

    return of


def test_a_place_holder_keeps_its_call_and_says_what_it_stands_for(story, play):
    prompt = list(play(story("ucrcrcra"), SMALL).prompts())[-1]
    (part,) = prompt[2].parts
    assert (part.type, part.text, part.kind, part.call_id) == (
        "tool_result",
        "[cleared]",
        "stub",
        prompt[1].parts[0].call_id,
    )
    assert [source.id for source in part.sources] == ["r3"]


def test_the_trigger_is_held_against_what_is_left(story, cleared):
    """What was cleared does not count any more, so it takes two more results to clear again."""
    prompts = cleared(story("u" + "cr" * 8 + "a"), SMALL)
    assert prompts[3:6] == ["r3 r5", "r3 r5", "r3 r5 r7 r9"]


def test_a_prompt_that_stays_above_the_trigger_is_cleared_with_every_use(story, play):
    """What cannot be cleared has filled it: this is what the gate is there for."""
    steps = play(story("u" + "cr" * 8 + "a"), SMALL).steps
    assert [step.compaction for step in steps][5:] == [True] * 4


def test_langchain_begins_anew_at_every_request_so_it_breaks_the_cache_with_every_use(story, play):
    anew = ClearToolResults(trigger=600, keep=1, gate="langchain")
    assert (anew.lifetime, SMALL.lifetime) == (Lifetime.REQUEST, Lifetime.SESSION)
    steps = play(story("u" + "cr" * 8 + "a"), anew).steps
    assert [step.compaction for step in steps] == [False] * 3 + [True] * 6


def test_tools_can_be_excluded_by_their_own_name_or_that_of_the_call(moment):
    now = moment("u" + "cr" * 5, sizes={f"r{n}": 1000 for n in range(40)})
    strategy = ClearToolResults(trigger=100, keep=0, exclude_tools=("read",))
    assert strategy.compact(now.view, now.host) is now.view
    nameless = [_renamed(m) if m.role == "tool" else m for m in now.view.messages]
    view = now.view.with_messages(nameless)
    assert strategy.compact(view, now.host) is view


def _renamed(message):
    parts = tuple(msgspec.structs.replace(part, name="") for part in message.parts)
    return msgspec.structs.replace(message, parts=parts)


def test_the_arguments_can_go_with_the_result(story, play):
    both = ClearToolResults(trigger=600, keep=1, clear_tool_inputs=True)
    prompt = list(play(story("ucrcrcra"), both).prompts())[-1]
    assert [message.text for message in prompt][1:5] == ["{}", "[cleared]"] * 2
    assert prompt[1].parts[0].kind == "stub"


@settings(max_examples=60)
@given(data=st.data(), keep=st.integers(0, 4), least=st.sampled_from([0, 60, 300]))
def test_what_is_made_of_a_growing_history_is_what_is_made_of_it_at_once(
    data, keep, least, straight
):
    """LangChain edits the whole history at each request; here only what is new is looked at."""
    inputs = data.draw(st.booleans())
    rule = Clearable(
        ClearToolResults(
            keep=keep, clear_at_least=least, clear_tool_inputs=inputs, gate="langchain"
        )
    )
    past, grown = Past(), Messages()
    for message in data.draw(straight).messages:
        grown = grown.append(message)
        again = Messages(grown)
        excess = grown.total(approximate) - 150
        made = clear_tool_uses(grown, rule, approximate, excess, past)
        assert made == clear_tool_uses(again, rule, approximate, excess, Past())


def thinking(messages, of=lambda _: True):
    """Messages whose answers have thinking, if they are among some."""
    return Messages(
        msgspec.structs.replace(m, parts=(verbatim(m.id, "thinking", "hm"), *m.parts))
        if m.role == "assistant" and of(m)
        else m
        for m in messages
    )


def thinks(messages):
    return [m.id for m in messages if any(part.type == "thinking" for part in m.parts)]


@pytest.mark.parametrize(
    ("keep", "left"), [(1, ["c7", "a9"]), (2, ["a2", "c7", "a9"]), (3, ["a2", "c7", "a9"])]
)
def test_thinking_of_the_newest_turns_that_have_some_stays(tell, keep, left):
    told = thinking(tell("uauauucrau").messages, lambda m: m.id != "a4")
    assert thinks(without_thinking(told, keep)) == left


@settings(max_examples=60)
@given(data=st.data(), keep=st.integers(1, 4))
def test_nothing_else_goes_and_it_is_final(data, keep, straight):
    """Recounted turn by turn; and a history that grows is cleared as it is at once."""
    told = thinking(data.draw(straight).messages)
    left = without_thinking(told, keep)
    turns, turn = [], []
    for message in told:
        if message.starts_turn:
            turns, turn = [*turns, turn], []
        turn += thinks([message])
    with_some = [turn for turn in [*turns, turn] if turn]
    assert thinks(left) == [id for turn in with_some[-keep:] for id in turn]
    assert thinking(left, lambda m: m.id not in thinks(left)) == told
    grown = Messages()
    for message in told:
        grown = without_thinking(grown.append(message), keep)
    assert grown == left
