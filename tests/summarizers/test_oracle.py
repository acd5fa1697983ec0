"""The oracle says what later calls need, and nothing else."""

import pytest

from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.tokens import chars4
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.summarizers.controls import Oracle
from tests.summarizers.story import Story


def zoo() -> Story:
    """Five facts; later calls need the fourth, the second, and the fourth again."""
    story = Story()
    facts = [story.state(f"animal {n}", f"value-{n}", ("is", "must_not")[n % 2]) for n in range(5)]
    for number in (3, 1, 3):
        story.need(facts[number])
    return story


def said(story: Story, first: int, last: int, budget: int = 100, previous: tuple = ()) -> list[str]:  # type: ignore[type-arg]
    told = story.told()
    request = SummaryRequest(told.messages[first:last], budget, previous)
    return [part.text for part in Oracle().bound(told, 0).summarize(request, chars4)]


def test_it_says_what_is_needed_in_the_order_in_which_it_was_said():
    assert said(zoo(), 0, 5) == ["animal 1 (must not): value-1", "animal 3 (must not): value-3"]


def test_what_was_needed_only_before_is_gone():
    assert said(zoo(), 0, 7) == ["animal 3 (must not): value-3"]
    assert said(zoo(), 0, 8) == []


def test_what_it_was_not_told_it_does_not_know():
    assert said(zoo(), 2, 5) == ["animal 3 (must not): value-3"]


def test_where_room_is_scarce_the_soonest_need_comes_first():
    assert said(zoo(), 0, 5, budget=7) == ["animal 3 (must not): value-3"]
    assert said(zoo(), 0, 5, budget=6) == []


def test_it_carries_its_own_words_on():
    told = zoo().told()
    oracle = Oracle().bound(told, 0)
    first = oracle.summarize(SummaryRequest(told.messages[:5], 100), chars4)
    assert oracle.summarize(SummaryRequest((), 100, first), chars4) == first


def test_a_value_that_was_replaced_is_not_said():
    story = Story()
    old = story.state("port", "8123")
    new = story.state("port", "9456", supersedes=(old.id,))
    story.need(new)
    assert said(story, 0, 2) == ["port: 9456"]


def test_it_must_know_the_conversation():
    with pytest.raises(UsageError, match="bind"):
        Oracle().summarize(SummaryRequest((), 100), len)
