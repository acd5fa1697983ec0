"""The loop: which messages are calls, who is asked when, and why a prompt is what it is."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.message import Message, Part, Source, verbatim
from compactlab.sim.core.view import Phase, View
from compactlab.sim.replay.replay import replay
from compactlab.sim.replay.strategy import Pipeline, Strategy

EVERY = tuple(Phase)


def test_calls_are_the_answers_that_a_request_had(kit, story):
    script = (
        story.user("hi").acts().result("done").answer("well").user("and?").answer("that").script()
    )
    assert [step.answer for step in kit.replayed(script, kit.keep).steps] == ["a1", "a2", "a3"]


def test_an_aborted_answer_costs_nothing_and_is_remembered(kit, story):
    script = story.user("hi").aborted("I w").user("again").answer("yes").script()
    trace = kit.replayed(script, kit.keep)
    assert kit.prompts_of(trace) == ["u1 x1 u2"]


def test_a_script_without_calls_makes_no_step(kit, story):
    assert kit.replayed(story.user("hi").aborted("no").script(), kit.keep).steps == []
    assert kit.replayed(story.script(id="empty"), kit.keep).steps == []


@given(st.data())
def test_nobody_sees_an_answer_before_its_time(kit, data):
    script = data.draw(kit.stories(rewinds=False))
    witness = kit.Witness(lambda view, host: (kit.ids_of(host.log), kit.ids_of(view.messages)))
    kit.replayed(script, witness.strategy)
    said = [message.id for message in script.messages]
    until = [" ".join(said[: said.index(answer.id)]) for answer in script.calls]
    assert witness.seen == [(before, before) for before in until]


def test_everybody_is_asked_in_the_right_moments(kit, story):
    witness = kit.Witness(
        lambda view, host: (host.phase.value, host.now - kit.start, len(host.log)),
        phases=EVERY,
        idle_after=100.0,
    )
    story.user("one").acts().result("done").answer("well")
    story.client("a file changed", after=500.0).user("two").answer("good")
    kit.replayed(story.script(), witness.strategy)
    moments = [(phase, log) for phase, _, log in witness.seen]
    assert moments == [
        ("before_turn", 1),
        ("before_call", 1),
        ("after_call", 2),
        ("before_call", 3),
        ("after_call", 4),
        ("after_turn", 4),
        ("on_idle", 4),
        ("before_turn", 6),
        ("before_call", 6),
        ("after_call", 7),
        ("after_turn", 7),
        ("on_idle", 7),
    ]
    asked_before = [now for phase, now, _ in witness.seen if phase.startswith("before")]
    assert asked_before == [0, 0, 20, 540, 540]


def test_a_message_of_the_client_starts_no_turn(kit, story):
    witness = kit.Witness(lambda view, host: len(host.log), phases=[Phase.BEFORE_TURN])
    script = (
        story.client("env").answer("hm").user("go").answer("ok").client("env").answer("so").script()
    )
    kit.replayed(script, witness.strategy)
    assert witness.seen == [3]


def test_silence_is_noticed_without_knowing_how_long_it_lasts(kit, story):
    witness = kit.Witness(
        lambda view, host: (host.now - kit.start, kit.ids_of(host.log)),
        phases=[Phase.ON_IDLE],
        idle_after=60.0,
    )
    story.user("one").answer("ok", after=61.0).user("two", after=60.0).answer("ok", after=9_999.0)
    kit.replayed(story.script(), witness.strategy)
    assert witness.seen == [
        (60.0, "u1"),
        (61.0 + 60.0 + 60.0, "u1 a1 u2"),
        (61.0 + 60.0 + 9_999.0 + 60.0, "u1 a1 u2 a2"),
    ]


def test_the_silence_at_the_end_is_a_silence_too(kit, story):
    """Whoever acts in it cannot know that nobody comes back, and pays for it."""
    witness = kit.Witness(
        lambda view, host: host.now - kit.start, phases=[Phase.ON_IDLE], idle_after=1e6
    )
    kit.replayed(story.user("one").answer("ok").script(), witness.strategy)
    assert witness.seen == [10.0 + 1e6]


def test_a_strategy_may_say_at_each_silence_how_long_it_waits(kit, story):
    @dataclass(frozen=True)
    class Patient(Strategy):
        phases = frozenset({Phase.ON_IDLE})

        def silence(self, host: Any) -> float:
            waits.append(host.idle)
            return 100.0 - host.idle

        def compact(self, view: View, host: Any) -> View:
            asked.append((host.now - kit.start, host.idle))
            return view

    waits: list[float] = []
    asked: list[tuple[float, float]] = []
    story.user("one").answer("ok", after=40.0).user("two", after=500.0).answer("ok", after=150.0)
    kit.replayed(story.script(), Patient())
    assert waits == [0.0, 40.0, 0.0, 150.0]
    assert asked == [(100.0, 100.0), (640.0, 100.0)], "after 150 s there is no time left"


def test_each_idle_strategy_is_asked_at_its_own_moment(kit, story):
    late, early = (
        kit.Witness(lambda view, host: host.now - kit.start, phases=[Phase.ON_IDLE], idle_after=s)
        for s in (300.0, 30.0)
    )
    script = story.user("one").answer("ok").user("two", after=1000.0).answer("ok").script()
    kit.replayed(script, Pipeline((late.strategy, early.strategy)))
    assert early.seen == [40.0, 1050.0]
    assert late.seen == [310.0, 1320.0]


def test_idle_is_the_time_since_the_last_request(kit, story):
    witness = kit.Witness(lambda view, host: host.idle)
    kit.replayed(
        story.user("a").answer("b").user("c", after=700.0).answer("d").script(), witness.strategy
    )
    assert witness.seen == [0.0, 710.0]


def test_idle_is_right_after_somebody_was_asked_in_the_silence(kit, story):
    witness = kit.Witness(
        lambda view, host: (host.phase.value, host.idle),
        phases=[Phase.ON_IDLE, Phase.BEFORE_CALL],
        idle_after=60.0,
    )
    kit.replayed(
        story.user("a").answer("b").user("c", after=700.0).answer("d").script(), witness.strategy
    )
    assert witness.seen == [
        ("before_call", 0.0),
        ("on_idle", 70.0),
        ("before_call", 710.0),
        ("on_idle", 70.0),
    ]


def test_now_is_the_time_of_the_newest_message(kit, story):
    witness = kit.Witness(
        lambda view, host: (host.phase.value, host.now == host.log[-1].time),
        phases=[Phase.BEFORE_TURN, Phase.BEFORE_CALL, Phase.AFTER_CALL, Phase.AFTER_TURN],
    )
    kit.replayed(story.user("a").answer("b", after=90.0).script(), witness.strategy)
    assert [phase for phase, right in witness.seen if not right] == []


def test_too_large_a_prompt_is_met_once_and_recorded_if_nothing_helps(kit, story):
    witness = kit.Witness(lambda view, host: len(host.log), phases=[Phase.ON_OVERFLOW])
    script = story.user("short").answer("ok").user(kit.prose(500)).answer("ok").script()
    steps = kit.replayed(script, witness.strategy, window=100).steps
    assert witness.seen == [3]
    assert [step.overflow for step in steps] == [False, True]
    assert steps[1].usage.prompt > 500


def test_an_overflow_that_is_mended_is_none(kit, story):
    cut = kit.act(
        lambda view, host: view.with_messages(view.messages[-1:]), phases=[Phase.ON_OVERFLOW]
    )
    script = story.user(kit.prose(90)).answer("ok").user(kit.prose(90)).answer("ok").script()
    trace = kit.replayed(script, cut, window=100)
    assert [step.overflow for step in trace.steps] == [False, False]
    assert kit.prompts_of(trace) == ["u1", "u2"]


def test_a_prompt_of_exactly_the_window_fits(kit, story):
    script = story.user(kit.prose(100)).answer("ok").script()
    assert [s.overflow for s in kit.replayed(script, kit.keep, window=100).steps] == [False]
    assert [s.overflow for s in kit.replayed(script, kit.keep, window=99).steps] == [True]


# --------------------------------------------------------------------- why a prompt is what it is

NOTE = Message("note", "user", (Part("text", "a note", "synthetic", ()),))
SHORT = Message("u1", "user", (Part("text", "lo...", "truncated", (Source("u1"),)),))


def tail(view: View, host: Any) -> View:
    return view.with_messages(view.messages[-1:])


def swapped(view: View, host: Any) -> View:
    first, second, *rest = view.messages
    return view.with_messages([second, first, *rest])


def noted(view: View, host: Any) -> View:
    return view.with_messages([view.messages[0], NOTE, *view.messages[1:]])


def headed(view: View, host: Any) -> View:
    return view.with_messages([NOTE, *view.messages])


def shortened(view: View, host: Any) -> View:
    return view.with_messages([SHORT, *view.messages[1:]])


def ruled(view: View, host: Any) -> View:
    return view.with_system(verbatim("rule", "text", "be brief"))


@pytest.mark.parametrize(
    ("do", "reason", "flags"),
    [
        (tail, "compaction", (True, True)),
        (shortened, "compaction", (True, True)),
        (swapped, "history_edit", (True, False)),
        (headed, "history_edit", (True, False)),
        (ruled, "system_changed", (True, False)),
        (lambda view, host: view, "", (False, False)),
        (lambda view, host: View(view.system, view.messages), "", (False, False)),
    ],
)
def test_a_changed_prompt_says_why(do, reason, flags, kit, story):
    later = kit.act(lambda view, host: do(view, host) if len(host.log) > 1 else view)
    script = story.user(kit.prose(2000, "long")).answer("ok").user("x").answer("fine").script()
    first, second = kit.replayed(script, later).steps
    assert first.causes == {"cold_start": 2000}
    assert (second.rewrite, second.compaction) == flags
    assert set(second.causes) - {"append"} <= {reason}
    assert sum(second.causes.values()) == second.usage.prompt - second.usage.cache_read
    assert second.usage.cache_read == (0 if reason else 2000)


def test_edits_without_loss_are_charged_as_such(kit, story):
    later = kit.act(lambda view, host: noted(view, host) if len(host.log) > 3 else view)
    story.user(kit.prose(1100)).answer(kit.prose(50)).user("x").answer("ok").user("y").answer("z")
    last = kit.replayed(story.script(), later).steps[-1]
    note, rest, new = 2, 51, 2
    assert last.causes == {"history_edit": note + rest, "append": new}


def test_another_model_finds_no_cache(kit, story):
    story.user(kit.prose(3000)).answer("ok", model="claude-sonnet-4-5")
    story.user("and").answer("so", model="claude-sonnet-4-6").user("x").answer(
        "y", model="claude-sonnet-4-6"
    )
    first, second, third = kit.replayed(story.script(), kit.keep, model="recorded").steps
    assert [step.model for step in (first, second, third)] == [
        "claude-sonnet-4-5",
        "claude-sonnet-4-6",
        "claude-sonnet-4-6",
    ]
    assert set(second.causes) == {"model_switch", "append"}
    assert not second.rewrite
    assert second.usage.cache_read == 0
    assert set(third.causes) == {"append"}


def test_a_message_is_lost_though_a_new_one_says_the_same(kit, story):
    forget = kit.act(
        lambda view, host: view.with_messages(
            view.messages[1:] if len(host.log) > 1 else view.messages
        )
    )
    script = story.user("go on").answer("done").user("go on").answer("done").script()
    second = kit.replayed(script, forget).steps[1]
    assert second.rewrite
    assert second.compaction


@given(st.data())
def test_causes_add_up_whatever_happens(kit, data):
    script = data.draw(kit.stories())
    for step in kit.replayed(script, kit.whim(), seed=data.draw(st.integers(0, 99))).steps:
        assert sum(step.causes.values()) == step.usage.prompt - step.usage.cache_read
        assert not step.compaction or step.rewrite


def test_a_recording_that_names_no_model_wants_one(kit, story):
    script = story.user("hi").answer("ho").script()
    with pytest.raises(ModelError, match="--model"):
        next(replay(script, kit.keep))
