"""The words of the user stay, a summary of all the rest comes last: Codex CLI's."""

import pytest
from inline_snapshot import snapshot

from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.view import Phase
from compactlab.strategies import UserWords
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.catalogue import find_summarizer
from tests.lines import refusal


@pytest.fixture
def story(tell):
    """Messages of 110 tokens each. It is time at nine tenths of the window."""
    return lambda script, **more: tell(script, size=400, **more)


def test_all_results_are_gone_with_their_calls(story, play):
    trace = play(story("ua ucrcrcrcra ua"), UserWords(), window=1000)
    for step, prompt in zip(trace.steps, trace.prompts(), strict=True):
        if step.compaction:
            assert {message.role for message in prompt} == {"user"}


def test_the_oldest_message_that_is_kept_loses_its_middle(story, play):
    """100 tokens each by four bytes to one; 150 are kept."""
    trace = play(story("ua" * 5), UserWords(user_tokens=150), window=1000)
    first = [*trace.prompts()][-1][0]
    (part,) = first.parts
    assert (first.id, part.kind) == ("u5", "truncated")
    assert [(s.start, s.end) for s in part.sources] == [(0, 100), (300, 400)]
    assert part.text[100:-100] == "…50 tokens left out…"


def test_the_next_summary_carries_the_last_one_on(story, play):
    trace = play(story("u" + "cr" * 11 + "a"), UserWords(trigger=1000), window=2000)
    told = [p[-1].parts[-1].text for p in trace.prompts() if p[-1].id.startswith("summary")]
    assert told == ["notes on 11 messages", "notes on 19 messages"]


def test_the_request_reads_the_cache_only_if_it_carries_the_tools(tell, play):
    """It does not: openai/codex issue 37305."""
    told = tell("ua" * 8, size=4000, system=2000)
    usages = [
        next(c for step in play(told, UserWords(**more), window=10_000).steps for c in step.side)
        for more in ({}, {"tools": True})
    ]
    without, with_tools = (call.usage for call in usages)
    assert without.cache_read == 0
    assert with_tools.cache_read > with_tools.prompt / 2
    assert abs(without.prompt - with_tools.prompt) < 10


def test_when_a_prompt_is_too_large_the_request_leaves_out_the_oldest(story, play, sent):
    told = story("uaua ucra", sizes={"r7": 3000})
    (last, prompt) = (
        play(told, UserWords(), window=1300).steps[-1],
        sent(told, UserWords(), window=1300)[-1],
    )
    assert (prompt, last.overflow) == ("u1 u3 u5 summary-1", False)
    assert last.side[0].usage.prompt <= 1300


def test_where_nothing_would_be_gained_it_does_not_act(moment):
    now = moment("muu", size=20, window=100)
    now.host.phase = Phase.ON_OVERFLOW
    assert UserWords().compact(now.view, now.host) is now.view


@pytest.mark.parametrize("summarizer", ["empty", "failed"])
def test_it_believes_any_summary(summarizer, story, sent):
    summarizer = find_summarizer(summarizer)
    prompts = sent(story("ua" * 5), UserWords(), window=1000, summarizer=summarizer)
    assert prompts[-1] == "u3 u5 u7 summary-1 u9"


def test_what_makes_no_sense_is_refused():
    assert refusal(UsageError, lambda: find_strategy("user_words(user_tokens=-1)")) == snapshot(
        "user_words: user_tokens must be at least 0, not -1"
    )
