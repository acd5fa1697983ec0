"""Tokens as agents estimate them: a quarter of the characters."""

from dataclasses import dataclass

import pytest

from compactlab.sim.message import Message, Part, Source, Usage, verbatim
from compactlab.strategies import KeepAll
from compactlab.strategies.mechanisms.estimate import context_tokens, estimate, estimate_system


def image(role: str) -> Message:
    return Message("m", role, (Part("image", "", "verbatim", (Source("m"),), size=900),))


@pytest.mark.parametrize(
    ("type", "text", "tokens"),
    [
        ("text", "", 0),
        ("text", "hello", 2),
        ("text", "\N{ROCKET}" * 2, 1),
        ("text", "\N{LATIN SMALL LETTER E WITH ACUTE}" * 5, 2),
        ("thinking", "hmm, 8 ch", 3),
        ("tool_result", "x" * 400, 100),
    ],
)
def test_a_quarter_of_the_characters_rounded_up(type, text, tokens):
    assert estimate(Message("m", "assistant", (verbatim("m", type, text),))) == tokens


def test_a_call_counts_its_name_and_arguments():
    call = verbatim("m", "tool_call", '{"path":"a"}', name="read", call_id="never counted")
    assert estimate(Message("m", "assistant", (call,))) == 4


def test_it_is_rounded_once_a_message_and_not_once_a_part():
    parts = (verbatim("m", "text", "a"), verbatim("m", "thinking", "b"))
    assert estimate(Message("m", "assistant", parts)) == 1


def test_an_image_counts_in_a_result_and_not_in_the_users_words():
    assert estimate(image("tool")) == 1200
    assert estimate(image("user")) == 0


def test_what_has_no_text_counts_what_it_weighs():
    opaque = Part("text", "", "opaque", (), size=250)
    assert estimate(Message("m", "user", (opaque,))) == 250


def test_of_the_system_prompt_each_part_is_rounded(moment):
    view = moment("u", system=600).view
    more = Part("text", "hello", "synthetic", ())
    assert estimate_system(view.with_system(*view.system, more, more)) == 604


def test_before_the_first_call_everything_is_estimated(moment):
    now = moment("uau", size=400, system=50)
    assert context_tokens(now.view, now.host) == 350


def test_after_it_the_report_counts_and_what_came_after_the_last_answer(moment):
    reported = Usage(uncached=5, cache_read=1000, cache_write_5m=70, output=30)
    now = moment("ucrm", size=400, reported=reported)
    assert context_tokens(now.view, now.host) == 1105 + 200


def test_after_a_rewind_the_report_of_the_branch_given_up_does_not_count(tell, play):
    """An agent knows the usage of the last answer that is in its context."""
    seen = []

    @dataclass(frozen=True)
    class Asks(KeepAll):
        def compact(self, view, host):
            seen.append(context_tokens(view, host))
            return view

    play(tell("uaua <2 ua", size=400), Asks())
    assert seen[2] == seen[1]
