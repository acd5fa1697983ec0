"""LexRank: within its budget, always the same, and every line with its source."""

import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core.message import Message, Part, PartType, Source, verbatim
from compactlab.sim.core.spec import build, parse_spec
from compactlab.sim.core.tokens import Tokenizer, chars4
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.summarizers.extractive import Lexrank
from tests.told import said

o200k = Tokenizer("o200k_base", 1.3).text
counters: list[Callable[[str], int]] = [o200k, chars4, len]
some = settings(max_examples=60, deadline=None)

words = st.sampled_from(["the", "parse_file", "src/a.py:", "fails", "queue.", "It", "{x}", "日本"])
lines = st.lists(words, max_size=12).map(" ".join) | st.text(max_size=40)
texts = st.lists(lines, max_size=6).map("\n".join)
kinds: list[PartType] = ["text", "thinking", "tool_call", "tool_result"]


@st.composite
def logs(draw: st.DrawFn) -> tuple[Message, ...]:
    messages = []
    for number in range(draw(st.integers(0, 8))):
        id = f"m{number}"
        made = draw(st.lists(st.tuples(st.sampled_from(kinds), texts), min_size=1, max_size=3))
        parts = tuple(verbatim(id, kind, text, name="bash") for kind, text in made)
        messages.append(Message(id, "user", parts))
    return tuple(messages)


def summarize(
    *messages: Message, budget: int = 1000, previous: tuple[Part, ...] = (), units: int = 1000
) -> tuple[Part, ...]:
    return Lexrank(units).summarize(SummaryRequest(messages, budget, previous), o200k)


def test_nothing_said_nothing_summarised():
    assert summarize() == ()
    assert summarize(said("m1", " \n\t\n")) == ()
    assert summarize(said("m1", "The build is broken."), budget=0) == ()


def test_what_most_lines_resemble_comes_first_and_lines_keep_their_order():
    log = said(
        "m1",
        "I like the weather today.\n"
        "The parser fails on empty input.\n"
        "Lunch is at noon.\n"
        "On empty input the parser raises.\n"
        "Mend the parser for empty input and test it.",
    )
    (part,) = summarize(log, budget=22)
    assert part.text.split("\n") == [
        "The parser fails on empty input.",
        "On empty input the parser raises.",
    ]


def test_a_line_much_like_one_already_taken_is_passed_over():
    twice = "src/app.py: cannot open the file of the {} member for reading"
    (part,) = summarize(said("m1", "\n".join(map(twice.format, ["first", "second"]))))
    assert part.text == twice.format("first")


def test_the_same_line_twice_counts_once_where_it_came_first():
    (part,) = summarize(said("m1", "Never push to main."), said("m2", "Never  push to\tmain."))
    assert part.text == "Never push to main."
    assert part.sources == (Source("m1", 0, 0, 19),)


def test_calls_are_one_unit_with_name_and_thinking_is_left_out():
    call = verbatim("m1", "tool_call", '{"path":"' + "a" * 400 + '"}', name="read", call_id="c1")
    thought = verbatim("m1", "thinking", "Perhaps the cache is stale.")
    (part,) = summarize(Message("m1", "assistant", (thought, call)))
    assert part.text.startswith('read({"path":"aaa')
    assert part.text.endswith("…)")
    assert part.sources == (Source("m1", 1, 0, 300),)


def test_a_chain_of_summaries_keeps_the_first_sources():
    first = summarize(said("m1", "Use tabs in Makefiles."), said("m2", "The port is 8123."))
    second = summarize(said("m3", "Deploy on Fridays only."), previous=first)
    third = summarize(previous=second)
    assert third == second
    (part,) = second
    pairs = dict(zip(part.text.split("\n"), part.sources, strict=True))
    assert pairs == {
        "Use tabs in Makefiles.": Source("m1", 0, 0, 22),
        "The port is 8123.": Source("m2", 0, 0, 17),
        "Deploy on Fridays only.": Source("m3", 0, 0, 23),
    }


def test_a_summary_of_another_make_passes_all_its_sources_on():
    other = Part("text", "They chose tabs.\nAlso spaces.", "summary", (Source("m1"), Source("m2")))
    old, new = summarize(said("m3", "Deploy on Fridays only."), previous=(other,))
    assert (old.text, old.sources) == (other.text, other.sources)
    assert new.sources == (Source("m3", 0, 0, 23),)
    assert summarize(previous=(old, new)) == (old, new)


