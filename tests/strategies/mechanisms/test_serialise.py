"""Messages written out for a summary request."""

import pytest

from compactlab.sim.message import Message, verbatim
from compactlab.strategies.mechanisms.serialise import serialise


def message(role: str, *parts: tuple[str, str]) -> Message:
    named = (verbatim("m", type, text, name="read") for type, text in parts)
    return Message("m", role, tuple(named))


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ([], ""),
        ([message("user", ("text", "hello"))], "[User]: hello"),
        ([message("user", ("text", ""))], ""),
        ([message("user", ("image", ""), ("text", "look"))], "[User]: look"),
        ([message("tool", ("tool_result", "4 files"))], "[Tool result]: 4 files"),
        (
            [message("assistant", ("text", "so"), ("thinking", "hm"), ("text", "be it"))],
            "[Assistant thinking]: hm\n\n[Assistant]: so\nbe it",
        ),
        (
            [message("user", ("text", "hi")), message("assistant", ("text", "ho"))],
            "[User]: hi\n\n[Assistant]: ho",
        ),
    ],
)
def test_a_message_is_a_block_for_each_kind_of_words(told, text):
    assert serialise(told) == text


def test_calls_of_one_answer_share_a_block():
    told = [message("assistant", ("tool_call", '{"a":1}'), ("tool_call", '{"a":2}'))]
    assert serialise(told).startswith("[Assistant tool calls]: read(")
    assert serialise(told).count("; read(") == 1


def test_calls_are_written_as_the_original_writes_them():
    """Of pi 0.56.3 to 0.73.1: the arguments by name, their values as compact JSON."""
    told = [message("assistant", ("tool_call", '{"path":"x.md","n":2,"list":[1,"x"]}'))]
    assert serialise(told) == '[Assistant tool calls]: read(path="x.md", n=2, list=[1,"x"])'


def test_a_long_result_is_cut_and_says_by_how_much():
    at, over = (serialise([message("tool", ("tool_result", "x" * n))]) for n in (2000, 2007))
    assert at == "[Tool result]: " + "x" * 2000
    assert over == "[Tool result]: " + "x" * 2000 + "\n\n[... 7 more characters truncated]"


def test_the_users_words_are_never_cut():
    assert len(serialise([message("user", ("text", "x" * 5000))])) == 5008
