"""The summary stands behind the oldest messages, which stay where they are and in the cache."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.replay.replay import Options, record
from compactlab.strategies import SummaryBehind
from compactlab.strategies.summarizers.catalogue import find_summarizer
from compactlab.strategies.summary_behind import whole_front
from tests.strategies.conftest import NoteTaker


@pytest.fixture
def story(tell):
    """Messages of 110 tokens each; the window has 2,000, and it is time at 1,600."""
    return lambda script, **more: tell(script, size=400, **more)


def strategy(**more):
    """Two messages in front, three at the end."""
    return SummaryBehind(**{"front_tokens": 250, "tail_tokens": 350, **more})


@pytest.fixture
def worked(story, sent):
    return lambda script, **more: sent(story(script), strategy(**more), window=2000)


CHAT = "ua" * 16


def first(prompts):
    return next(prompt for prompt in prompts if "summary-1" in prompt)


@pytest.mark.parametrize(
    ("order", "prompt"),
    [
        ("behind", "u1 a2 summary-1 u13 a14 u15"),
        ("front", "summary-1 u1 a2 u13 a14 u15"),
        ("last", "u1 a2 u13 a14 summary-1 u15"),
    ],
)
def test_the_order_is_front_summary_tail_or_another(order, prompt, worked):
    assert first(worked(CHAT, order=order)) == prompt


@pytest.mark.parametrize("order", ["behind", "front", "last"])
def test_at_the_next_time_front_and_last_summary_are_carried_on(order, story, play):
    trace = play(story(CHAT), strategy(order=order), window=2000)
    last = [*trace.prompts()][-1]
    (told,) = [message for message in last if message.id == "summary-2"]
    assert [message.id for message in last if message.id in ("u1", "a2")] == ["u1", "a2"]
    assert "summary-1" not in [message.id for message in last]
    assert told.parts[-1].text == "notes on 20 messages", "those between, the first time's too"


def test_what_the_client_puts_in_front_belongs_to_the_front_however_large(story, sent):
    told = story("mmm" + CHAT)
    assert first(sent(told, strategy(), window=2000)).startswith("m1 m2 m3 summary-1")


def test_a_summary_never_becomes_a_part_of_the_front(story, play):
    """The first message is too large for the front, so there is none."""
    trace = play(story(CHAT + CHAT), strategy(front_tokens=10), window=2000)
    last = [message.id for message in [*trace.prompts()][-1]]
    assert [id for id in last if "summary" in id] == last[:1] != ["summary-1"]


def test_no_call_is_in_the_front_without_its_result(story, sent):
    told = story("ucr" + "cr" * 12)
    assert first(sent(told, strategy(), window=2000)).split()[:2] == ["u1", "summary-1"]


def read_after(trace):
    """Tokens read at each call that comes after a compaction, and those written."""
    steps = [step for step in trace.steps if step.compaction]
    return [(step.usage.cache_read, step.usage.prompt - step.usage.cache_read) for step in steps]


def test_only_marked_does_the_front_stay_in_the_cache(tell, play):
    """The order alone changes nothing: its entries have not been read for minutes."""
    told = tell("u" + "cr" * 120 + "a", size=1600, system=3000, gap=40.0)
    how = {"front_tokens": 4500, "tail_tokens": 9000, "trigger": 30_000}
    read = {
        name: read_after(play(told, SummaryBehind(**how, **more)))
        for name, more in {
            "marked": {},
            "not": {"mark": False},
            "first": {"order": "front"},
            "last": {"order": "last"},
        }.items()
    }
    assert len(read["marked"]) > 2
    assert read["not"] == read["first"], "no token is read for standing further in front"
    for marked, behind, other in zip(read["marked"], read["last"], read["first"], strict=True):
        assert marked[0] == behind[0] > other[0] + 3000
        assert sum(marked) == pytest.approx(sum(other), abs=5)


@pytest.mark.parametrize("mark", [True, False])
def test_where_any_beginning_is_read_no_mark_is_needed(mark, tell):
    told = tell("u" + "cr" * 120 + "a", size=1600, system=3000)
    how = {"front_tokens": 4500, "tail_tokens": 9000, "trigger": 30_000}
    options = Options("gpt-5-5", NoteTaker())
    behind, first = (
        read_after(record(told, SummaryBehind(**how, **more), options))
        for more in ({"mark": mark}, {"order": "front"})
    )
    for (read, _), (less, _) in zip(behind, first, strict=True):
        assert read > less + 3000


@pytest.mark.parametrize(("trigger", "calls"), [(0.4, 5), (800, 5), (None, 8)])
def test_it_is_time_at_four_fifths_or_when_one_says(trigger, calls, worked):
    prompts = worked(CHAT, trigger=trigger)
    assert ["summary-1" in prompt for prompt in prompts].index(True) == calls - 1


def test_a_rewind_into_the_front_begins_a_new_one(story, sent):
    told = story("ua" * 9 + "<1" + "a" + "ua" * 9)  # the last messages are a19, u20, ...
    prompts = sent(told, strategy(), window=2000)
    assert prompts[-1].split()[:2] == ["u1", "a19"]


def test_an_empty_summary_changes_nothing(story, sent):
    told, writer = story("ua" * 9), find_summarizer("empty")
    assert "summary" not in sent(told, strategy(), window=2000, summarizer=writer)[-1]


@given(st.data(), st.integers(0, 30))
def test_no_result_is_parted_from_its_call(conversations, data, stop):
    messages = list(data.draw(conversations).messages)
    stop = min(stop, len(messages))
    whole = whole_front(messages, stop)
    assert whole <= stop
    calls = {p.call_id for m in messages[:whole] for p in m.parts if p.type == "tool_call"}
    behind = {p.call_id for m in messages[stop:] if m.role == "tool" for p in m.parts}
    assert not calls & behind
