"""Once a turn the oldest messages are dropped until the history fits its budget."""

from dataclasses import replace

import pytest

from compactlab.sim.core.errors import UsageError
from compactlab.strategies import TokenBudget
from compactlab.strategies.catalogue import find_strategy

# Of a window of 2000 that leaves 1000 for history and prompt, and 900 after the safety.
PLAIN = TokenBudget(0, dynamic_reserve_ratio=0.0, min_dynamic_reserve_tokens=1000)


def planned(moment, ids, script: str, strategy: TokenBudget = PLAIN, **more) -> str:
    now = moment(script, window=2000, **more)
    return ids(strategy.compact(now.view, now.host).messages)


def test_a_history_that_fits_is_left_alone(moment):
    now = moment("ucraucra u", size=400, window=2000)
    assert PLAIN.compact(now.view, now.host) is now.view


def test_the_oldest_messages_go_in_the_middle_of_a_turn_too(moment, ids):
    # The prompt of 100 leaves (1000 - 100) * 0.9 = 810 tokens: eight messages of 100, of nine.
    assert planned(moment, ids, "uauauauaua u", size=400) == "u3 a4 u5 a6 u7 a8 u9 a10 u11"
    assert planned(moment, ids, "uauauauau u", size=400) == "a2 u3 a4 u5 a6 u7 a8 u9 u10"


def test_a_result_whose_call_was_dropped_is_dropped_by_the_repair(moment, ids):
    # Eight messages would fit, but the first of them is the result of a call that does not.
    assert planned(moment, ids, "ucraucraua u", size=400) == "a4 u5 c6 r7 a8 u9 a10 u11"


def test_a_call_that_was_never_answered_is_given_a_result(moment, ids):
    """Whatever the plan says: the repair comes behind it."""
    assert planned(moment, ids, "ucu c2ra u") == "u1 c2 missing-c2/0 u3 c4 r5 missing-c4/1 a6 u7"


def test_the_turn_before_the_current_one_is_kept_whatever_its_size(moment, ids):
    assert planned(moment, ids, "uaucra u", size=400, sizes={"r5": 40_000}) == "u3 c4 r5 a6 u7"


def test_a_share_of_the_budget_may_be_asked_for(moment, ids):
    half = replace(PLAIN, max_history_share=0.5)
    assert planned(moment, ids, "uauauauaua u", half, size=400) == "u7 a8 u9 a10 u11"


def test_where_nothing_is_left_only_the_last_message_before_the_prompt_is_kept(moment, ids):
    assert planned(moment, ids, "uaua u", TokenBudget()) == "a4 u5"


def test_where_the_repair_leaves_nothing_the_history_stays(moment):
    """The last message is a result without its call: the original then replaces nothing."""
    now = moment("uaucr u", window=2000)
    assert TokenBudget().compact(now.view, now.host) is now.view


def test_a_limit_of_turns_comes_after_the_plan(moment, ids):
    limited = replace(PLAIN, history_limit=2)
    assert planned(moment, ids, "uauauauaua u", limited, size=400) == "u7 a8 u9 a10 u11"
    assert planned(moment, ids, "uauaua u", limited) == "u3 a4 u5 a6 u7"


def test_system_prompt_and_current_turn_count_as_static(moment, ids):
    assert planned(moment, ids, "uaua u", size=400, system=600) == "u3 a4 u5"
    assert planned(moment, ids, "uaua u", size=400, sizes={"u5": 3200}) == "u3 a4 u5"


def test_a_first_turn_has_no_history(moment):
    now = moment("u", window=10, size=4000)
    assert PLAIN.compact(now.view, now.host) is now.view


def test_it_plans_once_a_turn_and_lets_the_turn_grow(tell, play):
    steps = play(tell("ua" * 6 + "ucrcra", size=400), PLAIN, window=2000).steps
    assert [step.compaction for step in steps[-3:]] == [True, False, False]
    assert not steps[-2].rewrite


def test_at_its_defaults_a_window_of_200_000_is_trimmed_at_147_600(moment, ids):
    fits = moment("ua u", sizes={"u1": 4 * 147_585, "u3": 0})
    assert TokenBudget().compact(fits.view, fits.host) is fits.view
    over = moment("ua u a u", sizes={"u1": 4 * 147_595, "u5": 0})
    assert ids(TokenBudget().compact(over.view, over.host).messages) == "a2 u3 a4 u5"


def test_a_message_that_weighs_nothing_counts_what_it_takes_to_write_it_down(moment, ids):
    # Of the 900 tokens the two others leave 50 and 25; the empty ones take some 80 characters of
    # JSON each, at 3.6 a token.
    sizes = {"u1": 0, "a2": 0, "u5": 0}
    fits, over = (sizes | {"u3": size} for size in (3000, 3100))
    assert planned(moment, ids, "uauau", size=400, sizes=fits) == "u1 a2 u3 a4 u5"
    assert planned(moment, ids, "uauau", size=400, sizes=over) == "a2 u3 a4 u5"


@pytest.mark.parametrize(
    "wrong",
    [
        "max_history_share=7.0",
        "max_history_share=0.05",
        "dynamic_reserve_ratio=0.9",
        "dynamic_reserve_ratio=-1.0",
        "reserve_tokens_floor=-1",
        "min_dynamic_reserve_tokens=-1",
        "history_limit=-1",
    ],
)
def test_what_is_outside_of_its_documented_range_is_refused(wrong):
    with pytest.raises(UsageError, match=wrong.partition("=")[0]):
        find_strategy(f"token_budget({wrong})")
