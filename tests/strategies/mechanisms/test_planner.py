"""What of a history fits a token budget."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.message import Message
from compactlab.strategies import TokenBudget
from compactlab.strategies.openclaw.planner import (
    as_json,
    available,
    plan,
    planned_tokens,
    static_tokens,
    text_tokens,
)


@pytest.mark.parametrize(
    ("window", "static", "more", "left"),
    [
        (200_000, 0, {}, 164_000),
        (200_000, 30_000, {}, 134_000),
        (10_000, 0, {"reserve_tokens_floor": 2_000}, 6_800),  # at least 1200 are held back
        (20_000, 0, {"reserve_tokens_floor": 2_000}, 16_400),  # 8 % of the window are more
        (32_000, 11_000, {}, -1_560),
    ],
)
def test_what_the_window_leaves(window, static, more, left):
    assert available(TokenBudget(**more), window, static) == left


@pytest.mark.parametrize(
    ("room", "share", "tokens"),
    [
        (164_000, 1, 147_600),  # a tenth is for safety
        (164_000, 0.5, 73_800),
        (0, 1, 1),
        # Products are taken in the order of the original: 67 * 0.9 * 0.1 is 6.03 either way; the
        # double of 10 * 0.9 * 0.7 is 6.3, rounded down.
        (67, 0.1, 6),
        (10, 0.7, 6),
    ],
)
def test_the_budget_is_a_share_of_it_less_a_tenth(moment, room, share, tokens):
    assert plan(moment("u").messages, room, share).budget == tokens


def room(tokens: int) -> int:
    """What has to be left for a history to have so many tokens."""
    return math.ceil(tokens / 0.9)


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
    said = plan(messages, room(tokens), 1, lambda message: 100)
    assert said.outcome == outcome
    assert [message.id for message in messages[said.first or 0 :]] == kept.split()


def test_with_nothing_left_only_the_last_message_stays(moment, ids):
    messages = moment("uacr", size=400).messages
    said = plan(messages, 0, 1)
    assert (said.outcome, said.trimmed, ids(messages[said.first :])) == (
        "invalid-budget",
        True,
        "r4",
    )
    assert (said.dropped, said.dropped_tokens, said.budget) == (3, said.before - said.after, 1)


def test_a_tail_is_said_to_be_trimmed_even_if_it_is_everything(moment):
    assert plan(moment("u", size=4000).messages, room(20), 1)[:3] == (
        "mandatory-tail-only",
        True,
        0,
    )


@settings(max_examples=50)
@given(script=st.text("uamco", max_size=10), tokens=st.integers(1, 1500))
def test_what_is_kept_fits_unless_it_has_to_stay(moment, script, tokens):
    messages = moment(script, size=400).messages
    said = plan(messages, room(tokens), 1)
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
