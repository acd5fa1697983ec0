"""One call of a replay: what it is billed for, by which lifetime, and what it leaves behind."""

from dataclasses import replace
from typing import Any

import pytest

from compactlab.sim.cache import Anthropic
from compactlab.sim.core.conversation import Fact, Need
from compactlab.sim.core.message import Message, Part, Source, Usage
from compactlab.sim.core.view import Phase, View
from compactlab.sim.models.model import Degradation
from compactlab.sim.replay.meter import Meter
from compactlab.sim.replay.recovery import ClosedLoop
from compactlab.sim.replay.replay import RECORDED
from compactlab.sim.replay.summarize import TurnRequest
from compactlab.strategies.catalogue import find_strategy
from tests.sim.drawn import model_under, text
from tests.sim.replayed.test_extra_turns import Scribe


def picture(id: str, time: float) -> Message:
    return Message(id, "user", (Part("image", "", "opaque", (), size=1500),), time)


def test_a_call_without_a_lifetime_keeps_that_of_the_calls_before(kit, story):
    story.user(kit.prose(2000)).answer("one")
    story.user(kit.prose(1500)).answer("two", ttl="1h")
    story.user(kit.prose(1500)).answer("three")
    steps = kit.replayed(story.script(), kit.keep).steps
    assert all(step.usage.cache_write_1h > 1400 for step in steps)
    assert not any(step.usage.cache_write_5m for step in steps)


def test_where_no_call_says_a_lifetime_it_is_the_usual_one(kit, story):
    script = story.user(kit.prose(2000)).answer("one").script()
    (step,) = kit.replayed(script, kit.keep).steps
    assert step.usage.cache_write_5m > 1900
    assert step.usage.cache_write_1h == 0


def test_images_are_new_text_and_no_other_setting(kit, story):
    story.user(kit.prose(3000)).answer("one")
    for number in (1, 2):
        story.now += 10.0
        story.events.append(picture(f"p{number}", story.now))
        story.answer("seen")
    first, second, third = kit.replayed(story.script(), kit.keep).steps
    assert first.causes.keys() == {"cold_start"}
    assert second.causes.keys() == third.causes.keys() == {"append"}


@pytest.mark.parametrize(("recorded", "expected"), [(700, 700), (0, 2)])
def test_the_recorded_output_counts_where_it_is_larger(kit, story, recorded, expected):
    """The model has thought, and the log does not show what."""
    model = "claude-sonnet-4-5"
    usage = Usage(uncached=50, output=recorded)
    script = story.user("hi").answer("well done", usage=usage, model=model).script()
    (own,) = kit.replayed(script, kit.keep, model=model).steps
    (as_logged,) = kit.replayed(script, kit.keep, model=RECORDED).steps
    assert as_logged.usage.output == own.usage.output == expected


def test_a_whole_recorded_answer_is_billed_as_recorded_however_the_prompt_grew(kit, story):
    """What a client adds behind an answer, and does not log, was not written by the model."""
    model = "claude-sonnet-4-5"
    story.user("hi").answer("well done", usage=Usage(uncached=50, output=700), model=model)
    story.user("go on").answer("so", usage=Usage(uncached=9_000, output=30), model=model)
    first, second = kit.replayed(story.script(), kit.keep, model=RECORDED).steps
    assert second.usage.prompt == pytest.approx(9_000, abs=5)
    assert first.usage.output == 700


def test_a_call_that_the_loop_adds_has_no_recorded_output(kit, story):
    code = Fact("code", "tool_detail", "door code", "k3-99471", (Source("r1", 0),), handle="r1")
    usage = Usage(uncached=50, output=900)
    logged = {"usage": usage, "model": "claude-sonnet-4-5"}
    story.user("look").acts('{"path": "doors.txt"}', **logged).result("the door code is k3-99471")
    story.answer("noted", **logged).user("go in").acts('{"code": "k3-99471"}', **logged)
    script = story.result("open").script(facts=(code,), needs=(Need("code", "a3"),))
    forgets = find_strategy("keep_none")
    steps = kit.replayed(script, forgets, model=RECORDED, loop=ClosedLoop(misuse=0)).steps
    assert [step.recovery for step in steps] == ["", "", "fetch", ""]
    assert [step.usage.output for step in steps if not step.recovery] == [900, 900, 900]
    assert 0 < steps[2].usage.output < 100


def test_what_an_extra_turn_says_is_created_at_the_call_after_it(kit):
    def turn(view: Any, host: Any) -> Any:
        return host.run_turn(view, TurnRequest("write it down")) if len(host.log) == 3 else view

    story = kit.Story().user(kit.prose(2000)).answer("yes").user("and?").answer("so").user("x")
    trace = kit.replayed(
        story.answer("y").script(), kit.act(turn, phases=[Phase.BEFORE_TURN]), summarizer=Scribe()
    )
    created = [[message.id for message in step.created] for step in trace.steps]
    names = [f"born-1-{what}" for what in ("prompt", "write", "written", "reply")]
    assert created == [[], names, []]
    assert [len(step.outside.notes) for step in trace.steps] == [0, 1, 0]


def test_every_third_request_finds_nothing_where_each_third_is_lost():
    model = replace(model_under(Anthropic()), degradation=Degradation(lose_every=3))
    meter, view, reads = Meter(), View((text("", size=5000),)), []
    for number in range(9):
        meter.tokens(model, view)
        reads.append(meter.request(model, float(number), "", (), "append").usage.cache_read > 0)
    # The first finds nothing because nothing is stored yet.
    assert reads == [False, True, False, True, True, False, True, True, False]
