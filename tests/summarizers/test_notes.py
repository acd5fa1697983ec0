"""What agents put down in an extra turn: a summariser's own choice of what is in sight."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.conversation import Conversation, Fact, FactType
from compactlab.sim.core.message import Message, Part, Source, verbatim
from compactlab.sim.core.tokens import chars4
from compactlab.sim.facts.evidence import Witness
from compactlab.sim.facts.ledger import ledger_of
from compactlab.sim.replay.side_calls import messages_of
from compactlab.sim.replay.summarize import TurnRequest, Written
from compactlab.strategies.summarizers.catalogue import SUMMARIZERS, find_summarizer
from compactlab.strategies.summarizers.lossy import figures
from tests.summarizers.story import Story, fate, many

REQUEST = TurnRequest("Save.", max_tokens=1000, silent="NO_REPLY")
# All is noted as it is, and the answer is the token alone.
SURE = "lossy(first=1, mutated=0, stale=0, audible=0)"
EMPTY = Conversation("empty", "story", (), seed=0)


def said(*texts: str, role: Any = "user", **more: Any) -> list[Message]:
    return [
        Message(f"{role[0]}{n}", role, (verbatim(f"{role[0]}{n}", "text", text),), **more)
        for n, text in enumerate(texts)
    ]


def write(
    spec: str,
    messages: Sequence[Message],
    told: Conversation = EMPTY,
    request: TurnRequest = REQUEST,
    seed: int = 0,
) -> Written:
    return find_summarizer(spec).bound(told, seed).write(messages, request, chars4)


def notes(spec: str, messages: Sequence[Message], told: Conversation = EMPTY) -> list[str]:
    return [item.text for item in write(spec, messages, told).items]


def zoo() -> Story:
    """Five animals; later calls need the fourth, and the second after it."""
    story = Story()
    facts = [story.state(f"animal {n}", f"value-{n}") for n in range(5)]
    for number in (3, 1):
        story.need(facts[number])
    return story


def test_the_oracle_notes_what_later_calls_need():
    told = zoo().told()
    assert notes("oracle", told.messages[:5], told) == ["animal 1: value-1", "animal 3: value-3"]
    assert notes("oracle", told.messages[:6], told) == ["animal 1: value-1"]


def test_where_there_is_little_room_what_is_needed_soonest_is_noted():
    told = zoo().told()
    small = TurnRequest("Save.", max_tokens=chars4("animal 3: value-3"))
    (item,) = write("oracle", told.messages[:5], told, small).items
    assert item.text == "animal 3: value-3"


def test_a_note_stands_for_where_its_fact_was_said():
    story = zoo()
    told = story.told()
    _, item = write("oracle", told.messages[:5], told).items
    assert item.sources == story.facts[3].origin


@pytest.mark.parametrize("spec", ["oracle", SURE])
def test_what_is_out_of_sight_is_not_noted(spec):
    told = zoo().told()
    assert notes(spec, told.messages[2:5], told)[-1] != "animal 1: value-1"
    assert notes(spec, told.messages[4:5], told) in ([], ["animal 4: value-4"])


@pytest.mark.parametrize("spec", ["oracle", SURE])
def test_a_fact_that_stands_in_a_note_in_sight_is_not_noted_again(spec):
    told = zoo().told()
    turn = messages_of("born-1", REQUEST, write(spec, told.messages[:5], told), 0.0)
    assert notes(spec, [*told.messages[:5], *turn], told) == []
    assert notes(spec, told.messages[:5], told) != []


def test_a_fact_in_a_summary_is_in_sight():
    told = zoo().told()
    lines = find_summarizer("oracle").bound(told, 0)
    line = Part("text", "animal 3: value-3", "summary", told.facts[3].origin)
    assert [
        item.text
        for item in lines.write([Message("s", "user", (line,), meta=True)], REQUEST, chars4).items
    ] == ["animal 3: value-3"]


TOPICS: dict[FactType, str] = {
    "decision": "decision",
    "prohibition": "decision",
    "preference": "user",
    "artifact": "progress",
    "open_loop": "action",
    "goal": "action",
}


@pytest.mark.parametrize(("kind", "topic"), TOPICS.items())
def test_the_topic_of_a_note_is_that_of_its_fact(kind, topic):
    story = Story()
    fact = story.state("port", "8123")
    story.facts = [Fact(fact.id, kind, fact.key, fact.value, fact.origin)]
    told = story.told()
    assert [item.topic for item in write(SURE, told.messages, told).items] == [topic]


def test_lossy_notes_a_fact_with_the_chance_with_which_a_summary_keeps_it():
    kept = n = 0
    for seed in range(40):
        told = many(seed, facts=10).told()
        items = write("lossy(first=0.3, mutated=0)", told.messages, told, seed=seed).items
        parts = [Part("text", item.text, "summary", item.sources) for item in items]
        gone = {id for fact in told.facts for id in fact.supersedes}
        due = [fact for fact in told.facts if fact.id not in gone and not fact.decoy]
        kept += sum(fate(fact, told.facts, parts) == "intact" for fact in due)
        n += len(due)
    assert abs(kept - 0.3 * n) <= 3.9 * math.sqrt(n * 0.3 * 0.7)


def test_the_levels_of_lossy_are_nested():
    told = many(3).told()
    low, high = (set(notes(f"lossy(level='{x}')", told.messages, told)) for x in ("low", "high"))
    plain = set(notes(SURE, told.messages, told))
    assert low & plain < high & plain


def test_the_answer_is_the_token_for_silence():
    told = zoo().told()
    for spec in (*SUMMARIZERS, SURE):
        if spec != "lossy":
            assert write(spec, told.messages, told).reply == "NO_REPLY"


def test_lossy_may_say_more_than_the_token_with_a_stated_chance():
    told = zoo().told()
    replies = {
        write("lossy(audible=1)", told.messages[:n], told, seed=seed).reply
        for n in range(1, 5)
        for seed in range(10)
    }
    assert "NO_REPLY" not in replies
    assert {"NO_REPLY" in reply for reply in replies} == {True, False}


def test_by_default_the_chance_is_a_figure_of_its_level_with_a_source():
    (figure,) = (figure for figure in figures() if figure.name == "audible")
    assert figure.source.startswith("guess")
    told = zoo().told()
    loud = sum(
        write("lossy(level='low')", told.messages[:2], told, seed=seed).reply != "NO_REPLY"
        for seed in range(200)
    )
    assert abs(loud - 200 * figure.low) <= 3.9 * math.sqrt(200 * figure.low * (1 - figure.low))


def test_who_was_given_no_token_says_nothing():
    told = zoo().told()
    assert write("lossy(audible=1)", told.messages, told, TurnRequest("Save.")).reply == ""


# ---------------------------------------------------------------- those that quote

TALK = [
    *said("Hello there.", "The billing rota moves to Friday, and the rota page is ours."),
    *said("The billing rota page moves to Friday then.", "Lunch.", role="assistant"),
]


@pytest.mark.parametrize("spec", ["lexrank", "centroid", "salience", "lead", "tail", "random"])
def test_those_that_quote_need_no_cue_words(spec):
    assert set(notes(spec, TALK)) == {message.text for message in TALK}


def test_what_is_noted_first_is_what_they_would_quote_first():
    told = said("Hello there.", "The rota moves.", "The rota page moves to Friday.", "Friday page?")
    little = TurnRequest("Save.", max_tokens=9)
    assert [
        [item.text for item in write(spec, told, EMPTY, little).items]
        for spec in ("lexrank", "lead", "tail")
    ] == [
        ["The rota page moves to Friday."],
        ["Hello there.", "The rota moves."],
        ["Friday page?"],
    ]


def test_random_notes_are_drawn_by_the_seed():
    told = said(*(f"This is line {n} of many." for n in range(30)))
    little = TurnRequest("Save.", max_tokens=40)
    drawn = {
        tuple(item.text for item in write("random", told, EMPTY, little, seed).items)
        for seed in (0, 0, 1, 2)
    }
    assert len(drawn) == 3


@pytest.mark.parametrize(
    ("text", "role", "topic"),
    [
        ("We decided to keep the old parser.", "user", "decision"),
        ("Call me by my nickname.", "user", "user"),
        ("The build is broken", "user", "progress"),
        ("Could you look at ledger.py?", "user", "action"),
        ("The sky is blue.", "user", "user"),
        ("Agreed: the field must stay.", "assistant", "decision"),
        ("Next comes the importer.", "assistant", "action"),
        ("Here is my view of it.", "assistant", "progress"),
    ],
)
def test_a_quotation_has_the_topic_of_its_first_cue_or_of_who_said_it(text, role, topic):
    assert [item.topic for item in write("lexrank", said(text, role=role)).items] == [topic]


def test_a_quotation_is_a_whole_sentence_and_its_source_is_the_very_span():
    text = "Hello there. We decided on tabs.\nThe rest is open."
    item = write("lead", said("hm", text)).items[2]
    assert (item.text, item.sources) == ("We decided on tabs.", (Source("u1", 0, 13, 32),))


def test_results_thoughts_and_what_no_person_typed_are_not_quoted():
    words = "We decided on tabs."
    thought = Message("a1", "assistant", (verbatim("a1", "thinking", words),))
    result = Message("r1", "tool", (verbatim("r1", "tool_result", words),))
    reminder = Message("m1", "user", (verbatim("m1", "text", words),), meta=True)
    summary = Message("s1", "user", (Part("text", words, "summary", (Source("u1"),)),))
    assert notes("lexrank", [thought, result, reminder, summary]) == []


@pytest.mark.parametrize("spec", ["lexrank", "tail", "random", "checklist"])
def test_what_was_quoted_in_a_note_in_sight_is_not_quoted_again(spec):
    first = said("We decided on tabs.")
    turn = messages_of("born-1", REQUEST, write(spec, first), 0.0)
    later = said("hm", "We agreed on spaces.")[1:]
    (note,) = notes(spec, [*first, *turn, *later])
    assert note.endswith("We agreed on spaces.")
    assert notes(spec, first) != []


# ---------------------------------------------------------------- forms, and those that write none


def test_the_checklist_fills_its_form():
    story = [
        *said("Make the importer faster. Never touch the schema."),
        *said("We decided on batches of 500. Next I write the test.", role="assistant"),
    ]
    assert [(item.topic, item.text) for item in write("checklist", story).items] == [
        ("action", "Goal: Make the importer faster."),
        ("decision", "Constraint: Never touch the schema."),
        ("decision", "Decision: We decided on batches of 500."),
        ("action", "Next: Next I write the test."),
    ]


@pytest.mark.parametrize("spec", ["empty", "inflating", "failed"])
def test_who_summarises_badly_writes_nothing(spec):
    assert write(spec, TALK) == Written("NO_REPLY")


# ---------------------------------------------------------------- laws

SPECS = [*SUMMARIZERS, SURE, "lossy(first=0.5, mutated=0.5, stale=0.5, audible=0.5)"]


@settings(max_examples=40)
@given(
    st.sampled_from(SPECS),
    st.integers(0, 5),
    st.integers(0, 24),
    st.integers(0, 24),
    st.integers(0, 60),
)
def test_notes_fit_and_say_nothing_that_is_out_of_sight(spec, seed, first, last, room):
    told = many(seed, facts=8).told()
    seen = told.messages[first:last]
    request = TurnRequest("Save.", max_tokens=room)
    written = write(spec, seen, told, request)
    assert written == write(spec, seen, told, request)
    assert sum(chars4(item.text) for item in written.items) <= room
    witness = Witness(ledger_of(told))
    ids = {message.id for message in seen}
    in_sight = sum(
        1 << number
        for number, fact in enumerate(told.facts)
        if any(source.id in ids for source in fact.origin)
    )
    for item in written.items:
        assert {source.id for source in item.sources} <= ids
        assert not witness.note(item) & ~in_sight
