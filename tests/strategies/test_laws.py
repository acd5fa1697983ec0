"""Laws of the plain strategies, over conversations of any kind."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.view import Messages
from compactlab.strategies import (
    KeepAll,
    KeepNone,
    RandomKeep,
    SlidingWindow,
    TokenBudget,
    TurnSlice,
)
from compactlab.strategies.mechanisms.cut import exchanges
from compactlab.strategies.mechanisms.estimate import estimate_system
from compactlab.strategies.openclaw.pairs import repair
from compactlab.strategies.openclaw.planner import available, plan, static_tokens

FEW = settings(max_examples=50)


@pytest.fixture(scope="session")
def prompts(play):
    """Pairs of the log and the prompt of every call."""

    def of(conversation, strategy, **more):
        trace = play(conversation, strategy, **more)
        logs = [list(step.log) for step in trace.steps]
        return list(zip(logs, map(list, trace.prompts()), strict=True))

    return of


def current_turn(log):
    """Index at which the current turn begins; 0 if nobody has spoken."""
    return max((n for n, message in enumerate(log) if message.starts_turn), default=0)


@FEW
@given(data=st.data())
def test_keep_all_is_everything(data, conversations, prompts):
    assert all(prompt == log for log, prompt in prompts(data.draw(conversations), KeepAll()))


@FEW
@given(data=st.data())
def test_keep_none_is_the_current_turn_exactly(data, conversations, prompts):
    """Behind a cut, results of no call are no part of it: their call may have been cut off."""
    for log, prompt in prompts(data.draw(conversations), KeepNone()):
        turn = log[current_turn(log) :]
        assert prompt in (turn, asked(turn))


def asked(messages):
    """Messages without the results whose call is not among those before."""
    calls, found = set(), []
    for message in messages:
        ids = {part.call_id for part in message.parts}
        if message.role != "tool" or ids <= calls:
            found.append(message)
            calls |= ids
    return found


@FEW
@given(data=st.data(), keep=st.integers(1, 8))
def test_a_sliding_window_is_the_newest_or_fewer(data, keep, conversations, prompts):
    """More only where it would be nothing but results: then their call comes with them."""
    for log, prompt in prompts(data.draw(conversations), SlidingWindow(keep)):
        said, kept = ([m for m in held if m.role != "tool"] for held in (log, prompt))
        assert kept == said[len(said) - len(kept) :]
        assert len(prompt) <= keep or all(message.role == "tool" for message in prompt[1:])
        held = {message.id for message in prompt}
        assert all(message.role == "tool" for message in log[-keep:] if message.id not in held)


@FEW
@given(data=st.data(), keep=st.integers(1, 8))
def test_a_wider_window_never_holds_less(data, keep, conversations, prompts):
    conversation = data.draw(conversations)
    narrow, wide = (prompts(conversation, SlidingWindow(keep + n)) for n in (0, 1))
    assert all(len(a) <= len(b) for (_, a), (_, b) in zip(narrow, wide, strict=True))


@FEW
@given(data=st.data(), turns=st.integers(1, 4))
def test_more_turns_never_hold_less(data, turns, conversations, prompts):
    conversation = data.draw(conversations)
    few, many = (prompts(conversation, TurnSlice(turns + n, repair=False)) for n in (0, 1))
    for (log, a), (_, b) in zip(few, many, strict=True):
        assert b[len(b) - len(a) :] == a
        assert log[len(log) - len(b) :] == b


@FEW
@given(data=st.data(), turns=st.integers(1, 4))
def test_a_slice_has_so_many_turns_before_the_current_one_or_all(data, turns, straight, prompts):
    for log, prompt in prompts(data.draw(straight), TurnSlice(turns)):
        spoken = sum(message.starts_turn for message in log)
        assert sum(message.starts_turn for message in prompt) == min(turns + 1, spoken)


@FEW
@given(data=st.data(), share=st.sampled_from([0.1, 0.5, 1.0]), window=st.integers(1000, 9000))
def test_what_the_plan_keeps_is_sent_repaired(data, share, window, straight, prompts):
    conversation = data.draw(straight)
    strategy = TokenBudget(300, max_history_share=share, min_dynamic_reserve_tokens=100)
    spoken = None
    for log, prompt in prompts(conversation, strategy, window=window):
        before, now = log[: current_turn(log)], log[current_turn(log) :]
        if not now or now[0] is spoken or not now[0].starts_turn:
            continue
        spoken = now[0]
        static = static_tokens("", "\n".join(p.text for m in now for p in m.parts))
        static += sum(part.size for part in conversation.system)
        first = plan(Messages(before), available(strategy, window, static), share).first
        kept = list(repair(Messages(before[first or 0 :])).messages)
        assert prompt == [*(kept or before), *now]


@FEW
@given(data=st.data(), seed=st.integers(0, 99))
def test_random_keep_keeps_to_its_choice(data, seed, straight, prompts):
    conversation = data.draw(straight)
    strategy = RandomKeep(share=0.5)
    chosen: dict[str, bool] = {}
    replayed = prompts(conversation, strategy, seed=seed)
    assert replayed == prompts(conversation, strategy, seed=seed)
    for log, prompt in replayed:
        kept = {message.id for message in prompt}
        for exchange in exchanges(log[: current_turn(log)]):
            held = {message.id in kept for message in exchange}
            assert len(held) == 1
            assert chosen.setdefault(exchange[0].id, held == {True}) is (held == {True})


def test_random_keep_keeps_to_its_choice_when_an_answer_is_asked_for_again(tell, sent):
    """A rewind to a user's message, from which the script goes straight on with an answer."""
    *_, first, again = sent(tell("ua" * 9 + "u" + "a" + "<19" + "a"), RandomKeep(share=0.5))
    assert first == again


@FEW
@given(data=st.data())
def test_the_estimate_of_the_system_prompt_is_what_it_weighs(data, conversations, moment):
    conversation = data.draw(conversations)
    view = moment("").view.with_system(*conversation.system)
    assert estimate_system(view) == sum(part.size for part in conversation.system)
