"""For one turn after a compaction the last messages are shown once more, at a price."""

import pytest

from compactlab.strategies import ContextRecovery
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.context_recovery import HEADING

AUTO = "auto_compact(reserve_tokens=1000, keep_recent_tokens=400)"
RECOVERING = find_strategy(f"{AUTO} + context_recovery(messages=3, chars=40)")


@pytest.fixture
def story(tell):
    """Messages of 100 estimated tokens; the second call of the sixth turn finds them too many."""
    return lambda script="ua" * 8, **more: tell(script, size=400, **more)


@pytest.fixture
def blocks(play):
    """The system parts of every prompt."""

    def of(conversation, strategy=RECOVERING):
        return [step.system for step in play(conversation, strategy, window=2000).steps]

    return of


def test_alone_it_does_nothing(story, blocks):
    assert set(blocks(story(), ContextRecovery())) == {()}


def test_the_turn_of_the_compaction_has_the_block_and_the_next_has_not(story, blocks):
    shown = [bool(system) for system in blocks(story())]
    assert shown == [False] * 5 + [True, False, False]


def test_the_block_quotes_the_last_that_was_said_before_the_prompt(story, blocks):
    heading, *quotes = blocks(story())[5]
    assert (heading.text, heading.kind) == (HEADING, "synthetic")
    assert [part.sources[0].id for part in quotes] == ["a8", "u9", "a10"]
    assert [part.text.split(" says")[0] for part in quotes] == [
        "**Assistant:** a8", "**User:** u9", "**Assistant:** a10"
    ]  # fmt: skip
    assert {part.kind for part in quotes} == {"recovered"}


def test_long_messages_are_cut_and_say_so(story, blocks):
    short = find_strategy(f"{AUTO} + context_recovery(messages=1, chars=10)")
    _, quote = blocks(story(), short)[5]
    assert quote.text == "**Assistant:** a10 says: ..."
    assert (quote.sources[0].start, quote.sources[0].end) == (0, 10)


def test_it_stays_for_all_calls_of_its_turn(story, blocks):
    shown = [bool(system) for system in blocks(story("ua" * 5 + "ucra" + "ua"))]
    assert shown == [False] * 5 + [True, True, False]


def test_a_large_block_brings_the_next_compaction_on(story, play):
    acted = []
    for chars in (40, 400):
        strategy = find_strategy(f"{AUTO} + context_recovery(messages=3, chars={chars})")
        steps = play(story(), strategy, window=2000).steps
        acted.append(sum(step.compaction for step in steps))
    assert acted[0] == 1 < acted[1]


def test_tools_and_what_no_person_typed_are_not_quoted(story, blocks):
    _, *quotes = blocks(story("ua" * 3 + "ucrm" + "a" + "ua"))[-1]
    assert [part.sources[0].id for part in quotes] == ["a6", "u7", "a11"]


def test_it_goes_before_the_system_prompt_that_there_is(story, blocks):
    last = next(system for system in blocks(story(system=100)) if len(system) > 1)
    assert [part.kind for part in last] == ["synthetic", *["recovered"] * 3, "opaque"]


def test_no_messages_is_no_block(story, blocks):
    assert set(blocks(story(), find_strategy(f"{AUTO} + context_recovery(messages=0)"))) == {()}


def test_a_rewind_to_before_the_compaction_takes_the_block_back(story, blocks):
    told = story("ua" * 6 + "<4" + "ua")
    assert [bool(system) for system in blocks(told)][-2:] == [True, False]


@pytest.mark.parametrize("messages", [-1, 51])
def test_it_shows_up_to_fifty_messages(messages):
    with pytest.raises(ValueError, match=f"messages must be between 0 and 50, not {messages}"):
        ContextRecovery(messages=messages)
