"""When the window fills, what is older than the tail gives way to a summary."""

from dataclasses import replace

import msgspec
import pytest

from compactlab.sim.errors import ModelError, UsageError
from compactlab.strategies import AutoCompact
from compactlab.strategies.catalogue import find_strategy

# In a window of 2000 tokens it acts beyond 1000, and keeps a tail of 400.
SMALL = AutoCompact(reserve_tokens=1000, keep_recent_tokens=400)


@pytest.fixture
def story(tell):
    """Messages of 100 estimated tokens each; a turn of four has 400."""
    return lambda script, **more: tell(script, size=400, **more)


def test_below_the_reserve_it_leaves_everything_alone(story, sent):
    assert sent(story("uaua"), SMALL, window=2000) == ["u1", "u1 a2 u3"]


def test_beyond_it_a_summary_stands_in_front_of_the_tail(story, sent):
    prompts = sent(story("ua" * 6), SMALL, window=2000)
    assert prompts[-2:] == ["u1 a2 u3 a4 u5 a6 u7 a8 u9", "summary-1 a8 u9 a10 u11"]


def test_the_message_that_reaches_the_size_of_the_tail_stays(story, sent):
    tail = AutoCompact(reserve_tokens=1000, keep_recent_tokens=401)
    assert sent(story("ua" * 6), tail, window=2000)[-1] == "summary-1 u7 a8 u9 a10 u11"


def test_a_tail_never_begins_with_a_result(story, sent):
    tail = AutoCompact(reserve_tokens=1000, keep_recent_tokens=300)
    assert sent(story("ucrcrcrcrcra"), tail, window=2000)[-1] == "summary-1 c10 r11"


def test_in_a_long_turn_the_users_words_are_summarised_too(story, sent):
    assert sent(story("ucrcrcrcrcra"), SMALL, window=2000)[-1] == "summary-1 c8 r9 c10 r11"


def test_with_one_large_result_at_the_end_nothing_is_compacted(tell, sent, play):
    story = tell("ua u cr a", sizes={"r5": 9000})
    last = play(story, SMALL, window=2000).steps[-1]
    assert sent(story, SMALL, window=2000)[-1] == "u1 a2 u3 c4 r5"
    assert (last.overflow, last.side) == (True, ())


def test_the_next_summary_carries_the_last_one_on(story, play):
    steps = play(story("ua" * 9), SMALL, window=2000).steps
    first, second = [step.added[0].parts for step in steps if step.compaction]
    assert [part.text for part in first] == ["notes on 7 messages"]
    assert [part.text for part in second] == ["notes on 13 messages"]
    assert [source.id for source in second[0].sources[6:9]] == ["u7", "a8", "u9"]


def test_a_compaction_is_one_rewrite_and_one_side_call(story, play):
    steps = play(story("ua" * 12), SMALL, window=2000).steps
    acted = [step.compaction for step in steps]
    assert 1 < sum(acted) < len(steps) / 2
    assert acted == [step.rewrite for step in steps]
    assert acted == [bool(step.side) for step in steps]
    assert {call.purpose for step in steps for call in step.side} == {"summary"}


def test_a_summary_of_its_own_prompt_reads_nothing_and_one_on_the_live_prompt_does(tell, play):
    story = tell("ua" * 10, size=4000, system=2000)
    traces = (
        play(story, AutoCompact(5000, 2000, rides), window=20_000) for rides in ("live", "fresh")
    )
    live, fresh = (next(c for s in trace.steps for c in s.side).usage for trace in traces)
    assert live.cache_read > live.prompt / 2
    assert fresh.cache_read == 0
    assert live.prompt - live.cache_read < fresh.prompt


def test_a_short_history_after_a_rewind_is_left_alone(story, sent):
    """What was reported before the rewind says nothing about the branch that goes on."""
    prompts = sent(story("uaua uaua <6 ua"), SMALL, window=1800)
    assert not any("summary" in prompt for prompt in prompts[:-1])
    assert prompts[-1] == "u1 a2 u3 a4 u5 a6 u9"


def test_a_message_of_the_script_is_no_summary_whatever_its_id(story, play):
    told = story("ua" * 6)
    named = msgspec.structs.replace(told.events[0], id="summary-of-the-task")
    trace = play(replace(told, events=(named, *told.events[1:])), SMALL, window=2000)
    (first,) = [step for step in trace.steps if step.side][:1]
    assert first.added[0].parts[0].sources[0].id == "u1"
    assert first.side[0].usage.prompt > 7 * 100


def test_without_a_summariser_it_says_what_is_missing(story, play):
    with pytest.raises(ModelError, match=r"auto_compact.* asks for summaries; name a summariser"):
        play(story("ua" * 6), SMALL, window=2000, summarizer=None)


@pytest.mark.parametrize("wrong", ["rides='sideways'", "reserve_tokens=-1"])
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(UsageError, match=wrong.partition("=")[0]):
        find_strategy(f"auto_compact({wrong})")
