"""What stands in the way of a verdict: another provenance, and whatever is missing."""

from dataclasses import replace

import pytest
from inline_snapshot import snapshot

from compactlab.reports.gate.baseline import GATED, Baseline
from compactlab.reports.gate.gate import gate
from compactlab.reports.gate.rules import Demand, Outcome, Rule
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run
from tests.reports.gate.conftest import said

CHANGE, PLACE = ("cost_usd", "+2%"), ("structural_validity", "<= 1")

MINE = {"window": 9_000, "encoding": "cl100k_base", "cache": "none"}
# A change of the manifest, and what is told of it.
ELSEWHERE = {
    "version": ({"compactlab": "0.2.0"}, "the version of compactlab: was '0.1.0', is '0.2.0'"),
    "tokenizer": ({"tokenizer": "tiktoken 0.15.0"}, "the tokenizer: was 'tiktoken 0.14.0', is"),
    "prices": ({"prices": "genai-prices 9"}, "the price list: was 'genai-prices 0.2.3', is"),
    "window": ({"window": 1_000}, "the window: was 2000, is 1000"),
    "loop": ({"loop": "closed()"}, "the closed loop: was '', is 'closed()'"),
    "seeds": ({"seeds": [0, 1]}, "the seeds: was [0], is [0, 1]"),
    "churn": ({"churn": {"turns": 0.1}}, "the client's churn: was '', is '"),
    "own models": (
        {"own_models": {"models": {"mine": MINE}}},
        "the figures of your own models: was '', is '",
    ),
}


@pytest.mark.parametrize("kind", sorted(ELSEWHERE))
def test_a_baseline_of_another_provenance_is_not_compared_with(kind, two, judged):
    other, told = ELSEWHERE[kind]
    for rules in ((), (CHANGE,)):
        after = two()
        after.manifest.update(other)
        verdict = judged(two(), after, *rules)
        assert (verdict.code, verdict.count(Outcome.HOLDS)) == (2, 0)
        [obstacle] = verdict.obstacles
        assert obstacle.startswith(f"other provenance: {told}")


@pytest.mark.parametrize("rules", [(), (CHANGE,)])
def test_another_summariser_or_another_conversation_is_not_compared_with(rules, two, judged):
    after = two()
    after.runs = [replace(run, summarizer="lead(tokens=1)") for run in after.runs]
    verdict = judged(two(), after, *rules)
    assert (verdict.code, verdict.obstacles[0]) == snapshot(
        (2, "other provenance: the summariser: was ['lexrank(units=1000)'], is ['lead(tokens=1)']")
    )
    after = two()
    after.runs[0].digest = "e" * 16
    after.runs[1].digest = "e" * 16
    verdict = judged(two(), after, *rules)
    assert (verdict.code, verdict.obstacles) == snapshot(
        (2, ("other provenance: 1 conversation changed: a",))
    )


def test_another_engine_is_said_and_not_refused(two, judged):
    assert said(judged(two(engine="1"), two(engine="2"), CHANGE)) == snapshot("""\
0
the engine has changed: was '1', is '2'\
""")


def test_where_something_must_stand_is_judged_in_spite_of_all_that(two, changed, judged):
    broken = changed(two(prices="other"), structural_validity=0.5)
    rule = ("structural_validity", ">= 0.9")
    assert judged(two(), broken, rule, CHANGE).code == 1
    assert judged(None, broken, rule).code == 1
    assert judged(two(), two(prices="other"), rule).code == 2


@pytest.mark.parametrize("rules", [(), (CHANGE,), (PLACE,)])
def test_a_missing_baseline_is_never_a_pass(rules, two, judged):
    verdict = judged(None, two(), *rules)
    assert (verdict.code, verdict.obstacles) == snapshot((2, ("there is no baseline",)))


def without(results: Results, *places: int) -> Results:
    return Results([r for n, r in enumerate(results.runs) if n not in places], results.manifest)


@pytest.mark.parametrize("rules", [(), (CHANGE,), (PLACE,)])
def test_runs_of_the_baseline_that_are_missing_are_no_pass(rules, two, judged):
    one, all_of_it = (judged(two(), without(two(), *n), *rules) for n in ([1], [1, 3, 5]))
    assert (one.code, one.obstacles) == snapshot(
        (2, ("1 run of the baseline missing: a under sliding_window(keep=20)",))
    )
    assert (all_of_it.code, all_of_it.obstacles) == snapshot(
        (2, ("in the baseline and not in the store: sliding_window(keep=20) (recorded)",))
    )


def test_what_is_new_is_named_and_judged_by_where_it_must_stand(two, changed, judged):
    known = without(two(), 1, 3, 5)
    assert said(judged(known, two())) == snapshot("""\
2
not in the baseline: sliding_window(keep=20) (recorded)
failed: it is not in the baseline\
""")
    ruled = judged(known, two(), PLACE)
    assert (ruled.code, ruled.remarks, ruled.obstacles) == snapshot(
        (0, ("not in the baseline: sliding_window(keep=20) (recorded)",), ())
    )
    assert judged(known, changed(two(), structural_validity=2), PLACE).code == 1
    assert said(judged(known, two(), CHANGE)) == snapshot("""\
2
not in the baseline: sliding_window(keep=20) (recorded)
failed: it is not in the baseline\
""")
    assert said(judged(two("ab"), two("abc"), CHANGE)) == snapshot("""\
2
2 runs not in the baseline: c under keep_all and c under sliding_window(keep=20)
failed: 1 run not in the baseline\
""")


