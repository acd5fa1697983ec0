"""When something is recovered, what, and how it is shown."""

import math

import pytest

from compactlab.sim.core.message import Message, Part, frame, verbatim
from compactlab.sim.core.view import Messages
from compactlab.strategies.openclaw.recovery import (
    Counted,
    block,
    check,
    limit,
    newest,
    recover,
    settings,
)


def says(id: str, *texts: str, role="user", **more) -> Message:
    return Message(id, role, tuple(verbatim(id, "text", text) for text in texts), **more)


FIVE = [says(f"m{n}", f"words {n}") for n in range(5)]


def words(history, count=50) -> list[str]:
    return [quote.text for quote in recover(history, count)]


@pytest.mark.parametrize(
    ("wanted", "enabled", "messages"),
    [(None, False, 0), (0, False, 0), (-1, False, -1), (2.5, True, 2.5), (51, True, 50)],
)
def test_how_many_are_wanted(wanted, enabled, messages):
    assert settings(wanted) == (enabled, messages)


def test_a_number_that_is_none_is_off():
    enabled, messages = settings(math.nan)
    assert not enabled
    assert math.isnan(messages)


def test_it_is_time_when_there_were_more_compactions_than_at_the_last_recovery():
    assert check(10, Counted(3, 2)) == (True, 10, 3)
    assert check(10, Counted(3, 3)) == (False, 10, 3)
    assert check(10, Counted(-1, -2)) == (False, 10, -1)


def test_of_a_session_that_is_not_known_nothing_is_told():
    assert check(10, None) == check(0, Counted(1)) == (False, 0, 0)


def test_the_transcript_is_asked_for_ten_more_than_are_wanted():
    assert limit(3) == 13
    assert list(newest(Messages(FIVE), 2)) == FIVE[-2:]
    assert list(newest(Messages(FIVE), 2.9)) == FIVE[-2:]
    assert list(newest(Messages(FIVE), 60)) == FIVE


@pytest.mark.parametrize(
    ("count", "kept"),
    [
        (2, 2),
        (2.9, 2),
        (0, 5),
        (-2, 3),
        (-9, 0),
        (9, 5),
        (math.nan, 5),
        (math.inf, 5),
        (-math.inf, 0),
    ],
)
def test_the_last_so_many_are_quoted_and_odd_numbers_do_what_they_do_in_the_original(count, kept):
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
