"""What of a history fits a token budget."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.message import Message
from compactlab.strategies.openclaw.planner import (
    Budget,
    as_json,
    plan,
    planned_tokens,
    static_tokens,
    text_tokens,
)


@pytest.mark.parametrize(
    ("budget", "available", "tokens"),
    [
        (Budget(200_000, 20_000, 0), 164_000, 147_600),
        (Budget(200_000, 20_000, 30_000), 134_000, 120_600),
        (Budget(200_000, 20_000, 0, share=0.5), 164_000, 73_800),
        (Budget(10_000, 2_000, 0), 6_800, 6_120),  # at least 1200 are held back
        (Budget(20_000, 2_000, 0), 16_400, 14_760),  # 8 % of the window are more
        (Budget(32_000, 20_000, 11_000), -1_560, 1),
        (Budget(3_000, 0, 1_800), 0, 1),
    ],
)
def test_what_the_window_leaves_less_a_tenth_for_safety(budget, available, tokens):
    assert (budget.available, budget.tokens) == (available, tokens)


def test_products_are_taken_in_the_order_of_the_original():
    # 67 * 0.9 * 0.1 is 6.03 either way; the double of 10 * 0.9 * 0.7 is 6.3, rounded down.
    assert Budget(1_300, 0, 33, share=0.1).tokens == 6
    assert Budget(1_210, 0, 0, share=0.7).tokens == 6


@pytest.mark.parametrize(
    ("odd", "plain"),
    [
        (Budget(5000.9, 10.9, 10.9), Budget(5000, 10, 10)),
        (Budget(5000, -5, -5), Budget(5000, 0, 0)),
        (Budget(0, 0, 0), Budget(1, 0, 0)),
        (Budget(9000, 0, 0, 5, 0.9, -3), Budget(9000, 0, 0, 1, 0.5, 0)),
        (Budget(9000, 0, 0, 0, -1), Budget(9000, 0, 0, 0.1, 0)),
        (Budget(9000, 0, 0, math.nan, math.inf), Budget(9000, 0, 0, 0.1, 0)),
    ],
)
def test_odd_numbers_are_brought_into_their_range(odd, plain):
    assert (odd.available, odd.tokens) == (plain.available, plain.tokens)


def test_where_the_window_is_no_number_nothing_is_too_much(moment):
    messages = moment("uaua", size=400).messages
    said = plan(messages, Budget(math.nan, 0, 0))
    assert (said.outcome, said.trimmed, said.first) == ("budget-trimmed", False, 0)
    assert math.isnan(said.budget)


# A window of which everything but a safety of a tenth is the history's.
def room(tokens: int) -> Budget:
    return Budget(math.ceil(tokens / 0.9), 0, 0, 1, 0, 0)


@pytest.mark.parametrize(
    ("script", "tokens", "outcome", "kept"),
    [
        ("", 500, "empty", ""),
        ("uaua", 500, "under-budget", "u1 a2 u3 a4"),
        ("uaua", 400, "under-budget", "u1 a2 u3 a4"),
        ("uaua", 399, "budget-trimmed", "a2 u3 a4"),
        ("uaua", 201, "budget-trimmed", "u3 a4"),
        ("uaua", 200, "mandatory-tail-only", "u3 a4"),
        ("uaua", 20, "mandatory-tail-only", "u3 a4"),
        ("ucr", 20, "mandatory-tail-only", "u1 c2 r3"),
        ("aaa", 150, "budget-trimmed", "a3"),  # nobody spoke: only the last has to stay
        ("mama", 150, "budget-trimmed", "a4"),
    ],
)
def test_five_outcomes(moment, script, tokens, outcome, kept):
    messages = moment(script, size=400).messages
    said = plan(messages, room(tokens), lambda message: 100)
    assert said.outcome == outcome
    assert [message.id for message in messages[said.first or 0 :]] == kept.split()


def test_with_nothing_left_only_the_last_message_stays(moment, ids):
    messages = moment("uacr", size=400).messages
    said = plan(messages, Budget(1000, 900, 100))
    assert (said.outcome, said.trimmed, ids(messages[said.first :])) == (
        "invalid-budget",
        True,
        "r4",
    )
    assert (said.dropped, said.dropped_tokens, said.budget) == (3, said.before - said.after, 1)


def test_a_tail_is_said_to_be_trimmed_even_if_it_is_everything(moment):
    assert plan(moment("u", size=4000).messages, room(20))[:3] == ("mandatory-tail-only", True, 0)


@settings(max_examples=50)
@given(script=st.text("uamco", max_size=10), tokens=st.integers(1, 1500))
def test_what_is_kept_fits_unless_it_has_to_stay(moment, script, tokens):
    messages = moment(script, size=400).messages
    said = plan(messages, room(tokens))
    kept = messages[said.first or 0 :]
    assert said.after == sum(map(planned_tokens, kept))
    assert said.before == said.after + said.dropped_tokens
    starts = [n for n, message in enumerate(messages) if message.starts_turn]
    assert said.after <= said.budget or said.first == (starts or [len(messages) - 1])[-1]
    if said.outcome == "budget-trimmed":
        assert said.first
        assert said.after + planned_tokens(messages[said.first - 1]) > said.budget


def test_what_pi_takes_for_nothing_weighs_what_it_takes_to_write_it_down(moment):
    empty = moment("u", size=0).messages[0]
    assert planned_tokens(empty, lambda _: "x" * 55) == 16
    assert planned_tokens(empty, lambda _: "\N{ROCKET}" * 27 + "x") == 16
    assert planned_tokens(empty, lambda _: "") == 1
    unknown = Message("m", "user", (), 5.0, meta=True, origin="weird")
    assert as_json(unknown) == '{"role":"weird","content":[],"timestamp":5000}'
    assert planned_tokens(unknown) == 13


def test_blanks_alone_are_no_text():
    assert [text_tokens(text) for text in ("", " \n\ufeff\u2003", " x ", "abcde")] == [0, 0, 1, 2]
    assert static_tokens("abcde", "\t") == 2