def test_a_run_that_fails_now_is_no_pass_and_one_that_always_did_is_told(two, fail, judged):
    def failing(*places: int) -> Results:
        results = two()
        for index in places:
            old = results.runs[index]
            results.runs[index] = replace(fail(old.strategy, old.conversation), digest=old.digest)
        return results

    for rules in ((), (CHANGE,), (PLACE,)):
        verdict = judged(two(), failing(1), *rules)
        assert (verdict.code, verdict.obstacles[0]) == snapshot(
            (2, "1 run failed: a under sliding_window(keep=20)")
        )
        still = judged(failing(1), failing(1), *rules)
        assert (still.code, still.remarks) == snapshot(
            (0, ("1 run failed before and again now: a under sliding_window(keep=20)",))
        )
        assert judged(failing(1), failing(1, 3), *rules).code == 2
    for rules in ((), (CHANGE,)):
        well = judged(failing(1), two(), *rules)
        assert well.code == 2
        told = "1 run not in the baseline: a under sliding_window(keep=20)"
        assert told in (*well.obstacles, *well.remarks)
    assert judged(failing(1, 3, 5), failing(1, 3, 5), PLACE).code == 2


def test_a_figure_that_either_side_lacks_is_no_pass(two, judged):
    lesser = two()
    lesser.manifest["metrics"] = ["calls", "amnesia_need"]
    assert said(judged(lesser, two(), CHANGE)) == snapshot("""\
2
failed: the baseline has no figures of cost_usd\
""")
    for rules in ([], [CHANGE], [("cost_usd", "<= 9")]):
        verdict = judged(two(), lesser, *rules)
        assert verdict.code == 2
        assert "the store has no figures of cost_usd" in {each.reason for each in verdict.failed}
    untyped = two()
    for run in untyped.runs:
        del run.rows["facts"]
    assert said(judged(two(), untyped)) == snapshot("""\
2
failed: the store has no needs by type of fact\
""")


def test_an_unfinished_store_and_a_source_that_cannot_be_read_are_no_pass(two, judged):
    unfinished = two()
    unfinished.__dict__["missing"] = 2
    lost = two()
    lost.runs.append(Run("talk.jsonl", "", "", "", 0, 0, status="unreadable", error="no"))
    for rules in ((), (CHANGE,), (PLACE,)):
        verdict = judged(two(), unfinished, *rules)
        assert (verdict.code, verdict.obstacles) == snapshot(
            (2, ("2 cells of the experiment not in the store yet",))
        )
        verdict = judged(two(), lost, *rules)
        assert (verdict.code, verdict.obstacles) == snapshot(
            (2, ("1 source not readable: talk.jsonl",))
        )
        assert judged(lost, lost, *rules).code == 0


def test_an_empty_store_is_no_pass(two):
    empty = Results([], two().manifest)
    assert gate(empty, Baseline.of(two())).code == 2
    assert gate(empty, Baseline.of(empty)).code == 2


def test_what_never_went_well_is_no_pass(two, fail, store):
    """Nothing has moved where nothing is there; a gate of it guards nothing."""
    lost = store(*(fail("keep_none()", name) for name in "ab"))
    for rules in ((), (("cost_usd", "+2%"),), (("cost_usd", "exact"),)):
        demands = [Demand(Rule.parse(*rule)) for rule in rules]
        verdict = gate(lost, Baseline.of(lost, GATED), demands or None)
        assert (verdict.code, verdict.remarks) == snapshot(
            (2, ("2 runs failed before and again now: a under keep_none and b under keep_none",))
        )
    both = Results([*two().runs, *(fail("keep_none()", name) for name in "abc")], two().manifest)
    kept = Baseline.of(both)
    everything = Demand(Rule.parse("cost_usd", "+2%"))
    assert gate(both, kept).code == 0
    assert gate(both, kept, [everything]).code == 0
    alone = gate(both, kept, [everything, replace(everything, strategy=("keep_none",))])
    assert (alone.code, alone.failed[0].reason) == snapshot((2, "all its runs failed"))


def test_what_went_well_for_the_first_time_is_new_and_not_changed(two, fail, store):
    lost, found = two("a"), two("a")
    lost.runs[:] = [replace(fail(run.strategy, "a"), scenario=run.scenario) for run in lost.runs]
    assert said(gate(found, Baseline.of(lost, GATED))) == snapshot("""\
2
2 runs not in the baseline: a under keep_all and a under sliding_window(keep=20)
failed: 1 run not in the baseline\
""")


def test_a_baseline_of_one_metric_holds_that_one(two, changed):
    kept = Baseline.of(two(), ["cost_usd"])
    same = gate(two(), kept)
    assert (same.code, {each.demand.rule.metric for each in same.findings}) == (0, {"cost_usd"})
    assert gate(changed(two(), cost_usd=1.0), kept).code == 1
    decisions = [Demand(Rule.parse("amnesia_need", "+0"), type=("decision",))]
    assert gate(two(), kept, decisions).code == 0
