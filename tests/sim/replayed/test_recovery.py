"""The closed loop: what is forgotten and needed is got back, and that is paid for."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.scenarios.catalogue import find_scenario
from compactlab.sim.core.conversation import Conversation, Fact, Need
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.core.notes import Remembered
from compactlab.sim.core.view import Phase
from compactlab.sim.metrics import RunData, figures
from compactlab.sim.replay.recovery import ClosedLoop
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.replay.strategy import Pipeline
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.catalogue import find_summarizer
from tests.lines import refusal

BEST, WORST = ClosedLoop(misuse=0), ClosedLoop(misuse=1)
CODE = Fact("code", "tool_detail", "door code", "k3-99471", (Source("r1", 0),), handle="r1")
RULE = Fact("rule", "prohibition", "deploy day", "Friday", (Source("u1", 0),), polarity="must_not")


GO = "I go to east-20933, as you told me, and wait there until somebody lets me in." * 3


def errand(kit: Any, *facts: Fact, said: str = "Deploy day: never on a Friday.") -> Conversation:
    """A rule and a door code are told in the first turn; the last call needs them."""
    story = kit.Story().user(said).acts('{"path": "doors.txt"}').result("the door code is k3-99471")
    story.answer("noted").user("go in").acts('{"code": "k3-99471"}').result("open").answer("in")
    needs = tuple(Need(fact.id, "a3") for fact in facts)
    return story.script(facts=facts, needs=needs)


def turn_only(kit: Any) -> Any:
    """A strategy that keeps the current turn alone."""
    return find_strategy("keep_none")


def told(trace: Any) -> list[str]:
    """What each call was: of the script, or why not."""
    return [step.recovery or step.answer for step in trace.steps]


def test_who_forgets_nothing_does_nothing_again(kit):
    script = errand(kit, CODE, RULE)
    opened, closed = kit.replayed(script, kit.keep), kit.replayed(script, kit.keep, loop=WORST)
    assert closed.steps == opened.steps


def test_a_lost_fact_is_fetched_by_the_call_that_gave_it(kit):
    trace = kit.replayed(errand(kit, CODE), turn_only(kit), loop=BEST)
    assert told(trace) == ["a1", "a2", "fetch", "a3", "a4"]
    asks, result = trace.steps[2].created[0], trace.steps[3].log[-1]
    assert (asks.parts[0].name, asks.parts[0].text) == ("tool", '{"path": "doors.txt"}')
    assert (result.role, result.text) == ("tool", "the door code is k3-99471")
    assert result.parts[0].call_id == asks.parts[0].call_id
    assert trace.steps[3].unmet == ()


def test_it_is_fetched_once_a_call_and_missed_if_it_is_cut_off_again(kit):
    newest = kit.act(lambda view, host: view.with_messages(view.messages[-1:]))
    trace = kit.replayed(errand(kit, CODE, RULE), newest, loop=ClosedLoop(misuse=0, unbound=0))
    # The answer about the day pushes the code out, for which nothing more is done at this call.
    assert told(trace)[2:5] == ["fetch", "ask", "a3"]
    assert trace.steps[4].unmet == ("code",)


def test_what_cannot_be_fetched_is_asked_for_and_the_user_says_it_again(kit):
    wish = Fact("wish", "preference", "deploy day", "Friday", (Source("u1", 0),))
    trace = kit.replayed(errand(kit, wish), turn_only(kit), loop=BEST)
    assert told(trace) == ["a1", "a2", "ask", "a3", "a4"]
    asks, reply = trace.steps[2].created[0].parts[0], trace.steps[3].log[-1]
    assert (reply.role, reply.text) == ("tool", "Deploy day: never on a Friday.")
    assert asks.name == "ask_user"
    assert "deploy day" in asks.text


def test_recovery_starts_no_turn(kit):
    """Else whoever cuts at turns would have one more to cut at, for having forgotten."""
    last = kit.act(lambda view, host: view.with_messages(view.messages[-1:]))
    asked = (errand(kit, RULE), last, ClosedLoop(unbound=0))
    for script, forgetful, loop in (asked, (revised(kit), kit.act(first_and_last), WORST)):
        turns = kit.Witness(lambda view, host: len(host.log), phases={Phase.BEFORE_TURN})
        ends = kit.Witness(lambda view, host: len(host.log), phases={Phase.AFTER_TURN})
        watched = Pipeline((turns.strategy, ends.strategy, forgetful))
        trace = kit.replayed(script, watched, loop=loop)
        assert any(step.recovery for step in trace.steps)
        assert len(turns.seen) == script.turns
        texts = [m for m in script.calls if m.parts[0].type == "text"]
        assert len(ends.seen) == len(texts)


def test_a_rule_may_be_forgotten_without_anybody_asking(kit):
    script = errand(kit, RULE)
    without = kit.replayed(script, turn_only(kit), loop=ClosedLoop(unbound=1))
    assert told(without) == ["a1", "a2", "a3", "a4"]
    assert without.steps[2].unmet == ("rule",)
    asks = kit.replayed(script, turn_only(kit), loop=ClosedLoop(unbound=0))
    assert told(asks) == ["a1", "a2", "ask", "a3", "a4"]
    assert asks.steps[3].unmet == ()


def test_it_is_forgotten_as_often_as_its_share_says(kit):
    script, loop = errand(kit, RULE), ClosedLoop(unbound=0.3)
    traces = [kit.replayed(script, turn_only(kit), loop=loop, seed=seed) for seed in range(60)]
    asked = sum("ask" in told(trace) for trace in traces)
    assert 32 <= asked <= 52  # 42 of 60, and three standard deviations


def revised(kit: Any) -> Conversation:
    """The gate was west and is east now; a strategy that keeps the first word is behind."""
    old = Fact("old", "decision", "gate", "west-51870", (Source("u1", 0),))
    new = Fact("new", "decision", "gate", "east-20933", (Source("u2", 0),), supersedes=("old",))
    story = kit.Story().user("The gate is west-51870.").answer("noted")
    story.user("The gate is east-20933 now.").answer("noted").user("go").answer(GO)
    return story.script(facts=(old, new), needs=(Need("new", "a3"),))


def first_and_last(view: Any, host: Any) -> Any:
    return view.with_messages([view.messages[0], *view.messages[1:][-1:]])


def test_a_stale_value_is_used_at_worst_and_costs_two_calls_more(kit):
    trace = kit.replayed(revised(kit), kit.act(first_and_last), loop=WORST)
    assert told(trace) == ["a1", "a2", "misuse", "misuse", "a3"]
    wrong = next(message for message in trace.steps[2].created if message.role == "assistant")
    correction = next(m for step in trace.steps for m in step.created if m.role == "user")
    assert wrong.text == GO  # as long as the right answer
    assert correction.text == "The gate is east-20933 now."


def test_at_best_it_is_noticed_and_asked_for(kit):
    trace = kit.replayed(revised(kit), kit.act(first_and_last), loop=BEST)
    assert told(trace) == ["a1", "a2", "ask", "a3"]
    assert trace.steps[3].unmet == ()


def test_what_was_put_away_is_fetched_by_its_pointer_within_the_cap(kit):
    near, far = "word " * 3_000 + "the pin is 77-1Q8Z", "word " * 9_000 + "the pin is 77-1Q8Z"
    offload = find_strategy("offload_outputs(max_text_chars=2000, preview_chars=100)")
    for text, unmet in ((near, ()), (far, ("pin",))):
        start = text.index("the pin")
        pin = Fact("pin", "tool_detail", "pin", "77-1Q8Z", (Source("r1", 0, start, len(text)),))
        story = kit.Story().user("look").acts().result(text).answer("77-1Q8Z")
        script = story.script(facts=(pin,), needs=(Need("pin", "a2"),))
        trace = kit.replayed(script, offload, loop=BEST)
        # Beyond the cap nothing can be fetched, so the user is asked, who says all of it again.
        assert told(trace)[1] == ("fetch" if not unmet else "ask")


def test_memory_is_searched_where_it_holds_the_fact(kit):
    def notes(view: Any, host: Any) -> Any:
        if not host.memory:
            said = "Deploy day: never on a Friday."
            host.memory.append(Remembered("decision", said, (Source("u1"),)))
        return view.with_messages(view.messages[-1:])

    strategy = kit.act(notes, phases={Phase.BEFORE_CALL})
    trace = kit.replayed(errand(kit, RULE), strategy, loop=ClosedLoop(unbound=0))
    assert told(trace) == ["a1", "a2", "recall", "a3", "a4"]
    assert trace.steps[3].unmet == ()
    assert trace.steps[0].outside.notes[0].text == "Deploy day: never on a Friday."


def test_what_comes_back_may_lead_to_the_next_compaction(kit):
    story = kit.Story().user("look").acts().result("the key is 5f-20871 " + kit.prose(3_000))
    story.answer("ok").user("more").answer("fine").user("now").answer("use 5f-20871")
    key = Fact("key", "tool_detail", "key", "5f-20871", (Source("r1", 0, 0, 20),), handle="r1")
    script = story.script(facts=(key,), needs=(Need("key", "a4"),))

    def cut(view: Any, host: Any) -> Any:
        return view.with_messages(view.messages[-1:]) if host.count(view) > 3_000 else view

    trace = kit.replayed(script, kit.act(cut), loop=BEST)
    assert told(trace)[-2:] == ["fetch", "a4"]
    opened = kit.replayed(script, kit.act(cut))
    assert sum(s.compaction for s in trace.steps) > sum(s.compaction for s in opened.steps)


def test_it_happens_at_the_time_of_the_call_and_later_times_do_not_move(kit):
    script = errand(kit, CODE)
    opened, closed = (kit.replayed(script, turn_only(kit), loop=loop) for loop in (None, BEST))
    times = {step.answer: step.time for step in closed.steps if not step.recovery}
    assert times == {step.answer: step.time for step in opened.steps}
    assert closed.steps[2].time == times["a3"]


def test_where_needs_are_only_inferred_nobody_is_asked(kit):
    story = kit.Story().user("see src/main.py").answer("ok").user("go").acts('{"p": "src/main.py"}')
    trace = kit.replayed(story.script(), turn_only(kit), loop=BEST)
    assert told(trace) == ["a1", "a2"]
    assert trace.steps[1].unmet == ("src/main.py",)


def test_a_probability_is_one():
    assert refusal(ValueError, lambda: ClosedLoop(misuse=2)) == snapshot(
        "misuse must be from 0 to 1, not 2"
    )
    assert WORST.best == BEST
    assert ClosedLoop(unbound=1.0).spec == "closed(misuse=1.0, unbound=1.0)"


def closed_figures(kit: Any, script: Conversation, strategy: Any) -> dict[str, float | None]:
    best, worst = (RunData(kit.replayed(script, strategy, loop=x), script) for x in (BEST, WORST))
    return figures(RunData(kit.replayed(script, strategy), script, best, worst))


def test_the_figures_of_the_closed_loop_stand_beside_those_of_the_open_one(kit):
    found = closed_figures(kit, errand(kit, CODE), turn_only(kit))
    assert found["rereads_per_100_calls"] == 25.0
    assert found["questions_per_100_calls"] == found["unmet_needs"] == 0
    assert (found["reread_tokens"] or 0) >= 8
    assert (found["cost_with_recovery_usd"] or 0) > (found["cost_usd"] or 0)
    assert found["cost_per_kept_need_usd"] == found["cost_with_recovery_usd"]
    found = closed_figures(kit, revised(kit), kit.act(first_and_last))
    assert found["misuses_per_100_calls"] == pytest.approx(100 / 3)
    assert (found["cost_with_recovery_worst_usd"] or 0) > (found["cost_with_recovery_usd"] or 0)


def test_without_the_closed_loop_they_have_no_value(kit):
    script = errand(kit, CODE)
    found = figures(RunData(kit.replayed(script, turn_only(kit)), script))
    assert found["cost_with_recovery_usd"] is found["rereads_per_100_calls"] is None


def test_it_takes_some_calls_until_needs_are_met_again(kit):
    story = kit.Story().user("The code is 81-QF40.")
    for _ in range(6):
        story.answer("81-QF40").user("on")
    code = Fact("code", "entity", "code", "81-QF40", (Source("u1", 0),))
    needs = tuple(Need("code", f"a{n}") for n in range(1, 7))

    def once(view: Any, host: Any) -> Any:
        return view.with_messages(view.messages[-1:]) if len(host.log) == 5 else view

    script = story.answer("end").script(facts=(code,), needs=needs)
    # The third call misses it, the user says it again, and from the fourth on it is there.
    assert closed_figures(kit, script, kit.act(once))["calls_to_recover"] == 1


@st.composite
def labelled(draw: st.DrawFn, kit: Any) -> Conversation:
    """Any script, with facts that any of its messages state and any of its calls need."""
    script = draw(kit.stories())
    said, calls = [m.id for m in script.messages], [m.id for m in script.calls]
    results = [m.id for m in script.messages if m.role == "tool"]
    facts = tuple(
        Fact(
            f"f{n}",
            draw(st.sampled_from(["decision", "prohibition", "tool_detail"])),
            "key",
            "value",
            (Source(draw(st.sampled_from(said))),),
            handle=draw(st.sampled_from(["", *results])),
        )
        for n in range(draw(st.integers(1, 4)))
    )
    at = st.sampled_from(calls) if calls else st.nothing()
    needs = draw(st.lists(st.builds(Need, st.sampled_from([f.id for f in facts]), at), max_size=6))
    return replace(script, facts=facts, needs=tuple(needs)) if calls else script


@given(data=st.data())
def test_whatever_happens_the_script_is_answered_call_by_call(kit, data):
    script = data.draw(labelled(kit))
    specs = ["keep_none", "sliding_window(keep=2)", "keep_all", "random_keep"]
    strategy = find_strategy(data.draw(st.sampled_from(specs)))
    loop = ClosedLoop(data.draw(st.sampled_from([0, 0.5, 1])), data.draw(st.sampled_from([0, 1])))
    trace = kit.replayed(script, strategy, loop=loop)
    answers = [step.answer for step in trace.steps if not step.recovery]
    assert answers == [message.id for message in script.calls]
    assert kit.replayed(script, strategy, loop=loop).steps == trace.steps
    needed = {(need.fact, need.at) for need in script.needs}
    for step in trace.steps:
        assert {(fact, step.answer) for fact in step.unmet} <= needed
    acts = sum(step.recovery not in ("", "misuse") for step in trace.steps)
    assert acts <= len(needed)
    if strategy.spec == "keep_all()":
        assert acts == 0


def test_parts_that_are_asked_for_again_say_where_they_come_from(kit):
    trace = kit.replayed(errand(kit, CODE), turn_only(kit), loop=BEST)
    back: Part = trace.steps[3].log[-1].parts[0]
    assert (back.kind, back.sources) == ("recovered", (Source("r1", 0),))


def test_what_was_cut_out_into_a_file_is_read_again_as_far_as_its_tool_reads(kit):
    """Gemini CLI's way: of an old output only the ends stay, the rest is in a file."""
    script = find_scenario("tool_flood(tokens=100000)").conversation(1)
    trace = record(
        script,
        find_strategy("fraction_split"),
        Options(
            "claude-sonnet-4-5", window=40_000, summarizer=find_summarizer("lexrank"), loop=BEST
        ),
    )
    stored = dict(pair for step in trace.steps for pair in step.outside.stored)
    assert stored
    assert all(text.count("\n") < 2_000 for text in stored.values())
    handles = {part.handle for step in trace.steps for m in step.added for part in m.parts}
    assert handles - {""} == stored.keys()


