"""How long a view holds that a strategy returns: what the next call starts from."""

from typing import Any

import pytest

from compactlab.sim.core.message import Part
from compactlab.sim.core.view import Phase
from compactlab.sim.replay.strategy import Lifetime, Pipeline
from compactlab.sim.replay.summarize import TurnRequest


def two_turns(kit: Any) -> Any:
    """Two turns of two calls each."""
    story = kit.Story().user("one").acts().result("r").answer("ok")
    return story.user("two").acts().result("r").answer("ok").script()


def cutting_once(kit: Any, lifetime: Lifetime, phase: Phase, log: int) -> Any:
    """A strategy that keeps the newest message alone, once, when the log is so long."""
    return kit.act(
        lambda view, host: view.with_messages(view.messages[-1:]) if len(host.log) == log else view,
        lifetime=lifetime,
        phases=[phase],
    )


@pytest.mark.parametrize(
    ("lifetime", "prompts"),
    [
        (Lifetime.SESSION, ["u1", "r1", "r1 a2 u2", "r1 a2 u2 a3 r2"]),
        (Lifetime.TURN, ["u1", "r1", "u1 a1 r1 a2 u2", "u1 a1 r1 a2 u2 a3 r2"]),
        (Lifetime.REQUEST, ["u1", "r1", "u1 a1 r1 a2 u2", "u1 a1 r1 a2 u2 a3 r2"]),
    ],
)
def test_cut_at_the_last_call_of_a_turn(lifetime, prompts, kit):
    cut = cutting_once(kit, lifetime, Phase.BEFORE_CALL, 3)
    assert kit.prompts_of(kit.replayed(two_turns(kit), cut)) == prompts


@pytest.mark.parametrize(
    ("lifetime", "prompts"),
    [
        (Lifetime.SESSION, ["u1", "u1 a1 r1", "u2", "u2 a3 r2", "u2 a3 r2 a4 u3"]),
        (Lifetime.TURN, ["u1", "u1 a1 r1", "u2", "u2 a3 r2", "u1 a1 r1 a2 u2 a3 r2 a4 u3"]),
        (
            Lifetime.REQUEST,
            ["u1", "u1 a1 r1", "u2", "u1 a1 r1 a2 u2 a3 r2", "u1 a1 r1 a2 u2 a3 r2 a4 u3"],
        ),
    ],
)
@pytest.mark.parametrize("phase", [Phase.BEFORE_TURN, Phase.BEFORE_CALL])
def test_cut_at_the_first_call_of_a_turn(phase, lifetime, prompts, kit):
    story = kit.Story().user("one").acts().result("r").answer("ok")
    script = story.user("two").acts().result("r").answer("ok").user("three").answer("ok").script()
    cut = cutting_once(kit, lifetime, phase, 5)
    assert kit.prompts_of(kit.replayed(script, cut)) == prompts


def test_only_what_is_kept_for_the_session_counts_as_its_compaction(kit):
    for lifetime in Lifetime:
        cut = cutting_once(kit, lifetime, Phase.BEFORE_CALL, 3)
        witness = kit.Witness(lambda view, host: len(host.compactions))
        trace = kit.replayed(two_turns(kit), first_asked(cut, witness.strategy))
        assert [step.compaction for step in trace.steps] == [False, True, False, False]
        done = 1 if lifetime is Lifetime.SESSION else 0
        assert witness.seen[-1] == done


def first_asked(cut: Any, witness: Any) -> Pipeline:
    return Pipeline(
        tuple(sorted((witness, cut), key=lambda part: list(Lifetime).index(part.lifetime)))
    )


def test_a_compaction_is_told_with_its_sizes(kit, story):
    cut = cutting_once(kit, Lifetime.SESSION, Phase.BEFORE_CALL, 3)
    witness = kit.Witness(lambda view, host: list(host.compactions))
    story.user(kit.prose(30)).answer(kit.prose(20)).user(kit.prose(10)).answer("ok")
    kit.replayed(story.user("x").answer("y").script(), Pipeline((cut, witness.strategy)))
    (told,) = witness.seen[-1]
    assert (told.before, told.after, told.last) == (60, 10, "u2")


