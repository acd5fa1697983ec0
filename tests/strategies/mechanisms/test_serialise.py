"""Messages written out for a summary request."""

import pytest

from compactlab.sim.core.message import Message, verbatim
from compactlab.strategies.pi import summary

NEWEST = "1.6.0"


def serialise(told, version: str = "0.73.1") -> str:
    return summary.serialise(told, version)


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
        ([message("assistant", ("text", ""))], "[Assistant]: "),
        ([message("tool", ("tool_result", ""))], ""),
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


def test_half_of_a_pair_of_surrogates_may_be_left_before_1_5_1():
    long = [message("tool", ("tool_result", "x" * 1999 + "\N{ROCKET}y"))]
    assert serialise(long).endswith("xx\ud83d\n\n[... 2 more characters truncated]")
    assert serialise(long, NEWEST).endswith("xx\n\n[... 2 more characters truncated]")


def test_results_are_written_in_full_before_0_56_3():
    assert len(serialise([message("tool", ("tool_result", "x" * 5000))], "0.49.3")) == 5015


def test_thinking_is_left_out_since_1_2_0():
    thought = [message("assistant", ("thinking", "hm"), ("text", "so"))]
    assert serialise(thought, NEWEST) == "[Assistant]: so"
    assert serialise([message("assistant", ("thinking", "hm"))], NEWEST) == ""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [('{"a":"\\ud83d"}', 'read(a="\\ud83d")'), ("[1]", "read([1])"), ("{}", "read()")],
)
def test_odd_arguments_are_written_as_well_as_can_be(arguments, told):
    text = serialise([message("assistant", ("tool_call", arguments))])
    assert text == f"[Assistant tool calls]: {told}"


def test_what_pi_does_not_tell_its_model_is_left_out():
    def said(origin: str) -> str:
        return serialise([Message("m", "user", (verbatim("m", "text", "hi"),), origin=origin)])

    assert (said("custom"), said("branchSummary"), said("system")) == ("[User]: hi",) * 2 + ("",)
