"""Each metric declares which values it may have: all that is measured is within, and all else is
refused wherever figures are read."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.reports.gate.baseline import Baseline, parsed, written
from compactlab.reports.gate.rules import Rule
from compactlab.scenarios.catalogue import sources
from compactlab.sim.core.errors import InputError, UsageError
from compactlab.sim.experiment.conditions import Setting
from compactlab.sim.experiment.sweep import Experiment
from compactlab.sim.metrics import METRICS, measure
from compactlab.sim.metrics.metric import MOST
from compactlab.sim.replay.recovery import ClosedLoop
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.catalogue import find_summarizer
from tests.sim.replayed.remembered import forgetting, remembered

SOURCES = ["coding_agent(turns=5, tokens=15000)", "rewinds(tokens=15000)"]
STRATEGIES = [
    "keep_all", "keep_none", "random_keep", "sliding_window(keep=6)", "ttl_prune",
    "memory_flush + rolling_summary", "claude_code", "codex", "observation_masking",
]  # fmt: skip


def outside(found: dict[str, float | None]) -> list[str]:
    return [f for name, value in found.items() if value is not None if (f := fault(name, value))]


def fault(name: str, value: float) -> str:
    return METRICS[name].fault(value)


def test_what_real_runs_measure_is_in_the_range_of_its_metric():
    found, _ = sources(SOURCES, seeds=1)
    strategies = tuple(map(find_strategy, STRATEGIES))
    setting = Setting(window=10_000, loop=ClosedLoop())
    writers = (find_summarizer("calibrated"),)
    runs = Experiment(tuple(found), strategies, (), setting, summarizers=writers).run().runs
    assert {run.error for run in runs} == {""}
    assert [outside(dict(run.metrics)) for run in runs] == [[]] * len(runs)
    measured = {n for run in runs for n, value in run.metrics.items() if value is not None}
    assert len(measured) > 0.8 * len(METRICS)


@settings(max_examples=30)
@given(data=st.data())
def test_what_drawn_runs_measure_is_in_the_range_of_its_metric(kit, data):
    script = data.draw(remembered(kit))
    strategy = data.draw(st.sampled_from([forgetting(kit, script), kit.whim()]))
    assert outside(measure(kit.replayed(script, strategy, seed=1), script)) == []


def absurd(name: str) -> list[Any]:
    """Values of the type of a figure that the figure cannot have."""
    most = METRICS[name].range
    values = [most.low - 0.5, most.high * 2, 10**400, 1e308, -math.inf]
    return values if most.endless else [*values, math.inf]


RUN = Run("a", "story", "keep_all()", "m", 0, 0, digest="d")


def in_file(name: str, value: Any) -> bytes:
    """A baseline with one figure."""
    run = Run("a", "story", "keep_all()", "m", 0, 0, digest="d", metrics={name: 0.0})
    data = json.loads(written(Baseline.of(Results([run], {"metrics": [name]}), [name])))
    infinite = isinstance(value, float) and math.isinf(value)
    data["runs"][0]["figures"][name] = ("inf" if value > 0 else "-inf") if infinite else value
    return json.dumps(data).encode()


@pytest.mark.parametrize("name", METRICS)
def test_a_baseline_refuses_what_a_metric_cannot_be_and_says_where(name):
    least = METRICS[name].range.low
    assert parsed(in_file(name, least)).metrics == (name,)
    for value in absurd(name):
        with pytest.raises(ValueError, match=rf"^runs\[0\] \(a under .*\): {name} must be "):
            parsed(in_file(name, value))


def test_a_store_refuses_what_a_metric_cannot_be_and_says_where(tmp_path):
    for name in ("recall_20k", "cost_usd", "overflows", "break_even_calls", "order_fidelity"):
        for value in [*absurd(name)[:2], -math.inf]:
            runs = [RUN, Run("b", "story", "s()", "m", 0, 0, metrics={name: value})]
            Results(runs, {"metrics": [name]}).save(tmp_path)
            with pytest.raises(InputError, match=rf"runs/results.parquet: row 1: {name} must be "):
                Results.load(tmp_path)


@pytest.mark.parametrize("number", ["needs", "prompt"])
def test_a_baseline_has_no_absurd_counts_beside_its_figures(number):
    data = json.loads(in_file("calls", 1))
    for value in (-1, int(MOST) + 1, 10**400):
        data["runs"][0][number] = {"goal": [value, 0]} if number == "needs" else [value, 0]
        with pytest.raises(ValueError, match=number):
            parsed(json.dumps(data).encode())


@pytest.mark.parametrize(
    ("metric", "rule"),
    [("amnesia_need", "<= 5"), ("recall_20k", ">= 90"), ("recall_20k", "-2"), ("cost_usd", "> -1")],
)
def test_a_rule_that_no_figure_can_break_or_meet_is_refused(metric, rule):
    with pytest.raises(UsageError, match=metric):
        Rule.parse(metric, rule)
