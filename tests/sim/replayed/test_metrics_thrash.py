"""Compaction after compaction: each figure by hand, and recounted by brute force."""

import json
from collections import Counter
from itertools import pairwise
from statistics import fmean, median
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.clients import looked_at
from compactlab.sim.core.conversation import Conversation, Fact, Need
from compactlab.sim.core.message import Call, Message, Part, Source, Usage
from compactlab.sim.core.view import Phase, View
from compactlab.sim.metrics import METRICS, RunData, metrics_named
from compactlab.sim.metrics.thrash import SPEED, Speed
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.recovery import ClosedLoop
from compactlab.sim.replay.strategy import Lifetime
from compactlab.sim.replay.trace import SideCall, Trace
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.mechanisms.estimate import known_tokens
from compactlab.strategies.summarizers.catalogue import find_summarizer


def told(data: RunData, name: str) -> float | None:
    return METRICS[name].compute(data)


def reads(story: Any, kit: Any, *files: str, tokens: int = 100) -> Any:
    """The agent reads files; each is as long as the others."""
    for file in files:
        story.acts(json.dumps({"path": f"{file}.py"})).result(kit.prose(tokens, file))
    return story


def named(script: Conversation) -> Conversation:
    """The same where the tool is one that reads."""
    events = [
        msgspec.structs.replace(
            e, parts=tuple(msgspec.structs.replace(p, name="read") for p in e.parts)
        )
        if isinstance(e, Message) and any(p.call_id for p in e.parts)
        else e
        for e in script.events
    ]
    return Conversation(script.id, script.format, tuple(events), seed=0)


def emptied(kit: Any, *at: int) -> Any:
    """A strategy that sends nothing but the newest message when so many messages were said."""
    return kit.act(
        lambda view, host: view.with_messages(view.messages[-1:]) if len(host.log) in at else view
    )


def run(kit: Any, story: Any, *at: int) -> RunData:
    script = named(story.script())
    return RunData(kit.replayed(script, emptied(kit, *at)), script)


def test_how_often_and_how_soon(kit, story):
    for _ in range(20):
        story.user("go").answer("ok")
    data = run(kit, story, 5, 11, 15, 35)  # calls 2, 5, 7 and 17 of 20, from 0
    assert told(data, "compactions_per_100_calls") == 20.0
    assert told(data, "compaction_interval_min") == 2


def test_once_is_no_interval_and_never_is_no_share(kit, story):
    story.user("go").answer("ok").user("on").answer("ok")
    assert told(run(kit, story, 3), "compaction_interval_min") is None
    never = run(kit, story)
    values = {name: METRICS[name].compute(never) for name in metrics_named(["thrash"])}
    assert {name: value for name, value in values.items() if value is not None} == {
        "compactions_per_100_calls": 0.0, "compaction_stall_s": 0.0, "compaction_stall_max_s": 0.0,
    }  # fmt: skip


def test_the_floor_is_what_stays_of_what_would_have_been_sent(kit, story):
    """50, 30 and 20 tokens; the last 20 stay."""
    story.user(kit.prose(50, "a")).answer(kit.prose(30, "b")).user(kit.prose(20, "c")).answer("d")
    data = run(kit, story, 3)
    assert told(data, "compaction_floor") == pytest.approx(0.2)
    assert told(data, "compactions_small_gain") == 0
    assert told(data, "floor_system") == 0


def test_of_the_floor_the_system_prompt_is_told_apart(kit, story):
    story.user(kit.prose(50, "a")).answer(kit.prose(30, "b")).user(kit.prose(20, "c")).answer("d")
    part = Part("text", kit.prose(60, "s"), "verbatim", (Source("s"),))
    script = story.script(system=(part,))
    data = RunData(kit.replayed(script, emptied(kit, 3)), script)
    assert told(data, "floor_system") == 60 / 80
    assert told(data, "compaction_floor") == 80 / 160


@pytest.mark.parametrize(("kept", "small"), [(95, 1.0), (85, 0.0)])
def test_a_gain_under_a_tenth_is_small(kit, story, kept, small):
    story.user(kit.prose(100 - kept, "a")).answer("").user(kit.prose(kept, "c")).answer("d")
    assert told(run(kit, story, 3), "compactions_small_gain") == small


