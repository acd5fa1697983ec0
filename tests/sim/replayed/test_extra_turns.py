"""An extra turn of the agent: what is said in it, where it stands, and what its calls cost."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.core.notes import Remembered
from compactlab.sim.core.view import Phase
from compactlab.sim.replay.strategy import Pipeline
from compactlab.sim.replay.summarize import (
    Remembering,
    Summarizer,
    SummaryRequest,
    TurnRequest,
    Written,
)
from compactlab.strategies import KeepAll

BORN = "born-1-prompt born-1-write born-1-written born-1-reply"
SILENT = "born-1-prompt born-1-reply"


@dataclass(frozen=True)
class Scribe(Summarizer):
    """Puts down one note on the first message that it sees, and says that it is done."""

    notes: int = 1
    saw: list[str] = field(default_factory=list, repr=False, compare=False)

    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        return (Part("text", "so far", "summary", (Source(request.messages[0].id),)),)

    def write(
        self, messages: Sequence[Message], request: TurnRequest, count: Callable[[str], int]
    ) -> Written:
        self.saw.append(" ".join(message.id for message in messages))
        sources = (Source(messages[0].id, 0, 0, 4),) if messages else ()
        note = Remembered("decision", 'use "tabs"', sources)
        return Written("done", (note,) * self.notes)


def chat(kit: Any) -> Any:
    story = kit.Story().user(kit.prose(2000)).answer(kit.prose(100)).client("note")
    return story.user(kit.prose(30)).answer("ok").user("x", after=100.0).answer("y").script()


def turning(kit: Any, seen: list[str], phase: Phase = Phase.BEFORE_TURN, **more: Any) -> Any:
    """A strategy that has the agent take an extra turn before the second of the user."""

    def turn(view: Any, host: Any) -> Any:
        if len(host.log) not in (3, 4):
            return view
        view = host.run_turn(view, TurnRequest("write it down", **more))
        seen.append(kit.ids_of(host.log))
        return view

    return kit.act(turn, phases=[phase])


def test_it_comes_before_what_the_user_has_just_said(kit):
    seen: list[str] = []
    trace = kit.replayed(chat(kit), turning(kit, seen), summarizer=Scribe())
    assert seen == [f"u1 a1 m1 {BORN} u2"]
    assert kit.prompts_of(trace)[1:] == [*seen, f"{seen[0]} a2 u3"]
    assert [kit.ids_of(step.log) for step in trace.steps][1:] == [*seen, f"{seen[0]} a2 u3"]


def test_it_takes_nothing_from_the_prompt_so_it_is_no_rewrite(kit):
    trace = kit.replayed(chat(kit), turning(kit, []), summarizer=Scribe())
    assert not any(step.rewrite or step.compaction for step in trace.steps)
    assert trace.steps[1].usage.cache_read == trace.steps[1].side[-1].usage.prompt
    assert set(trace.steps[1].causes) == {"append"}


def test_after_a_turn_it_comes_last(kit, story):
    seen: list[str] = []
    script = story.user("1").answer("1").user("2").answer("2").user("3").answer("3").script()
    trace = kit.replayed(script, turning(kit, seen, Phase.AFTER_TURN), summarizer=Scribe())
    assert seen == [f"u1 a1 u2 a2 {BORN}"]
    assert kit.prompts_of(trace)[-1] == f"{seen[0]} u3"


def test_within_a_turn_it_comes_after_the_result(kit, story):
    seen: list[str] = []
    script = story.user("1").acts().result("it").answer("1").script()
    kit.replayed(script, turning(kit, seen, Phase.BEFORE_CALL), summarizer=Scribe())
    assert seen == [f"u1 a1 r1 {BORN}"]


def test_the_agent_sees_what_stands_before_it_and_no_more(kit):
    scribe = Scribe()
    kit.replayed(chat(kit), turning(kit, []), summarizer=Remembering(scribe))
    assert scribe.saw == ["u1 a1 m1"]


def test_a_message_that_another_strategy_has_changed_still_comes_after_it(kit):
    def glue(view: Any, host: Any) -> Any:
        last = view.messages[-1]
        glued = Message(last.id, last.role, (*last.parts, Part("text", "!", "synthetic", ())))
        return view.with_messages([*view.messages[:-1], glued])

    both = Pipeline((kit.act(glue, phases=[Phase.BEFORE_TURN]), turning(kit, [])))
    trace = kit.replayed(chat(kit), both, summarizer=Scribe())
    assert kit.prompts_of(trace)[1] == f"u1 a1 m1 {BORN} u2"


def test_what_is_said_in_it_is_whole_and_starts_no_turn(kit):
    trace = kit.replayed(chat(kit), turning(kit, []), summarizer=Scribe())
    told, wrote, written, said = trace.steps[1].log[3:7]
    roles = [message.role for message in (told, wrote, written, said)]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert not any(message.starts_turn for message in (told, wrote, written, said))
    assert (told.text, said.text) == ("write it down", "done")
    assert wrote.parts[0].call_id == written.parts[0].call_id
    assert {m.time for m in (told, wrote, written, said)} == {trace.steps[1].time}


def test_only_its_notes_stand_for_something_that_was_said(kit):
    trace = kit.replayed(chat(kit), turning(kit, []), summarizer=Scribe())
    told, wrote, written, said = (message.parts[0] for message in trace.steps[1].log[3:7])
    assert {part.kind for part in (told, written, said)} == {"synthetic"}
    assert (wrote.kind, wrote.sources) == ("memory", (Source("u1", 0, 0, 4),))
    assert json.loads(wrote.text)["content"] == '- decision: use "tabs"'


def test_its_notes_are_remembered_with_their_time(kit):
    witness = kit.Witness(lambda view, host: list(host.memory))
    trace = kit.replayed(
        chat(kit), Pipeline((turning(kit, []), witness.strategy)), summarizer=Scribe()
    )
    (note,) = witness.seen[-1]
    assert (note.topic, note.time) == ("decision", trace.steps[1].time)


def test_each_call_of_the_agent_is_billed(kit):
    trace = kit.replayed(chat(kit), turning(kit, [], purpose="flush"), summarizer=Scribe())
    one, two = trace.steps[1].side
    assert (one.purpose, two.purpose) == ("flush", "flush")
    assert one.usage.prompt == 2000 + 100 + 1 + 3
    assert one.usage.cache_read == 2000
    assert set(one.causes) == {"extra_turn"}
    assert two.usage.prompt > one.usage.prompt + one.usage.output
    assert two.usage.cache_read == one.usage.prompt
    assert two.usage.output == 1
    assert trace.steps[1].usage.cache_read >= one.usage.cache_read


def test_an_agent_with_nothing_to_write_makes_one_call(kit):
    trace = kit.replayed(chat(kit), turning(kit, []), summarizer=Scribe(notes=0))
    assert len(trace.steps[1].side) == 1
    assert kit.prompts_of(trace)[1] == f"u1 a1 m1 {SILENT} u2"


def test_a_changed_system_prompt_is_read_from_no_cache(kit):
    system = (Part("text", kit.prose(1500, "rule"), "opaque", ()),)
    script = kit.Story().user(kit.prose(2000)).answer("ok").user("go").answer("ok")
    flush = turning(kit, [], system="flush now")
    trace = kit.replayed(script.script(system=system), flush, summarizer=Scribe())
    one, two = trace.steps[1].side
    assert one.usage.cache_read == 0
    assert one.causes == {"system_changed": 2 + 1500 + 2000 + 1, "extra_turn": 3}
    assert two.usage.cache_read == one.usage.prompt
    assert set(two.causes) == {"extra_turn"}
    # The session's own prefix is still there, and it has grown by what was said.
    assert trace.steps[1].usage.cache_read == 3500
    assert "flush now" not in [part.text for part in trace.steps[1].system]


@pytest.mark.parametrize(("model", "pause"), [("gpt-5@none", 10.0), ("gpt-5@anthropic", 400.0)])
def test_where_nothing_is_stored_or_any_more_no_change_is_to_blame(model, pause, kit, story):
    story.user(kit.prose(2000)).answer("ok").user("go", after=pause).answer("ok")
    flush = turning(kit, [], system="flush now")
    trace = kit.replayed(story.script(), flush, summarizer=Scribe(), model=model)
    one = trace.steps[1].side[0]
    assert one.causes == {"extra_turn": one.usage.prompt}


def test_what_the_provider_reported_last_is_its_last_call(kit):
    witness = kit.Witness(lambda view, host: host.reported)
    both = Pipeline((turning(kit, []), witness.strategy))
    trace = kit.replayed(chat(kit), both, summarizer=Scribe())
    assert witness.seen[1] == trace.steps[1].side[-1].usage


def test_what_a_user_hears_of_it_is_counted(kit):
    quiet = turning(kit, [], heard=lambda text: "")
    loud = turning(kit, [])
    for strategy, heard in ((quiet, [0, 0]), (loud, [0, 1])):
        trace = kit.replayed(chat(kit), strategy, summarizer=Scribe())
        assert [call.heard for call in trace.steps[1].side] == heard


def test_a_summariser_that_says_nothing_about_it_is_silent(kit):
    trace = kit.replayed(chat(kit), turning(kit, [], silent="HUSH"), summarizer=kit.Echo())
    assert trace.steps[1].log[4].text == "HUSH"


def test_without_a_summariser_nobody_writes(kit):
    with pytest.raises(ModelError, match="name a summariser"):
        kit.replayed(chat(kit), turning(kit, []))


def test_extra_turns_of_two_branches_have_ids_of_their_own(kit, story):
    script = story.user("1").answer("1").user("2").answer("2").rewind("a1").user("3").answer("3")
    last = kit.replayed(script.script(), turning(kit, []), summarizer=Scribe()).steps[-1]
    assert kit.ids_of(last.log) == f"u1 a1 {BORN.replace('born-1', 'born-2')} u3"


def test_going_back_to_what_came_after_it_goes_back_to_before_it(kit, story):
    """The user's message was said before the turn was run; said again, it is run again."""
    script = story.user("1").answer("1").user("2").answer("2").rewind("u2").answer("3").script()
    scribe = Scribe()
    trace = kit.replayed(script, turning(kit, []), summarizer=scribe)
    assert scribe.saw == ["u1 a1", "u1 a1"]
    assert kit.prompts_of(trace)[-1] == f"u1 a1 {BORN.replace('born-1', 'born-2')} u2"


