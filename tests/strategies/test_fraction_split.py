"""The older part by characters gives way to a summary that is checked: Gemini CLI's."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from compactlab.sim.core.message import Part
from compactlab.sim.replay.summarize import Summarizer, SummaryRequest
from compactlab.strategies import FractionSplit


@pytest.fixture
def story(tell):
    """Messages of 110 tokens each. Half of a window of 2000 is reached by the tenth."""
    return lambda script, **more: tell(script, size=400, **more)


def test_two_requests_are_made_and_the_second_holds_the_first_answer(story, play):
    one, two = next(s.side for s in play(story("ua" * 8), FractionSplit(), window=2000).steps[6:])
    assert {one.purpose, two.purpose} == {"summary"}
    assert one.usage.prompt > 1100
    alone = play(story("ua" * 8), FractionSplit(verify=False), window=2000).steps
    assert [len(step.side) for step in alone if step.side] == [1]


def test_the_requests_have_a_system_prompt_of_their_own_and_read_no_cache(tell, play):
    steps = play(tell("ua" * 8, size=4000, system=2000), FractionSplit(), window=20_000).steps
    first = next(call for step in steps for call in step.side)
    assert first.usage.cache_read == 0


def test_the_next_summary_carries_the_last_one_on(story, play):
    steps = play(story("ua" * 14), FractionSplit(), window=2000).steps
    told = [step.added[0].parts[0].text for step in steps if step.compaction]
    assert told == ["notes on 10 messages", "notes on 18 messages"]


def test_old_outputs_that_are_long_lose_their_middle_before_the_cut(story, play):
    told = story("ua ucra ua", sizes={"u1": 20_000, "r5": 50_000})
    trace = play(told, FractionSplit(output_budget=100, preserve=0.9), window=30_000)
    prompt = [*trace.prompts()][-1]
    names = [message.id for message in prompt]
    assert names == ["summary-1", "summary-1/answer", "u3", "c4", "r5", "a6", "u7"]
    (part,) = prompt[4].parts
    assert (part.kind, part.handle) == ("truncated", "tool-outputs/r5-0.txt")
    assert [(s.start, s.end) for s in part.sources] == [(0, 8000), (18_000, 50_000)]


@dataclass(frozen=True)
class SaysItTwice(Summarizer):
    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        parts = [p for message in request.messages for p in message.parts if p.sources]
        return tuple(Part("text", p.text, "summary", p.sources) for p in (*parts, *parts))


def test_and_so_is_one_that_is_smaller_than_the_last_prompt_for_its_system_prompt_alone(tell, play):
    """What was reported has a system prompt in it that the estimate of a history has not."""
    told = tell("ua" * 9, size=400, system=20_000)
    strategy = FractionSplit(verify=False)
    steps = play(told, strategy, window=42_000, summarizer=SaysItTwice()).steps
    assert not any(step.compaction for step in steps)
    assert sum(len(step.side) for step in steps) == 1
