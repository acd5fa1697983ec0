"""A summary that ends with the last turns of what it replaces."""

from dataclasses import replace

import pytest

from compactlab.sim.core.errors import UsageError
from compactlab.strategies import AutoCompact, PreserveTurns
from compactlab.strategies.catalogue import find_strategy

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


def test_what_a_compaction_had_kept_is_lost_by_the_next(tell, sent):
    """OpenClaw had pi 0.58.0 then."""
    assert sent(tell("ua" * 9, size=400), SMALL, window=2000)[-1] == "summary-2 u13 a14 u15 a16 u17"


def test_where_nothing_can_be_cut_off_it_does_not_compact(tell, play):
    """pi alone asks for a summary of nothing, and puts it in front of everything."""
    told = tell("ua" * 7, size=400)
    large = replace(SMALL, keep_recent_tokens=9000)
    alone = AutoCompact(1000, 0, 9000)
    asked = [
        sum(len(step.side) for step in play(told, each, window=2000).steps)
        for each in (large, alone)
    ]
    assert asked[0] == 0 < asked[1]


@pytest.mark.parametrize(
    "wrong",
    [
        "recent_turns_preserve=13",
        "recent_turns_preserve=-1",
        "max_history_share=0",
        "reserve_tokens=-1",
    ],
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(UsageError, match=wrong.partition("=")[0]):
        find_strategy(f"preserve_turns({wrong})")
