"""Scored pruning: what goes is decided by scores, and everything else stays word for word."""

import json
import os
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.errors import InputError, UsageError
from compactlab.sim.core.message import Message, verbatim
from compactlab.sim.core.view import Messages
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.scored_pruning import (
    Score,
    ScoredPruning,
    batches,
    decide,
    estimated,
    pruned,
    stand_in,
    state_of,
    uses_of,
)

STORY = "u" + "cr" * 5 + "a" + "uaua"


@pytest.fixture
def answers(tmp_path):
    """A file with a score of 0.9, 0.6 or 0.1 for calls and for results, by call."""

    def write(scores):
        lines = [json.dumps({"id": f"c{n}/0", "call": c, "result": r}) for n, c, r in scores]
        file = tmp_path / "answers.jsonl"
        file.write_text("\n".join(lines), encoding="utf-8")
        return str(file)

    return write


def test_a_use_is_kept_cut_or_dropped_and_each_request_is_billed(tell, play, shown, answers):
    """r7 is among the newest six the first time, and r11 the second; c8 has no answer and stays."""
    file = answers([(2, 0.9, 0.9), (4, 0.6, 0.1), (6, 0.1, 0.1), (10, 0.1, 0.1)])
    told = tell(STORY, size=400, sizes={"r": 8000})
    trace = play(told, ScoredPruning(trigger=8000, recent=6, answers=file, min_gain=0.1))
    assert shown(trace) == (
        "u1 +4 +1(score) | !u1 c2 r3 c4 r5~ c6 r7 c8 r9 c10 r11 a12 u13(score)"
        " | !u1 c2 r3 c4 r5~ c8 r9 c10 r11 a12 u13 a14 u15"
    )
    (cut,) = (m for m in list(trace.prompts())[-1] if m.id == "r5")
    whole = next(m for m in told.messages if m.id == "r5")
    assert cut.text.startswith(whole.text[:300])
    assert cut.text[300:] == "\n[7700 characters cut; call it again]"


def test_what_gains_too_little_changes_nothing_in_that_turn(tell, play, shown, answers):
    file = answers([(2, 0.9, 0.9)])
    trace = play(
        tell(STORY + "crcra", size=400, sizes={"r": 8000}),
        ScoredPruning(trigger=2000, recent=0, answers=file),
        window=16_000,
    )
    # After each turn, the last of which goes on: until it ends nothing is asked again.
    assert shown(trace) == "u1 +4 +3(score) +2 +1(score)^"


def test_the_stand_in_prefers_what_the_user_asks_for():
    def use(id, text):
        call = verbatim(id, "tool_call", "{}", name="read", call_id=id)
        result = verbatim(f"{id}r", "tool_result", text, name="read", call_id=id)
        return [Message(id, "assistant", (call,)), Message(f"{id}r", "tool", (result,))]

    asked = Message("u", "user", (verbatim("u", "text", "Which port has the ledger?"),))
    messages = Messages([*use("a", "the parser is slow"), *use("b", "the ledger: port 8"), asked])
    scores = stand_in(messages, uses_of(Messages([asked, *messages]), 0))
    assert scores["b"].result == 1
    assert scores["a"].result < 0.5


@given(data=st.data())
@settings(max_examples=30)
def test_everything_but_tool_uses_stays_word_for_word(data, conversations):
    messages = Messages(data.draw(conversations).messages)
    uses = uses_of(messages, data.draw(st.integers(0, 6)))
    ids = [use.call.call_id for use in uses]
    action = st.sampled_from(["keep", "cut", "drop"])
    actions = {id: data.draw(action) for id in ids}
    left = pruned(messages, actions, 30)
    said = [p for m in messages for p in m.parts if p.type == "text" and p.text.strip()]
    assert [p for m in left for p in m.parts if p.type == "text" and p.text.strip()] == said
    gone = {id for id in ids if actions[id] == "drop"}
    calls = {p.call_id for m in messages for p in m.parts if p.type == "tool_call"}
    assert {p.call_id for m in left for p in m.parts if p.type == "tool_call"} == calls - gone
    assert pruned(messages, dict.fromkeys(ids, "keep"), 30) == messages


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3).map(sorted), st.floats(0, 1))
def test_a_higher_score_never_keeps_less(scores, threshold):
    order = ["drop", "cut", "keep"]
    for low, high in pairwise(scores):
        worse, better = (order.index(decide(Score(s, s), threshold)) for s in (low, high))
        assert worse <= better


def test_requests_have_room_and_the_state_fits(tell):
    messages = Messages(tell("u" + "cr" * 60 + "a", size=900).messages)
    for most in (30_000, 9000, 3000):
        assert 0 < estimated(state_of(messages, 6, most)) <= most
    assert state_of(messages, 6, 100) == ""
    asked = [f"question {n}" for n in range(10)]
    assert "\n".join(batches(asked, 5)).split("\n") == asked
    assert all(estimated(batch) <= 5 for batch in batches(asked, 5))


def test_what_is_no_probability_is_refused(answers):
    with pytest.raises(InputError, match=r"answers\.jsonl: line 1: Expected `float` <= 1"):
        _ = ScoredPruning(answers=answers([(2, 1.5, 0)])).recorded


def test_other_answers_are_another_run(answers):
    one = find_strategy(f"scored_pruning(answers={answers([(2, 0.9, 0)])!r})").outside
    assert one != find_strategy(f"scored_pruning(answers={answers([(2, 0.1, 0)])!r})").outside


def test_a_file_of_a_stranger_is_no_pipe_and_no_link(tmp_path, answers):
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(answers([]))
    for file, fault in ((pipe, "it is not a file"), (link, "it is a link")):
        strategy = ScoredPruning(answers=str(file))
        with pytest.raises(UsageError, match=fault):
            _ = strategy.outside
        with pytest.raises(UsageError, match=fault):
            _ = strategy.recorded
