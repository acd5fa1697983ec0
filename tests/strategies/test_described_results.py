"""Old tool uses are told in a line each; if that is not enough, whole stretches are."""

import json

import msgspec
import pytest

from compactlab.sim.core.message import verbatim
from compactlab.sim.core.view import Messages
from compactlab.strategies import DescribedResults
from compactlab.strategies.described_results import AGAIN, describe, described
from compactlab.strategies.hermes import threshold_tokens
from compactlab.strategies.mechanisms.notice import told_by_rule
from compactlab.strategies.mechanisms.old_uses import shrunk
from tests.told import said, use

# In a window of 4000 tokens it acts from 3400 on, and the two newest messages stay.
SMALL = DescribedResults(tail_ratio=0.0, protect_last_n=2)


@pytest.mark.parametrize(
    ("window", "threshold", "tokens"),
    [
        (200_000, 0.5, 150_000),
        (200_000, 0.9, 180_000),
        (1_000_000, 0.5, 500_000),
        (512_000, 0.1, 64_000),
        (70_000, 0.5, 64_000),
        (64_000, 0.5, 54_400),
        (1, 0.5, 1),
    ],
)
def test_when_hermes_acts(window, threshold, tokens):
    assert threshold_tokens(window, threshold) == tokens


def test_an_old_result_becomes_a_line_that_says_what_it_was():
    old = Messages(use("1", "read", "x" * 300, path="a.py", limit=5))
    assert described(old, 2)[1].text == "[read] path=a.py limit=5 (300 characters, 1 lines)"
    assert described(old, 0) is old


def test_a_short_result_stays():
    assert describe(verbatim("1", "tool_result", "x" * 200), None) is None


def test_of_results_that_are_the_same_the_newest_stays_on_either_side_of_the_border():
    again = Messages([*use("1", "read", "y" * 200), *use("2", "read", "y" * 200)])
    assert [m.text for m in described(again, 0)][1::2] == [AGAIN, "y" * 200]
    short = Messages([*use("1", "read", "y" * 199), *use("2", "read", "y" * 199)])
    assert described(short, 0) is short


def test_long_arguments_are_cut_and_stay_json():
    (call, _) = use("1", "write", "", path="a.py", content="z" * 600, lines=[1, "w" * 300])
    arguments = json.loads(shrunk(call).text)
    assert arguments["path"] == "a.py"
    assert arguments["content"] == "z" * 200 + "...[truncated]"
    assert arguments["lines"] == [1, "w" * 200 + "...[truncated]"]
    assert shrunk(call).parts[0].kind == "truncated"
    assert shrunk(shrunk(call)) is not call


def test_arguments_that_are_no_json_stay():
    (call, _) = use("1", "write", "")
    odd = msgspec.structs.replace(call.parts[0], text="{" * 600)
    message = msgspec.structs.replace(call, parts=(odd,))
    assert shrunk(message) is message


def test_a_gap_is_told_by_the_files_and_the_commands_in_it():
    history = Messages(
        [
            said("u1", "do it"),
            *use("1", "read_file", "text", path="a.py"),
            *use("2", "edit_file", "ok", path="b.py"),
            *use("3", "bash", "ok", command="make  test"),
            said("a1", "done", "assistant"),
            said("u2", "more"),
        ]
    )
    told = told_by_rule(history, len(history), answers=1)
    assert [m.id for m in told] == ["u1", "notice-1", "a1", "u2"]
    assert told[1].text == "[6 messages left out]\nread: a.py\nchanged: b.py\nrun: make test"
    assert [s.id for s in told[1].parts[0].sources] == ["1", "1-out", "2", "2-out", "3", "3-out"]


def test_an_answer_keeps_its_words_but_not_its_calls():
    call, result = use("1", "read", "text", path="a.py")
    speaking = msgspec.structs.replace(
        call, parts=(verbatim("1", "text", "let me look"), *call.parts)
    )
    told = told_by_rule(Messages([said("u", "go"), speaking, result, said("v", "and")]), 4, 1)
    assert [m.text for m in told] == ["go", "let me look", "[1 messages left out]", "and"]


def test_a_call_whose_result_comes_behind_the_border_stays():
    call, result = use("1", "read", "text", path="a.py")
    history = Messages(
        [said("u", "go"), said("a", "well", "assistant"), call, said("v", "?"), result]
    )
    assert [m.id for m in told_by_rule(history, 3, 0)] == ["u", "notice-a", "1", "v", "1-out"]


def test_if_it_is_not_the_gap_is_told(tell, sent):
    story = tell("ua" * 12, size=1200)
    prompts = sent(story, SMALL, window=4000)
    assert "notice-" in prompts[-1]
    assert all(f"u{n}" in prompts[-1].split() for n in range(1, 24, 2))


def test_what_is_told_stays_told_and_a_rewind_takes_it_back(tell, sent):
    story = tell("ua" * 12 + "<6 ua", size=1200)
    assert sent(story, SMALL, window=4000)[-1] == "u1 a2 u3 a4 u5 a6 u25"
