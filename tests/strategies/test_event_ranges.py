"""Ranges of turns give way to summaries that overlap, or to one that carries the last on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.message import Message, Part, Source
from compactlab.strategies import EventRanges
from compactlab.strategies.adk import (
    Event,
    Range,
    by_interval,
    by_tokens,
    chars_of,
    content_of,
    effective,
    events_of,
    self_contained,
    size_of,
    surviving,
)

OFF = {"compaction_interval": 0}


@pytest.fixture
def story(tell):
    """Messages of 110 tokens each."""
    return lambda script, **more: tell(script, size=400, **more)


def test_the_turns_of_the_overlap_are_summarised_twice(story, play):
    trace = play(story("ua" * 7), EventRanges(compaction_interval=3, overlap_size=1))
    *_, last = trace.prompts()
    ids = [{s.id for part in m.parts for s in part.sources} for m in last[:2]]
    assert ids[0] & ids[1] == {"u5", "a6"}


def test_the_next_one_carries_the_last_summary_on_and_supersedes_it(story, play):
    early = EventRanges(**OFF, trigger=1000, event_retention_size=3)
    trace = play(story("u" + "cr" * 20 + "a"), early)
    made = [p[0] for p in trace.prompts() if p[0].id.startswith("range")]
    assert {m.id for m in made} >= {"range-1", "range-2", "range-3"}
    assert all(sum(m.id.startswith("range") for m in p) <= 1 for p in trace.prompts())
    sources = {m.id: {s.id for part in m.parts for s in part.sources} for m in made}
    assert sources["range-1"] < sources["range-2"] < sources["range-3"]


def test_a_range_that_saves_less_than_the_last_summary_took_is_not_worth_it():
    events = [Event(float(n), f"t{n}", size=50) for n in range(1, 7)]
    made = [Range(1.0, 3.0, 100)]
    assert by_interval(events, made, 3, 0) is not None
    assert by_interval(events, [Range(1.0, 3.0, 130)], 3, 0) is None


def test_a_call_that_nobody_answers_blocks_only_its_own_turn():
    call = Event(2.0, "t1", frozenset("c"), size=50)
    events = [Event(1.0, "t1", size=50), call, Event(3.0, "t2", size=50), Event(4.0, "t3", size=50)]
    assert self_contained(events, events) == events
    assert self_contained(events[:2], events[:2]) == events[:1]


def test_a_result_that_is_kept_keeps_its_call():
    none = frozenset[str]()
    events = [
        Event(1.0, "t", size=500),
        Event(2.0, "t", frozenset("c"), size=50),
        Event(3.0, "t", none, frozenset("c"), 50),
        Event(4.0, "t", size=50),
    ]
    chosen = by_tokens(events, [], 2)
    assert chosen is not None
    assert [event.time for event in chosen.events] == [1.0]


bounds = st.tuples(st.integers(1, 12), st.integers(1, 12)).map(sorted)


@given(st.lists(bounds, max_size=8))
def test_a_range_survives_if_no_other_holds_it(drawn):
    """Of equal ones the last; counted out by comparing each with each."""
    ranges = [Range(float(a), float(b)) for a, b in drawn]

    def holds(m, n):
        if ranges[m] == ranges[n]:
            return m > n
        return ranges[m].start <= ranges[n].start and ranges[n].end <= ranges[m].end

    kept = [n for n in range(len(ranges)) if not any(holds(m, n) for m in range(len(ranges)))]
    assert surviving(ranges) == kept


@given(st.lists(bounds, max_size=6), st.integers(0, 12))
def test_a_prompt_shows_summaries_and_what_lies_in_no_range(drawn, count):
    ranges = [Range(float(a), float(b)) for a, b in drawn]
    events = [Event(float(n), "t") for n in range(1, count + 1)]
    shown = effective(events, ranges)
    kept = [ranges[n] for n in surviving(ranges)]
    outside = [e for e in events if not any(r.start <= e.time <= r.end for r in ranges)]
    assert [each for each in shown if isinstance(each, Event)] == outside
    assert sorted(each for each in shown if isinstance(each, Range)) == sorted(kept)


def part(type, text, **more):
    return Part(type, text, "verbatim", (Source("m"),), **more)


def call(text, name, id="c1"):
    return part("tool_call", text, name=name, call_id=id)


def result(text, name="", **more):
    return part("tool_result", text, name=name, call_id="c1", **more)


@pytest.mark.parametrize(
    ("role", "parts", "size", "chars"),
    [
        ("user", [part("text", 'Gr\xfc\xdfe,\n"you"')], 52, 12),
        ("user", [part("text", "", size=5)], 57, 20),
        ("assistant", [part("thinking", "hm"), part("text", "ok")], 69, 4),
        ("assistant", [part("thinking", "hm")], 55, 0),
        ("assistant", [call('{"path":"a.py", "line": 1}', "read")], 102, 31),
        ("assistant", [call("{}", "now")], 79, 3),
        ("assistant", [call("*** patch", "apply", "")], 94, 31),
        ("tool", [result("\xe9\n\t1", "read")], 104, 29),
        ("tool", [result("no", is_error=True)], 95, 15),
        ("tool", [part("image", "", size=10)], 117, 0),
    ],
)
def test_sizes_are_those_of_the_kits_own_functions(role, parts, size, chars):
    """What google-adk 2.13.0 says of the same contents; thoughts alone it shows in no prompt."""
    content = content_of(role, parts)
    assert (size_of(content), chars_of(content)) == (size, chars)


def test_calls_without_an_id_are_left_out():
    message = Message("m", "assistant", (call("{}", "now", ""), call("{}", "now")))
    assert events_of([message])[0].calls == {"c1"}


def test_a_summary_is_shown_without_a_lead(story, play):
    *_, last = play(story("ua" * 4), EventRanges()).prompts()
    assert last[0].id == "range-1"
    assert all(part.sources for part in last[0].parts)
