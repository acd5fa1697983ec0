"""How many calls a second a replay makes whose facts are followed, and without them.

A session of about 500 calls that states 400 facts, decoys on top. Aims, a core: 1,000 calls a
second with all metrics; 20,000 where nobody asks for facts and the prefix is left alone. A window
of 64,000 tokens has summaries come often, so that their price shows. Run by ``make bench``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from compactlab.scenarios.coding_agent import CodingAgent
from compactlab.scenarios.engine.domain import Domain
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.experiment.conditions import Setting
from compactlab.sim.experiment.shard import run_one
from compactlab.sim.metrics import FAMILIES, METRICS, RunData, figures
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.replay.sizes import Unseen
from compactlab.sim.store.parquet import Rows
from compactlab.sim.store.run import Run
from compactlab.sim.store.tables import CALLS
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.catalogue import find_summarizer
from tests.benchmarks.counters import counters

MODEL, WINDOW = "claude-sonnet-4-5", 64_000
SPECS = ("keep_all", "sliding_window(keep=20)", "auto_compact")
NAMES = {family.name: [metric.name for metric in family.metrics] for family in FAMILIES}
MEMORY = [*NAMES["memory"], *NAMES["facts"]]
ASKED = {
    "all": [*METRICS],
    "memory": MEMORY,
    "without facts": [*NAMES["money"], *NAMES["cache"], "forward_need"],
}


@dataclass(frozen=True)
class Dense(CodingAgent):
    """The coding session with more than four times its facts."""

    domain: ClassVar[Domain] = replace(
        CodingAgent.domain, mix=replace(CodingAgent.domain.mix, density=1.6)
    )


@cache
def session() -> Conversation:
    script = Dense(tokens=250_000).conversation(seed=0)
    decoys = sum(fact.decoy for fact in script.facts)
    assert (len(script.facts) - decoys, decoys) == (400, 100)
    assert 450 < len(script.calls) < 550
    return script


def measured(
    benchmark: BenchmarkFixture, what: str, call: Callable[[], object], calls: Rows
) -> None:
    benchmark.extra_info["counters"] = counters([calls])
    benchmark(call)
    rate = len(session().calls) / benchmark.stats.stats.median
    benchmark.extra_info["calls_per_second"] = round(rate)
    print(f"\n{what}: {rate:,.0f} calls a second")


def run(spec: str, metrics: Sequence[str]) -> Rows:
    blank = Run(session().id, session().format, spec, MODEL, WINDOW, 0)
    lexrank = find_summarizer("lexrank")
    setting = Setting(
        MODEL, lexrank, WINDOW, overhead=Unseen(), metrics=tuple(metrics), tables=("calls",)
    )
    done = run_one(blank, session(), find_strategy(spec), setting)
    assert done.status == "ok", done.error
    return done.calls


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("spec", SPECS)
def test_replayed_and_measured(benchmark: BenchmarkFixture, spec: str, asked: str) -> None:
    calls = run(spec, ASKED[asked])  # counts tokens once, as an experiment does
    measured(benchmark, f"{spec}, {asked}", lambda: run(spec, ASKED[asked]), calls)


@pytest.mark.parametrize("spec", SPECS)
def test_memory_of_a_replay_that_was_made(benchmark: BenchmarkFixture, spec: str) -> None:
    """What the states of all facts at all calls cost, and the figures that are made of them."""
    lexrank = find_summarizer("lexrank")
    trace = record(
        session(), find_strategy(spec), Options(MODEL, summarizer=lexrank, window=WINDOW)
    )
    reading = RunData(trace, session())
    figures(reading, MEMORY)
    measured(
        benchmark,
        f"{spec}, alone",
        lambda: figures(RunData(trace, session()), MEMORY),
        CALLS.rows(reading),
    )
