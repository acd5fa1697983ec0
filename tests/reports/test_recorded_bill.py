"""What the logs' own usage costs stands beside the replay, and no smaller difference is one."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.reports.analysis.advice import Advice
from compactlab.reports.analysis.comparison import recorded_bill
from compactlab.reports.analysis.strength import bill, signed
from compactlab.reports.page.brief import brief
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run
from tests.reports.conftest import make, store
from tests.reports.spoken import folded, only, verdict

PROMPTS = [(0, 1_000), (1_000, 500), (1_500, 50)]
FEWER = [(0, 1_000), (900, 400), (900, 50)]


def logged(run: Run, more: float) -> Run:
    """A run whose log says that its prompts cost so many times what the replay says."""
    own = run.metrics
    prompts = own["cost_input_usd"] + own["cost_read_usd"] + own["cost_write_usd"]
    known = {"recorded_input_usd": more * prompts, "recorded_usd": more * prompts + 1.0}
    return replace(run, metrics={**own, **known})


def over(shares: list[float], *strategies: str) -> Results:
    """Conversations whose logs cost so many times what their replays do."""
    specs = {"as_recorded()": PROMPTS, "keep_all()": PROMPTS, "fewer()": FEWER}
    runs = [
        logged(make(spec, specs[spec], f"c{number}", cut=[1] if spec == "fewer()" else ()), share)
        for number, share in enumerate(shares)
        for spec in strategies or specs
    ]
    return store(*runs)


def test_the_recorded_bill_stands_in_the_verdict_and_on_the_terminal():
    results = over([1.25, 1.25])
    told = next(line for line in verdict(only(results)) if "usage in the logs" in line)
    assert folded(told) == snapshot("""\
At the same prices, the usage in the logs costs 1.01 USD a conversation, and the replay of
as_recorded 0.0070 USD a conversation. The replay's prompts alone cost 20% less than in the
logs. So differences in cost of up to 20.0% are not called differences: the replay is no more
exact.\
""")
    assert "usage in the logs" in brief(results)


def test_a_bill_that_lacks_tokens_is_at_least_that():
    results = over([1.25, 1.25])
    for run in results.runs[:1]:
        assert run.strategy == "as_recorded()"
        run.metrics = {**run.metrics, "tokens_passed_over": 7}
    told = next(line for line in verdict(only(results)) if "usage in the logs" in line)
    assert folded(told) == snapshot("""\
At the same prices, the usage in the logs costs at least 1.01 USD a conversation, and the replay
of as_recorded 0.0070 USD a conversation. The replay's prompts alone cost 20% less than in the
logs. So differences in cost of up to 20.0% are not called differences: the replay is no more
exact.\
""")


def test_what_no_log_bills_is_said_where_the_replay_stands():
    """Four compactions, of which the log of one bills its summary."""
    compacted = [
        make("as_recorded()", FEWER, "c0", cut=[1], side=0.25),
        make("as_recorded()", FEWER, "c1", cut=[1]),
        make("as_recorded()", FEWER, "c2", cut=[1, 2], seed=0),
        make("as_recorded()", FEWER, "c2", cut=[1, 2], seed=1),
        # A summary after which nothing was taken away makes up for none of another conversation.
        make("as_recorded()", PROMPTS, "c3", side=0.25),
    ]
    told = "The logs do not say what 3 of 4 compactions cost: as_recorded makes them for nothing."
    results = store(*compacted)
    assert told in verdict(only(results))
    assert told in " ".join(brief(results).split())
    paid = store(compacted[0], make("as_recorded()", PROMPTS, "c1"))
    assert not any("for nothing" in line for line in verdict(only(paid)))


def test_of_a_store_that_did_not_count_summaries_nothing_is_said():
    run = make("as_recorded()", FEWER, cut=[1])
    run.metrics = {name: each for name, each in run.metrics.items() if name != "summaries"}
    assert not any("for nothing" in line for line in verdict(only(store(run))))


def test_where_some_usage_is_not_known_nothing_is_said():
    results = over([1.0, 1.0])
    results.runs[0] = make("as_recorded()", PROMPTS, "c0")
    comparison = only(results)
    assert comparison.recorded_bill is None
    assert comparison.deviation == 0
    assert not any("usage in the logs" in line for line in verdict(comparison))


def test_no_difference_within_the_deviation_is_called_one():
    """Twelve conversations tell it from chance, and the replay is further off than that."""
    exact, off = (Advice(only(over([share] * 12))) for share in (1.0, 1.5))
    fewer = next(row for row in exact.comparison.rows if row.label == "fewer")
    told, untold = (each.cost(each.comparison.row("fewer")) for each in (exact, off))
    assert told is not None
    assert untold is not None
    assert fewer.value("cost_usd") < exact.reference.value("cost_usd")
    assert told.estimate == untold.estimate
    assert (told.determined, untold.determined) == (True, False)
    assert bill(told, "keep_all") == snapshot("8% less than keep_all")
    assert bill(untold, "keep_all") == snapshot(
        "no more than 33.3% from keep_all, which is within the replay's deviation"
    )
    assert signed(untold) == "within 33.3%"


def test_who_costs_a_little_more_than_needed_is_not_said_to_cost_more():
    """keep_all costs more than the cheapest by less than the replay is off: leave it alone."""
    exact, off = (Advice(only(over([share] * 12))) for share in (1.0, 1.5))
    assert exact.idle is None
    assert off.idle is not None
    assert off.idle.name == "keep_all"


@given(st.lists(st.floats(0.2, 5), min_size=1, max_size=6))
def test_the_deviation_is_never_below_that_of_the_sum(shares):
    """A sum may be right by chance, where one conversation is too dear and the next too cheap."""
    row = only(over(shares, "as_recorded()")).row("as_recorded")
    found = recorded_bill(row)
    assert found is not None
    assert found.difference == pytest.approx(len(shares) / sum(shares) - 1)
    assert found.deviation >= abs(found.difference) - 1e-12
    apart = sum((1 - share) ** 2 for share in shares) ** 0.5 / sum(shares)
    assert found.deviation == pytest.approx(max(apart, abs(found.difference)))
