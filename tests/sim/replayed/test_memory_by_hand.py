"""Figures of memory on small sessions that one can count by hand."""

from typing import Any

import pytest
from msgspec import structs

from compactlab.sim.core.conversation import Conversation, Fact, Need
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.metrics import METRICS, RunData
from compactlab.sim.metrics.survival import curves_by_rounds
from compactlab.sim.replay.strategy import Lifetime


def fact(id: str, kind: Any, origin: str, **more: Any) -> Fact:
    """A fact that a whole message states: the thing of its id is its value."""
    origins = (Source(origin, 0),) if origin else ()
    return Fact(id, kind, f"{id} thing", f"{id}-7x7", origins, **more)


def says(id: str) -> str:
    return f"The {id} thing is {id}-7x7."


def figure(name: str, kit: Any, script: Conversation, strategy: Any) -> float | None:
    return METRICS[name].compute(RunData(kit.replayed(script, strategy), script))


def check(kit: Any, script: Conversation, strategy: Any, **expected: Any) -> None:
    """Compare figures of one replay, by their names."""
    data = RunData(kit.replayed(script, strategy), script)
    assert {name: METRICS[name].compute(data) for name in expected} == expected


def cut(kit: Any, **drops: str) -> Any:
    """Before the answer of a name, drop messages of these ids."""

    def drop(view: Any, host: Any) -> Any:
        gone = drops.get(f"a{sum(m.role == 'assistant' for m in host.log) + 1}", "").split()
        return view.with_messages([m for m in view.messages if m.id not in gone])

    return kit.act(drop)


def told(kit: Any, text: str, at: int = 2) -> Any:
    """At a call, put a summary in the place of all that was said."""

    def tell(view: Any, host: Any) -> Any:
        if sum(message.role == "assistant" for message in host.log) != at - 1:
            return view
        sources = tuple(Source(message.id) for message in view.messages)
        part = Part("text", text, "summary", sources)
        return view.with_messages([Message("made", "user", (part,), meta=True)])

    return kit.act(tell)


@pytest.fixture
def talk(story: Any) -> Any:
    """Two facts of the user's, an open loop, and three calls."""
    story.user(says("color")).answer("ok").user(says("size")).answer("ok")
    return story.user("Open: " + says("loop")).answer("ok")


FACTS = (fact("color", "decision", "u1"), fact("size", "decision", "u2"),
         fact("loop", "open_loop", "u3"))  # fmt: skip


def test_needs_weigh_what_is_used(kit, talk):
    needs = (Need("color", "a2"), Need("color", "a3"), Need("size", "a3"))
    script = talk.script(facts=FACTS, needs=needs)
    assert figure("amnesia_need", kit, script, cut(kit, a3="u1")) == 1 / 3
    assert figure("amnesia_need", kit, script, cut(kit, a3="u3")) == 0
    assert figure("amnesia_need", kit, talk.script(facts=FACTS), kit.keep) is None


def test_amnesia_is_a_mean_over_types(kit, talk):
    # Due are color at three calls, size at two, loop at one.
    script = talk.script(facts=FACTS)
    forgets = cut(kit, a2="u1")
    check(kit, script, forgets, amnesia_decision=2 / 5, amnesia_open_loop=0)
    assert figure("amnesia_goal", kit, script, forgets) is None
    check(kit, script, forgets, amnesia=1 / 5, open_loops=1)


def test_what_can_be_fetched_is_told_apart(kit, story):
    story.user("Go").acts().result(says("port")).user("And?").answer("ok")
    port = fact("port", "tool_detail", "r1", handle="r1")
    script = story.script(facts=(port,), needs=(Need("port", "a2"),))

    def clear(view: Any, host: Any) -> Any:
        stub = [
            Message(m.id, m.role, (Part("tool_result", "cleared", "stub", m.parts[0].sources,
                                        call_id=m.parts[0].call_id),)) if m.role == "tool" else m
            for m in view.messages
        ]  # fmt: skip
        return view.with_messages(stub)

    for name, expected in (
        ("amnesia_need", 1), ("amnesia_need_effective", 0), ("need_retrievable", 1),
        ("amnesia", 1), ("amnesia_effective", 0), ("occupancy_retrievable", 1),
    ):  # fmt: skip
        assert figure(name, kit, script, kit.act(clear)) == expected, name


def test_age_is_told_in_tokens_from_the_end_of_the_message(kit, story):
    # At the third call, 2 tokens of answers and 998 of the user came after it; at the second, 1.
    story.user(says("color")).answer("ok").client("").answer("ok").user(kit.prose(998)).answer("ok")
    script = story.script(facts=FACTS[:1])
    check(kit, script, cut(kit, a3="u1"), amnesia_age_1k=0, amnesia_age_4k=1)
    assert figure("amnesia_age_4k", kit, script, cut(kit, a2="u1")) == 1
    assert figure("amnesia_age_16k", kit, script, kit.keep) is None


