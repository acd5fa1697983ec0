"""What a strategy has done for it is billed: summaries, turns of the agent, when and how."""

from typing import Any

import pytest
from inline_snapshot import snapshot

from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.message import Part, Usage
from compactlab.sim.core.view import Phase
from compactlab.sim.metrics import METRICS
from compactlab.sim.metrics.run_data import RunData
from compactlab.sim.models.model import find_model
from compactlab.sim.models.pricing import prices_of
from compactlab.sim.replay.summarize import Remembering, SummaryRequest
from compactlab.sim.replay.trace import SideCall
from compactlab.strategies.controls import AsRecorded
from tests.lines import refusal


def summing(
    kit: Any, log: int, phase: Phase = Phase.BEFORE_CALL, idle: float = 60.0, **how: Any
) -> Any:
    """A strategy that has everything summarised when the log is so long, and changes nothing."""

    def ask(view: Any, host: Any) -> Any:
        if len(host.log) == log:
            host.summarize(view, SummaryRequest(tuple(view.messages), 100, **how))
        return view

    return kit.act(ask, phases=[phase], idle_after=idle)


def chat(kit: Any) -> Any:
    story = (
        kit.Story().user(kit.prose(2000)).answer(kit.prose(100)).user(kit.prose(30)).answer("ok")
    )
    return story.user("x", after=100.0).answer("y").script()


def test_a_fresh_request_is_a_prompt_of_its_own(kit):
    ask = summing(kit, 3, transcript=kit.prose(1500), instructions="sum up")
    steps = kit.replayed(chat(kit), ask, summarizer=kit.Echo()).steps
    assert [len(step.side) for step in steps] == [0, 1, 0]
    (call,) = steps[1].side
    told = 1500 + 3  # the transcript, an empty line and the instructions
    assert (call.purpose, call.model, call.time) == ("summary", kit.model, steps[1].time)
    assert call.usage.prompt == pytest.approx(told, abs=2)
    assert call.usage.cache_read == 0
    assert call.causes == {"compaction_call": call.usage.prompt}
    assert call.usage.output > 0


def test_a_live_request_reads_the_cache_of_the_session(kit):
    ask = summing(kit, 3, rides="live", instructions="sum up")
    steps = kit.replayed(chat(kit), ask, summarizer=kit.Echo()).steps
    (call,) = steps[1].side
    assert call.usage.cache_read == 2000
    assert call.usage.prompt == 2130 + 2
    assert call.causes == {"compaction_call": 130 + 2}


@pytest.mark.parametrize(("rides", "read"), [("live", 2000), ("fresh", 0)])
def test_a_live_request_keeps_the_cache_of_the_session_warm(rides, read, kit, story):
    """An entry lives five minutes; the request in the silence comes after a good four."""
    script = story.user(kit.prose(2000)).answer("ok").user("x", after=400.0).answer("y").script()
    ask = summing(kit, 2, Phase.ON_IDLE, idle=240.0, rides=rides, instructions="sum up")
    assert kit.replayed(script, ask, summarizer=kit.Echo()).steps[1].usage.cache_read == read


def test_a_fresh_request_leaves_the_session_as_it_was(kit):
    ask = summing(kit, 3, transcript=kit.prose(1500))
    asked = kit.replayed(chat(kit), ask, summarizer=kit.Echo()).steps
    alone = kit.replayed(chat(kit), kit.keep).steps
    assert [(s.usage, s.causes) for s in asked] == [(s.usage, s.causes) for s in alone]


@pytest.mark.parametrize(
    ("phase", "log", "step"),
    [
        (Phase.BEFORE_CALL, 3, 1),
        (Phase.BEFORE_TURN, 3, 1),
        (Phase.AFTER_CALL, 2, 0),
        (Phase.AFTER_TURN, 4, 1),
        (Phase.ON_IDLE, 4, 2),
    ],
)
def test_a_side_call_belongs_to_the_step_at_which_it_was_made(phase, log, step, kit):
    steps = kit.replayed(chat(kit), summing(kit, log, phase), summarizer=kit.Echo()).steps
    assert [len(each.side) for each in steps] == [int(number == step) for number in range(3)]


def test_a_side_call_in_the_silence_has_the_time_of_the_silence(kit):
    steps = kit.replayed(chat(kit), summing(kit, 4, Phase.ON_IDLE), summarizer=kit.Echo()).steps
    assert steps[2].side[0].time == kit.start + 30 + 60


def test_a_side_call_after_an_answer_has_the_time_of_the_answer(kit, story):
    script = story.user("hi").answer("ho", after=900.0).script()
    (step,) = kit.replayed(script, summing(kit, 2, Phase.AFTER_CALL), summarizer=kit.Echo()).steps
    assert step.side[0].time == kit.start + 900.0


def test_what_the_silence_after_the_last_call_costs_is_billed(kit, story):
    script = story.user("hi").answer("ho").user("nobody answers", after=1000.0).script()
    steps = kit.replayed(script, summing(kit, 2, Phase.ON_IDLE), summarizer=kit.Echo()).steps
    assert sum(len(step.side) for step in steps) == 1


def test_without_a_summariser_the_strategy_is_named(kit):
    assert refusal(ModelError, lambda: kit.replayed(chat(kit), summing(kit, 1))) == snapshot(
        "act() asks for summaries; name a summariser"
    )


