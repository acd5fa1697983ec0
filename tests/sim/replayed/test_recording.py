"""What a recording tells: what its agent had in context, and what its prompts held besides."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.conversation import Compaction, Conversation, Rewind
from compactlab.sim.core.message import Message, Part, Source, Usage, verbatim
from compactlab.sim.core.view import View
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.sizes import BEFORE_THE_LOG, Unseen, unseen
from compactlab.strategies.controls import AsRecorded

PLAIN = "gpt-5"  # counts as o200k does
CLAUDE = "claude-sonnet-4-5"  # counts 1.32 times that


def recorded_contexts(script: Conversation) -> Iterator[tuple[Message, list[Message], int]]:
    """For each call its answer, what was in context, compactions so far: naively."""
    context: list[Message] = []
    compactions, known = 0, {"": context}
    for event in script.events:
        if isinstance(event, Compaction):
            ids = [message.id for message in context]
            kept = context[ids.index(event.kept_from) :] if event.kept_from in ids else []
            context, compactions = [*event.inserted, *kept], compactions + 1
        elif isinstance(event, Rewind):
            context = known[event.to]
        else:
            if event.call is not None:
                yield event, context, compactions
            known[event.id] = context = [*context, event]


def contexts(script: Any) -> list[tuple[str, str, int]]:
    return [
        (answer.id, " ".join(m.id for m in context), compactions)
        for answer, context, compactions in recorded_contexts(script)
    ]


def test_a_context_is_what_was_said_before(story):
    story.user("1").acts().result("r").answer("1").user("2").aborted("x").user("3").answer("3")
    assert contexts(story.script()) == [
        ("a1", "u1", 0),
        ("a2", "u1 a1 r1", 0),
        ("a3", "u1 a1 r1 a2 u2 x1 u3", 0),
    ]


def test_after_a_compaction_stands_its_summary_and_what_it_kept(story):
    story.user("1").answer("1").user("2").answer("2").compacted("so far", kept_from="u2")
    story.user("3").answer("3").compacted("all", "a file").user("4").answer("4")
    assert contexts(story.script())[2:] == [("a3", "s1.0 u2 a2 u3", 1), ("a4", "s2.0 s2.1 u4", 2)]


def test_what_it_kept_may_be_gone_from_the_context(story):
    story.user("1").answer("1").compacted("one").user("2").compacted("two", kept_from="u1")
    assert contexts(story.answer("2").script())[1:] == [("a2", "s2.0", 2)]


def test_going_back_before_a_compaction_undoes_it(story):
    story.user("1").answer("1").user("2").compacted("so far").answer("2").rewind("a1")
    assert contexts(story.user("3").answer("3").script())[-1] == ("a3", "u1 a1 u3", 1)


def test_going_back_behind_a_compaction_keeps_it(story):
    story.user("1").compacted("so far").user("2").answer("2").user("3").answer("3").rewind("a1")
    assert contexts(story.user("4").answer("4").script())[-1] == ("a3", "s1.0 u2 a1 u4", 1)


@settings(max_examples=100)
@given(data=st.data())
def test_as_recorded_sends_what_the_recorded_agent_had(kit, data):
    script = data.draw(kit.stories())
    trace = kit.replayed(script, AsRecorded())
    assert kit.prompts_of(trace) == [context for _, context, _ in contexts(script)]


def test_as_recorded_repeats_two_compactions_in_a_row(kit, story):
    story.user("1").answer("1").compacted("one").compacted("two").user("2").answer("2")
    assert kit.prompts_of(kit.replayed(story.script(), AsRecorded()))[-1] == "s2.0 u2"


def recorded(kit: Any, story: Any, hidden: int, *, system: int = 0, model: str = PLAIN) -> Any:
    """A recording of three calls, whose prompts were so much larger than their messages."""
    said = 0
    for number in range(3):
        said += 50
        story.user(kit.prose(50))
        usage = Usage(uncached=hidden + said + 7 * number)
        story.answer(kit.prose(20), usage=usage, model=model)
        said += 20
    parts = (verbatim("system", "text", kit.prose(system)),) if system else ()
    return story.script(seed=-1, system=parts)


def front(script: Any) -> Unseen:
    """What stands in front of the messages, and not how large they were."""
    return replace(unseen(script), messages={})


def test_what_is_always_there_is_the_first_prompt_less_its_messages(kit, story):
    assert front(recorded(kit, story, 9000)) == Unseen(system=9000)


def test_a_system_prompt_that_is_known_is_not_unseen(kit, story):
    assert front(recorded(kit, story, 9000, system=400)) == Unseen(system=8600)


def test_a_recording_that_holds_everything_hides_nothing(kit, story):
    assert front(recorded(kit, story, 0)) == Unseen()
    assert front(recorded(kit, kit.Story(), -20)) == Unseen()


def test_sizes_are_told_in_tokens_of_o200k(kit, story):
    story.user(kit.prose(100)).answer("ok", usage=Usage(uncached=112 + 11_200), model=CLAUDE)
    assert unseen(story.script(seed=-1)).system == pytest.approx(10_000, abs=1)


def test_without_usage_nothing_can_be_told(story):
    assert unseen(story.user("hi").answer("ho").script(seed=-1)) == Unseen()
    empty = story.user("hi").answer("ho", usage=Usage()).script(seed=-1)
    assert unseen(empty) == Unseen()
    assert unseen(empty).blocks == ()
    assert unseen(empty).opening is None


def test_messages_have_the_sizes_by_which_the_prompt_grew(kit, story):
    """The estimate of a text is off, and clients add what they do not log."""
    story.user(kit.prose(10)).answer("ok", usage=Usage(uncached=1010), model=PLAIN)
    story.user(kit.prose(9000)).answer("ok", usage=Usage(uncached=1010 + 11_000), model=PLAIN)
    story.user(kit.prose(100)).answer("ok", usage=Usage(uncached=12_010 + 50), model=PLAIN)
    script = story.script(seed=-1)
    told = unseen(script)
    assert (told.system, told.context) == (1000, 0)
    trace = kit.replayed(script, AsRecorded(), model="recorded")
    assert [step.usage.prompt for step in trace.steps] == [1010, 12_010, 12_060]
    stub = kit.replayed(script, kit.keep, overhead=Unseen())  # counts the texts, and nothing else
    assert [step.usage.prompt for step in stub.steps] == [10, 9011, 9112]


def test_what_stands_for_a_message_has_a_size_of_its_own(kit, story):
    story.user(kit.prose(10)).answer("ok", usage=Usage(uncached=1010), model=PLAIN)
    story.user(kit.prose(500)).answer("ok", usage=Usage(uncached=9010), model=PLAIN)

    def stubbed(view: View, host: Host) -> View:
        stub = Message("s", "user", (Part("text", "gone", "stub", (Source("u2"),)),))
        return view.with_messages(stub if m.id == "u2" else m for m in view.messages)

    steps = kit.replayed(story.script(seed=-1), kit.act(stubbed), model="recorded").steps
    assert steps[0].usage.prompt == 1010
    assert 1010 < steps[1].usage.prompt < 1100


@given(
    hidden=st.integers(0, 60_000), grown=st.lists(st.integers(60, 4_000), min_size=1, max_size=6)
)
def test_as_recorded_meets_every_prompt_that_grew(kit, hidden, grown):
    """However much of a prompt the log does not show."""
    story, whole = kit.Story(), hidden
    for more in grown:
        whole += more
        story.user(kit.prose(50)).answer("ok", usage=Usage(uncached=whole), model=CLAUDE)
    trace = kit.replayed(story.script(seed=-1), AsRecorded(), model="recorded")
    told = list(accumulate(grown, initial=hidden))[1:]
    assert [step.usage.prompt for step in trace.steps] == pytest.approx(told, abs=5)


def test_a_read_after_a_compaction_is_the_system_part(kit, story):
    story.user(kit.prose(100)).answer("ok", usage=Usage(uncached=50_100), model=PLAIN)
    story.compacted(kit.prose(30)).user(kit.prose(20))
    story.answer("ok", usage=Usage(cache_read=40_000, uncached=10_050), model=PLAIN)
    hidden = unseen(story.script(seed=-1))
    assert (hidden.system, hidden.context) == (40_000, 10_000)
    assert [(part.name, part.size) for part in hidden.blocks] == [
        ("tools and system prompt", 40_000),
        ("client context", 10_000),
    ]


def test_only_the_first_read_after_a_compaction_counts(kit, story):
    story.user(kit.prose(100)).answer("ok", usage=Usage(uncached=5100), model=PLAIN)
    story.compacted(kit.prose(30)).user(kit.prose(20))
    story.answer("ok", usage=Usage(uncached=5050), model=PLAIN)
    story.user(kit.prose(9)).answer("ok", usage=Usage(cache_read=300, uncached=4760), model=PLAIN)
    assert front(story.script(seed=-1)) == Unseen(system=5000)


def test_a_recording_from_the_middle_has_a_head_until_its_first_compaction(kit, story):
    story.user(kit.prose(100)).answer("ok", usage=Usage(uncached=100 + 5000 + 3000), model=PLAIN)
    story.compacted(kit.prose(30)).user(kit.prose(20))
    story.answer("ok", usage=Usage(uncached=50 + 5000), model=PLAIN)
    inside = story.script(seed=-1, starts_inside=True)
    assert front(inside) == Unseen(system=5000, head=3000)
    assert unseen(story.script(seed=-1)).head == 0
    opening = unseen(inside).opening
    assert (opening.id, opening.parts[0].size, opening.starts_turn) == (BEFORE_THE_LOG, 3000, False)


def test_as_recorded_meets_the_recorded_prompts(kit, story):
    story.user(kit.prose(100)).answer("ok", usage=Usage(uncached=8100), model=CLAUDE)
    story.user(kit.prose(40)).answer("ok", usage=Usage(uncached=8146), model=CLAUDE)
    story.compacted(kit.prose(30)).user(kit.prose(20))
    story.answer("ok", usage=Usage(uncached=5056), model=CLAUDE)
    script = story.script(seed=-1, starts_inside=True)
    trace = kit.replayed(script, AsRecorded(), model="recorded")
    told = [answer.call.usage.prompt for answer in script.calls]
    assert [step.usage.prompt for step in trace.steps] == pytest.approx(told, abs=3)


def test_what_was_said_before_the_log_stays_when_the_user_goes_back(kit, story):
    story.user(kit.prose(100)).answer("ok", usage=Usage(uncached=8100), model=PLAIN)
    script = story.rewind("u1").answer("so", usage=Usage(uncached=8100), model=PLAIN)
    trace = kit.replayed(script.script(seed=-1), AsRecorded(), overhead=Unseen(head=500))
    assert kit.prompts_of(trace) == ["before-the-log u1"] * 2
    assert [step.usage.prompt for step in trace.steps] == [600, 600]


def test_the_overhead_can_be_said_instead(kit, story):
    script = recorded(kit, story, 9000)
    (first, *_) = kit.replayed(script, kit.keep, overhead=Unseen(system=5, context=6)).steps
    assert first.usage.prompt == 50 + 5 + 6
