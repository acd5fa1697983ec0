"""Where a history may be cut."""

import pytest

from compactlab.strategies.mechanisms.cut import after_results, last_turns


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
        ("uaua", 0, "u1 a2 u3 a4"),
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
