"""Old outputs are erased between turns; when the window fills, a summary and a tail: OpenCode's."""

import pytest

from compactlab.sim.models.model import find_model
from compactlab.sim.replay.host import Host
from compactlab.strategies import PruneThenSummarize
from compactlab.strategies.opencode import usable
from compactlab.strategies.summarizers.catalogue import find_summarizer

SMALL = PruneThenSummarize(protect_tokens=100, minimum_tokens=150, preserve_recent_tokens=300)


@pytest.fixture
def story(tell):
    """Messages of 110 tokens each; outputs are estimated at 100."""
    return lambda script, **more: tell(script, size=400, **more)


def erased(prompt):
    return [m.id for m in prompt if any(part.kind == "stub" for part in m.parts)]


def test_the_summary_is_the_agents(story, play):
    step = play(story("ua" * 6), SMALL, window=1333).steps[-1]
    question, answer, *_, last = step.added
    assert [(m.role, m.meta) for m in (question, answer, last)] == [
        ("user", True),
        ("assistant", True),
        ("user", True),
    ]
    assert [part.kind for part in answer.parts] == ["summary"]


def test_it_goes_by_what_was_reported_alone_and_a_stale_report_counts_for_nothing(story, play):
    steps = play(story("ua" * 14), SMALL, window=1333).steps
    acted = [step.compaction for step in steps]
    assert [n for n, did in enumerate(acted) if did] == [5, 9, 13]
    assert [len(step.side) for step in steps] == [int(did) for did in acted]


def test_the_next_summary_carries_the_last_one_on_and_nothing_of_its_frame(story, play):
    steps = play(story("ua" * 14), SMALL, window=1333).steps
    told = [step.added[1].parts[0].text for step in steps if step.compaction]
    assert told == ["notes on 9 messages", "notes on 17 messages", "notes on 25 messages"]


def test_a_prompt_that_is_too_large_costs_the_turn_that_is_under_way(story, sent, play):
    """As in the original: what was done since the user spoke is neither kept nor summarised."""
    told = story("uaua ucr a", sizes={"r7": 9000})
    assert sent(told, SMALL, window=1333)[-1] == "summary-1/question summary-1 u3 a4 u5"
    step = play(told, SMALL, window=1333).steps[-1]
    assert step.added[1].parts[0].text == "notes on 2 messages"


def test_a_request_on_the_live_prompt_reads_the_cache(tell, play):
    told = tell("ua" * 18, size=4000, system=2000)
    usages = [
        next(
            call
            for step in play(told, PruneThenSummarize(rides=rides), window=32_000).steps
            for call in step.side
        ).usage
        for rides in ("live", "fresh")
    ]
    assert usages[0].cache_read > usages[0].prompt / 2
    assert usages[1].cache_read == 0


def test_a_live_request_that_would_not_fit_is_made_afresh(story, play):
    trace = play(story("ua" * 6), PruneThenSummarize(rides="live"), window=1333)
    assert [call.usage.cache_read for call in trace.steps[-1].side] == [0]


def test_a_summary_that_is_too_long_fills_the_window_again_and_again(story, play):
    steps = play(
        story("ua" * 10), SMALL, window=1333, summarizer=find_summarizer("inflating")
    ).steps
    assert all(step.overflow for step in steps[5:])
    assert all(step.side for step in steps[5:])


@pytest.mark.parametrize(
    ("model", "window", "tokens"),
    [
        ("claude-sonnet-4-5", None, 168_000),  # the window less an answer, and no buffer
        ("gpt-5-2", None, 252_000),  # 400,000 less 128,000 for the answer, less the buffer
        ("gpt-5-3-codex-spark", None, 96_000),  # no limit for the prompt alone is known
        ("gpt-5-2", 100_000, 75_000),  # narrowed: an answer takes a quarter
    ],
)
def test_a_buffer_is_left_only_where_the_prompt_has_a_limit_of_its_own(model, window, tokens):
    assert usable(Host(find_model(model).narrowed(window))) == tokens