def test_a_path_that_is_only_named_leads_nowhere(kit):
    def point(view: Any, host: Any) -> Any:
        part = Part("text", "see notes", "stub", (Source("u1"),), handle="/etc/passwd")
        return view.with_messages([Message("s", "user", (part,)), *view.messages[1:]])

    trace = kit.replayed(errand(kit, CODE), kit.act(point), loop=BEST)
    assert all(step.outside.stored == () for step in trace.steps)


def test_what_several_messages_point_to_is_stored_once(kit):
    def point(view: Any, host: Any) -> Any:
        part = Part("text", f"see {len(host.log)}", "stub", (Source("u1"),), handle="notes")
        return view.with_messages([Message("s", "user", (part,)), *view.messages[1:]])

    pointing = kit.act(point)
    type(pointing).fetch = lambda self, handle, host: "all of it"
    steps = kit.replayed(errand(kit, CODE), pointing).steps
    assert [pair for step in steps for pair in step.outside.stored] == [("notes", "all of it")]


def test_a_strategy_that_puts_nothing_away_has_nothing_to_fetch(kit):
    def fetch(view: Any, host: Any) -> Any:
        assert refusal(InputError, lambda: host.fetch("x")) == snapshot(
            "nothing is stored under 'x'"
        )
        return view

    assert told(kit.replayed(errand(kit, CODE), kit.act(fetch)))
