"""The user goes back: the view, the log and the notes go back too, files and cache do not."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.conversation import Rewind
from compactlab.sim.core.view import Phase
from compactlab.sim.replay.strategy import Lifetime
from compactlab.strategies.controls import AsRecorded
from compactlab.strategies.openclaw.openclaw import TurnSlice


def test_what_follows_goes_on_from_there(kit, story):
    story.user("one").answer("ok").user("wrong").answer("no").rewind("a1").user("right").answer(
        "yes"
    )
    assert kit.prompts_of(kit.replayed(story.script(), kit.keep)) == ["u1", "u1 a1 u2", "u1 a1 u3"]


def test_back_to_the_start(kit, story):
    script = story.user("one").answer("ok").rewind("").user("again").answer("ok").script()
    assert kit.prompts_of(kit.replayed(script, kit.keep)) == ["u1", "u2"]


def test_the_same_place_can_be_gone_back_to_again(kit, story):
    story.user("one").answer("ok")
    for text in ("first", "second", "third"):
        story.user(text).answer("hm").rewind("a1")
    prompts = kit.prompts_of(kit.replayed(story.user("last").answer("so").script(), kit.keep))
    assert prompts == ["u1", "u1 a1 u2", "u1 a1 u3", "u1 a1 u4", "u1 a1 u5"]


def test_the_view_is_as_it_stood_then_and_not_as_it_was_compacted_later(kit, story):
    cut = kit.act(
        lambda view, host: view.with_messages(view.messages[-1:]) if len(host.log) == 5 else view
    )
    witness = kit.Witness(lambda view, host: len(host.compactions))
    story.user("1").answer("1").user("2").answer("2").user("3").answer("3")
    script = story.rewind("a2").user("4").aborted("4").user("5").answer("5").script()
    from compactlab.sim.replay.strategy import Pipeline

    prompts = kit.prompts_of(kit.replayed(script, Pipeline((cut, witness.strategy))))
    assert prompts == ["u1", "u1 a1 u2", "u3", "u1 a1 u2 a2 u4 x1 u5"]
    assert witness.seen[-1] == 0


def test_a_compaction_before_that_place_stays(kit, story):
    cut = kit.act(
        lambda view, host: view.with_messages(view.messages[-1:]) if len(host.log) == 3 else view
    )
    story.user("1").answer("1").user("2").answer("2").user("3").answer("3").rewind("a2")
    prompts = kit.prompts_of(kit.replayed(story.user("4").answer("4").script(), cut))
    assert prompts == ["u1", "u2", "u2 a2 u3", "u2 a2 u4"]


def test_notes_go_back_and_files_do_not(kit, story):
    def remember(view: Any, host: Any) -> tuple[str, str]:
        last = host.log[-1].id
        host.notes.setdefault("seen", []).append(last)
        host.files["seen"] = host.files.get("seen", "") + last
        return " ".join(host.notes["seen"]), host.files["seen"]

    witness = kit.Witness(remember)
    story.user("1").answer("1").user("2").answer("2").rewind("a1").user("3").answer("3")
    kit.replayed(story.rewind("").user("4").answer("4").script(), witness.strategy)
    assert witness.seen == [
        ("u1", "u1"),
        ("u1 u2", "u1u2"),
        ("u1 u3", "u1u2u3"),
        ("u4", "u1u2u3u4"),
    ]


def test_the_log_goes_back(kit, story):
    witness = kit.Witness(lambda view, host: kit.ids_of(host.log))
    story.user("1").answer("1").user("2").answer("2").rewind("u1").answer("other")
    kit.replayed(story.script(), witness.strategy)
    assert witness.seen == ["u1", "u1 a1 u2", "u1"]


def test_the_cache_does_not_go_back(kit, story):
    story.user(kit.prose(1500)).answer("ok").user(kit.prose(500, "wrong")).answer("no")
    script = story.rewind("a1").user(kit.prose(500, "right")).answer("yes").script()
    steps = kit.replayed(script, kit.keep).steps
    assert [step.usage.cache_read for step in steps] == [0, 1500, 1500]
    assert not steps[2].rewrite
    assert not steps[2].compaction


def test_going_back_leaves_nothing_unexplained(kit, story):
    story.user(kit.prose(1500)).answer(kit.prose(50)).user("wrong").answer("no")
    last = kit.replayed(story.rewind("a1").user("right").answer("y").script(), kit.keep).steps[-1]
    assert "unexplained" not in last.causes


def test_after_going_back_to_the_start_no_request_is_the_first_again(kit, story):
    script = story.user(kit.prose(1500)).answer("ok").rewind("").user("new").answer("ok").script()
    assert "cold_start" not in kit.replayed(script, kit.keep).steps[1].causes


def test_the_same_words_again_are_read_from_the_cache(kit, story):
    story.user(kit.prose(1500)).answer("first try").rewind("u1").answer("second try")
    assert [s.usage.cache_read for s in kit.replayed(story.script(), kit.keep).steps] == [0, 1500]


def test_another_answer_to_the_same_words_is_the_first_call_of_a_turn(kit, story):
    witness = kit.Witness(lambda view, host: host.phase.value, phases=[Phase.BEFORE_TURN])
    kit.replayed(
        story.user("one").answer("bad").rewind("u1").answer("good").script(), witness.strategy
    )
    assert len(witness.seen) == 2


def test_another_answer_is_asked_for_with_the_same_prompt(kit, story):
    story.user("1").answer("1").user("2").answer("2").user("3").answer("bad").rewind("u3").answer(
        "3"
    )
    prompts = kit.prompts_of(kit.replayed(story.script(), TurnSlice(history_limit=1)))
    assert prompts == ["u1", "u1 a1 u2", "u2 a2 u3", "u2 a2 u3"]


def test_words_that_were_taken_back_start_no_turn(kit, story):
    witness = kit.Witness(lambda view, host: len(host.log), phases=[Phase.BEFORE_TURN])
    story.user("1").acts().result("r").user("never mind").rewind("r1").answer("done")
    kit.replayed(story.script(), witness.strategy)
    assert witness.seen == [1]


@pytest.mark.parametrize("lifetime", list(Lifetime))
def test_a_projection_does_not_outlive_the_turn_that_was_taken_back(lifetime, kit):
    story = kit.Story().user("1").answer("1").user("2").acts().result("r").answer("2")
    script = story.rewind("a1").user("3").answer("3").script()
    cut = kit.act(
        lambda view, host: (
            view.with_messages(view.messages[-1:]) if host.log[-1].id == "u2" else view
        ),
        lifetime=lifetime,
        phases=[Phase.BEFORE_TURN],
    )
    assert kit.prompts_of(kit.replayed(script, cut))[-1] == "u1 a1 u3"


@settings(max_examples=60)
@given(data=st.data())
def test_the_log_is_what_a_reader_of_the_script_expects(kit, data):
    script = data.draw(kit.stories())
    log: list[str] = []
    logs = []
    for event in script.events:
        if isinstance(event, Rewind):
            log = log[: log.index(event.to) + 1] if event.to in log else branch(script, event.to)
        elif event in script.messages:
            if event.call is not None:
                logs.append(" ".join(log))
            log = [*log, event.id]
    assert [kit.ids_of(step.log) for step in kit.replayed(script, AsRecorded()).steps] == logs


def branch(script: Any, to: str) -> list[str]:
    """The ids that lead to a message, on the branch on which it was said."""
    paths: dict[str, list[str]] = {"": []}
    path: list[str] = []
    for event in script.events:
        if isinstance(event, Rewind):
            path = paths[event.to]
        elif event in script.messages:
            path = paths[event.id] = [*path, event.id]
    return paths[to]
