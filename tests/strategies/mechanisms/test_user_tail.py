"""The newest words of the user up to a budget."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.message import Message, Part, Source, verbatim
from compactlab.strategies.codex import approx_tokens, newest_words, shortened, user_words
from tests.told import said


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("\N{ROCKET}é", 2)]
)
def test_a_token_is_four_bytes(text, tokens):
    assert approx_tokens(text) == tokens


def test_only_what_a_person_typed_counts_and_its_text_alone():
    image = Part("image", "", "verbatim", (Source("u2"),), size=10)
    two = Message("u2", "user", (verbatim("u2", "text", "look"), image))
    told = [said("u1", "go"), said("m", "reminder", meta=True), two, Message("a", "assistant", ())]
    words = user_words(told)
    assert [(message.id, message.text) for message in words] == [("u1", "go"), ("u2", "look")]
    assert words[0] is told[0]


def test_the_newest_fit_and_the_next_loses_its_middle():
    told = [said("u1", "x" * 40), said("u2", "y" * 40), said("u3", "z" * 40)]
    one, two = newest_words(told, 15)
    assert two is told[2]
    assert one.text == "y" * 10 + "…5 tokens left out…" + "y" * 10
    assert [(s.start, s.end) for s in one.parts[0].sources] == [(0, 10), (30, 40)]


def test_without_a_budget_nothing_is_kept():
    assert newest_words([said("u1", "x")], 0) == []


@given(st.text(min_size=1, max_size=80), st.integers(0, 30))
def test_what_is_left_is_a_beginning_and_an_end_within_the_budget(text, tokens):
    (part,) = shortened(said("u1", text), tokens).parts
    head, _, rest = part.text.partition("…")
    tail = rest.rpartition("…")[2]
    assert part.kind == "truncated"
    if approx_tokens(text) > tokens and "…" not in text:
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len((head + tail).encode()) <= 4 * tokens