def test_the_parts_of_a_summary_reach_the_prompt(kit, story):
    from compactlab.sim.core.message import Message

    def compact(view: Any, host: Any) -> Any:
        if len(host.log) != 3:
            return view
        parts = host.summarize(view, SummaryRequest(tuple(view.messages[:2]), 100))
        return view.with_messages([Message("sum", "user", parts, meta=True), view.messages[2]])

    script = story.user("1").answer("1").user("2").answer("2").script()
    trace = kit.replayed(script, kit.act(compact), summarizer=kit.Echo())
    assert kit.prompts_of(trace) == ["u1", "sum u2"]
    assert list(trace.prompts())[1][0].text == "summary of u1 a1"


def asking(kit: Any, name: str, **how: Any) -> Any:
    def ask(view: Any, host: Any) -> Any:
        host.summarize(view, SummaryRequest(tuple(view.messages), 100, **how))
        return view

    return kit.act(ask, name=name)


def test_the_same_request_of_two_strategies_is_made_once_and_billed_twice(kit):
    spy = kit.Echo()
    remembering = Remembering(spy)
    one = kit.replayed(chat(kit), asking(kit, "One"), summarizer=remembering)
    assert len(spy.asked) == 3
    two = kit.replayed(chat(kit), asking(kit, "Two"), summarizer=remembering)
    assert len(spy.asked) == 3
    assert [step.side for step in one.steps] == [step.side for step in two.steps]
    assert all(step.side for step in two.steps)


@pytest.mark.parametrize(
    "other",
    [
        {"max_tokens": 7},
        {"previous": (Part("text", "before", "synthetic", ()),)},
        {"instructions": "only the names"},
    ],
)
def test_another_request_is_made_anew(other, kit):
    spy = kit.Echo()
    remembering = Remembering(spy)
    request = {"messages": tuple(chat(kit).messages), "max_tokens": 100, "instructions": "all"}
    for each in (request, request, {**request, **other}):
        remembering.summarize(SummaryRequest(**each), len)
    assert len(spy.asked) == 2


def test_other_messages_are_summarised_anew(kit):
    spy = kit.Echo()
    remembering = Remembering(spy)
    messages = tuple(chat(kit).messages)
    said = [remembering.summarize(SummaryRequest(messages[:n], 100), len) for n in (2, 3, 2)]
    assert [parts[0].text for parts in said] == [
        "summary of u1 a1",
        "summary of u1 a1 u2",
        "summary of u1 a1",
    ]
    assert len(spy.asked) == 2


def test_remembering_changes_no_name(kit):
    assert Remembering(kit.Echo()).spec == "echo()"


# What the recorded agent had summarised.

SONNET, HAIKU = "claude-sonnet-4-5", "claude-haiku-4-5"
SUMMED = Usage(uncached=5, cache_read=1_900, cache_write_5m=300, output=70)


def compacted(kit: Any, **call: Any) -> Any:
    """A recording of two calls, between which its agent had a summary written."""
    used = Usage(cache_write_5m=2_100, output=9)
    story = kit.Story().user(kit.prose(2_000)).answer("ok", model=SONNET, usage=used)
    story.compacted("so far", **call).user("on")
    return story.answer("well", model=SONNET, usage=Usage(cache_write_5m=200, output=9)).script(
        seed=-1
    )


def charged(kit: Any, script: Any, model: str) -> tuple[SideCall, ...]:
    first, second = kit.replayed(script, AsRecorded(), model=model).steps
    assert first.side == ()
    return tuple(second.side)


@pytest.mark.parametrize("name", [SONNET, HAIKU])
def test_a_recorded_summary_costs_what_the_log_says(kit, name):
    """Its model may be another than that of the session."""
    script = compacted(kit, model=name, usage=SUMMED)
    (side,) = charged(kit, script, "recorded")
    assert (side.purpose, side.model, side.usage) == ("summary", name, SUMMED)
    assert side.causes == {"compaction_call": 305}
    data = RunData(kit.replayed(script, AsRecorded(), model="recorded"), script)
    assert METRICS["side_cost_usd"].compute(data) == pytest.approx(
        prices_of(find_model(name)).rates(side.time, SUMMED.prompt).cost(SUMMED)
    )
    assert METRICS["summaries"].compute(data) == 1


def test_under_another_model_it_costs_what_it_would_there(kit):
    """The prompt is the live one, as the replay has it, and the summary is as long as it was."""
    script = compacted(kit, model=SONNET, usage=SUMMED)
    first, second = kit.replayed(script, AsRecorded(), model=kit.model).steps
    (side,) = second.side
    assert (side.purpose, side.model, side.usage.output) == ("summary", kit.model, 70)
    assert side.usage.cache_read == first.usage.prompt
    assert side.usage.prompt > first.usage.prompt  # there are the answer, and what is asked
    assert sum(side.causes.values()) == side.usage.prompt - side.usage.cache_read


def test_a_summary_of_no_known_model_is_of_that_of_the_session(kit):
    (side,) = charged(kit, compacted(kit, usage=SUMMED), "recorded")
    assert (side.model, side.usage.output) == (SONNET, 70)
    assert side.usage.prompt > 2_000


def test_a_compaction_that_the_log_does_not_bill_costs_nothing(kit):
    script = compacted(kit)
    for model in ("recorded", kit.model):
        assert charged(kit, script, model) == ()
        data = RunData(kit.replayed(script, AsRecorded(), model=model), script)
        assert METRICS["side_cost_usd"].compute(data) == 0
        assert (METRICS["compactions"].compute(data), METRICS["summaries"].compute(data)) == (1, 0)


def test_whoever_compacts_otherwise_pays_for_no_recorded_summary(kit):
    script = compacted(kit, model=SONNET, usage=SUMMED)
    assert [step.side for step in kit.replayed(script, kit.keep, model="recorded").steps] == [
        (),
        (),
    ]
