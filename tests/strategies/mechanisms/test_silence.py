"""What a user hears of an answer that begins with, ends with or is the token for silence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.strategies.mechanisms.text import BLANKS
from compactlab.strategies.openclaw.flush import (
    SILENT,
    heard,
    is_silent,
    is_silent_start,
    strip_silent,
)

OLD, NEW = "2026.1.29", "2026.3.13"
ANSWERS = st.lists(
    st.sampled_from([SILENT, "NO", "_REPLY", "no_reply", "done", " ", "\n", ".", "*", "é", "🎉"]),
    max_size=6,
).map("".join)


@pytest.mark.parametrize(
    ("answer", "old", "new"),
    [
        ("NO_REPLY", "", ""),
        ("\n NO_REPLY\t", "", ""),
        ("NO_REPLY: notes are saved", "", "NO_REPLY: notes are saved"),
        ("The notes are saved. NO_REPLY", "", "The notes are saved."),
        ("The notes are saved. NO_REPLY!", "", "The notes are saved. NO_REPLY!"),
        ("The notes are saved.NO_REPLY", "", "The notes are saved.NO_REPLY"),
        ("Saved **NO_REPLY", "", "Saved"),
        ("I say NO_REPLY now", "I say NO_REPLY now", "I say NO_REPLY now"),
        ("NO_REPLY_", "NO_REPLY_", "NO_REPLY_"),
        ("no_reply", "no_reply", "no_reply"),
        ("NO_RE", "NO_RE", ""),
        ("No.", "No.", "No."),
        ("", "", ""),
    ],
)
def test_real_words_at_the_token_were_swallowed_once(answer, old, new):
    assert (heard(answer, OLD), heard(answer, NEW)) == (old, new)


def test_nothing_was_said_is_no_silent_reply():
    assert not is_silent(None)
    assert not is_silent(None, OLD)
    assert not is_silent_start(None)


@pytest.mark.parametrize("blank", BLANKS)
def test_a_blank_is_what_javascript_takes_for_one(blank):
    assert is_silent(f"{blank}{SILENT}{blank}")
    assert strip_silent(f"done{blank}{SILENT}{blank}") == "done"


@pytest.mark.parametrize("control", "\x1c\x1d\x1e\x1f\x85")
def test_what_python_alone_takes_for_a_blank_is_none(control):
    assert not is_silent(f"{control}{SILENT}")


@given(ANSWERS)
def test_who_is_silent_for_the_later_rule_is_so_for_the_older(answer):
    assert is_silent(answer, OLD) or not is_silent(answer, NEW)


@given(ANSWERS)
def test_a_user_never_hears_the_token_alone(answer):
    for version in (OLD, NEW):
        assert heard(answer, version).strip() != SILENT or SILENT * 2 in "".join(answer.split())


@given(st.integers(2, len(SILENT)))
def test_the_token_is_held_back_as_it_is_streamed(length):
    assert is_silent_start(SILENT[:length])
    assert not is_silent_start(SILENT[:length].lower())
    assert not is_silent_start(SILENT[:length] + " is")
