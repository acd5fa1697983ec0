"""Every cache-miss token has one cause."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.cache import Lookup
from compactlab.sim.cache.causes import CAUSES, explain
from compactlab.sim.cache.prompt import Prompt
from compactlab.sim.core.view import View
from tests.sim.drawn import QUICK, sized, text, views

SYSTEM = View((text("", size=100),))
OLD = SYSTEM.append(sized("m1", 10), sized("m2", 20))


def why(
    before: View, after: View, reason: str, read: int, *missed: tuple[str, int], arrived: str = ""
) -> dict[str, int]:
    prompt = Prompt(QUICK)
    prompt.move(before)
    prompt.mark_sent()
    prompt.move(after)
    return explain(prompt, Lookup(read, missed=missed), arrived.split(), reason)


@given(st.data(), views(), st.sampled_from(sorted(CAUSES)))
def test_causes_add_up_to_the_prompt_less_what_was_read(data, steps, reason):
    prompt = Prompt(QUICK)
    for view in steps:
        prompt.mark_sent()
        prompt.move(view)
    read = data.draw(st.sampled_from([0, *prompt.totals]))
    upto = st.sampled_from([0, *prompt.totals])
    pairs = data.draw(st.lists(st.tuples(st.sampled_from(sorted(CAUSES)), upto), max_size=3))
    ids = sorted({message.id for message in prompt.view.messages})
    arrived = data.draw(st.sets(st.sampled_from(ids))) if ids else set()
    missed = tuple(sorted(pairs, key=lambda pair: pair[1]))
    causes = explain(prompt, Lookup(read, missed=missed), arrived, reason)
    assert sum(causes.values()) == prompt.tokens - read
    assert all(tokens > 0 for tokens in causes.values())
    assert set(causes) <= set(CAUSES)


GROWN = OLD.append(sized("m3", 7))
SUMMED_UP = SYSTEM.append(sized("summary", 15), sized("m3", 7))
REMINDED = SUMMED_UP.append(sized("reminder", 2))
MOVED = SYSTEM.append(OLD.messages[1], sized("m3", 7))
CAUSED = {
    "the first request is a cold start": (
        lambda: why(View(), OLD, "cold_start", 0, arrived="m1 m2"), {"cold_start": 130}),
    "of a prompt that grew only the new is fresh": (
        lambda: why(OLD, GROWN, "append", 130, arrived="m3"), {"append": 7}),
    "what the cache missed comes before what is new": (
        lambda: why(OLD, GROWN, "append", 100, ("ttl_expired", 130), arrived="m3"),
        {"ttl_expired": 30, "append": 7}),
    "two causes each have their stretch": (
        lambda: why(OLD, GROWN, "append", 0, ("ttl_expired", 100), ("lookback_miss", 130)),
        {"ttl_expired": 100, "lookback_miss": 30, "append": 7}),
    "what was missed for no reason is unexplained": (
        lambda: why(OLD, GROWN, "append", 110), {"unexplained": 20, "append": 7}),
    "a summary is the compaction's and what has just been said is not": (
        lambda: why(OLD, SUMMED_UP, "compaction", 100, arrived="m3"),
        {"compaction": 15, "append": 7}),
    "what moved up behind a cut is the compaction's": (
        lambda: why(OLD, MOVED, "compaction", 100, arrived="m3"),
        {"compaction": 20, "append": 7}),
    "all that has just been said is new": (
        lambda: why(OLD, SUMMED_UP.append(sized("m4", 8)), "compaction", 100, arrived="m3 m4 m5"),
        {"compaction": 15, "append": 15}),
    "also if a reminder follows it": (
        lambda: why(OLD, REMINDED, "compaction", 100, arrived="m3 m4"),
        {"compaction": 17, "append": 7}),
    "of a prompt that was read whole nothing is fresh": (lambda: why(OLD, OLD, "append", 130), {}),
}  # fmt: skip


@pytest.mark.parametrize(("causes", "expected"), CAUSED.values(), ids=CAUSED)
def test_it_is_the_cause_of_as_many_tokens(causes, expected):
    assert causes() == expected


def test_of_what_has_just_been_said_only_the_fresh_part_is_new():
    after = SYSTEM.append(sized("m3", 10, 20), sized("reminder", 5))
    assert why(OLD, after, "compaction", 110, arrived="m3") == {"append": 20, "compaction": 5}
    assert why(OLD, after, "compaction", 130, arrived="m3") == {"compaction": 5}
    longer = SYSTEM.append(sized("m3", 10), sized("note", 10), sized("reminder", 5))
    assert why(OLD, longer, "compaction", 120, arrived="m3") == {"compaction": 5}


def test_changed_system_blocks_are_to_blame_for_themselves_and_for_old_messages():
    after = View((text("", size=101),), OLD.messages).append(sized("m3", 7))
    causes = why(OLD, after, "system_changed", 0, arrived="m3")
    assert causes == {"system_changed": 131, "append": 7}


def test_the_part_of_a_message_that_was_read_is_not_charged():
    grown = SYSTEM.append(sized("m1", 10, 20, 30))
    assert why(SYSTEM, grown, "history_edit", 110) == {"history_edit": 50}
    assert why(OLD, grown, "compaction", 110, arrived="m1") == {"append": 50}
