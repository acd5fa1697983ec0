"""The meter: the laws of every bill, and what becomes of a session under two models."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.cache import Anthropic
from compactlab.sim.cache.prefixes import Xai
from compactlab.sim.core.errors import ModelError
from compactlab.sim.core.stream import stream
from compactlab.sim.core.view import View
from compactlab.sim.models.model import Model, find_model
from compactlab.sim.replay.meter import Bill, Meter
from tests.sim.drawn import Request, billed, growing, model_under, sized, text

LIVELY = Anthropic(minimum=0)
TOY, OTHER = model_under(LIVELY), model_under(LIVELY, "other")
SYSTEM = View((text("", size=500),))


def send(meter: Meter, model: Model, view: View, at: float, why: str) -> Bill:
    """Send a view; why it is not the last one, and then the ids of what is new."""
    reason, *arrived = why.split()
    meter.tokens(model, view)
    return meter.request(model, at, "", arrived, reason)


@given(growing(most_blocks=19), st.sampled_from([0.0, 1.0, 300.0]))
def test_who_keeps_everything_pays_for_no_token_twice(grown, gap):
    bills = billed(TOY, [Request(view, gap) for view in grown])
    cache_misses = sum(bill.usage.prompt - bill.usage.cache_read for bill in bills)
    assert cache_misses == bills[-1].usage.prompt
    assert {cause for bill in bills for cause in bill.causes} <= {"cold_start", "append"}


@given(growing(most_blocks=19), st.sampled_from([100, 1000]))
def test_but_for_what_was_too_short_to_store(grown, minimum):
    model = model_under(Anthropic(minimum=minimum))
    bills = billed(model, [Request(view) for view in grown])
    cache_misses = sum(bill.usage.prompt - bill.usage.cache_read for bill in bills)
    short = sum(bill.causes.get("below_minimum", 0) for bill in bills)
    assert cache_misses - short == bills[-1].usage.prompt
    before = itertools.pairwise(bill.usage.prompt for bill in bills)
    assert short == sum(earlier for earlier, _ in before if earlier < minimum)


@given(st.lists(st.sampled_from([0.0, 100.0, 301.0, 5000.0, -50.0]), min_size=1, max_size=8))
def test_time_never_runs_back(times):
    view = SYSTEM.append(sized("a", 10))
    late = itertools.accumulate(times, max)
    one, other = Meter(), Meter()
    for as_recorded, as_passed in zip(times, late, strict=True):
        bill = send(one, TOY, view, as_recorded, "append")
        assert bill == send(other, TOY, view, max(as_passed, 0.0), "append")


@pytest.mark.parametrize(
    ("new", "causes"),
    [(4, {"append": 40}), (5, {"lookback_miss": 500, "append": 50}),
     (6, {"lookback_miss": 500, "append": 60})],
)  # fmt: skip
def test_an_entry_just_out_of_reach_is_missed_for_its_distance(new, causes):
    model = model_under(Anthropic(minimum=0, lookback=5, marks=("last",)))
    meter, ids = Meter(), [f"m{number}" for number in range(new)]
    send(meter, model, SYSTEM, 0, "cold_start")
    view = SYSTEM.append(*(sized(id, 10) for id in ids))
    assert send(meter, model, view, 1, f"append {' '.join(ids)}").causes == causes


def test_requests_find_nothing_as_often_as_a_policy_says():
    model = model_under(Xai(grid=1, loss=0.3))

    def lost(meter: Meter) -> int:
        bills = [send(meter, model, SYSTEM, float(at), "append") for at in range(200)]
        return sum(not bill.usage.cache_read for bill in bills[1:])

    assert 40 <= lost(Meter(rng=lambda name: stream(0, "session", name))) <= 80
    assert lost(Meter()) == 0  # without a stream nothing is left to chance


def test_a_view_can_be_measured_before_it_is_sent():
    meter = Meter()
    assert meter.tokens(TOY, SYSTEM.append(sized("a", 10))) == 510
    assert meter.tokens(TOY, SYSTEM) == 500
    assert meter.request(TOY, 0, "", (), "cold_start").usage.cache_write_5m == 500


@pytest.mark.parametrize("measured", [1, 2])
def test_what_was_only_measured_has_not_been_sent(measured):
    """As when a prompt is too large, is measured, and is then shortened behind what is new."""
    meter, new, large = Meter(), sized("new", 30), sized("large", 4000)
    send(meter, TOY, SYSTEM, 0, "cold_start")
    for _ in range(measured):
        meter.tokens(TOY, SYSTEM.append(new, large))
    bill = send(meter, TOY, SYSTEM.append(new, sized("large", 40)), 1, "append new large")
    assert bill.causes == {"append": 70}


def test_measuring_twice_changes_nothing():
    meter, view = Meter(), SYSTEM.append(sized("new", 30))
    send(meter, TOY, SYSTEM, 0, "cold_start")
    meter.tokens(TOY, view)
    assert send(meter, TOY, view, 1, "append new").causes == {"append": 30}


def test_a_side_call_between_measuring_and_sending_changes_neither():
    meter, view = Meter(), SYSTEM.append(sized("a", 10))
    meter.tokens(TOY, view)
    meter.side(TOY, View().append(sized("ask", 20)), 0, "", "compaction_call")
    assert meter.request(TOY, 0, "", (), "cold_start").causes == {"cold_start": 510}


def test_a_compaction_pays_for_the_summary_and_reads_the_system_prompt():
    meter = Meter()
    send(meter, TOY, SYSTEM.append(sized("old", 4000)), 0, "cold_start")
    after = SYSTEM.append(sized("summary", 50), sized("new", 7))
    bill = send(meter, TOY, after, 1, "compaction new")
    assert (bill.usage.cache_read, bill.causes) == (500, {"compaction": 50, "append": 7})


def test_a_window_that_slides_pays_for_all_it_keeps():
    meter, view = Meter(), SYSTEM.append(*(sized(f"m{i}", 10) for i in range(8)))
    send(meter, TOY, view, 0, "cold_start")
    slid = view.with_messages(view.messages[1:]).append(sized("m8", 10))
    bill = send(meter, TOY, slid, 1, "compaction m8")
    assert (bill.usage.cache_read, bill.causes) == (500, {"compaction": 70, "append": 10})


def test_an_idle_hour_is_not_the_strategys_fault():
    meter, view = Meter(), SYSTEM.append(sized("a", 10))
    send(meter, TOY, view, 0, "cold_start")
    bill = send(meter, TOY, view.append(sized("b", 5)), 4000, "append b")
    assert bill.causes == {"ttl_expired": 510, "append": 5}


def test_another_model_knows_nothing_and_the_first_still_remembers():
    meter, view = Meter(), SYSTEM.append(sized("a", 10))
    send(meter, TOY, view, 0, "cold_start")
    more = view.append(sized("b", 5))
    away = send(meter, OTHER, more, 1, "model_switch b")
    assert (away.usage.cache_read, away.causes) == (0, {"model_switch": 510, "append": 5})
    back = send(meter, TOY, more.append(sized("c", 3)), 2, "model_switch c")
    assert (back.usage.cache_read, back.causes) == (510, {"model_switch": 5, "append": 3})


def test_a_model_under_another_policy_has_a_line_of_its_own():
    meter, view = Meter(), View().append(sized("a", 9000))
    for name, read in [("claude-sonnet-4-5", 10080), ("claude-sonnet-4-5@none", 0)]:
        model = find_model(name)
        send(meter, model, view, 0, "cold_start")
        assert send(meter, model, view, 1, "append").usage.cache_read == read


def test_a_model_without_a_policy_cannot_be_billed():
    with pytest.raises(ModelError, match="gpt-5@none"):
        Meter().tokens(replace(find_model("gpt-5"), policy=None), SYSTEM)


def test_a_side_call_that_rides_on_the_live_prompt_reads_it():
    meter, view = Meter(), SYSTEM.append(sized("old", 4000))
    send(meter, TOY, view, 0, "cold_start")
    bill = meter.side(TOY, view.append(sized("ask", 20)), 1, "", "compaction_call")
    assert (bill.usage.cache_read, bill.causes) == (4500, {"compaction_call": 20})


def test_a_fresh_side_call_pays_for_everything():
    meter = Meter()
    send(meter, TOY, SYSTEM.append(sized("old", 4000)), 0, "cold_start")
    bill = meter.side(TOY, View().append(sized("old", 4000, 20)), 1, "1h", "compaction_call")
    assert (bill.usage.cache_write_1h, bill.causes) == (4020, {"compaction_call": 4020})


def test_a_side_call_without_marks_writes_nothing_where_marks_are_needed():
    meter, view = Meter(), View().append(sized("old", 4000, 20))
    bill = meter.side(TOY, view, 0, "", "compaction_call", marked=False)
    assert (bill.usage.uncached, bill.causes) == (4020, {"compaction_call": 4020})
    automatic = find_model("gpt-5")
    meter.side(automatic, view, 0, "", "compaction_call", marked=False)
    assert meter.side(automatic, view, 1, "", "compaction_call").usage.cache_read > 3000


def test_a_side_call_read_whole_has_no_cause():
    meter = Meter()
    send(meter, TOY, SYSTEM, 0, "cold_start")
    assert meter.side(TOY, SYSTEM, 1, "", "extra_turn").causes == {}


def test_a_side_call_does_not_disturb_what_is_known_of_the_main_prompt():
    meter, view = Meter(), SYSTEM.append(sized("old", 4000))
    send(meter, TOY, view, 0, "cold_start")
    meter.side(TOY, View().append(sized("ask", 20)), 1, "", "compaction_call")
    bill = send(meter, TOY, view.append(sized("new", 7)), 301, "append new")
    assert bill.causes == {"ttl_expired": 4500, "append": 7}


def test_a_side_call_keeps_the_live_prompt_alive():
    meter, view = Meter(), SYSTEM.append(sized("old", 4000))
    send(meter, TOY, view, 0, "cold_start")
    meter.side(TOY, view.append(sized("ask", 20)), 250, "", "compaction_call")
    bill = send(meter, TOY, view.append(sized("new", 7)), 500, "append new")
    assert bill.usage.cache_read == 4500
