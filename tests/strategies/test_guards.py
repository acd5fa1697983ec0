"""OpenClaw guards tool results: when one is written, before a request, and after a refusal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.message import Message, Part, Source, verbatim
from compactlab.sim.core.tokens import utf16_length
from compactlab.sim.core.view import Messages
from compactlab.strategies import ContextGuard, Openclaw, OverflowTruncation, WriteGuard
from compactlab.strategies.openclaw.guards import (
    CUT_NOTICE,
    NOT_STORED,
    OMITTED,
    REMOVED,
    TOO_LARGE,
    Room,
    capped,
    cut_result,
    cut_text,
    guarded,
    guarded_chars,
    most_chars,
)
from compactlab.strategies.openclaw.pairs import MISSING

TEXT = st.text("ab}\N{ROCKET}\n error", max_size=60)


def result(*texts: str) -> Message:
    parts = (verbatim("r1", "tool_result", text, name="read", call_id="c1") for text in texts)
    return Message("r1", "tool", tuple(parts))


def spans(part: Part) -> list[tuple[int, int]]:
    return [(source.start, source.end) for source in part.sources]


# A text that is too long.


def test_what_is_short_enough_is_left_alone():
    assert cut_text("x" * 5000, 5000) is None
    assert cut_text("x" * 5001, 5000) is not None


def test_a_beginning_stays_up_to_a_line_break_and_a_notice_says_so():
    lines = "0123456789\n" * 1000
    cut = cut_text(lines, 5000, "2026.2.17")
    assert cut.text.endswith(f"\n0123456789{TOO_LARGE}")
    assert lines[: cut.first] == cut.text[: cut.first]
    assert cut.first % 11 == 10


def test_a_line_break_far_from_the_end_is_none_to_cut_at():
    cut = cut_text("a" * 100 + "\n" + "b" * 9000, 5000)
    assert cut.first == 5000 - utf16_length(TOO_LARGE)


def test_never_does_less_than_2000_characters_stay():
    assert cut_text("x" * 9000, 10).text == "x" * 2000 + TOO_LARGE


@pytest.mark.parametrize(
    "end", ["Error: no such file", "exit code 1", "Total: 7", '{"a": 1}', "done\n"]
)
def test_from_march_2026_on_an_important_end_stays(end):
    text = "log line\n" * 4000 + end
    new, old = (cut_text(text, 20_000, version) for version in ("2026.3.13", "2026.2.17"))
    assert new.text.endswith(end + TOO_LARGE)
    assert OMITTED in new.text
    assert OMITTED not in old.text
    assert text.endswith(new.text[-new.last - utf16_length(TOO_LARGE) : -utf16_length(TOO_LARGE)])


def test_an_error_far_from_the_end_and_half_a_word_are_not_important():
    assert OMITTED not in cut_text("Error\n" + "plain words\n" * 4000, 20_000).text
    assert OMITTED not in cut_text("plain words\n" * 4000 + "terrors", 20_000).text


@pytest.mark.parametrize(("window", "most"), [(0, 0), (16_000, 19_200), (10**7, 400_000)])
def test_a_result_may_have_three_tenths_of_the_window(window, most):
    assert most_chars(window) == most


def test_several_texts_share_what_a_message_may_have():
    cut = cut_result(result("a" * 30_000, "b" * 10_000), 20_000)
    assert [utf16_length(part.text) for part in cut.parts] == [15_000, 5_000]
    assert [(part.kind, part.call_id) for part in cut.parts] == [("truncated", "c1")] * 2
    assert spans(cut.parts[1]) == [(0, 5_000 - utf16_length(TOO_LARGE))]


def test_a_small_text_beside_a_large_one_stays():
    cut = capped(result("a" * 500_000, "small"), "2026.2.17")
    assert cut.parts[1].text == "small"
    assert cut.parts[0].text.endswith(NOT_STORED)
    assert capped(result("a" * 400_000)).parts[0].kind == "verbatim"


@given(text=TEXT, times=st.integers(1, 200), most=st.integers(0, 6000))
@pytest.mark.parametrize("version", ["2026.2.17", "2026.3.13"])
def test_what_stays_is_a_beginning_and_an_end_and_no_more_than_asked_for(
    text, times, most, version
):
    whole = text * times
    cut = cut_text(whole, most, version)
    units = whole.encode("utf-16-le")
    if cut is None:
        assert len(units) // 2 <= most
        return
    assert utf16_length(cut.text) <= max(most, 2000 + utf16_length(TOO_LARGE))
    shown = cut.text.encode("utf-16-le", "surrogatepass")
    assert shown.startswith(units[: 2 * cut.first])
    end = units[len(units) - 2 * cut.last :]
    assert shown.endswith(end + TOO_LARGE.encode("utf-16-le"))


def test_a_call_without_a_result_is_given_one_before_anything_else_is_said(tell, play):
    *_, prompt = play(tell("uc2r ua"), WriteGuard()).prompts()
    assert [message.role[0] for message in prompt] == list("uattu")
    made = prompt[3].parts[0]
    assert (made.text, made.kind, made.is_error, made.call_id) == (
        MISSING, "synthetic", True, "c2/1",
    )  # fmt: skip


@pytest.mark.parametrize(("version", "kept"), [("2026.1.29", 9000), ("2026.2.17", 5000)])
def test_a_result_is_capped_for_good_from_february_2026_on(tell, play, version, kept):
    guard = WriteGuard(version=version, max_chars=5000)
    prompts = list(play(tell("ucra ua", sizes={"r3": 9000}), guard).prompts())
    lengths = [[utf16_length(m.text) for m in prompt if m.role == "tool"] for prompt in prompts]
    assert lengths == [[], [kept], [kept]]


def letters(prompt) -> str:
    names = {"verbatim": "r", "truncated": "T", "stub": "S"}
    return "".join(names[m.parts[0].kind] for m in prompt if m.role == "tool")


LONG = {f"r{n}": 2500 for n in range(200)}


def test_the_oldest_results_are_removed_until_the_rest_fits(tell, play):
    """5,000 tokens are 20,000 characters, of which 15,000 are allowed; results count twice."""
    story = tell("ucra cra cra cra", sizes=LONG)
    plain = [letters(p) for p in play(story, ContextGuard(), window=5000).prompts()]
    newest = ContextGuard(newest_first=True)
    late = [letters(p) for p in play(story, newest, window=5000).prompts()]
    assert plain == ["", "r", "r", "rr", "rr", "Srr", "Srr", "SSrr"]
    assert late == ["", "r", "r", "rr", "rr", "rrS", "rrS", "rrSS"]


def test_every_request_beyond_that_point_writes_what_is_behind_the_removed_one(tell, play):
    story = tell("u" + "cr" * 40 + "a", size=2000)
    old, new = (
        play(story, ContextGuard(newest_first=late), window=20_000).steps for late in (False, True)
    )
    assert sum(s.usage.cache_write for s in old) > 2 * sum(s.usage.cache_write for s in new)


def test_a_result_larger_than_half_of_the_window_is_cut_and_says_so():
    history = Messages([Message("u1", "user", ()), result("line\n" * 4000)])
    (_, cut) = guarded(history, 10_000)
    assert cut.text.endswith(f"line\n{CUT_NOTICE}")
    assert utf16_length(cut.text) <= Room.of(10_000).result
    assert cut.parts[0].sources[0].end > 0


def test_it_loses_its_images_then():
    pictured = Message("r1", "tool", (*result("few").parts, verbatim("r1", "image", "", size=9)))
    assert [part.type for part in guarded(Messages([pictured]), 2000)[0].parts] == ["tool_result"]
    bare = Message("r1", "tool", (verbatim("r1", "image", "", call_id="c", size=9),))
    (part,) = guarded(Messages([bare]), 2000)[0].parts
    assert (part.text, part.kind) == (CUT_NOTICE, "stub")


def test_what_fits_is_the_very_same(moment):
    messages = moment("ucra cra").messages
    assert guarded(messages, 200_000) is messages


def test_details_count_and_are_gone_with_what_is_cut(moment):
    """400 characters each, the result's twice: 2,000, where 2,100 are allowed."""
    messages = moment("ucra", size=400).messages
    assert letters(guarded(messages, 700)) == "r"
    assert letters(guarded(messages, 700, details=lambda message: 60)) == "S"
    assert guarded(messages, 700, details=lambda message: 2000) is messages


