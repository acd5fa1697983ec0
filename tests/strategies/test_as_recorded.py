"""What the recorded agent sent is played back: its own compactions, where it made them."""

from dataclasses import replace

import msgspec
import pytest

from compactlab.sim.core.conversation import Compaction
from compactlab.sim.core.message import Message, Part, Source
from compactlab.strategies import AsRecorded

NOTES = Message(
    "s1", "user", (Part("text", "so far: hello", "summary", (Source("u1"),)),), meta=True
)


@pytest.fixture
def compacted(tell):
    """Four turns, of which the agent compacted after the second, keeping the second."""

    def after(place: int, kept_from: str = "u3", script: str = "ua ua ua ua"):
        story = tell(script)
        event = Compaction((NOTES,), kept_from)
        return replace(story, events=(*story.events[:place], event, *story.events[place:]))

    return after


def test_it_compacts_where_the_agent_did_to_what_was_left(compacted, sent):
    assert sent(compacted(4), AsRecorded()) == [
        "u1",
        "u1 a2 u3",
        "s1 u3 a4 u5",
        "s1 u3 a4 u5 a6 u7",
    ]


def test_nothing_may_have_been_kept(compacted, sent):
    assert sent(compacted(4, kept_from=""), AsRecorded())[2:] == ["s1 u5", "s1 u5 a6 u7"]


def test_what_was_said_after_the_compaction_and_before_the_call_stays(compacted, sent):
    assert sent(compacted(5, kept_from=""), AsRecorded())[2] == "s1"
    assert sent(compacted(4, kept_from="a4"), AsRecorded())[2] == "s1 a4 u5"


def test_a_rewind_to_before_the_compaction_takes_it_back(compacted, sent):
    story = compacted(4, script="ua ua ua <2 ua")
    assert sent(story, AsRecorded())[-1] == "u1 a2 u7"


def test_a_rewind_to_after_it_does_not(compacted, sent):
    story = compacted(4, script="ua ua ua <6 ua")
    assert sent(story, AsRecorded())[-1] == "s1 u3 a4 u5 a6 u7"


def test_two_compactions_between_two_calls_are_both_repeated(compacted, sent):
    story = compacted(4)
    second = Compaction((msgspec.structs.replace(NOTES, id="s2"),), "s1")
    events = (*story.events[:5], second, *story.events[5:])
    assert sent(replace(story, events=events), AsRecorded())[2] == "s2 s1 u3 a4 u5"
