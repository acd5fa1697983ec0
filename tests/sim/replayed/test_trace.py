"""A trace gives every prompt back, and holds no more than what happened."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.replay.strategy import Lifetime, Pipeline
from compactlab.strategies.controls import AsRecorded, KeepAll, KeepNone
from compactlab.strategies.openclaw.openclaw import TurnSlice
from compactlab.strategies.windows import SlidingWindow


def watched(kit: Any, strategy: Any) -> tuple[Any, list[Any]]:
    """A strategy, and what of its prompts was really sent: list of messages by list."""
    witness = kit.Witness(lambda view, host: list(view.messages), lifetime=Lifetime.REQUEST)
    return Pipeline((strategy, witness.strategy)), witness.seen


BUILT_IN = [KeepAll(), KeepNone(), AsRecorded(), SlidingWindow(keep=3), TurnSlice(history_limit=1)]


@pytest.mark.parametrize("strategy", BUILT_IN, ids=lambda strategy: strategy.spec)
@settings(max_examples=30)
@given(data=st.data())
def test_prompts_are_what_was_sent(strategy, kit, data):
    pipeline, sent = watched(kit, strategy)
    trace = kit.replayed(data.draw(kit.stories()), pipeline)
    assert [list(prompt) for prompt in trace.prompts()] == sent


@pytest.mark.parametrize("lifetime", list(Lifetime))
@settings(max_examples=30)
@given(data=st.data())
def test_prompts_are_what_was_sent_by_whim(lifetime, kit, data):
    pipeline, sent = watched(kit, kit.whim(lifetime))
    trace = kit.replayed(data.draw(kit.stories()), pipeline, seed=data.draw(st.integers(0, 999)))
    assert [list(prompt) for prompt in trace.prompts()] == sent


def long_story(kit: Any, exchanges: int) -> Any:
    story = kit.Story().user("go")
    for number in range(exchanges):
        story.acts().result(f"result {number}")
    return story.answer("done").script()


def held(trace: Any) -> int:
    """Messages in all the lists that a trace keeps alive, each list counted once."""
    lists = [step.added._buffer.items for step in trace.steps]
    lists += [step.log._buffer.items for step in trace.steps]
    return sum(len(items) for items in {id(items): items for items in lists}.values())


def first_and_last(view: Any, host: Any) -> Any:
    messages = view.messages
    return view.with_messages([messages[0], *messages[-3:]] if len(messages) > 4 else messages)


@pytest.mark.parametrize("lifetime", list(Lifetime))
@pytest.mark.parametrize("what", ["keep", "window", "rebuilt"])
def test_a_trace_does_not_grow_with_the_square(lifetime, what, kit):
    do = {
        "keep": lambda view, host: view,
        "window": lambda view, host: view.with_messages(view.messages[-6:]),
        "rebuilt": first_and_last,
    }[what]
    script = long_story(kit, 400)
    trace = kit.replayed(script, kit.act(do, lifetime=lifetime))
    assert len(trace.steps) == 401
    assert held(trace) <= 12 * len(script.messages)


def test_rebuilding_a_whole_prompt_for_one_call_keeps_the_list_small(kit):
    copied = kit.act(
        lambda view, host: (
            view.with_messages([*view.messages[:-1], view.messages[-1]])
            if len(host.log) % 2
            else view.with_messages(list(view.messages))
        ),
        lifetime=Lifetime.REQUEST,
    )
    script = long_story(kit, 400)
    assert held(kit.replayed(script, copied)) <= 4 * len(script.messages)


def test_a_header_says_what_the_trace_is_of(kit, story):
    script = story.user("hi").answer("ho").script()
    header = kit.replayed(
        script, SlidingWindow(keep=7), window=5000, seed=3, summarizer=kit.Echo()
    ).header
    assert header.conversation == "story"
    assert header.digest == script.digest
    assert header.strategy == "sliding_window(keep=7)"
    assert header.summarizer == "echo()"
    assert (header.model, header.window, header.seed) == (kit.model, 5000, 3)
