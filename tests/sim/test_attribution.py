"""Where the words of a context come from that somebody else compacted."""

from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Message, Part, Role, Source, verbatim
from compactlab.sim.core.view import Messages, View
from compactlab.sim.facts.attribution import Attributed, attributed, declared
from tests.lines import refusal

LONG = "The deploy target of the second service is eu-west-3, and nothing else counts for us."
LOG = "build 4f2a91c7 failed in src/door.py at line 1500 because nobody had closed the fixture"


def say(id: str, text: str, role: Role = "user") -> Message:
    return Message(id, role, (verbatim(id, "text", text),))


def result(id: str, text: str, call_id: str = "c1") -> Message:
    return Message(id, "tool", (verbatim(id, "tool_result", text, name="read", call_id=call_id),))


ORIGINAL = (
    say("u1", "Hello."),
    say("u2", LONG),
    Message("a1", "assistant", (verbatim("a1", "tool_call", "{}", name="read", call_id="c1"),)),
    result("t1", LOG),
    say("a2", "Hello.", "assistant"),
    say("u3", "Hello."),
)
ALL = {message.id for message in ORIGINAL}


@dataclass(frozen=True)
class Told:
    kinds: list[str]
    sources: list[set[str]]
    texts: list[str]


def told(*messages: Message, system: tuple[Part, ...] = ()) -> Told:
    """What is found out about the parts of a context."""
    view = attributed(ORIGINAL, (), View(system, Messages(messages))).view
    parts = [*view.system, *(part for message in view.messages for part in message.parts)]
    return Told(
        [part.kind for part in parts],
        [{source.id for source in part.sources} for part in parts],
        [part.text for part in parts],
    )


def context(*messages: Message) -> Attributed:
    return attributed(ORIGINAL, (), View((), Messages(messages)))


def test_equal_messages_are_the_original_ones():
    found = context(say("x", LONG), result("y", LOG))
    assert [
        m is o for m, o in zip(found.view.messages, (ORIGINAL[1], ORIGINAL[3]), strict=True)
    ] == [True, True]
    assert found.inferred
    assert found.words == found.found > 0


def test_of_several_that_say_the_same_the_newest_in_order_is_meant():
    hello = say("x", "Hello.")
    assert [m.id for m in context(hello).view.messages] == ["u3"]
    assert [m.id for m in context(hello, hello).view.messages] == ["u1", "u3"]
    two = context(say("x", "Hello."), say("y", LONG), say("z", "Hello."))
    assert [m.id for m in two.view.messages] == ["u1", "u2", "u3"]


def test_the_same_words_of_another_role_are_no_equal_message():
    found = context(say("x", LONG, "assistant"))
    (message,) = found.view.messages
    assert message.id == "compacted:1"
    assert [(part.kind, part.sources) for part in message.parts] == [
        ("verbatim", (Source("u2", 0),))
    ]


@pytest.mark.parametrize("text", [LONG[:50], LONG[20:]])
def test_the_beginning_or_the_end_of_a_message_is_that_message_cut_short(text):
    found = told(say("x", text))
    assert (found.kinds, found.sources, found.texts) == (["truncated"], [{"u2"}], [text])


@pytest.mark.parametrize("text", [LONG[:60] + " [... 26 removed ...]", "(cut) " + LONG[20:]])
def test_a_mark_where_a_message_was_cut_stands_for_that_message(text):
    found = told(say("x", text))
    assert (found.kinds, found.sources, found.texts) == (["truncated"], [{"u2"}], [text])
    assert context(say("x", text)).view.messages[0].parts[0].sources[0].id == "u2"


def test_what_was_cut_in_the_middle_is_one_message_too():
    words = LOG.split()
    found = told(result("x", " ".join([*words[:8], "[cut]", *words[-8:]])))
    assert (found.kinds, found.sources) == (["truncated"], [{"t1"}])


