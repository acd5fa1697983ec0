"""Old tool results made shorter when the context fills the window and the cache is cold."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.message import Message, Part, frame, verbatim
from compactlab.sim.core.view import Messages
from compactlab.strategies import TtlPrune
from compactlab.strategies.mechanisms.stub import Edits
from compactlab.strategies.openclaw.pruning import (
    context_chars,
    duration_ms,
    is_expired,
    may_prune,
    prune,
)

# Trims to 60 characters what has more than 100, from the first character on; clears from half on.
SMALL = TtlPrune(
    keep_last_assistants=1,
    soft_trim_ratio=0.0,
    min_prunable_tool_chars=0,
    soft_trim_max_chars=100,
    soft_trim_head_chars=40,
    soft_trim_tail_chars=20,
    hard_clear_placeholder="gone",
)


def kinds(messages):
    """Of every message, what became of it: a letter of its id for one that is as it was."""
    names = {"truncated": "T", "stub": "S"}
    return "".join(names.get(m.parts[0].kind, m.id[0]) for m in messages)


@pytest.fixture
def pruned(moment):
    """Tell a story in results of 1,000 characters, and prune it in a window of so many tokens."""

    def of(script: str, window: float = 100_000, rule: TtlPrune = SMALL):
        sizes = {f"{letter}{n}": 1000 for n in range(40) for letter in "ro"}
        messages = moment(script, sizes=sizes).messages
        return kinds(prune(messages, rule, window))

    return of


def test_results_before_the_newest_answers_are_trimmed(pruned):
    assert pruned("ucra cra cr a") == "ucTacTacTa"
    assert pruned("ucracr") == "ucTacr"


def test_what_stands_before_the_first_words_of_the_user_stays(pruned):
    assert pruned("cru cra") == "crucTa"
    assert pruned("cracra") == "cracra"


def test_with_fewer_answers_than_stay_nothing_is_touched(pruned):
    rule = TtlPrune(keep_last_assistants=9, soft_trim_ratio=0.0)
    assert pruned("ucracra", rule=rule) == "ucracra"
    assert pruned("ucracr", rule=TtlPrune(keep_last_assistants=0, soft_trim_ratio=0.0)) == "ucracr"


def test_where_no_answers_stay_everything_may_go(pruned):
    assert pruned("ucracr", rule=replace(SMALL, keep_last_assistants=0)) == "ucTacT"


def test_below_its_share_of_the_window_nothing_is_touched(pruned):
    half = replace(SMALL, soft_trim_ratio=0.5, hard_clear_enabled=False)
    assert pruned("ucra", 1000, half) == "ucra"  # 1,060 characters, where 2,000 would be half
    assert pruned("ucra", 400, half) == "ucTa"


def test_if_that_is_not_enough_the_oldest_are_cleared_until_it_is(pruned):
    assert pruned("ucracracra", 400) == "ucTacTacTa"
    assert pruned("ucracracra", 250) == "ucSacTacTa"
    assert pruned("ucracracra", 20) == "ucSacSacSa"


def test_where_too_little_could_be_cleared_nothing_is(pruned):
    rule = replace(SMALL, min_prunable_tool_chars=10_000)
    assert pruned("ucracracra", 20, rule) == "ucTacTacTa"
    off = replace(SMALL, hard_clear_enabled=False)
    assert pruned("ucracracra", 20, off) == "ucTacTacTa"


def test_older_versions_leave_results_with_images_alone(moment):
    user, call, result, answer = moment("ucra", sizes={"r3": 1000}).messages
    image = verbatim("r3", "image", "", size=1200, call_id="c2/0")
    shown = Message("r3", "tool", (*result.parts, image))
    messages = Messages([user, call, shown, answer])
    assert prune(messages, replace(SMALL, version="2026.1.29"), 9000) is messages
    assert kinds(prune(messages, SMALL, 9000)) == "ucTa"


def test_the_same_pruning_gives_the_same_messages(moment):
    messages, edits = moment("ucracra", sizes={"r3": 1000, "r6": 1000}).messages, Edits()
    first, again = (prune(messages, SMALL, 100_000, edits) for _ in range(2))
    assert first.shared(again) == len(messages)


def test_how_many_characters_a_message_has():
    def chars(role, *parts, **more):
        return context_chars(Message("m", role, parts, **more))

    text, image = verbatim("m", "text", "abc"), verbatim("m", "image", "")
    call = verbatim("m", "tool_call", '{"a":1}', name="a long name")
    assert chars("user", text, image) == 8003  # pi counts no image of the user's
    assert chars("assistant", text, verbatim("m", "thinking", "hm"), call) == 12
    assert chars("assistant", verbatim("m", "tool_call", "")) == 2
    assert chars("tool", verbatim("m", "tool_result", "\N{ROCKET}"), image) == 8002
    assert chars("user", text, meta=True, origin="compactionSummary") == 256
    assert chars("assistant", text, origin="aborted") == 3
    assert chars("user", frame("around it"), text) == 3
    assert chars("user", Part("text", "", "opaque", (), size=10)) == 40


@pytest.mark.parametrize(
    ("now", "touched", "ttl", "expired"),
    [
        (1000, 700, 300, True),
        (1000, 701, 300, False),
        (1000, None, 300, False),
        (1000, 0, 300, False),
        (1000, 1, 0, False),
        (1000, 1, -1, False),
        (1000, 2000, 300, False),
    ],
)
def test_a_cache_that_was_not_touched_for_long_enough_is_cold(now, touched, ttl, expired):
    assert is_expired(now, touched, ttl) is expired


@settings(max_examples=100)
@given(script=st.text("uamo", max_size=12), window=st.sampled_from([50, 300, 1000, 100_000]))
def test_only_results_change_and_none_of_the_newest_few(moment, script, window):
    messages = moment(script, size=1000).messages
    then = prune(messages, SMALL, window)
    answers = [n for n, message in enumerate(messages) if message.role == "assistant"]
    for index, (one, other) in enumerate(zip(messages, then, strict=True)):
        assert (one.id, one.role, one.time) == (other.id, other.role, other.time)
        changed = one is not other
        assert not changed or (one.role == "tool" and index < answers[-1])
        assert context_chars(other) <= context_chars(one)
    assert (then is messages) == (list(then) == list(messages))


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("5m", 300_000),
        ("5", 300_000),
        (" 1H ", 3_600_000),
        ("1.5s", 1500),
        ("0.0005s", 1),
        ("2d", 172_800_000),
        ("0", 0),
        ("", None),
        ("5 m", None),
        ("-5m", None),
        ("1h30m", None),
        ("9" * 400, None),
    ],
)
def test_durations(text, milliseconds):
    assert duration_ms(text) == milliseconds


@pytest.mark.parametrize(
    ("allow", "deny", "name", "may"),
    [
        ((), (), "anything", True),
        ((" ",), (), "anything", True),
        (("*",), (), "anything", True),
        (("read",), (), " READ ", True),
        (("read",), (), "reader", False),
        (("web_*_x",), (), "web_a_b_x", True),
        (("a.c",), (), "abc", False),
        (("*",), ("Ex*",), "exec", False),
    ],
)
def test_patterns_of_tools(allow, deny, name, may):
    assert may_prune(allow, deny)(name) is may
