"""Tokens as agents estimate them: a quarter of the characters."""

from dataclasses import dataclass

import pytest

from compactlab.sim.core.message import Message, Part, Source, Usage, compacted, verbatim
from compactlab.strategies import KeepAll
from compactlab.strategies.mechanisms.estimate import (
    Context,
    estimate,
    estimate_context,
    estimate_system,
    known_tokens,
    last_usage,
    role_of,
    usage_tokens,
)


def image(role: str, origin: str = "") -> Message:
    picture = Part("image", "", "verbatim", (Source("m"),), size=900)
    return Message("m", role, (picture,), origin=origin)


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
    assert estimate(image("user", "custom")) == 1200


@pytest.mark.parametrize(
    ("origin", "tokens"),
    [("", 2), ("custom", 2), ("bashExecution", 2), ("branchSummary", 2), ("system", 0)],
)
def test_what_pi_does_not_know_weighs_nothing(origin, tokens):
    told = Message("m", "user", (verbatim("m", "text", "hello"),), origin=origin)
    assert (estimate(told), role_of(told)) == (tokens, origin or "user")


def test_frames_do_not_count():
    parts = compacted([verbatim("m", "text", "hello")])
    assert estimate(Message("m", "user", tuple(parts), origin="compactionSummary")) == 2


def test_what_has_no_text_counts_what_it_weighs():
    opaque = Part("text", "", "opaque", (), size=250)
    assert estimate(Message("m", "user", (opaque,))) == 250


def test_of_the_system_prompt_each_part_is_rounded(moment):
    view = moment("u", system=600).view
    more = Part("text", "hello", "synthetic", ())
    assert estimate_system(view.with_system(*view.system, more, more)) == 604


def test_before_the_first_call_everything_is_estimated(moment):
    now = moment("uau", size=400, system=50)
    assert known_tokens(now.view, now.host) == 350


def test_after_it_the_report_counts_and_what_came_after_the_last_answer(moment):
    reported = Usage(uncached=5, cache_read=1000, cache_write_5m=70, output=30)
    now = moment("ucrm", size=400, reported=reported)
    assert known_tokens(now.view, now.host) == 1105 + 200


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"input": 1, "output": 2, "cache_read": 3, "cache_write": 4}, 10),
        ({"input": 1, "output": 2, "cache_read": 3, "cache_write": 4, "total": 99}, 99),
        ({"input": 1, "output": 2, "cache_read": 3, "cache_write": 4, "total": 0}, 10),
        ({"input": 1, "output": 2, "cache_read": 3, "cache_write": 4, "total": float("nan")}, 10),
        ({"input": None, "output": 2, "cache_read": 3, "cache_write": 4}, 9),
        ({"input": 1.5, "output": 2, "cache_read": 3, "cache_write": 4}, 10.5),
        ({"total": -3}, -3),
    ],
)
def test_a_usage_is_its_total_or_its_sum(usage, tokens):
    assert usage_tokens(**usage) == tokens


def test_a_usage_in_which_something_is_missing_is_no_number(moment):
    assert usage_tokens(input=5, output=5, cache_read=5) != usage_tokens(input=5, output=5)
    assert last_usage(moment("u").host) is None
    assert last_usage(moment("u", reported=Usage(1, 2, 3, 4, 5)).host) == 15


def test_the_last_answer_that_was_reported_tells_of_all_before_it(moment):
    messages = list(moment("uauau", size=400).messages)
    reported = {"a2": 50.0, "a4": 70.0}
    assert estimate_context(messages, lambda m: reported.get(m.id)) == Context(170, 70, 100, 3)
    assert estimate_context(messages, lambda m: None) == Context(500, 0, 500, None)
    assert estimate_context(messages, lambda m: 0.0) == Context(100, 0, 100, 3)


@pytest.mark.parametrize("ended", ["aborted", "error"])
def test_an_answer_that_failed_tells_of_nothing(moment, ended):
    user, answer = moment("ua", size=400).messages
    failed = Message(answer.id, "assistant", answer.parts, origin=ended)
    assert estimate_context([user, failed], lambda m: 9.0) == Context(200, 0, 200, None)


def test_after_a_rewind_the_report_of_the_branch_given_up_does_not_count(tell, play):
    """An agent knows the usage of the last answer that is in its context."""
    seen = []

    @dataclass(frozen=True)
    class Asks(KeepAll):
        def compact(self, view, host):
            seen.append(known_tokens(view, host))
            return view

    play(tell("uaua <2 ua", size=400), Asks())
    assert seen[2] == seen[1]
