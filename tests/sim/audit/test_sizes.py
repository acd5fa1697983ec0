"""Sizes are told out to the last token, and remembered by message."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.cache.prompt import Prompt
from compactlab.sim.core.message import Call, Message, Part, Usage
from compactlab.sim.core.view import View
from compactlab.sim.replay.sizes import Sized, proportional
from tests.sim.drawn import MESSAGES, QUICK, part, sized, text


@given(st.integers(0, 10**9), st.lists(st.integers(0, 10**6), min_size=1, max_size=9))
def test_what_is_told_out_adds_up_and_is_fair(whole, shares):
    told = proportional(whole, shares)
    assert sum(told) == whole
    assert len(told) == len(shares)
    fair = shares if sum(shares) else [1] * len(shares)
    for tokens, share in zip(told, fair, strict=True):
        assert abs(tokens - whole * share / sum(fair)) < 1


def test_nobody_gets_nothing():
    assert proportional(0, []) == ()
    assert proportional(7, []) == ()


@given(MESSAGES, st.integers(0, 5_000))
def test_a_message_is_as_large_as_it_was_told_to_be(message, tokens):
    blocks = Sized(QUICK)
    assert blocks.tokens(message) == QUICK.message(message)
    assert not blocks.has_size(message)
    blocks.set_size(message, tokens)
    assert blocks.has_size(message)
    assert blocks.tokens(message) == tokens
    [(_, sizes)] = blocks.of([message])
    assert sum(sizes) == tokens


@given(MESSAGES, st.integers(0, 5_000))
def test_told_bare_it_keeps_its_thinking_beside(message, tokens):
    blocks = Sized(QUICK)
    thinking = sum(QUICK.part(p) for p in message.parts if p.type == "thinking")
    spoken = [p for p in message.parts if p.type != "thinking"]
    assert blocks.left(message) == QUICK.message(message) - thinking
    assert blocks.thinks(message) == (len(spoken) < len(message.parts))
    blocks.set_size(message, tokens, bare=True)
    assert blocks.left(message) == (tokens if spoken else 0)
    assert blocks.tokens(message) == blocks.left(message) + thinking


def test_what_was_told_shifts_and_never_below_nothing():
    blocks, message = Sized(QUICK), sized("a", 10, 30)
    blocks.set_size(message, 80)
    for shift, tokens in ((40, 120), (-100, 20), (-100, 0)):
        blocks.shift(message, shift)
        assert blocks.tokens(message) == tokens


def test_a_block_is_the_same_one_at_any_size():
    message, keys = sized("a", 10, 30), []
    for tokens in (10, 500):
        blocks = Sized(QUICK)
        blocks.set_size(message, tokens)
        prompt = Prompt(QUICK, blocks=blocks)
        front = Part("text", "", "opaque", (), "tools", size=tokens)
        prompt.move(View((front, text("date"))).append(message))
        keys.append(prompt.keys)
        assert prompt.totals[0] == tokens
        assert prompt.tokens == tokens + QUICK.text("date") + tokens
    assert keys[0] == keys[1]


@pytest.mark.parametrize(("output", "tokens"), [(0, 60), (40, 60), (54, 54), (90, 90)])
def test_an_answer_weighs_what_it_cost_if_it_was_counted_to_its_end(output, tokens):
    """Logs of some clients note what had come so far: less than is said in it."""
    parts = (part("thinking", "", size=0), text("", size=60))
    answer = Message("a", "assistant", parts, call=Call("m", Usage(uncached=1, output=output)))
    assert Sized(QUICK).tokens(answer) == tokens
    assert Sized(QUICK).tokens(sized("u", 60)) == 60