def test_a_summary_longer_than_what_it_replaces_has_a_floor_above_one(kit, story):
    story.user("a").answer("b").user("c").answer("d")
    long = Message("sum", "user", (Part("text", kit.prose(9), "summary", (Source("u1"),)),))
    longer = kit.at(3, lambda messages: [long, messages[-1]])
    script = story.script()
    data = RunData(kit.replayed(script, longer), script)
    assert told(data, "compaction_floor") == 10 / 3
    assert told(data, "compactions_small_gain") == 1


def test_who_reads_again_what_was_dropped_causes_the_next(kit, story):
    """At the second compaction, 100 of its tokens are a file that the first had dropped."""
    reads(story.user("go"), kit, "a", "b", "c").acts("{}").result("x")
    reads(story, kit, "a").acts("{}").result("y")
    story.answer("done")
    data = run(kit, story, 7, 11)
    assert told(data, "compactions_by_rereads") == 0.5  # the first is caused by none


def test_who_reads_something_else_does_not(kit, story):
    reads(story.user("go"), kit, "a", "b", "c").acts("{}").result("x")
    reads(story, kit, "d").acts("{}").result("y")
    assert told(run(kit, story.answer("done"), 7, 11), "compactions_by_rereads") == 0


def test_what_is_still_there_is_not_read_again(kit, story):
    """The newest message stays at the first compaction: that result was not dropped."""
    reads(story.user("go"), kit, "a", "b", "c")
    reads(story, kit, "c").acts("{}").result("y")
    assert told(run(kit, story.answer("done"), 7, 9), "compactions_by_rereads") == 0


def test_too_little_was_read_again_to_have_caused_it(kit, story):
    """90 tokens came at the last call, and 10 of a dropped file before."""
    reads(story.user("go"), kit, "a", tokens=10)
    reads(story, kit, "b", "c")
    reads(story, kit, "a", tokens=10)
    reads(story, kit, "d", tokens=90)
    assert told(run(kit, story.answer("done"), 7, 11), "compactions_by_rereads") == 0


@pytest.mark.parametrize(("second", "caused"), [("same", 0.5), ("other", 0.0)])
def test_a_command_is_run_again_in_vain_only_if_it_says_the_same(kit, story, second, caused):
    command = '{"cmd":"make test"}'
    story.user("go").acts(command).result(kit.prose(100, "same"))
    story.acts("{}").result("x").acts("{}").result("y")
    story.acts(command).result(kit.prose(100, second)).answer("done")
    assert told(run(kit, story, 5, 9), "compactions_by_rereads") == caused


def test_in_the_closed_loop_what_is_fetched_again_counts(kit, story):
    code = Fact("code", "tool_detail", "door code", "k3-99471", (Source("r1", 0),), handle="r1")
    story.user("look").acts('{"path": "doors.txt"}').result(f"door code k3-99471 {kit.prose(90)}")
    story.answer("noted").user("go in").answer("k3-99471").user("on").answer("k3-99471")
    script = story.script(facts=(code,), needs=(Need("code", "a3"), Need("code", "a4")))
    newest = find_strategy("keep_none")
    opened = RunData(kit.replayed(script, newest), script)
    closed = opened.beside(
        best=RunData(kit.replayed(script, newest, loop=ClosedLoop().best), script)
    )
    assert told(opened, "compactions_with_recovery") is None
    assert told(opened, "compactions_by_recovery") is None
    assert told(closed, "compactions_with_recovery") == told(closed, "compactions_per_100_calls")
    assert (told(closed, "compactions_by_rereads"), told(closed, "compactions_by_recovery")) == (
        0, 0.5,
    )  # fmt: skip


def asked(uncached: int, read: int, output: int, purpose: str = "summary") -> SideCall:
    usage = Usage(uncached=uncached, cache_read=read, output=output)
    return SideCall(purpose, "gpt-5", 0.0, usage, {})


def test_users_wait_for_what_is_written_and_for_what_missed_the_cache(kit):
    first, second = asked(70_000, 900_000, 470), asked(0, 100_000, 94)
    flush = asked(10**6, 0, 10**4, "flush")
    trace = kit.trace_of(*[kit.usage()] * 3, side=[(first, second), (second, flush), ()])
    data = RunData(trace, None)  # type: ignore[arg-type]
    assert told(data, "compaction_stall_s") == pytest.approx(2 + 10 + 2 + 2)
    assert told(data, "compaction_stall_max_s") == pytest.approx(2 + 10 + 2)


