"""When something is recovered, what, and how it is shown."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.message import Message, Part, frame, verbatim
from compactlab.sim.core.tokens import utf16_length
from compactlab.sim.core.view import Messages
from compactlab.strategies.openclaw.recovery import asked_for, block, clamp, is_needed, recover


def says(id: str, *texts: str, role="user", **more) -> Message:
    return Message(id, role, tuple(verbatim(id, "text", text) for text in texts), **more)


FIVE = [says(f"m{n}", f"words {n}") for n in range(5)]


def words(history, count=50) -> list[str]:
    return [quote.text for quote in recover(history, count)]


def test_it_is_time_when_there_were_more_compactions_than_at_the_last_recovery():
    assert [is_needed(3, 2), is_needed(3, 3), is_needed(0, 0)] == [True, False, False]


def test_the_transcript_is_asked_for_ten_more_than_are_wanted():
    history = Messages(says(f"m{n}", "hi") for n in range(20))
    assert asked_for(history, 3) == history[7:]
    assert asked_for(history, 60) == history


@pytest.mark.parametrize(("count", "kept"), [(2, 2), (9, 5), (0, 5)])
def test_the_last_so_many_are_quoted(count, kept):
    assert recover(FIVE, count) == recover(FIVE[5 - kept :], 50)


def test_parts_are_put_together_and_blanks_around_them_taken_off():
    assert words([says("m", "\ufeff one", "two\n ", " ")]) == ["onetwo"]


def test_a_mark_counts_only_at_the_very_beginning():
    history = [
        says("a", "[tool:x] out"),
        says("b", " [tool:x] out"),
        says("c", "[System Event] up"),
    ]
    assert words(history) == ["[tool:x] out"]


def test_only_words_of_user_and_assistant_are_quoted():
    thinks = Message("t", "assistant", (verbatim("t", "thinking", "hm"),))
    summary = says("s", "before", meta=True, origin="compactionSummary")
    shell = Message(
        "b", "user", (frame("Ran `"), verbatim("b", "text", "ls")), origin="bashExecution"
    )
    failed = says("f", "partial", role="assistant", origin="aborted")
    told = Message("r", "tool", (verbatim("r", "tool_result", "out", call_id="c"),))
    assert words([thinks, summary, shell, told, says("m", "reminder", meta=True)]) == []
    assert words([failed]) == ["partial"]


def test_what_the_agent_was_told_in_an_extra_turn_is_quoted_as_the_users():
    told = Message("m", "user", (Part("text", "save your notes", "synthetic", ()),), meta=True)
    assert words([told, says("r", "NO_REPLY", role="assistant")]) == ["save your notes", "NO_REPLY"]


def test_the_block_is_its_pieces_put_together():
    text = "".join(piece.text for piece in block(recover(FIVE[:2], 2), intro="Look:"))
    assert text == (
        "## Recent Conversation (Recovered After Context Compaction)\n\nLook:\n\n"
        "**User:** words 0\n\n**User:** words 1\n\n---\n"
    )
    assert block([]) == []


def test_a_piece_says_where_in_which_part_its_words_stand():
    message = says("m", "  abc", "defg", "hi ")
    (_, piece, _) = block(recover([message], 1), chars=5)
    assert piece.text == "**User:** abcde...\n\n"
    assert [(s.part, s.start, s.end) for s in piece.sources] == [(0, 2, -1), (1, 0, 2)]
    (_, piece, _) = block(recover([message], 1))
    assert [(s.part, s.start, s.end) for s in piece.sources] == [(0, 2, -1), (1, 0, -1), (2, 0, 2)]


def test_where_a_message_was_rewritten_its_frames_are_no_words_of_it():
    part = Part("text", "said", "verbatim", verbatim("m", "text", "").sources)
    assert words([Message("m", "user", (frame("<"), part, frame(">")))]) == ["said"]


# What was found in memory is shown as far as a budget goes.


@pytest.mark.parametrize(
    ("snippets", "budget", "shown"),
    [
        (["abc", "de", "f"], 5, ["abc", "de"]),
        (["abc", "defgh", "i"], 5, ["abc", "de"]),  # and no shorter one after it
        *((["abc", "", "defgh"], none, ["abc", "", "defgh"]) for none in (None, 0, -5, math.nan)),
        (["", "abc", ""], 4, ["", "abc", ""]),  # an empty one, while something is left
        (["", "abc", ""], 3, ["", "abc"]),
        (["abcd"], 2.9, ["ab"]),
    ],
)
def test_whole_ones_are_kept_while_they_fit_and_the_next_is_cut(snippets, budget, shown):
    assert clamp(snippets, budget) == shown


@given(st.lists(st.text(max_size=8)), st.integers(1, 30))
def test_what_is_shown_is_a_beginning_within_the_budget(snippets, budget):
    kept = clamp(snippets, budget)
    assert sum(map(utf16_length, kept)) <= budget
    assert kept[:-1] == snippets[: len(kept)][:-1]
    if sum(map(utf16_length, snippets)) < budget:
        assert kept == snippets
