"""Several strategies as one: asked in order, each with notes of its own."""

from typing import Any

import pytest

from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.view import Phase
from compactlab.sim.replay.strategy import Lifetime, Pipeline


def note(id: str) -> Message:
    return Message(id, "user", (Part("text", f"I am {id}", "synthetic", ()),), meta=True)


def adding(
    kit: Any, id: str, lifetime: Lifetime = Lifetime.SESSION, phase: str = "before_call"
) -> Any:
    return kit.act(
        lambda view, host: view.with_messages([*view.messages, note(id)]),
        lifetime=lifetime,
        phases=[Phase(phase)],
        name=f"Add{id.title()}",
    )


def test_parts_are_asked_in_order_and_each_goes_on_from_the_last(kit, story):
    script = story.user("hi").answer("ho").script()
    pipeline = Pipeline((adding(kit, "one"), adding(kit, "two"), adding(kit, "three")))
    assert kit.prompts_of(kit.replayed(script, pipeline)) == ["u1 one two three"]


def test_what_is_kept_comes_before_what_is_shown(kit, story):
    parts = [adding(kit, lifetime.value, lifetime) for lifetime in Lifetime]
    script = story.user("hi").acts().result("r").answer("ho").user("hi").answer("ho").script()
    assert kit.prompts_of(kit.replayed(script, Pipeline(tuple(parts)))) == [
        "u1 session turn request",
        # The session's view only grew, so the turn's goes on and is added to.
        "u1 session turn a1 r1 session turn request",
        "u1 session a1 r1 session a2 u2 session turn request",
    ]


def test_parts_are_asked_in_their_own_phases(kit, story):
    after = adding(kit, "after", phase="after_call")
    before = adding(kit, "before", phase="before_call")
    script = story.user("hi").answer("ho").user("hi").answer("ho").script()
    prompts = kit.prompts_of(kit.replayed(script, Pipeline((before, after))))
    assert prompts == ["u1 before", "u1 before a1 after u2 before"]


@pytest.mark.parametrize(
    "order",
    [
        (Lifetime.TURN, Lifetime.SESSION),
        (Lifetime.REQUEST, Lifetime.SESSION),
        (Lifetime.REQUEST, Lifetime.TURN),
        (Lifetime.SESSION, Lifetime.REQUEST, Lifetime.TURN),
        (),
    ],
)
def test_another_order_is_refused(order, kit):
    with pytest.raises(UsageError, match="session, turn, request"):
        Pipeline(tuple(adding(kit, lifetime.value, lifetime) for lifetime in order))


def test_a_wrong_order_is_refused_in_nested_pipelines_too(kit):
    inner = Pipeline((adding(kit, "a"), adding(kit, "b", Lifetime.REQUEST)))
    with pytest.raises(UsageError, match=r"add_a\(\) \+ add_b\(\) \+ add_c\(\)"):
        Pipeline((inner, adding(kit, "c", Lifetime.TURN)))
    assert [part.spec for part in Pipeline((inner,)).parts] == ["add_a()", "add_b()"]


def test_its_name_is_those_of_its_parts(kit):
    pipeline = Pipeline((adding(kit, "a"), adding(kit, "b")))
    assert pipeline.spec == "add_a() + add_b()"
    assert pipeline.label == "add_a + add_b"


def test_a_nested_pipeline_does_what_a_flat_one_does(kit, story):
    script = story.user("hi").answer("ho").user("hi").answer("ho").script()
    a, b, c = (adding(kit, id) for id in "abc")
    flat = kit.prompts_of(kit.replayed(script, Pipeline((a, b, c))))
    assert kit.prompts_of(kit.replayed(script, Pipeline((a, Pipeline((b, c)))))) == flat


def test_notes_are_kept_apart_even_of_twins(kit, story):
    def count(view: Any, host: Any) -> list[int]:
        host.notes.setdefault("asked", []).append(len(host.notes.get("asked", [])))
        return list(host.notes["asked"])

    one, two = kit.Witness(count), kit.Witness(count, phases=[Phase.BEFORE_CALL, Phase.AFTER_CALL])
    script = story.user("hi").answer("ho").user("hi").answer("ho").script()
    kit.replayed(script, Pipeline((one.strategy, one.strategy, two.strategy)))
    assert one.seen == [[0], [0], [0, 1], [0, 1]]
    assert two.seen[-1] == [0, 1, 2, 3]


def test_files_are_shared(kit, story):
    def leave(view: Any, host: Any) -> Any:
        host.files["shared.md"] = "from the first"
        return view

    reader = kit.Witness(lambda view, host: host.files.get("shared.md"))
    kit.replayed(
        story.user("hi").answer("ho").script(), Pipeline((kit.act(leave), reader.strategy))
    )
    assert reader.seen == ["from the first"]


def test_notes_outlive_a_projection(kit, story):
    def count(view: Any, host: Any) -> int:
        host.notes["asked"] = host.notes.get("asked", 0) + 1
        return int(host.notes["asked"])

    witness = kit.Witness(count, lifetime=Lifetime.REQUEST)
    kit.replayed(story.user("a").answer("b").user("c").answer("d").script(), witness.strategy)
    assert witness.seen == [1, 2]