def test_the_turn_in_which_it_was_said_is_the_first(kit, talk):
    script = talk.script(facts=FACTS[:1])
    forgets = cut(kit, a2="u1")
    check(kit, script, forgets, amnesia_turns_1=0, amnesia_turns_5=1)
    assert figure("amnesia_turns_20", kit, script, forgets) is None


def test_saying_it_again_makes_it_young(kit, story):
    story.user(says("color")).answer("ok").user("x").answer("ok").user(says("color")).answer("ok")
    twice = Fact("f", "decision", "color thing", "color-7x7", (Source("u1"), Source("u3")))
    script = story.script(facts=(twice,))
    check(kit, script, cut(kit, a2="u1"), amnesia_turns_1=0, amnesia_turns_5=1)
    # Of a fact that only both messages state, either is young, whichever is named first.
    for origin in (twice.origin, twice.origin[::-1]):
        script = story.script(facts=(structs.replace(twice, origin=origin, whole=True),))
        assert figure("amnesia_turns_1", kit, script, cut(kit, a3="u1")) == 1


def test_rounds_are_compactions_since(kit, talk):
    script = talk.script(facts=FACTS[:1])
    # Dropping the answer at the third call is a compaction, too.
    forgets = cut(kit, a2="u1", a3="a1")
    found = [figure(f"amnesia_round_{n}", kit, script, forgets) for n in range(4)]
    assert found == [0, 1, 1, None]


def test_immediate_amnesia_looks_at_the_first_call_after_a_compaction(kit, talk):
    script = talk.script(facts=FACTS)
    forgets = cut(kit, a2="u1 u2", a3="a1")
    # After the second compaction, loop of this turn is there; size had gone with the first.
    assert figure("immediate_amnesia_1", kit, script, forgets) == 1 / 2
    # Of the turn before, color went with the first compaction and size is gone at the second.
    check(kit, script, forgets, immediate_amnesia_2=3 / 4, immediate_amnesia_5=4 / 5)
    assert figure("immediate_amnesia_1", kit, script, kit.keep) is None


def test_a_prompt_that_tells_of_an_old_value_alone_is_stale(kit, story):
    story.user("The port is 8181.").answer("ok").user("The port is 9292.").answer("ok")
    old = Fact("old", "decision", "port", "8181", (Source("u1"),))
    new = Fact("new", "decision", "port", "9292", (Source("u2"),), supersedes=("old",))
    script = story.user("?").answer("ok").script(facts=(old, new))
    assert figure("stale", kit, script, cut(kit, a3="u2")) == 1 / 2
    assert figure("stale", kit, script, cut(kit, a3="u1")) == 0
    both = "port: 8181. Then there is the port: 9292."
    assert figure("conflict", kit, script, told(kit, both, at=3)) == 1 / 2
    assert figure("conflict", kit, script, told(kit, "port: 9292, before 8181", at=3)) == 1 / 2
    assert figure("conflict", kit, script, told(kit, "port: 9292, no longer 8181", at=3)) == 0


def test_what_follows_from_a_changed_fact_needs_the_change(kit, story):
    story.user("The port is 8181.").answer("ok").user("The address is host:8181.").answer("ok")
    story.user("The port is 9292.").answer("ok").user("Go").answer("ok")
    old = Fact("old", "decision", "port", "8181", (Source("u1"),))
    address = Fact("address", "entity", "address", "host:8181", (Source("u2"),),
                   depends_on=("old",))  # fmt: skip
    new = Fact("new", "decision", "port", "9292", (Source("u3"),), supersedes=("old",))
    script = story.script(facts=(old, address, new))
    # The address is a dependent of something changed at the third and fourth call.
    assert figure("cascade", kit, script, kit.keep) == 0
    assert figure("cascade", kit, script, cut(kit, a4="u3")) == 1 / 2
    assert figure("cascade", kit, script, cut(kit, a3="u2", a4="u3")) == 0
    further = Fact("url", "entity", "url", "url-7x7", (Source("u2"),), depends_on=("address",))
    script = story.script(facts=(old, address, new, further))
    assert figure("cascade", kit, script, cut(kit, a4="u3")) == 1 / 2
    revised = Fact("newer", "entity", "address", "host:9292", (Source("u4"),),
                   supersedes=("address",))  # fmt: skip
    script = story.script(facts=(old, address, new, revised))
    assert figure("cascade", kit, script, cut(kit, a4="u3")) == 0
    assert figure("cascade", kit, story.script(facts=(old, address)), kit.keep) is None


def test_what_was_taken_back_leaks_while_it_is_there(kit, talk):
    script = talk.script(facts=(fact("color", "decision", "u1", deleted_at="u2"),))
    assert figure("deletion_leak", kit, script, kit.keep) == 1
    assert figure("deletion_leak", kit, script, cut(kit, a3="u1")) == 1 / 2
    assert figure("amnesia", kit, script, cut(kit, a2="u1")) == 0  # it is not due any more


