"""Runs are put combined_by so that nobody is compared with what he did not run."""

from dataclasses import replace
from typing import Any

import pytest
from inline_snapshot import snapshot

from compactlab.reports.analysis.aggregate import combined_by
from compactlab.reports.analysis.columns import columns
from compactlab.reports.analysis.comparison import JUDGING, Comparison, comparisons
from compactlab.reports.analysis.scope import scope
from compactlab.reports.page.table import failures
from compactlab.sim.metrics import METRICS
from compactlab.sim.store.results import Results
from tests.reports.spoken import folded, legend, notes, only, summaries, verdict


def labels(comparison: Comparison) -> list[str]:
    return [row.label for row in comparison.rows]


def test_money_adds_up_and_shares_do_not(make, store):
    long = [(0, 1_000), (1_000, 1_000)]
    results = store(
        make("keep_all()", [(0, 1_000)], "one", need=0.5),
        make("keep_all()", long, "two", need=1.0),
    )
    (row,) = only(results).rows
    assert row.figures["cost_usd"] == pytest.approx(0.012)
    assert row.figures["calls"] == 3
    assert row.figures["forward_need"] == 0.75
    # 1,000 of 4,000 tokens; the mean of the runs' shares would be a sixth.
    assert row.figures["prefix_reuse"] == 0.25
    assert row.figures["prompt_tokens_peak"] == 2_000


def test_a_figure_that_one_run_lacks_is_that_of_the_others(make, store):
    (row,) = only(
        store(make("keep_all()", need=None), make("keep_all()", conversation="two", need=0.4))
    ).rows
    assert row.figures["forward_need"] == 0.4
    assert row.figures["write_spike"] is None


def test_the_cheapest_comes_first_and_stands_against_a_bill_that_could_be_had(make, store):
    """keep_all exceeds the window, so the usable strategy is the reference."""
    comparison = only(store(make("keep_all()"), make("turn_slice()", [(0, 100)])))
    assert labels(comparison) == ["turn_slice", "keep_all"]
    assert comparison.rows[0].figures["of_reference"] == 1
    assert comparison.rows[1].figures["of_reference"] == pytest.approx(0.011325 / 0.000525)


def test_a_conversation_where_one_failed_is_left_out_for_all(make, fail, store):
    results = store(
        *(make("keep_all()", conversation=name) for name in ("one", "two", "three")),
        *(make("turn_slice()", conversation=name) for name in ("one", "two")),
        fail("turn_slice()", "three"),
    )
    comparison = only(results)
    assert [case[1] for case in comparison.cases] == ["one", "two"]
    assert [case[1] for case in comparison.left_out] == ["three"]
    assert folded(notes(comparison)[:1]) == snapshot(
        "Left out: 1 conversation where not every strategy in the table succeeded."
    )


def test_a_strategy_that_mostly_fails_spoils_nothing(make, fail, store):
    names = ["one", "two", "three"]
    results = store(
        *(make("keep_all()", conversation=name) for name in names),
        make("broken()", conversation="one"),
        *(fail("broken()", name) for name in names[1:]),
    )
    comparison = only(results)
    assert len(comparison.cases) == 3
    assert comparison.dropped == ("broken",)
    assert folded(notes(comparison)[:1]) == snapshot(
        "Not compared, because too few of their runs succeeded: broken."
    )


def test_what_failed_under_every_strategy_speaks_against_none(make, fail, store):
    no_price = "ModelError: no price for model 'new'"
    results = store(
        *(make(spec, conversation="one") for spec in ("as_recorded()", "keep_all()")),
        *(fail(spec, "two", no_price) for spec in ("as_recorded()", "keep_all()")),
        *(fail(spec, "three", no_price) for spec in ("as_recorded()", "keep_all()")),
    )
    comparison = only(results)
    assert labels(comparison) == ["as_recorded", "keep_all"]
    assert comparison.dropped == ()
    assert [case[1] for case in comparison.left_out] == ["two", "three"]
    assert folded(verdict(comparison)[0]) == snapshot("""\
There is no strategy to choose: only controls and as_recorded are compared. In this one
conversation, keep_all exceeded the context window on 1 of 4 calls.\
""")
    assert len(failures(results)) == 4


def test_two_that_never_succeed_together_are_not_compared(make, fail, store):
    results = store(
        make("keep_all()", conversation="one"),
        fail("keep_all()", "two"),
        fail("turn_slice()", "one"),
        make("turn_slice()", conversation="two"),
    )
    assert len(only(results).rows) == 1


def test_models_and_windows_are_not_mixed(make, store):
    results = store(make("keep_all()", model="claude-sonnet-4-5"), make("keep_all()", model="new"))
    first, second = comparisons(results)
    assert (first.model, second.model) == ("claude-sonnet-4-5", "new")
    assert scope(second) == snapshot(
        "model new; window narrowed to 2,000 tokens; 1 strategy over 1 conversation"
    )


def test_seeds_are_replays_of_one_conversation(make, store):
    comparison = only(store(make("keep_all()", seed=0), make("keep_all()", seed=1)))
    assert folded(scope(comparison)) == snapshot("""\
model as recorded: claude-sonnet-4-5 (4 calls); window narrowed to 2,000 tokens; 1 strategy over
1 conversation in 2 replays\
""")


