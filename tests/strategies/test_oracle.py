"""The control that sees what comes, and keeps that alone."""

import json
from dataclasses import replace

import pytest

from compactlab.scenarios.catalogue import find_scenario
from compactlab.sim.core.conversation import Conversation, Fact, Need
from compactlab.sim.core.errors import ContractError
from compactlab.sim.core.message import Call, Message, Source, verbatim
from compactlab.sim.metrics.continuity import forward_need
from compactlab.sim.metrics.run_data import RunData
from compactlab.sim.replay.replay import Options, record
from compactlab.strategies import KeepAll, Oracle, TaskEnd
from compactlab.strategies.catalogue import find_strategy

MODEL = "claude-sonnet-4-5"


def script(*told: tuple[str, str]) -> Conversation:
    """What was said by whom; a call reads the path that it names."""
    events: list[Message] = []
    for who, text in told:
        id = f"{who}{len(events) + 1}"
        if who == "c":
            arguments = json.dumps({"path": text})
            part = verbatim(id, "tool_call", arguments, name="read", call_id=id)
        elif who == "r":
            part = verbatim(id, "tool_result", text, name="read", call_id=events[-1].id)
        else:
            part = verbatim(id, "text", text)
        role = {"u": "user", "r": "tool"}.get(who, "assistant")
        call = Call() if role == "assistant" else None
        events.append(Message(id, role, (part,), float(len(events)), call=call))  # type: ignore[arg-type]
    return Conversation("script", "told", tuple(events), seed=0)


STORY = script(
    ("u", "look around"),
    ("c", "src/one.py"),
    ("r", "see lib/two.py and lib/three.py"),
    ("a", "seen"),
    ("u", "nothing of use is said here"),
    ("a", "indeed"),
    ("u", "now open the second file"),
    ("c", "lib/two.py"),
    ("r", "empty"),
    ("a", "done"),
    ("u", "thanks"),
    ("a", "bye"),
)


def prompts(conversation: Conversation, strategy=Oracle(), **more) -> list[str]:  # noqa: B008
    trace = record(conversation, strategy, Options(MODEL, **more))
    return [" ".join(message.id for message in prompt) for prompt in trace.prompts()]


def test_an_exchange_stays_as_long_as_a_later_action_uses_what_it_says():
    assert prompts(STORY) == [
        "u1",
        "u1 c2 r3",
        "u1 c2 r3 u5",  # the path that the call will open
        "u1 c2 r3 u7",
        "u1 c2 r3 u7 c8 r9",
        "u11",  # it has been opened
    ]


def test_nothing_that_is_needed_is_ever_missing():
    trace = record(STORY, Oracle(), Options(MODEL))
    assert forward_need(RunData(trace, STORY)) == 1.0


def test_of_a_word_that_stands_in_two_places_the_newest_is_kept():
    told = [("u", "mind AB-1200"), ("a", "yes"), ("u", "again: AB-1200"), ("a", "yes")]
    later = [("u", "and?"), ("a", "fine"), ("u", "well?"), ("a", "AB-1200 it is")]
    assert prompts(script(*told, *later))[2:] == ["u3 u5", "u3 u7"]


def test_stated_facts_are_needed_beside_words():
    fact = Fact("f1", "decision", "name", "useless", origin=(Source("u5", 0, 11, 17),))
    labelled = replace(STORY, facts=(fact,), needs=(Need("f1", "a12"),))
    without, with_fact = prompts(STORY)[3:], prompts(labelled)[3:]
    assert with_fact == ["u1 c2 r3 u5 u7", "u1 c2 r3 u5 u7 c8 r9", "u5 u11"]
    assert [p.replace("u5 ", "") for p in with_fact] == without


def test_when_a_prompt_is_too_large_the_current_turn_is_gone_through_too():
    told = [("u", "start"), ("c", "a1"), ("r", "noise " * 3000), ("c", "a2"), ("r", "said")]
    steps = record(script(*told, ("a", "end")), Oracle(), Options(MODEL, window=3000)).steps
    assert [step.overflow for step in steps] == [False, True, False]
    assert prompts(script(*told, ("a", "end")), window=3000)[-1] == "u1 c4 r5"


def test_who_does_not_say_that_it_sees_the_future_is_not_told(moment):
    now = moment("ua")
    for asking in (KeepAll(), None):
        now.host.asking = asking
        with pytest.raises(ContractError, match="only who sets sees_future may ask"):
            _ = now.host.needs


def test_it_says_that_it_sees_the_future():
    assert find_strategy("oracle").sees_future


def test_a_task_has_ended_when_most_is_not_needed_again():
    """At u5 and u7 the path is needed; at u11 nothing is."""
    assert prompts(STORY, TaskEnd())[-1] == "u11"
    assert prompts(STORY, TaskEnd())[:-1] == prompts(STORY, KeepAll())[:-1]
    assert prompts(STORY, TaskEnd(gain=0.0)) == prompts(STORY)
    assert prompts(STORY, TaskEnd(gain=1.0)) == prompts(STORY, KeepAll())


def test_at_the_end_of_a_task_nothing_that_is_needed_goes_and_it_acts_less_often():
    told = find_scenario("coding_agent(tokens=40000)").conversation(seed=0)
    ends, always = (record(told, each, Options(MODEL)) for each in (TaskEnd(gain=0.3), Oracle()))
    assert forward_need(RunData(ends, told)) == 1.0
    assert 0 < sum(s.rewrite for s in ends.steps) < sum(s.rewrite for s in always.steps)