def test_it_says_how_often_the_session_had_been_compacted(kit):
    cut = kit.act(
        lambda view, host: view.with_messages(view.messages[-1:]) if len(host.log) == 9 else view,
        phases=[Phase.AFTER_TURN],
    )
    again = kit.act(
        lambda view, host: host.run_turn(view, TurnRequest("again")), phases=[Phase.BEFORE_TURN]
    )
    trace = kit.replayed(chat(kit), Pipeline((cut, again)), summarizer=Scribe(notes=0))
    assert [step.cycle for step in trace.steps] == [0, 0, 1]
    assert [call.cycle for step in trace.steps for call in step.side] == [0, 0, 1]


def test_reminders_are_billed_with_every_request_for_a_summary(kit):
    def summed(reminders: list[str]) -> int:
        def ask(view: Any, host: Any) -> Any:
            host.reminders[:] = reminders
            host.summarize(view, SummaryRequest(tuple(view.messages), 100, instructions="sum up"))
            return view

        echo = kit.Echo()
        step = kit.replayed(chat(kit), kit.act(ask), summarizer=echo).steps[1]
        assert "\n\n".join(["sum up", *reminders]) == echo.asked[-1].instructions
        return step.side[0].usage.prompt

    assert summed(["remember the memory"]) == summed([]) + 4