def test_the_front_has_neither_controls_nor_what_exceeds_the_window(small):
    comparison = only(small)
    assert [row.name for row in comparison.front] == ["auto_compact"]
    hollow = {row.name for row in comparison.rows if row.exceeds_window}
    assert hollow == {"keep_all", "recency_buffer"}


def test_a_strategy_with_torn_calls_is_faulty(small):
    assert [row.name for row in only(small).rows if row.faulty] == ["sliding_window"]


def test_who_sees_the_future_is_marked_and_no_choice(make, store):
    results = store(
        make("keep_all()", [(0, 100)]), make("oracle()", [(0, 50)]), sees_future=["oracle()"]
    )
    comparison = only(results)
    assert folded(legend([comparison])[1:]) == snapshot("""\
◇ a bound (null strategy), not a candidate.
☆ a bound that sees future messages; no real strategy does.\
""")
    assert folded(verdict(comparison)[0]) == snapshot("""\
There is no strategy to choose: only controls and as_recorded are compared. In this one
conversation, keep_all stayed within the context window.\
""")
    assert [row.label for row in comparison.beside] == ["oracle", "keep_all"]


def test_idle_strategies_are_named(small):
    assert folded(notes(only(small))) == snapshot("""\
Left out: 1 conversation where not every strategy in the table succeeded.
Not usable (`compactlab explain` shows the calls): recency_buffer (exceeds the context window on
25.0% of calls) and sliding_window(keep=20) (the API would reject 10.0% of its calls).
Never compacted: recency_buffer. No prompt was changed and no call was added, so the figures are
those of keep_all. `compactlab explain` shows the size of each prompt.\
""")


def test_who_acted_in_some_only_is_named(make, store):
    results = store(
        make("turn_slice()", conversation="one"), make("turn_slice()", conversation="two", cut=[2])
    )
    assert folded(notes(only(results))) == snapshot("""\
Not usable (`compactlab explain` shows the calls): turn_slice (exceeds the context window on
25.0% of calls).
Compacted in some conversations only: turn_slice in 1 of 2.\
""")


def test_no_runs_are_no_comparison():
    assert comparisons(Results([])) == []
    assert legend([]) == []
    assert summaries(Results([])) == "no summariser"


def test_a_simulated_summary_says_so(small, make, store):
    house = store(make("keep_all()"), summarizers={"house(x=1)": {}})
    assert folded(map(summaries, (small, house))) == snapshot("""\
summaries by lexrank(units=1000): lines selected by a rule; a simulation, not a model's writing
summaries by house(x=1)\
""")


def test_each_summariser_is_compared_alone_and_named(make, store):
    writers = {
        "lossy(level=2)": {"label": "lossy\x1b", "simulated": "all of it", "code": "a"},
        "house()": {"label": "house", "simulated": "", "code": "b"},
    }
    runs = [make("turn_slice()", cut=[n]) for n in (1, 2)]
    for run, spec in zip(runs, writers, strict=True):
        run.summarizer = spec
    results = store(*runs, summarizers=writers)
    one, other = comparisons(results)
    assert (one.summarizer, other.summarizer) == tuple(writers)
    assert [each.rows[0].runs for each in (one, other)] == [(runs[0],), (runs[1],)]
    assert folded(scope(one)) == snapshot("""\
model as recorded: claude-sonnet-4-5 (4 calls); window narrowed to 2,000 tokens; summaries by
lossy�; 1 strategy over 1 conversation\
""")
    assert folded(scope(other)) == snapshot("""\
model as recorded: claude-sonnet-4-5 (4 calls); window narrowed to 2,000 tokens; summaries by
house; 1 strategy over 1 conversation\
""")
    assert summaries(results) == snapshot(
        "summaries by lossy(level=2): SIMULATED, all of it; by house()"
    )


def test_every_metric_says_how_it_is_put_together():
    assert [metric for metric in METRICS if not combined_by(metric)] == []


def test_the_verdict_of_a_small_store(small, told):
    told("a small store", verdict(only(small)))


def test_verdicts_of_few_runs(make, fail, store, told):
    over = store(make("keep_all()"), make("turn_slice()", cut=[2]))
    chance = store(
        make("random_keep(share=0.5)", [(0, 100)], need=0.8),
        make("turn_slice()", [(0, 200)], need=0.7),
    )
    told("all exceed the window", verdict(only(over)))
    told("no better than chance", verdict(only(chance)))
    told("all failed", verdict(only(store(fail("keep_all()")))))


def test_a_label_stands_for_its_spec(make, store):
    manifest: dict[str, Any] = {"strategies": {"turn_slice(turns=10)": "turn_slice"}}
    assert labels(only(store(make("turn_slice(turns=10)"), **manifest))) == ["turn_slice"]


def test_metrics_that_were_named_are_columns_of_their_own(make, store):
    def keys(*named: str) -> set[str]:
        known = dict.fromkeys(METRICS, 3.0)
        run = replace(make("keep_all()"), metrics=known)
        manifest = {"metrics": [*JUDGING, *named]} if named else {}
        return {each.key for each in columns(comparisons(store(run, **manifest))[0])}

    usual = keys()
    four = {"survival_5", "survival_64k", "survival_cliff", "deletion_leak"}
    assert not four & usual
    assert keys("survival_cliff") - usual == {"survival_cliff"}
    assert keys(*four) - usual == four
