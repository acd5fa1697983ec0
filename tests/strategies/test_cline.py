"""A rolling summary in front of the newest messages, and notices without a model: Cline's."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.message import Message, Usage, verbatim
from compactlab.sim.core.view import Messages
from compactlab.strategies import AgenticCompaction, Cline, HalfTruncation
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.cline import (
    LEFT_OUT,
    READ_AGAIN,
    allowed_tokens,
    cut_index,
    exchanges,
    json_tokens,
    kept_by_rule,
    read_once,
    sizes_of,
    told,
    without_middle,
)
from tests.told import said, use

SMALL = AgenticCompaction(trigger=2000, preserve_recent_tokens=500)
BASIC = AgenticCompaction(trigger=2000, strategy="basic")


def ids(messages):
    return [message.id for message in messages]


def test_a_message_is_its_json_three_characters_to_a_token():
    # {"role":"user","content":[{"type":"text","text":"hello"}]} has 58 characters.
    assert json_tokens(said("1", "hello")) == 20
    # {"role":"assistant","content":[{"type":"tool_use","id":"1","name":"run","input":{"a": 1}}]}
    assert json_tokens(use("1", a=1)[0]) == 31


def test_it_is_time_at_nine_tenths_of_nine_tenths(moment):
    at = moment("ua", window=100_000)
    sizes = sizes_of(at.view, at.host, None)
    assert (sizes.limit, round(sizes.trigger), sizes.target) == (90_000, 81_000, 56_700)
    assert not sizes.is_time


def test_a_report_above_the_estimate_brings_it_forward(moment):
    at = moment("ua" * 10, size=300, window=100_000, reported=Usage(uncached=6000))
    plain = moment("ua" * 10, size=300, window=100_000)
    before, after = (sizes_of(m.view, m.host, None) for m in (plain, at))
    assert after.trigger == pytest.approx(before.trigger * before.request / 6000)
    most = moment("ua" * 10, size=300, window=100_000, reported=Usage(uncached=100_000))
    assert sizes_of(most.view, most.host, None).trigger == before.trigger / 4


def test_what_is_aimed_at_is_less_after_an_overflow(moment):
    at = moment("ua" * 10, size=300, window=1000)
    sizes = sizes_of(at.view, at.host, None, overflown=True)
    assert sizes.target == min(int(sizes.trigger), sizes.messages // 2)


def test_results_of_tools_are_the_users():
    history = Messages([said("u"), *use("1"), *use("2"), said("a", role="assistant")])
    assert exchanges(history) == 3


def test_the_turn_under_way_stays_unless_the_conversation_begins_with_it():
    calls = [m for n in range(9) for m in use(str(n), output="x" * 600)]
    inside = Messages([said("u"), *calls])
    assert ids(inside[cut_index(inside, 500) :]) == ["7", "7-out", "8", "8-out"]
    behind = Messages([said("u"), said("a", role="assistant"), said("v"), *calls])
    assert cut_index(behind, 500) == 2
    assert cut_index(behind, 100_000) == 0


def test_a_summary_takes_the_place_of_what_is_older(tell, sent):
    prompts = sent(tell("ua" * 20, size=600), SMALL, window=20_000)
    first = next(prompt for prompt in prompts if "summary" in prompt)
    assert first.startswith("summary-1 ")
    assert first.split()[-1] == "u11"
    assert prompts[-1].count("summary") == 1


def test_the_next_one_carries_the_last_one_on_and_lists_files(tell, play):
    steps = play(tell("ua" * 20, size=600), SMALL, window=20_000).steps
    notes = [step.added[0].parts[1].text for step in steps if step.compaction]
    counts = [int(text.split()[2]) for text in notes]
    assert counts == sorted(counts)
    assert len(counts) > 1


def test_without_a_model_what_was_typed_stays_and_the_rest_is_told():
    gap = [*use("1", "read_file", path="a.py"), *use("2", "edit_file", path="b.py")]
    history = Messages([said("u1"), *gap, said("a1", "done", "assistant"), said("u2"), *use("3")])
    kept = kept_by_rule(history, 100, frozenset())
    assert ids(kept.values()) == ["u1", "u2", "3", "3-out"]
    (first, *_) = told(history, kept)
    assert first.parts[0].text == "words"
    assert "read: a.py\nchanged: b.py" in first.parts[1].text
    assert {source.id for source in first.parts[1].sources} >= {"1", "1-out", "2", "2-out"}


def test_the_newest_that_fit_stay_and_answers_at_the_ends_of_turns():
    history = Messages(
        [
            said("u1"),
            *use("1", output="x" * 900),
            said("a1", "done", "assistant"),
            said("u2"),
            *use("2", output="x" * 900),
            *use("3"),
        ]
    )
    room = sum(map(json_tokens, history)) - 600
    assert ids(kept_by_rule(history, room, frozenset()).values()) == [
        "u1", "a1", "u2", "3", "3-out",
    ]  # fmt: skip
    assert ids(kept_by_rule(history, 1, frozenset()).values()) == ["u1", "u2"]
    assert ids(kept_by_rule(history, 1, frozenset({"2", "2-out"})).values()) == [
        "u1", "u2", "2", "2-out",
    ]  # fmt: skip
    assert kept_by_rule(Messages(use("1")), 1, frozenset()) == {}


def test_a_thought_and_an_image_of_an_older_turn_go():
    image = verbatim("u1", "image", "", size=100)
    asked = Message("u1", "user", (verbatim("u1", "text", "look"), image))
    thought = verbatim("a1", "thinking", "hm")
    answer = Message("a1", "assistant", (thought, verbatim("a1", "text", "seen")))
    kept = kept_by_rule(Messages([asked, answer, said("u2")]), 1000, frozenset())
    assert [len(message.parts) for message in kept.values()] == [1, 1, 1]


def test_the_newest_answers_are_quoted(tell, play):
    steps = play(tell("ua" * 20, size=600), BASIC, window=20_000).steps
    compacted = next(step for step in steps if step.compaction)
    assert not any(step.side for step in steps)
    noticed = [m.id for m in compacted.added if "Left out: 1 messages.\na" in m.text]
    assert noticed == ["u5", "u7", "u9"]


@pytest.mark.parametrize(
    ("window", "tokens"),
    [(64_000, 37_000), (128_000, 98_000), (200_000, 160_000), (1_000_000, 960_000), (10_000, 8000)],
)
def test_the_extension_before_had_a_size_for_each_window(window, tokens):
    assert allowed_tokens(window) == tokens


def test_of_several_reads_of_a_file_the_newest_stays():
    reads = [
        use(n, "read_file", f"text {n}", path=p) for n, p in (("1", "a"), ("2", "b"), ("3", "a"))
    ]
    edit = use("4", "edit_file", "ok", path="a")
    history = Messages([message for pair in (*reads, edit) for message in pair])
    assert [m.text for m in read_once(history)][1::2] == [READ_AGAIN, "text 2", "text 3", "ok"]
    assert read_once(history[2:]) == history[2:]


@pytest.mark.parametrize(
    ("messages", "most", "gone"),
    [
        (5, False, ""),
        (6, False, "2 3"),
        (9, False, "2 3"),
        (10, False, "2 3 4 5"),
        (10, True, "2 3 4 5 6 7"),
        (5, True, "2 3"),
    ],
)
def test_half_of_what_follows_the_first_exchange_goes_or_three_quarters(messages, most, gone):
    roles = ("user", "assistant")
    history = Messages(said(str(n), role=roles[n % 2]) for n in range(messages))
    left = without_middle(history, most=most)
    assert {m.id for m in history} - set(ids(left)) == set(gone.split())
    assert left[1].text.startswith(LEFT_OUT) == bool(gone)
    assert without_middle(left, most=False)[1].text.count(LEFT_OUT) <= 1


def test_results_go_and_stay_with_their_calls():
    calls = [message for n in range(8) for message in use(str(n))]
    left = without_middle(Messages([said("u"), *calls]), most=False)
    assert ids(left)[:3] == ["u", "0", "0-out"]
    assert {i.removesuffix("-out") for i in ids(left) if i.endswith("-out")} == {
        i for i in ids(left) if i.isdigit()
    }


def test_where_saying_reads_once_is_enough_nothing_goes(moment):
    at = moment("u", reported=Usage(uncached=160_000))
    reads = [m for n in "12" for m in use(n, "read_file", "x" * 900, path="a")]
    view = at.view.with_messages([said("u"), *reads])
    after = HalfTruncation().compact(view, at.host)
    assert ids(after.messages) == ids(view.messages)
    assert after.messages[2].text == READ_AGAIN
    below = moment("u", reported=Usage(uncached=159_999))
    assert HalfTruncation().compact(view, below.host) is view


def test_the_first_exchange_stays_and_what_is_left_begins_with_the_user(tell, sent):
    prompts = sent(tell("ua" * 20, size=800), HalfTruncation(trigger=2000), window=60_000)
    shortened = [prompt.split() for prompt in prompts if " a4" not in prompt]
    assert all(prompt[:2] == ["u1", "a2"] for prompt in shortened[2:])
    assert all(prompt[2].startswith("u") for prompt in shortened[2:])
    assert len(prompts[-1].split()) < 12


@settings(max_examples=30)
@given(data=st.data(), target=st.sampled_from([1, 100, 1000, 10_000]))
def test_without_a_model_all_that_was_typed_stays_and_no_pair_is_parted(
    data, target, conversations
):
    history = Messages(data.draw(conversations).messages)
    kept = kept_by_rule(history, target, frozenset())
    typed = [n for n, message in enumerate(history) if message.starts_turn]
    assert not kept or set(typed) <= kept.keys()
    calls, results = (
        {p.call_id for m in kept.values() for p in m.parts if p.type == kind}
        for kind in ("tool_call", "tool_result")
    )
    asked = {p.call_id for m in history for p in m.parts if p.type == "tool_call"}
    answered = {p.call_id for m in history for p in m.parts if p.type == "tool_result"}
    assert calls & answered <= results
    assert results & asked <= calls


def test_the_agent_passes_its_settings_on():
    (part,) = find_strategy("cline(trigger=0.5, strategy='basic')").parts
    assert part == AgenticCompaction(0.5, "basic")
    assert Cline().parts == (AgenticCompaction(),)
    assert Cline(0.5, "truncation").parts == (HalfTruncation(0.5),)
