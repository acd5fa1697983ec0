"""Gates know the headline of memory: recall at a long distance."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from inline_snapshot import snapshot

from compactlab.reports.gate.baseline import GATED, Baseline, gated, parsed, written
from compactlab.reports.gate.changes import report
from compactlab.reports.gate.gate import gate
from compactlab.reports.gate.rules import Demand, Outcome, Rule
from compactlab.reports.render.write import WRITERS
from compactlab.sim.store.results import Results
from tests.lines import lines_with

Two = Callable[..., Results]

RECALL = ("recall_10k", "recall_20k", "recall_40k")
WITHOUT_RECALL = [name for name in GATED if name not in RECALL]


def demands(**rules: str) -> list[Demand]:
    return [Demand(Rule.parse(metric, text)) for metric, text in rules.items()]


def test_a_baseline_holds_recall_at_long_lags_beside_all_needs(two):
    held = Baseline.of(two("a"))
    assert {*RECALL, "amnesia_need"} <= set(held.metrics)
    (record,) = next(iter(held.records.values())).values()
    assert {name: record.figures[name] for name in RECALL} == dict.fromkeys(RECALL, 1.0)


def test_what_is_never_needed_so_late_is_no_figure_and_no_change(two, changed):
    short = changed(changed(two(), recall_40k=None), "keep_all()", recall_40k=None)
    text = written(Baseline.of(short))
    assert "recall_40k" not in json.loads(text)["runs"][0]["figures"]
    again = parsed(text.encode())
    verdict = gate(short, again, demands(recall_40k="-0.02"))
    assert verdict.code == 0
    assert {finding.reason for finding in verdict.findings} == snapshot({"no value before or now"})
    assert gate(short, again).code == 0
    assert gate(two(), again, demands(recall_40k="-0.02")).code == 2


def test_a_limit_on_recall_that_nothing_asks_for_says_why_it_cannot_be_judged(two, changed):
    short = changed(two(), recall_20k=None)
    verdict = gate(short, None, demands(recall_20k=">= 0.9"))
    [finding] = [each for each in verdict.findings if not each.holds]
    assert finding.outcome is Outcome.UNJUDGED
    assert finding.reason == snapshot("it has no value: no call needs a fact at so long a lag")


def test_less_recall_is_a_regression_and_more_is_none(two, changed):
    held = Baseline.of(changed(two(), recall_20k=0.8))
    rule = demands(recall_20k="-0.02")
    for now, code in ((0.9, 0), (0.79, 0), (0.7, 1)):
        assert gate(changed(two(), recall_20k=now), held, rule).code == code


def test_a_baseline_without_recall_is_compared_on_what_both_have(two):
    before = Baseline.of(two(), WITHOUT_RECALL)
    assert gate(two(), before).code == 0
    verdict = gate(two(), before, demands(cost_usd="+2%", recall_20k="-0.02"))
    assert verdict.code == 2
    assert {f.reason for f in verdict.findings if not f.holds} == snapshot(
        {"the baseline has no figures of recall_20k"}
    )


def test_changes_lead_with_cost_and_recall_at_a_long_lag(two, changed):
    before = Baseline.of(changed(two(), recall_20k=0.9))
    after = changed(two(), recall_20k=0.7, amnesia_need=0.25)
    heads, _, row = WRITERS["table"](report(after, before)).splitlines()[1:]
    assert heads.split() == ["strategy", "USD", "recall", "≥20k", "also", "changed"]
    told = ["same", "90.0%", "→", "70.0%", "(-20.0", "points)", "amnesia_need"]
    assert row.split()[1:] == told


@pytest.mark.parametrize("distance", [20_000, 40_000])
def test_changes_tell_recall_at_the_distance_of_the_store_and_at_no_other(distance, two, changed):
    def short(**figures: Any) -> Results:
        results = changed(two(distance=distance), recall_10k=0.9, **figures)
        none = {f"recall_{distance // 1_000}k": None}
        runs = [replace(run, metrics={**run.metrics, **none}) for run in results.runs]
        return Results(runs, results.manifest)

    before = Baseline.of(short(), gated(short()))
    told = WRITERS["table"](report(short(amnesia_need=0.25), before)).splitlines()
    assert f"  recall ≥{distance // 1_000}k  " in told[1]
    assert told[3].split()[1:] == ["same", "same", "amnesia_need"]


def test_a_baseline_holds_recall_at_the_distance_of_its_store(two):
    far = two(distance=80_000)
    assert "recall_80k" in Baseline.of(far, gated(far)).metrics
    assert "recall_80k" not in Baseline.of(two(), gated(two())).metrics


def test_changes_against_a_baseline_without_recall_are_those_of_all_needs(two, changed):
    after = changed(two(), amnesia_need=0.25)
    told = WRITERS["md"](report(after, Baseline.of(two(), WITHOUT_RECALL)))
    assert lines_with(told, "| strategy") == snapshot(
        "| strategy | USD | miss rate, all needs | also changed |"
    )
