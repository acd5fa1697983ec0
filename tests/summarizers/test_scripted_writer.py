"""What the scripted agent puts down: sentences with cue words, quoted, each with its source."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.memory import Remembered
from compactlab.sim.core.message import Message, Part, Source, verbatim
from compactlab.sim.core.tokens import chars4
from compactlab.sim.replay.side_calls import messages_of
from compactlab.sim.replay.summarize import TurnRequest, Written
from compactlab.strategies.summarizers.catalogue import find_summarizer

REQUEST = TurnRequest("Save.", max_tokens=1000, silent="NO_REPLY")


def said(*texts: str, role: Any = "user", **more: Any) -> list[Message]:
    return [
        Message(f"{role[0]}{n}", role, (verbatim(f"{role[0]}{n}", "text", text),), **more)
        for n, text in enumerate(texts)
    ]


def write(messages: list[Message], request: TurnRequest = REQUEST) -> Written:
    return find_summarizer().write(messages, request, chars4)


def notes(*messages: Message) -> list[tuple[str, str]]:
    return [(item.topic, item.text) for item in write(list(messages)).items]


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("We decided to keep the old parser.", "decision"),
        ("Let's use sqlite here.", "decision"),
        ("Never push to main!", "decision"),
        ("I prefer short names.", "user"),
        ("Call me by my nickname.", "user"),
        ("The build is broken", "progress"),
        ("Could you look at ledger.py?", "action"),
        ("TODO: rename it", "action"),
        ("The sky is blue.", None),
        ("whatever", None),
    ],
)
def test_what_a_person_says_is_sorted_by_its_first_cue(text: str, topic: str | None) -> None:
    assert notes(*said(text)) == ([(topic, text)] if topic else [])


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Agreed: the field must stay.", "decision"),
        ("I fixed the parser.", "progress"),
        ("All tests pass.", "progress"),
        ("This is blocked by the missing key.", "progress"),
        ("Next comes the importer.", "action"),
        ("I'll add a test.", "action"),
        ("Here is my view of it.", None),
    ],
)
def test_and_what_the_agent_says_by_its_own(text: str, topic: str | None) -> None:
    assert notes(*said(text, role="assistant")) == ([(topic, text)] if topic else [])


def test_a_note_is_a_whole_sentence_and_its_source_is_the_very_span() -> None:
    text = "Hello there. We decided on tabs.\nThe rest is open."
    (item,) = write(said("hm", text)).items
    assert item == Remembered("decision", "We decided on tabs.", (Source("u1", 0, 13, 32),))
    assert text[13:32] == item.text


def test_results_thoughts_and_what_no_person_typed_are_not_read() -> None:
    words = "We decided on tabs."
    thought = Message("a1", "assistant", (verbatim("a1", "thinking", words),))
    result = Message("r1", "tool", (verbatim("r1", "tool_result", words),))
    reminder = Message("m1", "user", (verbatim("m1", "text", words),), meta=True)
    summary = Message("s1", "user", (Part("text", words, "summary", (Source("u1"),)),))
    assert notes(thought, result, reminder, summary) == []


def test_the_same_is_noted_once() -> None:
    assert len(notes(*said("Never  push.", "never push.", "Never push!"))) == 2


def test_what_stands_in_notes_that_can_be_seen_is_not_noted_again() -> None:
    first = said("We decided on tabs.")
    turn = messages_of("born-1", REQUEST, write(first), 0.0)
    later = said("hm", "We agreed on spaces.")
    assert notes(*first, *turn, *later) == [("decision", "We agreed on spaces.")]


def test_once_they_are_out_of_sight_it_is() -> None:
    first = said("We decided on tabs.")
    write(first)
    assert notes(*first) == [("decision", "We decided on tabs.")]


def test_what_holds_is_the_first_eight_and_where_things_stand_the_last() -> None:
    rules = [text for _, text in notes(*said(*(f"Never do {n}." for n in range(20))))]
    steps = [
        text for _, text in notes(*said(*(f"Fixed {n}." for n in range(20)), role="assistant"))
    ]
    assert rules == [f"Never do {n}." for n in range(8)]
    assert steps == [f"Fixed {n}." for n in range(12, 20)]


def test_decisions_come_first_when_there_is_little_room() -> None:
    told = [*said("I prefer tabs.", "Never push."), *said("Fixed it all.", role="assistant")]
    small = TurnRequest("Save.", max_tokens=3, silent="NO_REPLY")
    assert [item.text for item in write(told, small).items] == ["Never push."]
    assert write(told, TurnRequest("Save.", max_tokens=0)).items == ()


def test_it_answers_that_nothing_need_be_said() -> None:
    assert write(said("Never push.")).reply == "NO_REPLY"
    assert write([]) == Written("NO_REPLY")


TEXTS = st.lists(
    st.sampled_from(
        ["We decided it.", "I prefer tabs.", "Next.", "done", "hm", "\n", " ", "\ud800"]
    ),
    max_size=12,
).map(" ".join)


@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), TEXTS), max_size=8),
    st.integers(0, 60),
)
def test_every_note_quotes_what_was_said_and_all_of_them_fit(
    told: list[tuple[Any, str]], room: int
) -> None:
    log = [Message(f"m{n}", r, (verbatim(f"m{n}", "text", t),)) for n, (r, t) in enumerate(told)]
    texts = {message.id: message.text for message in log}
    written = write(log, TurnRequest("Save.", max_tokens=room))
    assert written == write(log, TurnRequest("Save.", max_tokens=room))
    assert sum(chars4(item.text) for item in written.items) <= room
    for item in written.items:
        (source,) = item.sources
        assert texts[source.id][source.start : source.end] == item.text