def test_nobody_waits_for_what_is_made_beside_the_work(kit):
    awaited = asked(70_000, 0, 470)
    beside = msgspec.structs.replace(awaited, waits=False)
    trace = kit.trace_of(*[kit.usage()] * 2, side=[(awaited, beside), (beside,)])
    data = RunData(trace, None)  # type: ignore[arg-type]
    assert told(data, "compaction_stall_s") == told(data, "compaction_stall_max_s") == 2 + 10


def test_the_speed_is_that_of_the_definition():
    assert Speed(47, 35_000) == SPEED
    definition = METRICS["compaction_stall_s"].definition
    assert f"{SPEED.output} tokens per second" in definition
    assert f"{SPEED.prefill:,} per second" in definition


def recounted(trace: Trace, script: Conversation) -> dict[str, float | None]:
    """The same figures from whole prompts and whole logs, with lists."""
    prompts = [list(prompt) for prompt in trace.prompts()]
    logs = [list(step.log) for step in trace.steps]
    count = trace.catalogue.find(trace.steps[0].model).tokenizer
    size = [step.usage.prompt for step in trace.steps]
    at = [n for n, step in enumerate(trace.steps) if step.compaction and n]
    calls = {p.call_id: p for m in script.messages for p in m.parts if p.type == "tool_call"}

    def of(part: Part) -> tuple[str, ...]:
        call = calls.get(part.call_id)
        file = looked_at(call) if call else ""
        return (file,) if file else (call.name, call.text, part.text) if call else ("", part.text)

    def results(messages: list[Message]) -> list[Part]:
        parts = [p for m in messages for p in m.parts]
        return [p for p in parts if p.type == "tool_result" and p.kind == "verbatim"]

    def come(earlier: int, later: int) -> list[Message]:
        known = {id(m) for m in logs[earlier]}
        return [m for m in logs[later] if id(m) not in known]

    before, caused, dropped, last = [], [], Counter[tuple[str, ...]](), 0
    for n in at:
        new = sum(count.message(m) for m in come(n - 1, n))
        before.append(size[n - 1] + new)
        again = 0
        for part in results(come(last, n)):
            if dropped[of(part)] > 0:
                dropped[of(part)] -= 1
                again += count.part(part)
                again += next(
                    (
                        count.part(p)
                        for m in come(last, n)
                        for p in m.parts
                        if p.type == "tool_call" and p.call_id == part.call_id
                    ),
                    0,
                )
        passed = max((k for k in range(n) if k not in at), default=0)
        caused.append(before[-1] - again <= size[passed] < before[-1])
        there = {id(p) for p in results(prompts[n])}
        gone = results([*prompts[n - 1], *come(n - 1, n)])
        dropped.update(of(p) for p in gone if id(p) not in there)
        last = n
    shares = [size[n] / b for n, b in zip(at, before, strict=True) if b]
    return {
        "compactions_per_100_calls": 100 * len(at) / len(size),
        "compaction_interval_min": min((b - a for a, b in pairwise(at)), default=None),
        "compaction_floor": median(shares) if shares else None,
        "compactions_small_gain": fmean(
            (b - size[n]) / b < 0.1 if b else True for n, b in zip(at, before, strict=True)
        )
        if at
        else None,
        "compactions_by_rereads": fmean(caused) if caused else None,
    }


@st.composite
def sessions(draw: st.DrawFn, kit: Any) -> Conversation:
    """An agent that reads few files, runs commands, and is told things."""
    story = kit.Story().user("go")
    for _ in range(draw(st.integers(2, 25))):
        what = draw(st.integers(0, 5))
        if what < 4:
            reads(story, kit, draw(st.sampled_from("abc")), tokens=draw(st.integers(1, 60)))
        elif what == 4:
            story.acts('{"cmd":"make"}').result(draw(st.sampled_from(["ok", "ok ok"])))
        else:
            story.answer("ok").user(kit.prose(draw(st.integers(1, 40)), "u"))
    return named(story.answer("done").script())


@settings(max_examples=60)
@given(st.data())
def test_figures_are_those_of_a_naive_count(kit, data):
    script = data.draw(sessions(kit))
    keep, limit = data.draw(st.integers(1, 4)), data.draw(st.integers(5, 200))
    cutting = kit.act(
        lambda view, host: view.with_messages(view.messages[-keep:])
        if len(view.messages) > keep and host.count(view) > limit else view
    )  # fmt: skip
    trace = kit.replayed(script, cutting)
    found = RunData(trace, script)
    for name, value in recounted(trace, script).items():
        assert told(found, name) == (value if value is None else pytest.approx(value)), name


