"""Calls and results are together in what is loaded for a turn."""

import pytest

from compactlab.sim.core.errors import UsageError
from compactlab.strategies import PairRepair
from compactlab.strategies.catalogue import find_strategy


def test_what_went_wrong_in_a_turn_is_put_right_in_the_next(tell, sent):
    prompts = sent(tell("uca ua ua"), PairRepair())
    assert prompts[1] == "u1 c2"  # the turn goes on as it is
    assert prompts[2:] == [
        "u1 c2 missing-c2/0 a3 u4",
        "u1 c2 missing-c2/0 a3 u4 a5 u6",
    ]


def test_nothing_to_repair_is_the_same_view(moment):
    now = moment("ucra uc2rra u")
    assert PairRepair().compact(now.view, now.host) is now.view


def test_a_history_without_tools_is_not_looked_at(moment):
    now = moment("uaua u")
    assert PairRepair().compact(now.view, now.host) is now.view


def test_the_current_turn_is_not_yet_history(moment, ids):
    now = moment("u o a u o")
    assert ids(PairRepair().compact(now.view, now.host).messages) == "u1 a3 u4 o5"


def test_the_session_keeps_what_it_has(tell, sent):
    """After a rewind it is repaired anew, and the result that is made up is the same message."""
    prompts = sent(tell("uca ua <4 a"), PairRepair())
    assert prompts[-1] == prompts[-2] == "u1 c2 missing-c2/0 a3 u4"


def test_one_repair_is_one_rewrite(tell, play):
    steps = play(tell("uca" + "ua" * 6), PairRepair()).steps
    assert [step.rewrite for step in steps] == [False, False, True] + [False] * 5


def test_it_puts_right_what_another_one_cut_apart(tell, sent):
    story = tell("ua cur a ua")
    sliced = "turn_slice(history_limit=1, repair=False)"
    assert sent(story, find_strategy(sliced))[-1] == "u4 r5 a6 u7"
    assert sent(story, find_strategy(f"{sliced} + pair_repair"))[-1] == "u4 a6 u7"


def test_an_unknown_version_is_refused():
    why = r"version must be '2026.1.29' or '2026.3.13', not '2025.1.1'"
    with pytest.raises(UsageError, match=why):
        find_strategy("pair_repair(version='2025.1.1')")
    with pytest.raises(ValueError, match=why):
        PairRepair(version="2025.1.1")  # type: ignore[arg-type]
