"""The middle gives way to a summary, between what began and what is new: Hermes Agent's."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.sim.core.errors import ContractError
from compactlab.sim.core.message import SUMMARY, Message, Part, Source, Usage, verbatim
from compactlab.sim.core.view import Messages, View
from compactlab.sim.replay.host import Services
from compactlab.strategies import Hermes, MiddleSummary
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.hermes import (
    GO_ON,
    LEAST,
    budget_tokens,
    joined,
    paired,
    prunable_before,
    summary_of,
    tail_start,
    threshold_tokens,
    with_user,
)
from compactlab.strategies.mechanisms.old_uses import AGAIN, NO_IMAGE, line_of, pruned
from compactlab.strategies.summarizers.catalogue import find_summarizer
from tests.lines import refusal
from tests.told import said, use

# In a window of 20,000 tokens it is time at 2,000, and the tail has 400.
SMALL = MiddleSummary(trigger=2000)


SUMMARISED = (Part("text", "so it was", "summary", (Source("gone"),)),)


def put(head, tail):
    return joined(Messages(head), SUMMARISED, Messages(tail), id="summary-1", now=0.0)


@pytest.mark.parametrize(
    ("window", "output", "tokens"),
    [
        (200_000, 0, 150_000),
        (200_000, 20_000, 135_000),
        (1_000_000, 0, 500_000),
        (70_000, 0, LEAST),
        (64_000, 0, 54_400),
        (64_000, 8192, 47_436),
        (8000, 9000, 6800),
    ],
)
def test_it_is_time_at_a_share_of_what_the_answer_leaves(window, output, tokens):
    assert threshold_tokens(window, 0.5, output) == tokens


@pytest.mark.parametrize(
    ("name", "arguments", "output", "line"),
    [
        ("terminal", {"command": "make"}, '{"exit_code": 2}\nno', "ran `make` -> exit 2, 2 lines"),
        ("terminal", {"command": "x" * 99}, "", f"ran `{'x' * 77}...` -> exit ?, 0 lines"),
        ("read_file", {"path": "a.py"}, "abc", "read a.py from line 1 (3 chars)"),
        ("write_file", {"path": "a", "content": "1\n2"}, "", "wrote to a (2 lines)"),
        ("write_file", {"path": "a"}, "", "wrote to a (? lines)"),
        ("search_files", {"pattern": "p"}, '"total_count": 7', "for 'p' in . -> 7 matches"),
        ("patch", {"path": "a", "mode": "v4a"}, "ok", "v4a in a (2 chars result)"),
        ("browser_click", {"ref": "@e3"}, "ok", "] ref=@e3 (2 chars)"),
        ("browser_navigate", {"url": "http://x"}, "ok", "] http://x (2 chars)"),
        ("web_search", {"query": "q"}, "ok", "query='q' (2 chars result)"),
        ("web_extract", {"urls": [{"href": "h"}, "i"]}, "ok", "] h (+1 more) (2 chars)"),
        ("web_extract", {"urls": [5]}, "ok", "] ? (2 chars)"),
        ("delegate_task", {"goal": None}, "ok", "] '' (2 chars result)"),
        ("execute_code", {"code": "a\nb"}, "ok", "`a b` (1 lines output)"),
        ("skill_view", {"name": "n"}, "ok", "name=n (2 chars)"),
        ("vision_analyze", {"question": 4}, "ok", "'4' (2 chars)"),
        ("memory", {"action": "add"}, "ok", "add on ?"),
        ("todo", {}, "ok", "updated task list"),
        ("clarify", {}, "ok", "asked user a question"),
        ("text_to_speech", {}, "ok", "generated audio (2 chars)"),
        ("cronjob", {"action": "list"}, "ok", "[cronjob] list"),
        ("process", {"action": "kill", "session_id": 3}, "ok", "kill session=3"),
        ("mine", {"a": 1, "b": "c" * 50, "d": 2}, "ok", f"[mine] a=1 b={'c' * 40} (2 chars"),
    ],
)
def test_each_tool_has_its_own_line(name, arguments, output, line):
    call = verbatim("1", "tool_call", json.dumps(arguments), name=name, call_id="1")
    assert line in line_of(call, output)


def test_a_result_of_no_call_has_a_line_too():
    assert line_of(None, "abc") == "[unknown] (3 chars result)"


def test_of_what_is_said_again_the_newest_stays_and_old_images_go():
    image = verbatim("1-out", "image", "", size=100)
    seen = Message("s", "tool", (verbatim("s", "tool_result", "seen", call_id="s"), image))
    history = Messages([*use("1", "x", "y" * 250), *use("2", "x", "y" * 250), seen])
    after = pruned(history, 5)
    assert [m.text for m in after][1::2] == [AGAIN, "[x] (250 chars result)"]
    assert [part.text for part in after[4].parts] == ["seen", NO_IMAGE]
    assert pruned(history, 0)[3] is history[3]


def test_what_is_new_is_so_many_messages_or_what_fits_and_the_next():
    history = Messages(said(str(n), "w" * 360) for n in range(10))  # 100 tokens each
    assert budget_tokens(history[0]) == 100
    assert prunable_before(history, 3, None) == 7
    assert prunable_before(history, 3, 450) == 5  # four fit, and the one that does not
    assert prunable_before(history, 8, 450) == 2
    assert prunable_before(history, 3, 5000) == prunable_before(history, 20, None) == 0


def test_the_tail_holds_what_was_said_last_and_the_last_answer_with_words():
    calls = [m for n in range(12) for m in use(str(n), "x", "z" * 4000)]
    asked = Messages([said("u1"), said("a1", role="assistant"), said("u2"), *calls])
    assert tail_start(asked, 1, budget=10, protect=20) == 2  # u2, however much came after it
    told = Messages([said("u1"), said("u2"), said("a1", role="assistant"), *calls])
    assert tail_start(told, 2, budget=10, protect=20) == 3  # the head's end leaves one at least
    answered = Messages([said("u1"), *calls, said("a1", role="assistant"), said("u2")])
    assert tail_start(answered, 1, budget=10, protect=3) == 23  # a call stays with its results


@pytest.mark.parametrize(
    ("head", "tail", "roles"),
    [
        ("u", "u", "u a u"),
        ("ua", "au", "u a u a u"),
        ("ut", "a", "u t u a"),
        ("ut", "u", "u t a u"),
        ("", "u", "a u"),
        ("", "a", "u a"),
    ],
)
def test_no_role_follows_itself(head, tail, roles):
    names = {"u": "user", "a": "assistant", "t": "tool"}
    both = [[said(f"{where}{n}", role=names[r]) for n, r in enumerate(word)]
            for where, word in (("h", head), ("t", tail))]  # fmt: skip
    assert " ".join(message.role[0] for message in put(*both)) == roles


def test_where_it_fits_nowhere_it_joins_the_first_message_of_the_tail():
    head = [said("u1"), said("a1", role="assistant")]
    (*_, merged) = put(head, [said("u2", "and now?")])
    assert (merged.id, merged.role, merged.origin) == ("summary-1", "user", SUMMARY)
    assert "and now?" in merged.text
    assert summary_of(merged) == SUMMARISED
    assert summary_of(put([], [said("u2")])[0]) == SUMMARISED


def test_what_has_lost_its_other_half_goes():
    (call, _), (_, result) = use("1", "x", "out"), use("2", "x", "out")
    left = paired([said("u"), call, result])
    assert [message.text for message in left] == ["words", "(tool call removed)"]
    both = use("3", "x", "out")
    assert paired(both) == both


def test_if_nobody_is_left_who_spoke_the_last_who_did_is_put_in_again():
    before = Messages([said("u1"), said("a1", role="assistant"), said("a2", role="assistant")])
    after = list(before[2:])
    assert [m.id for m in with_user(after, before, 0.0)] == ["u1", "a2"]
    assert with_user(list(before), before, 0.0) == list(before)
    assert with_user(after, before[1:], 0.0)[-1].text == GO_ON
    assert [m.id for m in with_user([], before, 0.0)] == ["u1"]


def test_the_first_messages_stay_until_there_has_been_a_summary(tell, sent):
    prompts = sent(tell("ua" * 24, size=800), SMALL, window=20_000)
    first = next(prompt for prompt in prompts if "summary" in prompt)
    assert first.startswith("u1 a2 u3 summary-1 ")
    assert prompts[-1].startswith("summary-")
    assert prompts[-1].count("summary") == 1
    assert prompts[-1].endswith(" u47")


def test_it_goes_by_the_report_while_tools_are_used(moment):
    at = moment("ucr" + "cr" * 4, size=200, window=20_000, reported=Usage(uncached=2000))
    assert refusal(ContractError, lambda: SMALL.compact(at.view, at.host)) == snapshot(
        "nobody answers that here: it is asked in a replay"
    )
    below = moment("ucr" + "cr" * 4, size=200, window=20_000, reported=Usage(uncached=1999))
    assert SMALL.compact(below.view, below.host) is below.view


def test_a_summary_to_which_nothing_has_come_stays_and_is_paid_for(moment):
    asked = []
    host = moment("u").host
    host._services = Services(summarize=lambda host, view, request: asked.append(request) or ())
    front = put([], [said("u2")])  # a summary, and what was said after it
    view = View((), Messages(front))
    assert SMALL._summary(view, host, view.messages, (0, 1)) == SUMMARISED
    assert [request.messages for request in asked] == [()]
    assert not host.notes


def test_an_empty_summary_gives_way_to_what_rules_tell_and_then_it_waits(tell, play):
    story = tell("ua" * 20, size=800)
    steps = play(story, SMALL, window=20_000, summarizer=find_summarizer("empty")).steps
    compacted = [n for n, step in enumerate(steps) if step.compaction]
    assert len(compacted) > 1
    assert compacted[1] - compacted[0] > 2  # a minute is three turns here
    assert "messages left out" in next(m.text for m in steps[compacted[0]].added if m.origin)


@settings(max_examples=30)
@given(data=st.data())
def test_the_tail_is_never_cut_inside_of_an_exchange(data, conversations):
    history = Messages(data.draw(conversations).messages)
    head = data.draw(st.integers(0, 4))
    if len(history) <= head + 4:
        return
    start = tail_start(history, head, data.draw(st.sampled_from([10, 100, 2000])), 20)
    assert head < start <= len(history)
    assert start == len(history) or history[start].role != "tool"


def test_the_agent_passes_its_settings_on():
    agent = find_strategy("hermes(trigger=0.6, target_ratio=0.3, protect_first_n=0, max_tokens=9)")
    (part,) = agent.parts
    assert part == MiddleSummary(0.6, target_ratio=0.3, protect_first_n=0, max_tokens=9)
    assert Hermes().parts == (MiddleSummary(),)