def test_of_a_detached_turn_only_the_notes_and_the_bill_last(kit):
    seen: list[str] = []
    trace = kit.replayed(chat(kit), turning(kit, seen, detached=True), summarizer=Scribe())
    plain = kit.replayed(chat(kit), KeepAll(), summarizer=Scribe())
    assert seen == ["u1 a1 m1 u2"]
    assert kit.prompts_of(trace) == kit.prompts_of(plain)
    step = trace.steps[1]
    assert [call.purpose for call in step.side] == ["turn", "turn"]
    assert not step.created
    assert [note.text for note in step.outside.notes] == ['use "tabs"']


def test_the_next_decision_does_not_see_what_a_detached_turn_used(kit):
    reported: list[Any] = []

    def turn(view: Any, host: Any) -> Any:
        if len(host.log) == 4:
            view = host.run_turn(view, TurnRequest("write it down", detached=True))
            reported.append(host.reported)
        return view

    trace = kit.replayed(chat(kit), kit.act(turn, phases=[Phase.BEFORE_TURN]), summarizer=Scribe())
    assert reported == [trace.steps[0].usage]


def test_another_model_takes_a_turn_and_writes_a_summary(kit):
    def ask(view: Any, host: Any) -> Any:
        if len(host.log) == 4:
            host.run_turn(view, TurnRequest("write", detached=True, model="gpt-5"))
            host.summarize(view, SummaryRequest(tuple(view.messages), 100, model="gpt-5"))
        return view

    trace = kit.replayed(chat(kit), kit.act(ask, phases=[Phase.BEFORE_TURN]), summarizer=Scribe())
    assert {call.model for call in trace.steps[1].side} == {"gpt-5"}
    assert trace.steps[1].model != "gpt-5"
