"""The figures of a conversation, without any replay."""

from typing import Any

import msgspec
import pytest

from compactlab.reports.explain.explanation import anatomy
from compactlab.sim.core.conversation import PassedOver, SideRequest
from compactlab.sim.core.message import Call, Message, Part, Usage

SONNET, OPUS = "claude-sonnet-4-5", "claude-opus-4-5"
POEM = PassedOver("record 'poem'", 2, 40)


def tale(kit: Any) -> Any:
    story = kit.Story().user(kit.prose(10)).acts(kit.prose(5), model=SONNET).result(kit.prose(40))
    story.answer(kit.prose(3), model=SONNET).client(kit.prose(7)).user(kit.prose(20), after=300.0)
    story.answer(kit.prose(4), model=OPUS).compacted("so far").rewind("a1")
    return story.aborted("x").script(passed_over=(POEM,))


def test_it_counts(kit):
    figures = anatomy(tale(kit))
    assert (figures.messages, figures.calls, figures.turns, figures.rewinds) == (8, 3, 2, 1)
    assert figures.models == {SONNET: 2, OPUS: 1}
    assert (figures.compactions, figures.images, figures.passed_over) == ((0,), 0, (POEM,))
    assert (figures.conversation, figures.format) == ("story", "story")


def test_tokens_are_told_by_who_spoke_and_by_tool(kit):
    figures = anatomy(tale(kit))
    # A call is its arguments and its tool's name.
    assert figures.tokens_by_role == {
        "tool": 40,
        "user": 30,
        "assistant": 5 + 1 + 3 + 4 + 1,
        "client": 7,
    }
    assert list(figures.tokens_by_role) == ["tool", "user", "assistant", "client"]
    assert figures.tokens_by_tool == {"tool": 40}


def test_gaps_are_median_ninth_decile_and_longest(kit):
    assert anatomy(tale(kit)).gaps == (10.0, 300.0, 300.0)
    story = kit.Story().user("start")
    for seconds in (5, 1, 3, 2, 4, 6, 8, 7, 10, 9):
        story.client("x", after=float(seconds))
    assert anatomy(story.script()).gaps == (6.0, 10.0, 10.0)


def test_without_times_there_are_no_gaps(kit):
    untimed = Message("u", "user", (Part("image", "", "opaque", (), size=9),))
    script = type(tale(kit))("x", "story", (untimed, untimed), seed=0)
    figures = anatomy(script)
    assert figures.gaps == ()
    assert figures.images == 2
    assert figures.tokens_by_role == {"user": 18}


def test_clocks_that_run_back_make_no_gap_below_nothing(kit):
    assert anatomy(kit.Story().user("a").answer("b", after=-5.0).script()).gaps == (0.0, 0.0, 0.0)


def test_the_bill_is_that_of_the_recorded_usage(kit):
    story = kit.Story().user("a").answer("b", model=SONNET, usage=Usage(uncached=1000, output=100))
    story.user("c").answer("d", model=SONNET, usage=Usage(cache_read=1000, cache_write_1h=10))
    figures = anatomy(story.script(seed=-1))
    whole = Usage(uncached=1000, cache_read=1000, cache_write_1h=10, output=100)
    assert figures.spent.usage == msgspec.structs.replace(whole, output=101)  # "d" was not counted
    dollars = 1000 * 3e-6 + 101 * 15e-6 + 1000 * 0.3e-6 + 10 * 6e-6
    assert figures.spent.total == pytest.approx(dollars)
    assert not figures.unrecorded


def test_the_bill_has_a_part_for_all_that_the_log_bills(kit):
    story = kit.Story().user("a").answer("b", model=SONNET, usage=Usage(uncached=1000, output=9))
    story.compacted("so far", model=SONNET, usage=Usage(cache_read=1000, output=90))
    side = SideRequest("web_search", Call(SONNET), searches=2)
    figures = anatomy(story.script(seed=-1, side_requests=(side,), parent="old"))
    assert [*figures.purposes] == ["answer", "web_search", "compaction"]
    assert figures.purposes["compaction"].total == pytest.approx(1000 * 0.3e-6 + 90 * 15e-6)
    assert figures.spent.total == pytest.approx(
        sum(each.total or 0.0 for each in figures.purposes.values())
    )
    assert figures.parent == "old"


def test_a_bill_is_of_what_has_a_price_and_the_rest_is_counted(kit):
    used = Usage(uncached=1000, output=1)
    story = kit.Story().user("a").answer("b", model=SONNET, usage=used)
    story.user("c").answer("d", model="homemade-1", usage=used)
    figures = anatomy(story.script(seed=-1))
    assert (figures.spent.total, figures.spent.unpriced) == (pytest.approx(0.003 + 15e-6), 1)


def test_without_usage_there_is_no_bill(kit):
    bare = anatomy(kit.Story().user("a").answer("b", model=SONNET).script())
    assert (bare.unrecorded, bare.purposes) == (True, {})
    empty = anatomy(kit.Story().script())
    assert (empty.messages, empty.unrecorded, empty.gaps) == (0, True, ())
    assert empty.spent.usage == Usage()


def test_it_tells_what_the_prompts_held_besides(kit):
    story = kit.Story().user(kit.prose(10)).answer("b", model="gpt-5", usage=Usage(uncached=5010))
    assert anatomy(story.script(seed=-1)).unseen.system == 5000