def test_the_ends_are_those_of_the_null_strategies(kit):
    story = kit.Story()
    for n in range(10):
        story.user(kit.prose(50, f"u{n}")).answer("ok")
    script = story.script()
    for spec, often in (("keep_all", 0.0), ("keep_none", 90.0)):
        data = RunData(kit.replayed(script, find_strategy(spec)), script)
        assert told(data, "compactions_per_100_calls") == often


class TestFiredEarly:
    """What was believed of the context when it was compacted, less what it had."""

    @staticmethod
    def told(kit: Any, story: Any, by: int, **more: Any) -> float | None:
        def cut(view: View, host: Host) -> View:
            host.believe(host.count(view) + by, view)
            return view.with_messages(view.messages[-1:]) if len(host.log) in (3, 7) else view

        for n in range(5):
            story.user(f"{n}").answer(f"{n}")
        script = story.script()
        data = RunData(kit.replayed(script, kit.act(cut, **more)), script)
        return told(data, "fired_early")

    @pytest.mark.parametrize("by", [250, 0, -40])
    def test_it_is_what_was_believed_too_much(self, kit, story, by):
        assert self.told(kit, story, by) == by

    def test_thinking_that_the_model_drops_is_in_no_context(self, kit, story):
        """Of the turn before; who counts it believes too much."""
        story.user("1")._say("a", "assistant", "thinking", kit.prose(300), 10, call=Call())
        story.answer("1").user("2").answer("2")

        def cut(view: View, host: Host) -> View:
            host.believe(host.count(view), view)
            return view.with_messages(view.messages[-1:]) if len(host.log) == 4 else view

        script = story.script()
        data = RunData(kit.replayed(script, kit.act(cut)), script)
        assert told(data, "fired_early") == 300

    def test_strategies_of_a_turn_count_too(self, kit, story):
        turn = {"phases": [Phase.BEFORE_TURN], "lifetime": Lifetime.TURN}
        assert self.told(kit, story, 30, **turn) == 30

    def test_who_believes_no_estimate_has_none(self, kit, story):
        for n in range(3):
            story.user(f"{n}").answer(f"{n}")
        assert told(run(kit, story, 3), "fired_early") is None

    @pytest.mark.parametrize(
        "spec",
        [
            "cliff_compaction(trigger=1000, keep_recent=1)",
            "event_ranges(compaction_interval=0, trigger=1000, event_retention_size=2)",
            "tool_groups(keep_last_tool_call_groups=1, max_output_tokens=0)",
            "trim_messages(max_tokens=1000)",
        ],
    )
    def test_who_estimates_says_so(self, kit, story, spec):
        """In ten times as many digits as an estimate by characters takes them to be tokens."""
        for n in range(3):
            story.user(f"{n}").acts().result("0 1 2 3 4 5 6 7 8 9 " * 100).answer("done")
        script, more = story.script(), {"summarizer": find_summarizer("tail"), "window": 3000}
        data = RunData(kit.replayed(script, find_strategy(spec), **more), script)
        assert any(step.compaction for step in data.trace.steps)
        early = told(data, "fired_early")
        assert early is not None
        assert early < -500

    def test_a_refused_request_was_started_by_its_size(self, kit, story):
        def cut(view: View, host: Host) -> View:
            host.believe(0, view)
            return view.with_messages(view.messages[-1:])

        story.user(kit.prose(600, "a")).answer("1").user(kit.prose(600, "b")).answer("2")
        script, relieved = story.script(), kit.act(cut, phases=[Phase.ON_OVERFLOW])
        data = RunData(kit.replayed(script, relieved, window=1_000), script)
        assert [step.compaction for step in data.trace.steps] == [False, True]
        assert told(data, "fired_early") is None

    def test_an_agent_that_counts_characters_is_late_where_they_are_dense(self, kit, story):
        """What came since the report is estimated: here a token for each character."""
        digits = "0 1 2 3 4 5 6 7 8 9 " * 500
        story.user("read").acts().result(digits).answer("done").user("go on").answer("again")

        def cut(view: View, host: Host) -> View:
            due = len(host.log) == 3 and known_tokens(view, host)
            return view.with_messages(view.messages[-1:]) if due else view

        script = story.script()
        data = RunData(kit.replayed(script, kit.act(cut)), script)
        assert data.trace.steps[1].compaction
        assert told(data, "fired_early") == pytest.approx(2_500 - 10_000, abs=10)