@pytest.mark.parametrize("lifetime", list(Lifetime))
def test_the_same_view_means_that_nothing_happened(lifetime, kit):
    same = kit.act(lambda view, host: view, lifetime=lifetime, phases=list(Phase))
    trace = kit.replayed(two_turns(kit), same)
    assert not any(step.rewrite or step.compaction for step in trace.steps)
    assert trace.steps == kit.replayed(two_turns(kit), kit.keep).steps


def test_a_projection_of_each_request_costs_what_it_rewrites(kit):
    """The session is cut once, the request at every call: an order of magnitude apart."""
    story = kit.Story().user(kit.prose(2000, "start"))
    for _ in range(12):
        story.acts().result(kit.prose(300))
    script = story.answer("ok").script()

    def cache_misses(lifetime: Lifetime) -> int:
        cut = kit.act(
            lambda view, host: (
                view.with_messages(view.messages[-5:]) if host.count(view) > 4000 else view
            ),
            lifetime=lifetime,
        )
        return sum(sum(step.causes.values()) for step in kit.replayed(script, cut).steps)

    assert cache_misses(Lifetime.SESSION) < cache_misses(Lifetime.REQUEST)


def test_a_turns_projection_holds_though_the_session_grows_meanwhile(kit):
    """A flush of memory in the middle of a turn takes nothing from the projection."""
    flush = kit.act(
        lambda view, host: (
            host.run_turn(view, TurnRequest("note it")) if len(host.log) == 7 else view
        )
    )
    newest = kit.act(
        lambda view, host: view.with_messages(view.messages[-1:]),
        lifetime=Lifetime.TURN,
        phases=[Phase.BEFORE_TURN],
    )
    both = Pipeline((flush, newest))
    last = kit.prompts_of(kit.replayed(two_turns(kit), both, summarizer=kit.Echo()))[-1]
    assert last == "u2 a3 r2 born-1-prompt born-1-reply"


@pytest.mark.parametrize("lifetime", [Lifetime.TURN, Lifetime.REQUEST])
def test_a_projection_may_answer_an_overflow(lifetime, kit, story):
    cut = kit.act(
        lambda view, host: view.with_messages(view.messages[-1:]),
        lifetime=lifetime,
        phases=[Phase.ON_OVERFLOW],
    )
    script = story.user(kit.prose(90)).answer("ok").user(kit.prose(90)).answer("ok").script()
    assert [step.overflow for step in kit.replayed(script, cut, window=100).steps] == [False, False]


def test_a_turns_projection_is_over_once_the_session_has_another_system_prompt(kit):
    """It shows the system prompt that it was made of; the next call must be sent the new one."""
    rule = Part("text", "be brief", "synthetic", ())
    rules = kit.act(
        lambda view, host: view.with_system(rule) if len(host.log) == 7 else view, name="Rules"
    )
    newest = kit.act(
        lambda view, host: view.with_messages(view.messages[-1:]),
        lifetime=Lifetime.TURN,
        phases=[Phase.BEFORE_TURN],
    )
    trace = kit.replayed(two_turns(kit), Pipeline((rules, newest)))
    assert kit.prompts_of(trace) == ["u1", "u1 a1 r1", "u2", "u1 a1 r1 a2 u2 a3 r2"]
    assert [step.system for step in trace.steps] == [(), (), (), (rule,)]


def test_a_turns_projection_that_is_too_large_is_what_is_asked_about(kit, story):
    """And not the session's view, of which the projection had already left out the most."""
    witness = kit.Witness(
        lambda view, host: kit.ids_of(view.messages),
        lifetime=Lifetime.TURN,
        phases=[Phase.ON_OVERFLOW],
    )
    newest = kit.act(
        lambda view, host: view.with_messages(view.messages[-2:]),
        lifetime=Lifetime.TURN,
        phases=[Phase.BEFORE_TURN],
    )
    script = story.user(kit.prose(20)).answer("ok").user(kit.prose(20)).answer(kit.prose(60))
    script = script.user(kit.prose(60)).answer("ok").script()
    kit.replayed(script, Pipeline((newest, witness.strategy)), window=100)
    assert witness.seen[-1] == "a2 u3"
