"""Stores made by hand, one for what was and one for what is, that differ where a test says so."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from compactlab.reports.gate.baseline import GATED, Baseline
from compactlab.reports.gate.gate import gate
from compactlab.reports.gate.rules import Demand, Rule
from compactlab.reports.gate.verdict import Finding, Verdict
from compactlab.sim.metrics import METRICS
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run
from compactlab.sim.store.tables import TABLES
from tests.reports.spoken import folded

KEEP, CUT = "keep_all()", "sliding_window(keep=20)"
NEEDS = {"decision": (10, 9), "prohibition": (5, 5)}


def with_facts(run: Run, needs: dict[str, tuple[int, int]]) -> Run:
    """A run whose facts are needed and held so often, by type."""
    columns = {
        "fact": [f"{type}-1" for type in needs],
        "type": list(needs),
        "needs": [pair[0] for pair in needs.values()],
        "needs_met": [pair[1] for pair in needs.values()],
    }
    return replace(run, rows={**run.rows, "facts": TABLES["facts"].filled(columns)})


@pytest.fixture
def two(make, store) -> Callable[..., Results]:
    """Results of two strategies over some conversations, with one replay or several."""

    def build(names: str = "abc", seeds: int = 1, **manifest: Any) -> Results:
        runs = [
            with_facts(make(spec, conversation=name, seed=seed), NEEDS)
            for name in names
            for seed in range(seeds)
            for spec in (KEEP, CUT)
        ]
        for run in runs:
            run.metrics["write_spike_ratio"] = 4.0
        return store(*runs, seeds=list(range(seeds)), metrics=list(METRICS), **manifest)

    return build


@pytest.fixture
def changed() -> Callable[..., Results]:
    """The same results but for figures of some runs, each a number or made from what it was."""

    def change(
        results: Results, strategy: str = CUT, conversation: str = "", **figures: Any
    ) -> Results:
        runs = []
        for run in results.runs:
            if run.strategy == strategy and conversation in ("", run.conversation):
                new = {
                    name: value(run.metrics[name], run) if callable(value) else value
                    for name, value in figures.items()
                }
                run = replace(run, metrics={**run.metrics, **new})  # noqa: PLW2901
            runs.append(run)
        return Results(runs, results.manifest)

    return change


@pytest.fixture
def judged() -> Callable[..., Verdict]:
    """What a gate says of results, by other results as its baseline."""

    def judge(before: Results | None, after: Results, *rules: Any) -> Verdict:
        demands = [
            rule if isinstance(rule, Demand) else Demand(Rule.parse(*rule)) for rule in rules
        ]
        kept = (*GATED, *(demand.rule.metric for demand in demands))
        held = None if before is None else Baseline.of(before, kept)
        return gate(after, held, demands or None)

    return judge


def said(verdict: Verdict) -> str:
    """Its exit code, what is in its way, what it remarks, and why checks failed."""
    reasons = {f"failed: {each.reason}" for each in verdict.failed}
    return folded([str(verdict.code), *verdict.obstacles, *verdict.remarks, *sorted(reasons)])


def of(verdict: Verdict, strategy: str = CUT) -> list[Finding]:
    """The findings of a strategy."""
    return [each for each in verdict.findings if each.subject and each.subject.strategy == strategy]


@pytest.fixture(name="of")
def _of() -> Callable[..., list[Finding]]:
    return of
