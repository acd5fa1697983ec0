"""A summary is prepared in the background and awaited when the window is full: Copilot CLI's."""

import pytest

from compactlab.sim.core.errors import UsageError
from compactlab.strategies import BackgroundCompaction, CopilotCli
from compactlab.strategies.catalogue import find_strategy


def test_it_is_background_compaction_that_starts_in_a_new_turn_as_in_any_call():
    assert CopilotCli().parts == (BackgroundCompaction(0.8, 0.8, 0.95),)
    assert CopilotCli(trigger=0.95).parts == (BackgroundCompaction(0.95, 0.95, 0.95),)


def test_what_came_while_it_was_prepared_stands_behind_the_summary(tell, play, sent):
    story = tell("ua" * 24, size=800)
    steps = play(story, CopilotCli(trigger=3000), window=20_000).steps
    asked = next(n for n, step in enumerate(steps) if step.side)
    put = next(n for n, step in enumerate(steps) if step.compaction)
    assert put > asked
    prompt = sent(story, CopilotCli(trigger=3000), window=20_000)[put].split()
    assert prompt[0] == "summary-1"
    assert len(prompt) > 2


@pytest.mark.parametrize("wrong", ["trigger=0", "blocking=-1"])
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(UsageError, match=wrong.partition("=")[0]):
        find_strategy(f"copilot_cli({wrong})")
