"""Llm: what a model is given to read, and what becomes of its answer."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.llm.asker import Asker
from compactlab.llm.recorded import Answer
from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.message import Message, Part, Source, verbatim
from compactlab.sim.core.tokens import chars4
from compactlab.sim.replay.summarize import InStep, SummaryRequest, faults
from compactlab.strategies.summarizers.catalogue import find_summarizer
from compactlab.strategies.summarizers.llm import Expected, Llm
from tests.lines import refusal
from tests.summarizers.story import many
from tests.summarizers.test_laws import ids, rounds, sessions


def answering(folder: Path, *said: tuple[SummaryRequest, str]) -> Llm:
    """A summariser whose answers are recorded already."""
    llm = Llm("m").answered_by(Asker(folder))
    for request, text in said:
        asked = llm.request(request)
        answer = Answer(asked.key, "m", 0, text, "stop", 1, 1, None)
        Asker(folder).recording("m").add(answer)
    return llm


USER = Message("m0", "user", (verbatim("m0", "text", "Read it."),))
CALL = Message("m1", "assistant", (verbatim("m1", "tool_call", '{"path":"a"}', name="read"),))
RESULT = Message("m2", "tool", (verbatim("m2", "tool_result", "port = 8080", name="read"),))
BEFORE = (Part("text", "All was well.", "summary", (Source("m-1"),)),)


def test_a_live_request_is_read_turn_by_turn_and_the_instructions_come_last():
    request = SummaryRequest((USER, CALL, RESULT), 500, BEFORE, "Sum it up.", rides="live")
    asked = Llm("m").request(request)
    assert [(turn.role, turn.text) for turn in asked.turns] == [
        ("user", "The summary of what came before:\n\nAll was well.\n\nRead it."),
        ("assistant", '[calls read] {"path":"a"}'),
        ("user", "[result of read] port = 8080\n\nSum it up."),
    ]
    assert (asked.model, asked.max_tokens, asked.draw) == ("m", 500, 0)


def test_a_transcript_goes_as_the_strategy_wrote_it():
    request = SummaryRequest((USER,), 9000, BEFORE, "Sum it up.", "<all>Read it.</all>")
    asked = Llm("m", draw=2, temperature=0.5).request(request)
    assert [turn.text for turn in asked.turns] == ["<all>Read it.</all>\n\nSum it up."]
    assert (asked.max_tokens, asked.draw, asked.temperature) == (8000, 2, 0.5)


def test_a_prompt_of_ones_own_takes_the_place_of_the_instructions():
    request = SummaryRequest((USER,), 100, (), "Sum it up.", "All.")
    assert Llm("m", prompt="Be short.").request(request).turns[0].text == "All.\n\nBe short."
    bare = Llm("m").request(SummaryRequest((USER,), 100))
    assert bare.turns[0].text.startswith("Read it.\n\nSummarise the conversation above")


def test_an_answer_stands_for_all_that_was_summarised(tmp_path):
    request = SummaryRequest((USER, RESULT), 100, BEFORE, "Sum it up.")
    llm = answering(tmp_path, (request, " The port is 8080.\n"))
    (part,) = llm.summarize(request, chars4)
    assert (part.text, part.kind) == ("The port is 8080.", "summary")
    assert ids((part,)) == {"m-1", "m0", "m2"}


def test_an_answer_over_the_budget_is_left_and_named(tmp_path):
    request = SummaryRequest((USER, RESULT), 10, (), "Sum it up.")
    llm = answering(tmp_path, (request, "The port is 8080 and I read it. " * 20))
    parts = llm.summarize(request, chars4)
    assert sum(chars4(part.text) for part in parts) > 100
    assert "over_budget" in faults(request, parts, chars4)


def test_an_empty_answer_is_no_summary(tmp_path):
    request = SummaryRequest((USER,), 100)
    assert answering(tmp_path, (request, " \n")).summarize(request, chars4) == ()


@given(sessions(), st.integers(1, 150))
def test_sources_are_those_of_the_request_whatever_is_summarised(tmp_path_factory, told, budget):
    folder = tmp_path_factory.mktemp("answers")

    class Recorder(Llm):
        def summarize(self, request, count):  # type: ignore[no-untyped-def]
            answering(folder, (request, f"{len(request.messages)} messages."))
            return Llm.summarize(self, request, count)

    for request, parts in rounds(Recorder("m").answered_by(Asker(folder)), told, budget, chars4):
        given = ids(request.previous) | {message.id for message in request.messages}
        assert ids(parts) == given
        assert all(part.kind == "summary" and part.text and part.sources for part in parts)
        assert bool(parts) == bool(given)


def test_where_it_is_asked_and_who_answers_is_no_part_of_its_name(tmp_path):
    here = Llm("m", base_url="http://127.0.0.1:1", api="openai").answered_by(Asker(tmp_path))
    assert here.spec == "llm(model='m', prompt='', temperature=None, max_tokens=8000, draw=0)"
    assert here.label == "llm(model='m')"
    assert find_summarizer(here.spec) == Llm("m")


def test_the_recording_belongs_to_the_identity_of_a_run(tmp_path):
    assert Llm("m").answered_by(Asker(tmp_path)).named_files == ()
    llm = answering(tmp_path, (SummaryRequest((USER,), 100), "Yes."))
    assert llm.named_files == (str(tmp_path / "m.jsonl"),)


def test_without_a_model_or_a_folder_it_says_what_is_missing():
    assert refusal(UsageError, lambda: Llm().check()) == snapshot(
        "llm: name the model, as in llm(model='gpt-5-mini')"
    )
    with pytest.raises(UsageError, match="--answers"):
        Llm("m").summarize(SummaryRequest((USER,), 100), chars4)
    assert refusal(UsageError, lambda: find_summarizer("llm(model='m', draw=-1)")) == snapshot(
        "llm: draw must be at least 0, not -1"
    )
    assert refusal(UsageError, lambda: find_summarizer("llm(model='m', asker=None)")) == snapshot(
        "llm: unknown field 'asker'; did you mean base_url?"
    )


def test_what_would_be_asked_is_noted_and_what_is_recorded_is_replayed(tmp_path):
    first = SummaryRequest(many(3).told().messages, 400, (), "Sum it up.")
    llm = answering(tmp_path, (first, "Three facts."))
    expected = Expected(llm, find_summarizer("lead"))
    parts = expected.summarize(first, chars4)
    assert [part.text for part in parts] == ["Three facts."]
    assert expected.noted == {}
    second = replace(first, previous=parts)
    assert expected.summarize(second, chars4) == find_summarizer("lead").summarize(second, chars4)
    assert expected.noted == {llm.request(second).key: None}  # nobody knows the price of m


def test_what_would_be_asked_has_a_price(tmp_path):
    request = SummaryRequest(many(3).told().messages, 400, (), "Sum it up.")
    llm = Llm("gpt-5-mini").answered_by(Asker(tmp_path))
    expected = Expected(llm, find_summarizer("lead"))
    written = sum(chars4(part.text) for part in expected.summarize(request, chars4))
    ((likely, most),) = filter(None, expected.noted.values())
    assert written < 400
    # 2 dollars for a million tokens of output, in the price list of these tests.
    assert most - likely == pytest.approx((400 - written) * 2e-6)


@pytest.mark.parametrize("lengths", [(), (30,), (30, 10)])
def test_a_control_is_as_long_as_the_summaries_of_the_run(lengths):
    control = InStep(find_summarizer("junk(tokens=1000000)"), lengths)
    request = SummaryRequest((USER,), 500)
    made = [sum(len(p.text) for p in control.summarize(request, len)) for _ in range(3)]
    allowed = [*lengths, lengths[-1], lengths[-1]][:3] if lengths else [0, 0, 0]
    assert all(most - 10 < length <= most for length, most in zip(made, allowed, strict=True))
    told = many(1).told()
    again = control.bound(told, 0).summarize(request, len)
    assert sum(len(part.text) for part in again) == made[0]