def test_a_summary_that_ends_as_a_message_does_is_a_summary():
    ends = LONG[20:]
    assert told(say("x", f"They said at first that it was Paris, and now, {ends}")).kinds == [
        "summary"
    ]
    assert told(say("x", f"So: {ends} They left.")).kinds == ["summary"]
    assert told(say("x", f"So: {LONG[:60]}")).kinds == ["summary"]


def test_the_middle_of_a_message_is_a_summary_of_it():
    found = told(say("x", LONG[4:70]))
    assert (found.kinds, found.sources) == (["summary"], [{"u2"}])


def test_a_whole_text_within_another_is_put_back_and_the_rest_stands_for_what_is_gone():
    found = told(say("x", f"They said: {LONG}\nAnd then they left."))
    assert found.kinds == ["summary", "recovered", "summary"]
    assert found.sources == [ALL - {"u2"}, {"u2"}, ALL - {"u2"}]
    assert "".join(found.texts) == f"They said: {LONG}\nAnd then they left."


def test_signs_between_texts_that_are_put_back_go_with_them():
    found = told(say("x", f"- {LONG}\n- {LOG} --"))
    assert (found.kinds, found.sources) == (["recovered", "recovered"], [{"u2"}, {"t1"}])
    assert found.texts == [f"- {LONG}\n- ", f"{LOG} --"]


SUMMARY = say("s", "They deploy to Paris.")
ASKED = say("q", "Which of the two services goes to Paris?")


@pytest.mark.parametrize(
    ("messages", "gone"),
    [
        ([SUMMARY, *ORIGINAL[3:]], {"u1", "u2", "a1"}),
        ([ORIGINAL[0], SUMMARY, *ORIGINAL[4:]], {"u2", "a1", "t1"}),
        ([*ORIGINAL[:4], SUMMARY], {"a2", "u3"}),
        # Nothing stands where a1 did; the summary before it is the nearest.
        ([ORIGINAL[0], SUMMARY, ORIGINAL[3], ORIGINAL[5]], {"u2", "a1", "a2"}),
        # What was said by the user is kept, and the summary comes behind it.
        ([ORIGINAL[1], ORIGINAL[3], SUMMARY], {"u1", "a1", "a2", "u3"}),
        # A summary may stand before the first message that was kept.
        ([SUMMARY, ORIGINAL[0], *ORIGINAL[2:]], {"u2"}),
    ],
)
def test_a_summary_stands_for_what_is_gone_where_it_stands(messages, gone):
    found = told(*messages)
    assert [sources for k, sources in zip(found.kinds, found.sources, strict=True)
            if k == "summary"] == [gone]  # fmt: skip


@pytest.mark.parametrize("kept", [ORIGINAL, ORIGINAL[3:]])
def test_a_question_after_the_last_message_stands_for_nothing(kept):
    found = told(*kept, ASKED)
    assert (found.kinds[-1], found.sources[-1]) == ("synthetic", set())


LOG_OF_MANY = tuple(say(f"m{n}", f"What was said as number {n * n} of them all.") for n in range(9))


def test_a_summary_and_all_kept_messages_in_one_text_are_more_than_a_copy():
    kept = "\n".join(f"Bo: {message.text}" for message in LOG_OF_MANY[1:])
    summary = "In the beginning they spoke of a journey to Paris that was never made, Bo says. "
    view = attributed(LOG_OF_MANY, (), View((), Messages([say("x", summary + kept)]))).view
    assert {source.id for source in view.messages[0].parts[0].sources} == {"m0"}


@settings(max_examples=50, deadline=None)
@given(st.sets(st.integers(0, 8), min_size=1, max_size=8), st.data())
def test_a_summary_in_the_place_of_something_stands_for_all_that_is_gone_and_nothing_else(
    gone, data
):
    index = data.draw(st.sampled_from(sorted(gone)))
    shown = [*LOG_OF_MANY[:index], SUMMARY, *LOG_OF_MANY[index + 1 :]]
    kept = [m for m in shown if m is SUMMARY or LOG_OF_MANY.index(m) not in gone]
    view = attributed(LOG_OF_MANY, (), View((), Messages([*kept]))).view
    (summary,) = (m for m in view.messages if m.id.startswith("compacted:"))
    assert [source.id for source in summary.parts[0].sources] == [f"m{n}" for n in sorted(gone)]


