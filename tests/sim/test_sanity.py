"""Summaries that are none, and by what one can tell."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.replay.summarize import FAULTS, SummaryRequest, faults
from tests.told import said


def summary(text: str, id: str = "m1") -> Part:
    return Part("text", text, "summary", (Source(id),))


WORK = (
    said("m1", "The parser in src/parser.py fails on empty input, please mend that."),
    said("m2", "I found the reason: parse_header reads past the end of the buffer.", "assistant"),
    said("m3", "Shall I mend the reader as well?", "assistant"),
)
FAIR = "The parser (src/parser.py) fails on empty input, says the user: mend it."


def found(text: str, messages: tuple[Message, ...] = WORK, **more: object) -> set[str]:
    request = SummaryRequest(messages, 400, **more)  # type: ignore[arg-type]
    return set(faults(request, (summary(text),) if text else (), len))


def test_a_fair_summary_has_no_fault():
    assert found(FAIR) == set()


def test_where_nothing_was_said_nothing_can_be_wrong():
    assert found("", ()) == set()
    assert found("", (said("m1", "  \n"),)) == set()


def test_silence_is_a_fault_and_the_only_one():
    assert found("") == {"empty"}
    assert found(" \n") == {"empty"}


def test_of_many_names_some_must_be_told():
    log = (said("m1", " ".join(f"src/part_{n}.py" for n in range(100))),)
    one = "Files there were: src/part_1.py"
    assert "few_identifiers" in found(one, log)
    assert "few_identifiers" not in found(f"{one} and src/part_2.py", log)
    few = (said("m1", " ".join(f"src/part_{n}.py" for n in range(49))),)
    assert "few_identifiers" not in found("Files there were.", few)


def test_the_summary_before_is_a_source_too():
    before = (summary(" ".join(f"src/part_{n}.py" for n in range(100))),)
    assert "few_identifiers" in found(FAIR, previous=before)


def test_talk_about_something_else_has_no_source():
    tips = "Fishing tips: always bring enough bait, and choose quiet waters near willows."
    assert found(tips) == {"nothing_aligns"}


def test_scripts_without_blanks_are_aligned_by_pairs_of_characters():
    log = (said("m1", "構文解析器は空の入力で失敗します。修正してください。"),)
    assert found("構文解析器は空の入力で失敗する。", log) == set()
    assert found("釣りには静かな水辺と十分な餌が必要です。", log) == {"nothing_aligns"}


@pytest.mark.parametrize(
    "end",
    ["Which one do you mean?", "**Shall I go on?**", 'So: "what next?"', "どうしますか\uff1f"],
)
def test_it_must_not_end_with_a_question_of_its_own(end):
    assert found(f"{FAIR}\n{end}") == {"asks_user"}


@pytest.mark.parametrize(
    "end", ["Shall I mend the reader as well?", "- Open: Shall I mend the reader as well?"]
)
def test_but_it_may_end_with_one_that_was_asked(end):
    assert found(f"{FAIR}\n{end}") == set()


@pytest.mark.parametrize(
    "start",
    ["Sure, I will do that.", "**Got it!**", "I'll look at it now.", "You're right:", "OK."],
)
def test_it_must_not_begin_as_an_answer(start):
    assert found(f"{start} {FAIR}") == {"answers"}


def test_an_answer_after_an_answer_is_no_quotation():
    answer = f"Sure, I will do that. {FAIR}"
    assert found(answer, previous=(summary(answer),)) == {"answers"}


def test_a_quotation_that_is_carried_on_says_itself_that_it_is_one():
    line = "I'll mend the parser, which fails on empty input."
    part = Part("text", f"{line}\n{FAIR}", "summary", (Source("m0", 0, 10, 10 + len(line)),))
    request = SummaryRequest(WORK, 400, (part,))
    assert faults(request, (part,), len) == ()
    assert faults(request, (summary(part.text),), len) == ("answers",)


def test_but_it_may_begin_with_a_quotation_or_a_word_that_only_looks_like_one():
    assert (
        found(f"I found the reason: parse_header reads past the end of the buffer.\n{FAIR}")
        == set()
    )
    assert found(f"Surely so. {FAIR}") == set()
    assert found(f"Okayama is no topic. {FAIR}") == set()


def test_it_must_not_repeat_what_it_was_told_to_do():
    told = "Be short. Write down what the user wants and what was found out so far. Begin now."
    assert found(FAIR, instructions=told) == set()
    copied = "write down what the user wants\nand what was found out so far."
    assert found(f"{FAIR}\n{copied}", instructions=told) == {"holds_instructions"}


def test_it_must_not_hold_the_summary_before_behind_words_of_its_own():
    before = " ".join(f"Of step {n} the parser says nothing." for n in range(6))
    parts = (summary(before),)
    assert found(f"{FAIR} Earlier: {before}", previous=parts) == {"holds_summary"}
    assert found(f"{FAIR} Earlier: {before[:-40]}", previous=parts) == set()
    assert found(f"{before}\n{FAIR}", previous=parts) == set()
    short = (summary("Nothing yet but empty input."),)
    assert found(f"{FAIR} Nothing yet but empty input.", previous=short) == set()


def test_a_fifth_over_the_budget_is_forgiven():
    assert found(FAIR.ljust(480, ".")) == set()
    assert found(FAIR.ljust(481, ".")) == {"over_budget"}


def test_faults_come_in_their_order_with_a_meaning():
    text = "Sure! Bring bait, willows, quiet waters, patience. " * 20 + "Which lake do you mean?"
    assert faults(SummaryRequest(WORK, 100), (summary(text),), len) == (
        "nothing_aligns",
        "asks_user",
        "answers",
        "over_budget",
    )
    assert all(meaning.endswith(".") for meaning in FAULTS.values())


texts = st.text(max_size=60) | st.sampled_from(
    [FAIR, "Sure?", "x" * 2000, "'''", "日本語。" * 9, "\ud800?"]
)


@given(st.lists(texts, max_size=4), st.lists(texts, max_size=3), texts, st.integers(0, 100))
def test_anything_can_be_judged_and_a_copy_of_all_is_never_foreign(log, written, told, budget):
    messages = tuple(said(f"m{n}", text) for n, text in enumerate(log))
    request = SummaryRequest(messages, budget, instructions=told)
    parts = tuple(summary(text) for text in written)
    assert set(faults(request, parts, len)) <= set(FAULTS)
    copy = tuple(summary(text, f"m{n}") for n, text in enumerate(log) if text)
    foreign = {"few_identifiers", "nothing_aligns", "asks_user", "answers", "empty"}
    assert not foreign & set(faults(request, copy, len))
