"""A request has one key, however it is written and whatever secrets stand in it."""

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from compactlab.llm.recorded import Request, Turn, turns_of

texts = st.text(st.characters(codec="utf-8"), max_size=40)
turns = st.lists(st.builds(Turn, st.sampled_from(["user", "assistant"]), texts), max_size=4)
requests = st.builds(
    Request,
    texts,
    turns.map(tuple),
    st.integers(1, 9000),
    texts,
    st.none() | st.floats(0, 2),
    st.integers(0, 5),
)


@given(requests, st.randoms())
def test_the_order_of_keys_does_not_matter(request, random):
    def shuffled(value: Any) -> Any:
        if isinstance(value, list):
            return list(map(shuffled, value))
        if not isinstance(value, dict):
            return value
        names = list(value)
        random.shuffle(names)
        return {name: shuffled(value[name]) for name in names}

    written = json.dumps(shuffled(msgspec.to_builtins(request)))
    assert msgspec.json.decode(written, type=Request).key == request.key


@given(requests, requests)
def test_two_requests_have_one_key_only_if_they_are_the_same(one, two):
    assert (one.key == two.key) == (one.redacted == two.redacted)


def test_a_secret_changes_nothing():
    def asked(secret: str) -> Request:
        return Request("m", (Turn("user", f"password = '{secret}'"),), 10, f"Key: {secret}")

    one, other = asked("hT7-qq0-Zx91-pLm"), asked("wB3-kk8-Vr25-dNc")
    assert one.key == other.key != asked("").key
    assert "hT7" not in str(one.redacted)


def test_each_draw_is_a_request_of_its_own():
    draws = [Request("m", (Turn("user", "Why?"),), 10, draw=draw).key for draw in range(3)]
    assert len(set(draws)) == 3


def test_half_a_character_can_be_sent():
    request = Request("m", (Turn("user", "a\ud83d"),), 10)
    assert request.redacted.turns[0].text == "a?"


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), texts)))
def test_turns_take_turns_and_lose_no_word(said):
    turns = turns_of(said)
    assert [turn.role for turn in turns] == ["user", "assistant"] * (len(turns) // 2) + ["user"] * (
        len(turns) % 2
    )
    assert all(turn.text.strip() for turn in turns)
    words = " ".join(turn.text for turn in turns).split()
    spoken = " ".join(text for _, text in said).split()
    assert words[len(words) - len(spoken) :] == spoken