def test_with_a_speaker_before_it_a_message_is_still_a_copy():
    found = told(SUMMARY, say("x", f"Bo: {LONG}"), say("y", f"log: {LOG}"), *ORIGINAL[4:], ASKED)
    assert found.kinds[:5] == ["summary", "summary", "recovered", "summary", "recovered"]
    assert found.sources[:2] == [{"u1", "a1"}, {"u2"}]
    assert found.kinds[-1] == "synthetic"


def test_a_paraphrase_may_stand_for_anything():
    found = told(say("x", "They deploy to Paris."))
    assert (found.kinds, found.sources) == (["summary"], [ALL])
    assert context(say("x", "They deploy to Paris.")).found == 0


def test_a_result_that_keeps_its_call_stands_for_that_result():
    found = told(result("x", "[old result was cleared]"))
    assert (found.kinds, found.sources) == (["stub"], [{"t1"}])
    assert told(result("x", "[cleared]", "c9")).kinds == ["summary"]


def test_tokens_without_text_may_hold_anything_and_signs_hold_nothing():
    hidden = Part("text", "", "opaque", (), size=400)
    found = told(Message("x", "user", (hidden,)), say("y", "---"))
    assert found.kinds == ["opaque", "synthetic"]
    assert found.sources == [ALL, set()]


def test_what_was_written_into_the_system_prompt_counts():
    old = verbatim("system", "text", "You help.")
    new = verbatim("system", "text", "Deploy target: eu-west-3")
    found = attributed(ORIGINAL, (old,), View((old, new), Messages()))
    assert [part.kind for part in found.view.system] == ["verbatim", "summary"]
    assert found.view.system[0] is old
    assert (found.words, found.found) == (7, 2)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_no_character_is_lost_and_what_is_quoted_stands_there(seed):
    draw = Random(seed)
    known = {m.id: m.text for m in ORIGINAL}
    pieces = [LONG, LOG, LONG[:60], LOG[9:], "Hello.", "They left.", " -- ", "\n", "1 2 3 4 5 6 7"]
    texts = ["".join(draw.choices(pieces, k=draw.randint(1, 5))) for _ in range(draw.randint(1, 4))]
    found = context(*(say(f"x{n}", text) for n, text in enumerate(texts)))
    assert ["".join(p.text for p in m.parts) for m in found.view.messages] == texts
    assert 0 <= found.found <= found.words
    for message in found.view.messages:
        for part in message.parts:
            if part.kind in ("verbatim", "recovered"):
                (first, *_) = part.sources
                assert " ".join(known[first.id].split()) in " ".join(part.text.split())


def native(*messages: Message) -> Attributed | None:
    return declared(ORIGINAL, View((), Messages(messages)))


def test_a_context_is_taken_at_its_word():
    summary = Message("s", "user", (Part("text", "eu-west-3", "summary", (Source("u2"),)),))
    found = native(summary, say("u3", "Hello."))
    assert found is not None
    assert not found.inferred
    assert found.view.messages[0] is summary
    assert found.view.messages[1] is ORIGINAL[5]


def test_a_context_that_says_nothing_of_provenance_declares_none():
    assert native(say("x", LONG)) is None
    assert native(Message("x", "user", (Part("text", "x", "synthetic", ()),))) is None


def test_a_context_may_not_name_what_is_not_there():
    said = refusal(
        InputError,
        lambda: native(Message("s", "user", (Part("text", "x", "summary", (Source("z9"),)),))),
    )
    assert said == snapshot("unknown message of the original 'z9'; known: a1, a2, t1, u1, u2, u3")


def test_a_context_may_not_call_verbatim_what_was_not_said():
    assert refusal(InputError, lambda: native(say("u2", "something else"))) == snapshot(
        "a part is declared verbatim, and message 'u2' has no such part"
    )
