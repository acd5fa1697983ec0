"""A summary is prepared at four fifths of the window and put in later: the Copilot SDK's."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.strategies import BackgroundCompaction, CopilotCli
from compactlab.strategies.background_compaction import COLD, FULL, START

TURN = "u" + "cr" * 24 + "a"
USUAL = BackgroundCompaction()


@pytest.fixture
def story(tell):
    """Messages of 110 tokens each; the window has 5,000."""
    return lambda script, **more: tell(script, size=400, **more)


@pytest.fixture
def worked(story, sent):
    return lambda script, strategy=USUAL, **more: sent(
        story(script), strategy, **{"window": 5000, **more}
    )


def asked(trace):
    return [bool(step.side) for step in trace.steps].index(True)


def test_it_is_asked_for_at_one_call_and_put_in_three_calls_later(story, play):
    trace = play(story(TURN), BackgroundCompaction(), window=5000)
    put = [step.compaction for step in trace.steps].index(True)
    assert put == asked(trace) + 3
    before = trace.steps[asked(trace)]
    assert START * 5000 <= before.usage.prompt + 120 < FULL * 5000


def test_what_has_been_said_since_stands_behind_it_word_for_word(worked):
    """Asked for behind r37, put in at the call whose newest message is r43."""
    assert worked(TURN)[21] == "summary-1 c38 r39 c40 r41 c42 r43"


def test_it_stands_for_what_had_been_said_when_it_was_asked_for(story, play):
    trace = play(story(TURN), BackgroundCompaction(), window=5000)
    first = next(p for p in trace.prompts() if p[0].id == "summary-1")
    assert first[0].parts[-1].text == "notes on 37 messages"


def test_the_request_is_billed_when_it_is_made_and_reads_the_cache(story, play):
    steps = play(story(TURN, system=3000), BackgroundCompaction(), window=8000).steps
    number, call = next((n, call) for n, step in enumerate(steps) for call in step.side)
    assert not any(step.compaction for step in steps[: number + 1])
    assert call.usage.cache_read == steps[number - 1].usage.prompt


def test_when_the_window_is_full_first_it_waits_for_it(story, play, worked):
    """Results of 300 tokens: it takes one call from four fifths to more than there is."""
    sizes = {f"r{n}": 1200 for n in range(3, 60, 2)}
    strategy = BackgroundCompaction(ready_after=9)
    steps = play(story(TURN, sizes=sizes), strategy, window=5000).steps
    put = [step.compaction for step in steps].index(True)
    assert not any(step.overflow for step in steps)
    assert put < [bool(step.side) for step in steps].index(True) + 9


def test_with_nothing_prepared_it_asks_and_waits(worked):
    """At once from half to all of the window: the summary is made and put in at the same call."""
    prompts = worked("uaua", window=330)
    assert prompts[-1] == "summary-1 u3"


def test_at_the_first_call_of_a_turn_the_cache_may_be_cold(story, play):
    """Between 80 and 90 % it waits for the second; above that it does not."""
    trace = play(story("ua" * 30), BackgroundCompaction(), window=5000)
    before = trace.steps[asked(trace)].usage.prompt
    assert before + 120 >= COLD * 5000
    warm = play(story("ua" * 30), BackgroundCompaction(cold_trigger=0.8), window=5000)
    assert asked(warm) < asked(trace)


def test_who_prepares_in_time_lets_nobody_wait(story, play):
    beside, blocking = (
        [call.waits for step in play(story(TURN), each, window=5000).steps for call in step.side]
        for each in (BackgroundCompaction(), BackgroundCompaction(trigger=0.99, blocking=0.5))
    )
    assert beside
    assert blocking
    assert not any(beside)
    assert all(blocking)


def test_what_the_user_has_just_said_stays(worked):
    prompts = worked("ua" * 30, BackgroundCompaction(ready_after=0))
    first = next(prompt for prompt in prompts if "summary-1" in prompt)
    assert first.split()[1].startswith("u")


def test_prepared_early_and_put_in_late_it_keeps_a_long_tail(worked):
    """The stale precompute of anthropics/claude-code issue 70459."""
    early = BackgroundCompaction(trigger=0.3, place="full")
    ready = BackgroundCompaction(trigger=0.3)
    tails = [
        len(next(p for p in worked(TURN, each) if "summary-1" in p).split())
        for each in (ready, early)
    ]
    assert tails == [7, 31]


def test_a_rewind_behind_what_it_stands_for_makes_it_worthless(story, sent):
    told = story("u" + "cr" * 19 + "<5" + "cr" * 24 + "a")
    prompts = sent(told, BackgroundCompaction(), window=5000)
    first = next(prompt for prompt in prompts if "summary-1" in prompt)
    assert int(first.split()[1][1:]) > 60, "it was asked for anew"


def test_a_result_that_comes_late_goes_with_its_call(worked):
    """It had not come when the summary was asked for; alone behind it, it would have no call."""
    script = "u" + "cr" * 6 + "c2rm" + "cr" * 6
    for prompt in worked(script, BackgroundCompaction(trigger=0.7, cold_trigger=0.7)):
        ids = prompt.split()
        assert "r17" not in ids or "c14" in ids


@settings(max_examples=30)
@given(st.data())
def test_everything_is_in_the_prompt_or_in_its_summary(conversations, play, data):
    """Whatever happens between asking and putting in, nothing falls between the two."""
    strategy = BackgroundCompaction(
        trigger=data.draw(st.sampled_from([300, 1500])),
        blocking=data.draw(st.sampled_from([None, 3000])),
        ready_after=data.draw(st.integers(0, 4)),
        place=data.draw(st.sampled_from(["ready", "full"])),
    )
    trace = play(data.draw(conversations), strategy)
    for step, prompt in zip(trace.steps, trace.prompts(), strict=True):
        there = {source.id for m in prompt for part in m.parts for source in part.sources}
        assert {message.id for message in step.log} <= there


def test_where_nothing_would_be_gained_it_does_not_act(moment):
    now = moment("uu", size=20, window=100)
    assert BackgroundCompaction(trigger=1).compact(now.view, now.host) is now.view


def test_copilot_cli_is_one_that_starts_in_a_new_turn_as_in_any_call():
    assert CopilotCli().parts == (BackgroundCompaction(0.8, 0.8, 0.95),)
    assert CopilotCli(trigger=0.95).parts == (BackgroundCompaction(0.95, 0.95, 0.95),)
