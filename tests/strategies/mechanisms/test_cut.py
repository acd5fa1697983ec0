"""Where a history may be cut."""

import pytest

from compactlab.strategies.mechanisms.cut import after_results, last_turns


@pytest.mark.parametrize(
    ("script", "index", "then"),
    [*(("uc2rra", *pair) for pair in enumerate([0, 1, 4, 4, 4, 5])), ("ucr", 2, 3)],
)
def test_a_cut_goes_behind_results(moment, script, index, then):
    assert after_results(moment(script).messages, index) == then


@pytest.mark.parametrize(
    ("script", "turns", "kept"),
    [
        ("uaua", 1, "u3 a4"),
        ("uaua", 2, "u1 a2 u3 a4"),
        ("uaua", 9, "u1 a2 u3 a4"),
        ("mauaua", 2, "m1 a2 u3 a4 u5 a6"),  # no more turns than that
        ("uaua", 0, "u1 a2 u3 a4"),
        ("uaucrmcra", 1, "u3 c4 r5 m6 c7 r8 a9"),
        ("mama", 1, "m1 a2 m3 a4"),
        ("", 1, ""),
    ],
)
def test_the_newest_turns_begin_where_a_person_spoke(moment, ids, script, turns, kept):
    messages = moment(script).messages
    assert ids(messages[last_turns(messages, turns) :]) == kept
