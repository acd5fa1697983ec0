"""The provider's own compaction: a block in front of the answer, and nothing before it."""

import pytest

from compactlab.sim.core.errors import UsageError
from compactlab.sim.metrics.context import structural_validity
from compactlab.sim.metrics.run_data import RunData
from compactlab.strategies import ServerCompaction
from compactlab.strategies.catalogue import find_strategy

SMALL = ServerCompaction(trigger=50_000)


@pytest.fixture
def story(tell):
    """Messages of 11,000 tokens each: the fifth is beyond the trigger."""
    return lambda script, **more: tell(script, size=40_000, **more)


def test_the_block_is_the_agents(story, play):
    (message,) = play(story("ua" * 3), SMALL).steps[-1].added
    assert message.role == "assistant"
    assert [(part.kind, part.text) for part in message.parts] == [
        ("summary", "notes on 5 messages")
    ]


def test_a_prompt_may_begin_with_it(story, play):
    """The provider drops what was before the block on its own."""
    told = story("ua" * 4)
    assert structural_validity(RunData(play(told, SMALL), told)) == 1.0


def test_the_pass_is_billed_by_itself_and_reads_the_cache(story, play):
    step = play(story("ua" * 3, system=3000), SMALL).steps[-1]
    (call,) = step.side
    assert call.usage.prompt > 50_000
    assert call.usage.cache_read > call.usage.prompt / 2
    assert step.usage.prompt < 5000


def test_its_instructions_are_billed(story, play):
    told = ServerCompaction(trigger=50_000, instructions="all of it " * 1000)
    calls = [play(story("ua" * 3), s).steps[-1].side[0].usage.prompt for s in (told, SMALL)]
    assert calls[0] > calls[1] + 2000


def test_of_an_opaque_block_nobody_knows_more_than_its_size(story, play):
    trace = play(story("ua" * 3), ServerCompaction(trigger=50_000, opaque=True))
    (part,) = [*trace.prompts()][-1][0].parts
    assert (part.kind, part.text, part.name) == ("opaque", "", "compaction")
    assert part.size == 5
    assert [source.id for source in part.sources] == ["u1", "a2", "u3", "a4", "u5"]


def test_below_the_least_trigger_it_is_refused():
    with pytest.raises(
        UsageError,
        match="trigger must be at least 50000 tokens, or a share of the window, not 49999",
    ):
        find_strategy("server_compaction(trigger=49999)")