def test_a_changed_value_is_worse_than_none(kit, talk):
    script = talk.script(facts=FACTS[:2])
    garbles = told(kit, "The color thing is color-8x8.")
    # Due are color and size at the second call and the third; color is mutated, size lost.
    check(kit, script, garbles, mutation=2 / 5, severity=(1.5 * 2 + 2) / 5)


def test_a_key_without_a_value_is_no_worse_than_nothing(kit, talk):
    script = talk.script(facts=FACTS[:2])
    mentions = told(kit, "The color thing was chosen.")
    check(kit, script, mentions, mutation=0, occupancy_key_only=2 / 5, severity=(2 + 2) / 5)


@pytest.mark.parametrize("polarity", ["must", "must_not"])
def test_instructions_for_the_session_are_told_apart(kit, talk, polarity):
    rule = fact("color", "constraint", "u1", polarity=polarity)
    until = fact("size", "constraint", "u2", polarity=polarity, scope="a3")
    script = talk.script(facts=(rule, until))
    assert figure(f"instruction_{polarity}", kit, script, cut(kit, a3="u1 u2")) == 2 / 3
    other = {"must": "must_not", "must_not": "must"}[polarity]
    assert figure(f"instruction_{other}", kit, script, kit.keep) is None


def test_decoys_that_a_summary_says_are_chance(kit, talk):
    decoys = (fact("pace", "goal", "", decoy=True), fact("mood", "goal", "", decoy=True))
    script = talk.script(facts=(FACTS[0], *decoys))
    lucky = told(kit, says("pace"))
    # One of two, at two of three calls.
    check(
        kit,
        script,
        lucky,
        decoys_found=pytest.approx(1 / 3),
        guessable=1,
        amnesia=pytest.approx(2 / 3),
        amnesia_corrected=pytest.approx(1),
    )
    right = told(kit, f"{says('pace')} {says('color')}")
    assert figure("amnesia_corrected", kit, script, right) == 0
    certain = told(kit, f"{says('pace')} {says('mood')}", at=1)
    check(kit, script, certain, decoys_found=1, amnesia_corrected=None)
    assert figure("guessable", kit, script, kit.keep) == 0
    assert figure("amnesia_corrected", kit, script, kit.keep) is None
    assert figure("guessable", kit, talk.script(facts=FACTS), kit.keep) is None


def test_a_message_of_the_log_is_not_asked_for_decoys(kit, talk):
    known = fact("color", "goal", "", decoy=True)
    assert figure("decoys_found", kit, talk.script(facts=(known,)), kit.keep) == 0


def test_facts_that_go_one_after_the_other(kit, talk):
    facts = tuple(fact(id, "decision", f"u{n}") for n, id in enumerate(("color", "size"), 1))
    script = talk.script(facts=facts)
    forgets = cut(kit, a2="u1", a3="a1")
    # Color is gone after its first compaction; size has survived two when the session ends.
    (curve,) = curves_by_rounds(RunData(kit.replayed(script, forgets), script)).values()
    assert [point[:4] for point in curve] == [(1, 2, 1, 0.5)]
    check(kit, script, forgets, survival_5=1 + 4 * 0.5, survival_half_life=1, survival_cliff=0.5)


def test_what_is_superseded_is_lost_from_sight_and_not_dead(kit, talk):
    newer = fact("size", "decision", "u2", supersedes=("color",))
    script = talk.script(facts=(FACTS[0], newer))
    assert figure("survival_5", kit, script, cut(kit, a2="u1")) == 5
    assert figure("survival_half_life", kit, script, cut(kit, a2="u1")) is None


def test_what_comes_back_has_died_all_the_same(kit, talk):
    script = talk.script(facts=FACTS[:1])
    lapse = kit.act(
        lambda view, host: view.with_messages(view.messages[-1:] if len(host.log) == 3
                                              else view.messages),
        lifetime=Lifetime.REQUEST,
    )  # fmt: skip
    check(kit, script, lapse, amnesia=1 / 3, survival_5=1)


def test_survival_in_tokens_ends_where_it_was_seen_gone(kit, story):
    story.user(says("color")).answer("ok").user(kit.prose(999)).answer("ok")
    script = story.script(facts=FACTS[:1])
    assert figure("survival_64k", kit, script, cut(kit, a2="u1")) == 1000 / 64_000
    assert figure("survival_64k", kit, script, kit.keep) == 1


def test_going_back_takes_compactions_back(kit, story):
    story.client("note").user(says("color")).answer("ok").user("x").answer("ok")
    script = story.rewind("a1").user("y").answer("ok").script(facts=FACTS[:1])
    forgets = cut(kit, a2="m1")
    trace = kit.replayed(script, forgets)
    assert [step.compaction for step in trace.steps] == [False, True, True]
    # At the third call one compaction has happened since: its own.
    assert figure("amnesia_round_1", kit, script, forgets) == 0
    assert figure("amnesia_round_2", kit, script, forgets) is None
