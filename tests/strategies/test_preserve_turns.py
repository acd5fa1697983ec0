"""A summary that ends with the last turns of what it replaces."""

from dataclasses import replace

import pytest

from compactlab.strategies import PreserveTurns

# In a window of 2000 tokens it acts beyond 1000 and keeps a tail of 400.
SMALL = PreserveTurns(1, reserve_tokens=1000, reserve_tokens_floor=0, keep_recent_tokens=400)


@pytest.fixture
def summaries(tell, play):
    """What the summaries say of a story of messages of 100 estimated tokens each."""

    def of(script: str = "ua" * 6, strategy: PreserveTurns = SMALL, **more):
        steps = play(tell(script, **{"size": 400, **more}), strategy, window=2000).steps
        firsts = [step.added[0].parts[1:-1] for step in steps if step.rewrite]
        return ["".join(part.text for part in parts) for parts in firsts]

    return of


def test_the_last_turn_of_what_is_summarised_stands_behind_the_summary(summaries):
    (said,) = summaries()
    assert said.startswith("notes on 4 messages\n\n## Recent turns preserved verbatim\n- User: u5")
    assert "\n- Assistant: a6 says:" in said


def test_long_words_are_cut(summaries):
    (said,) = summaries(sizes={"a6": 800})
    line = next(line for line in said.split("\n") if line.startswith("- Assistant"))
    assert len(line) == len("- Assistant: ") + 600 + 3


def test_without_turns_it_is_a_summary_and_nothing_else(summaries):
    assert summaries(strategy=replace(SMALL, recent_turns_preserve=0)) == ["notes on 6 messages"]
