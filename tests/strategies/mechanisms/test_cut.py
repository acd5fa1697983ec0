"""Where a history may be cut."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.strategies.mechanisms.cut import after_results, keep_recent, last_turns
from compactlab.strategies.mechanisms.estimate import estimate

SCRIPT = st.text("umaco", max_size=12)


@pytest.mark.parametrize(
    ("script", "tokens", "kept"),
    [
        ("uaua", 150, "u3 a4"),  # the message that crosses the budget stays
        ("uaua", 200, "u3 a4"),  # and one that meets it ends the walk
        ("uaua", 201, "a2 u3 a4"),
        ("uaua", 1, "a4"),
        ("uaua", 0, "a4"),
        ("uaua", 400, "u1 a2 u3 a4"),
        ("uaua", 9000, "u1 a2 u3 a4"),
        ("ucra", 200, "a4"),  # a cut on a result moves forward
        ("uc2rra", 200, "a5"),
        ("ucra", 300, "c2 r3 a4"),
        ("uacr", 100, "u1 a2 c3 r4"),  # crossed inside of trailing results: nothing is cut
        ("uac2rr", 200, "u1 a2 c3 r4 r5"),
        ("", 100, ""),
    ],
)
def test_about_so_many_tokens_stay(moment, ids, script, tokens, kept):
    messages = moment(script, size=400).messages
    assert ids(messages[keep_recent(messages, tokens, estimate) :]) == kept


@settings(max_examples=50)
@given(script=SCRIPT, tokens=st.integers(0, 1500))
def test_a_tail_is_the_longest_that_does_not_go_beyond_the_message_that_crosses(
    moment, script, tokens
):
    messages = moment(script, size=400).messages
    cut = keep_recent(messages, tokens, estimate)
    assert cut == 0 or messages[cut].role != "tool"
    assert cut == 0 or sum(map(estimate, messages[cut + 1 :])) < max(tokens, 1)


@pytest.mark.parametrize(("index", "then"), [(0, 0), (1, 1), (2, 4), (3, 4), (4, 4), (5, 5)])
def test_a_cut_goes_behind_results(moment, index, then):
    assert after_results(moment("uc2rra").messages, index) == then


def test_behind_trailing_results_nothing_is_left(moment):
    assert after_results(moment("ucr").messages, 2) == 3


@pytest.mark.parametrize(
    ("script", "turns", "kept"),
    [
        ("uaua", 1, "u3 a4"),
        ("uaua", 2, "u1 a2 u3 a4"),
        ("uaua", 9, "u1 a2 u3 a4"),
        ("uaucrmcra", 1, "u3 c4 r5 m6 c7 r8 a9"),
        ("mama", 1, "m1 a2 m3 a4"),
        ("", 1, ""),
    ],
)
def test_the_newest_turns_begin_where_a_person_spoke(moment, ids, script, turns, kept):
    messages = moment(script).messages
    assert ids(messages[last_turns(messages, turns) :]) == kept


def test_with_no_more_turns_than_that_the_newest_begin_at_the_start(moment):
    assert last_turns(moment("mauaua").messages, 2) == 0
