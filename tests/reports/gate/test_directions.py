"""Of each change a gate says whether it is better or worse, and of facts that were lost which."""

import json
from dataclasses import replace

import pytest

from compactlab.reports.gate.baseline import GATED, Baseline
from compactlab.reports.gate.gate import gate
from compactlab.reports.gate.outputs import commands, in_short, junit, report
from compactlab.reports.gate.rules import Demand, Outcome, Rule
from compactlab.reports.gate.verdict import Finding
from compactlab.reports.render import markdown as as_markdown
from compactlab.reports.render import terminal as as_text
from compactlab.reports.render.write import write_json
from compactlab.sim.metrics import METRICS

RISE = {"lower": "worse", "higher": "better", "neither": ""}


def as_data(verdict) -> dict:
    return json.loads(write_json(report(verdict)))


@pytest.mark.parametrize("name", METRICS)
def test_what_rises_is_better_or_worse_by_its_metric_alone(name):
    risen = Finding(Demand(Rule(name, "exact")), None, Outcome.CHANGED, before=0.2, after=0.4)
    fallen = replace(risen, before=0.4, after=0.2)
    other = {"worse": "better", "better": "worse", "": ""}
    assert risen.direction == RISE[METRICS[name].better]
    assert fallen.direction == other[risen.direction]


def test_without_rules_a_change_is_no_regression_and_what_is_worse_comes_first(
    two, changed, judged
):
    after = changed(
        two(), cost_usd=lambda was, run: was / 2, overflows=0, tokens_output=lambda n, run: n + 5,
        recall_20k=0.5, write_spike_ratio=9.0,
    )  # fmt: skip
    verdict = judged(changed(two(), overflows=4), after)
    assert (verdict.code, verdict.word) == (1, "changed")
    assert {finding.outcome for finding in verdict.failed} == {Outcome.CHANGED}
    told = [(finding.demand.rule.metric, finding.direction) for finding in verdict.failed]
    assert told[0] == ("recall_20k", "worse")
    assert dict(told)["cost_usd"] == dict(told)["overflows"] == "better"
    assert dict(told)["tokens_output"] == ""
    order = ["worse", "", "better"]
    assert [way for _, way in told] == sorted((way for _, way in told), key=order.index)
    found = as_data(verdict)
    assert (found["verdict"], found["counts"]["regressed"]) == ("changed", 0)
    assert {each["direction"] for each in found["findings"]} == {None, "worse", "better"}


def test_a_rule_that_is_broken_is_a_regression_also_an_exact_one(two, changed, judged):
    better = changed(two(), cost_usd=lambda was, run: was / 2)
    verdict = judged(two(), better, ("cost_usd", "exact"))
    assert (verdict.code, verdict.word) == (1, "regressed")
    assert [finding.direction for finding in verdict.failed] == ["better"]


def test_shares_are_in_percent_and_their_differences_in_points(two, changed, judged):
    before, after = changed(two(), recall_20k=5 / 6), changed(two(), recall_20k=0.4791666)
    verdict = judged(before, after, ("recall_20k", "-0.02"), ("recall_20k", ">= 0.9"))
    lines = as_text.write(in_short(verdict)).splitlines()
    relative, absolute = (line for line in lines if "points" in line)
    assert relative.strip() == "83.3% → 47.9% (-35.4 points; allowed -2)"
    assert absolute.strip().startswith("83.3% → 47.9% (-35.4 points)")


def test_a_metric_that_the_baseline_lacks_is_named_in_the_verdict(two):
    """Who takes a line out of a baseline takes a check out of the gate, and is seen."""
    less = [name for name in GATED if name not in ("amnesia_need", "overflows")]
    verdict = gate(two(), Baseline.of(two(), less))
    assert verdict.code == 0
    assert set(verdict.absent) == {"amnesia_need", "overflows"}
    assert as_data(verdict)["not_in_baseline"] == [*verdict.absent]
    for said in (as_text.write(in_short(verdict)), as_markdown.write(report(verdict))):
        assert all(name in said for name in verdict.absent)


def test_a_metric_without_a_value_in_any_run_is_named_in_the_verdict(two, changed, judged):
    none = changed(changed(two(), recall_20k=None), "keep_all()", recall_20k=None)
    verdict = judged(none, none, ("recall_20k", "-0.02"), ("cost_usd", "+2%"))
    assert (verdict.code, verdict.valueless) == (0, ("recall_20k",))
    assert as_data(verdict)["without_value"] == ["recall_20k"]
    assert "recall_20k" in as_text.write(in_short(verdict))
    one = changed(two(), recall_20k=None)
    assert judged(one, one, ("recall_20k", "-0.02")).valueless == ()


@pytest.fixture
def forgetful(two, changed):
    """Conversation b under the window forgot a fact, and says where it stood."""
    results = changed(two(), conversation="b", recall_20k=0.5)
    for run in results.runs:
        facts = run.rows["facts"].columns
        if run.conversation == "b" and run.strategy.startswith("sliding"):
            facts["needs_met"][:], facts["first_missed"][:] = [4, 5], [17, 0]
            facts["statement"][0], facts["stated_in"][0] = "branch: main", "u1"
            facts["stated_at"][0], facts["missed_lag"][0] = 3, "20000"
    return results


@pytest.mark.parametrize("rules", [(), (("recall_20k", "-0.02"), ("amnesia_need", "+0"))])
def test_of_a_fact_that_was_lost_every_form_says_which_where_and_when(
    rules, two, forgetful, judged
):
    verdict = judged(two(), forgetful, *rules)
    [finding] = [each for each in verdict.findings if each.lost]
    assert finding.demand.rule.metric == "recall_20k"  # of all that fell, told once
    [miss] = finding.lost.facts
    assert (miss.fact, miss.message, miss.call, miss.times, miss.lag) == (
        "branch: main", "3 (u1)", 17, 6, 20_000,
    )  # fmt: skip
    assert finding.lost.explain.startswith("compactlab explain ")
    [found] = [each["lost"] for each in as_data(verdict)["findings"] if each["lost"]]
    assert found["facts"][0]["fact"] == "branch: main"
    forms = [as_text.write(in_short(verdict)), as_markdown.write(report(verdict))]
    for said in (*forms, junit(verdict).decode(), "\n".join(commands(verdict))):
        assert "branch: main" in said
        assert "compactlab explain " in said


def test_what_became_better_names_no_fact(two, forgetful, judged):
    assert not any(each.lost for each in judged(forgetful, two()).findings)