def test_a_previous_summary_may_have_headings_labels_and_quotes_in_it():
    """As a recency buffer makes them: labels stand for nothing, so they leave no line."""
    heading = Part("text", "## Recent context", "synthetic", ())
    label = Part("text", "**User:** and all the rest of it", "synthetic", ())
    quote = Part("text", "The port is 8123.", "verbatim", (Source("m1"),))
    piece = Part("text", "Use tabs.", "verbatim", (Source("m2", 0, 5, 14),))
    thought = Part("thinking", "Perhaps the cache is stale.", "verbatim", (Source("m3"),))
    quoted, found = summarize(previous=(heading, label, quote, piece, thought))
    assert (quoted.text, quoted.sources) == ("The port is 8123.", (Source("m1"),))
    assert (found.text, found.sources) == ("Use tabs.", (Source("m2", 0, 5, 14),))
    assert summarize(previous=(heading, label)) == ()


def test_a_quoted_piece_is_found_where_it_stands_in_the_log():
    piece = Part("text", "Tabs! Not spaces.", "verbatim", (Source("m1", 2, 100, 117),))
    (part,) = summarize(Message("s1", "user", (piece,)))
    assert part.sources[-1] == Source("m1", 2, 106, 117)


@pytest.mark.parametrize("units", [1, 3, 20])
def test_at_most_that_many_units_are_ranked(units):
    nouns = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay"]
    parts = summarize(*(said(noun, f"About the {noun}") for noun in nouns), units=units)
    assert sum(part.text.count("\n") + 1 for part in parts) == min(units, len(nouns))


@some
@given(logs(), logs(), st.integers(0, 120), st.sampled_from(counters))
def test_the_budget_is_never_exceeded(old, new, budget, count):
    previous = Lexrank().summarize(SummaryRequest(old, budget), count)
    parts = Lexrank().summarize(SummaryRequest(new, budget, previous), count)
    assert sum(count(part.text) for part in parts) <= budget
    assert all(part.kind == "summary" and part.text and part.sources for part in parts)


@st.composite
def any_parts(draw: st.DrawFn) -> Part:
    """Whatever a strategy may put into a summary."""
    kind = draw(st.sampled_from(["verbatim", "truncated", "summary", "synthetic", "recovered"]))
    place = st.builds(Source, st.sampled_from(["m1", "m2"]), st.integers(-1, 1), st.integers(0, 9))
    least = 0 if kind == "synthetic" else 1
    sources = draw(st.lists(place, min_size=least, max_size=3))
    return Part(draw(st.sampled_from(kinds)), draw(texts), kind, tuple(sources))  # type: ignore[arg-type]


@some
@given(st.lists(any_parts(), max_size=5), logs())
def test_any_previous_summary_is_carried_on(previous, log):
    parts = summarize(*log, previous=tuple(previous))
    assert all(part.kind == "summary" and part.text and part.sources for part in parts)
    again = summarize(previous=parts)
    assert all(part.sources for part in again)


@some
@given(st.lists(st.integers(0, 30), min_size=1), logs())
def test_nor_with_a_counter_that_adds_up_to_nothing(costs, log):
    def count(text: str) -> int:
        return costs[len(text) % len(costs)]

    parts = Lexrank().summarize(SummaryRequest(log, 40), count)
    assert sum(count(part.text) for part in parts) <= 40


@some
@given(logs(), st.integers(0, 200))
def test_spans_are_the_very_text(log, budget):
    by_id = {message.id: message for message in log}
    parts = summarize(*log, budget=budget)
    assert parts == summarize(*log, budget=budget)
    places = []
    for part in parts:
        if any(source.part < 0 for source in part.sources):
            continue  # the call of a tool without arguments
        for line, source in zip(part.text.split("\n"), part.sources, strict=True):
            origin = by_id[source.id].parts[source.part]
            text = origin.text[source.start : source.end]
            if origin.type == "tool_call":
                assert line.startswith(f"bash({' '.join(text.split())}")
            else:
                assert line == text
            places.append((int(source.id[1:]), source.part, source.start))
    assert places == sorted(places)


@pytest.mark.parametrize(
    "text", ["x" * 10**5, "word " * 20_000, "a.b/c_d" * 15_000, " " * 10**5, "A. " * 30_000]
)
def test_one_giant_line(text):
    parts = summarize(said("m1", text), budget=200)
    assert sum(o200k(part.text) for part in parts) <= 200
    assert bool(parts) == bool(text.strip())


@pytest.mark.slow
def test_memory_stays_small():
    log = [said(f"m{n}", f"line {n} says x{n % 31} and y{n % 17}\n" * 10) for n in range(10_000)]
    tracemalloc.start()
    summarize(*log, budget=2_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * 2**20


def test_spec_round_trips_and_nonsense_is_refused():
    assert Lexrank().spec == "lexrank(units=1000, tokens=3900)"
    assert build(Lexrank, parse_spec("lexrank(units=5)")[1]) == Lexrank(5)
    with pytest.raises(ValueError, match="at least 1"):
        Lexrank(units=0)