@given(
    sizes=st.lists(st.integers(0, 3000), max_size=8),
    window=st.integers(1, 3000),
    late=st.booleans(),
)
def test_a_naive_guard_does_the_same(sizes, window, late):
    history = [
        Message(f"r{n}", "tool", (Part("tool_result", "x" * n, "verbatim", (Source(f"r{n}"),)),))
        for n in sizes
    ]
    kept = guarded(Messages(history), window, newest_first=late)
    texts = naive(["x" * n for n in sizes], window, late)
    assert [message.text for message in kept] == texts
    assert guarded_chars(kept[0]) <= 2 * Room.of(window).result if sizes else not kept


def naive(texts: list[str], window: int, late: bool) -> list[str]:
    """By the words of OpenClaw's source, for results of plain text."""
    single, whole = max(1024, window), max(1024, window * 3)
    texts = [
        f"{text[: single - len(CUT_NOTICE) - 1]}\n{CUT_NOTICE}" if len(text) > single else text
        for text in texts
    ]
    needed = sum(2 * len(text) for text in texts) - whole
    places = range(len(texts))
    for index in reversed(places) if late else places:
        before = 2 * len(texts[index])
        if needed > 0 and before > len(REMOVED):
            texts[index] = REMOVED
            needed -= max(0, before - 2 * len(REMOVED))
    return texts


def test_large_results_are_cut_in_the_session_when_nothing_else_helps(tell, play):
    """Three tenths of 2,400 tokens are 2,880 characters."""
    story = tell("ucra ua", sizes={"r3": 6000}, system=2000)
    prompts = play(story, OverflowTruncation(version="2026.2.17"), window=2400).prompts()
    cut = [[utf16_length(m.text) for m in p if m.role == "tool"] for p in prompts]
    assert cut[0] == []
    assert cut[1] == cut[2]
    assert 2700 < cut[1][0] <= 2880


def test_a_prompt_that_fits_is_left_alone(tell, play):
    story = tell("ucra", size=400)
    assert letters(list(play(story, OverflowTruncation(), window=50_000).prompts())[-1]) == "r"


def parts(version: str, **more: bool) -> list[str]:
    return [part.spec.partition("(")[0] for part in Openclaw(version=version, **more).parts]


def test_the_agent_has_the_guards_of_its_version():
    assert parts("2026.1.29")[0] == "write_guard"
    assert "context_guard" not in parts("2026.1.29")
    for version in ("2026.2.17", "2026.3.13"):
        found = parts(version)
        assert found[0] == "write_guard"
        assert found[-1] == "context_guard"
        assert found.index("overflow_truncation") == 3
    assert not {"write_guard", "context_guard"} & {*parts("2026.3.13", guards=False)}
