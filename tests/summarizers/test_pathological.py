"""Summarisers that do it wrong, each in its own way."""

from itertools import pairwise

import pytest

from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.message import Part, Source, frame
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.summarizers.catalogue import SUMMARIZERS, find_summarizer
from compactlab.strategies.summarizers.controls import Empty, Failed, Inflating
from tests.told import said

TOLD = (said("u1", "Use tabs."), said("a2", "I will.", "assistant"))
BEFORE = (frame("lead"), Part("text", "Older notes.", "summary", (Source("u0"),)))


def request(max_tokens: int = 100, **more) -> SummaryRequest:
    return SummaryRequest(TOLD, max_tokens, **more)


@pytest.mark.parametrize("name", SUMMARIZERS)
def test_each_is_found_by_its_name(name):
    assert find_summarizer(name).spec.startswith(f"{name}(")


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(UsageError, match="inflating"):
        find_summarizer("inflatin")


def test_the_empty_one_says_nothing():
    assert Empty().summarize(request(), len) == ()


@pytest.mark.parametrize("budget", [1, 100, 5000])
def test_the_inflating_one_says_more_than_it_was_given_and_more_than_it_may(budget):
    parts = Inflating().summarize(request(budget, previous=BEFORE), len)
    length = sum(len(part.text) for part in parts)
    assert length > max(budget, len("Use tabs.I will.Older notes."))
    assert [part.text for part in parts[:3]] == ["Older notes.", "Use tabs.", "I will."]
    assert [part.sources[0].id for part in parts] == ["u0", "u1", "a2", "a2"]


def test_it_grows_by_as_much_every_time_and_not_by_more():
    """Or a session of a thousand calls would never end."""
    lengths, previous = [], ()
    for _ in range(4):
        previous = Inflating().summarize(request(10, previous=previous), len)
        lengths.append(sum(len(part.text) for part in previous))
    steps = [two - one for one, two in pairwise(lengths)]
    assert len(set(steps)) == 1


def test_the_failed_one_answers_the_last_message_alone():
    (part,) = Failed().summarize(request(previous=BEFORE), len)
    assert part.text.endswith("I will.")
    assert [source.id for source in part.sources] == ["a2"]
    assert len(Failed().summarize(request(45), len)[0].text) <= 45


@pytest.mark.parametrize("summarizer", [Inflating(), Failed()])
def test_of_nothing_they_make_nothing(summarizer):
    assert summarizer.summarize(SummaryRequest((), 100), len) == ()
