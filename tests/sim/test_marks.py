"""Where a client marks a prompt, and how far a read walks back from there."""

from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.sim.cache import Anthropic
from compactlab.sim.cache.anthropic import (
    Mark,
    check_marks,
    parse_marks,
    set_marks,
    walk,
    walk_further,
)
from compactlab.sim.cache.prompt import CLIENT_CONTEXT, TOOLS, Prompt
from compactlab.sim.core.message import Message
from compactlab.sim.core.view import View
from tests.lines import refusal, refusals
from tests.sim.drawn import OF_AGENTS, QUICK, ROLE, TEXT, part, sized, text, views
from tests.sim.reference_cache import ReferenceCache, parts_of, without_old_thoughts

# Messages of agents: runs of calls and of results, over several messages and within one.
RUN = st.builds(lambda part, count: (part,) * count, OF_AGENTS | TEXT, st.integers(1, 6))
RUNS = st.lists(st.builds(Message, st.just("m"), ROLE, RUN), min_size=1, max_size=8).map(
    lambda messages: View((text("system"), text("more"))).append(*messages)
)
TOOL, SYSTEM = text("bash(command)", name=TOOLS), text("You are an agent.")


def prompt_of(view: View, *, strips: bool = False) -> Prompt:
    prompt = Prompt(QUICK, strips=strips)
    prompt.move(view)
    return prompt


def marked(view: View, *marks: str, ttl: str = "5m") -> list[Mark]:
    return set_marks(parse_marks(marks, ttl), prompt_of(view))


@given(RUNS | views(4).map(lambda grown: grown[-1]), st.integers(0, 8), st.booleans())
@settings(max_examples=300)
def test_a_walk_over_runs_goes_as_far_as_one_that_counts_every_block(view, lookback, strips):
    naive = ReferenceCache(Anthropic(lookback=lookback, runs_are_one=True), QUICK)
    prompt = prompt_of(view, strips=strips)
    parts = parts_of(without_old_thoughts(view) if strips else view)
    for mark in range(len(parts)):
        reached = [*walk(mark, lookback), *walk_further(prompt, mark, lookback)]
        walked = [block + 1 for block in reached]
        assert walked == list(naive._positions(parts, mark + 1))


@given(views(), st.sampled_from([("tools", "system", "last"), ("system:1h", "auto")]))
def test_marks_stand_where_one_finds_them_by_trying_every_block(grown, marks):
    naive = ReferenceCache(Anthropic(marks=marks), QUICK)
    for view in grown:
        expected = [(end - 1, ttl) for end, ttl in naive._marked(view, "5m").items()]
        assert marked(view, *marks) == expected


WRONG: list[tuple[str, ...]] = [
    (),
    ("tools", "system", "last", "auto", "auto"),
    ("tools:1h", "tools:5m", "system", "last", "auto"),
    ("first",),
    ("last:12h",),
    ("last", "system"),
    ("last", "last"),
    ("system:5m", "last:1h"),
    ("tools:5m", "system:1h", "last"),
    ("last:1h", "auto:5m"),
    ("last:5m", "auto:1h"),
]


def test_wrong_marks_are_refused_before_anything_is_sent(golden):
    golden("faults/marks.txt", refusals(ValueError, lambda marks: Anthropic(marks=marks), WRONG))


def test_a_mark_without_a_lifetime_has_that_of_the_request():
    check_marks(("system:5m", "last"), "5m")
    assert refusal(ValueError, lambda: check_marks(("system:5m", "last"), "1h")) == snapshot(
        "marks: system:5m stands before last, but a mark of 1h must come first"
    )


def test_tools_come_before_the_system_prompt_and_both_before_the_rest():
    view = View((TOOL, TOOL, SYSTEM)).append(sized("m", 10, 10))
    ends = marked(view, "tools:1h", "system:1h", "last")
    assert ends == [(1, "1h"), (2, "1h"), (4, "5m")]


def test_what_the_prompt_does_not_have_is_not_marked():
    assert marked(View().append(sized("m", 10)), "tools", "system") == []
    assert marked(View((SYSTEM,)), "tools", "system", "last") == [(0, "5m")]


def test_the_mark_moves_back_from_thinking_and_empty_texts():
    thought, nothing = part("thinking", "hm"), text("")
    for tail in [(thought,), (nothing,), (thought, nothing, thought)]:
        view = View((SYSTEM,)).append(sized("m", 10), Message("n", "assistant", tail))
        assert marked(view, "last") == marked(view, "auto") == [(1, "5m")]


def test_it_moves_back_into_the_system_prompt_and_beyond_that_there_is_none():
    only = Message("n", "assistant", (part("thinking", "hm"),))
    assert marked(View((SYSTEM, text(""))).append(only), "system", "last") == [(0, "5m")]
    assert marked(View((text("cwd", name=CLIENT_CONTEXT),)).append(only), "last") == [(0, "5m")]
    assert marked(View().append(only), "last") == []


def test_an_empty_result_of_a_tool_can_be_marked():
    view = View().append(Message("n", "tool", (part("tool_result", ""),)))
    assert marked(view, "last") == [(0, "5m")]
