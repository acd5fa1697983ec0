"""How many calls a second rule strategies are replayed, alone and with the metrics of a sweep.

Ten strategies that ask for no summary. Alone: strategy, cache and bill. With money, cache and
forward need: 12,000 for all ten together, and 10,000 on a session of 10,000 messages for those that
leave the prefix alone, or change it rarely. A cost that grows with the session shows in the three
lengths beside each other. Run by ``make bench``.
"""

from __future__ import annotations

from functools import cache

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from compactlab.scenarios.coding_agent import CodingAgent
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.experiment.conditions import Setting
from compactlab.sim.experiment.shard import run_one
from compactlab.sim.metrics import FAMILIES
from compactlab.sim.metrics.run_data import RunData
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.replay.sizes import Unseen
from compactlab.sim.replay.trace import Trace
from compactlab.sim.store.run import Run
from compactlab.sim.store.tables import CALLS
from compactlab.strategies.catalogue import find_strategy
from tests.benchmarks.counters import counters

TEN = (
    "keep_all",
    "keep_none",
    "turn_slice(history_limit=4)",
    "token_budget",
    "sliding_window",
    "pair_safe_window",
    "clear_tool_results",
    "ttl_prune",
    "random_keep",
    "observation_masking(polling=10)",
)
MODEL = "claude-sonnet-4-5"
NAMES = {family.name: [metric.name for metric in family.metrics] for family in FAMILIES}
ASKED = (*NAMES["money"], *NAMES["cache"], "forward_need")


@cache
def session(messages: int) -> Conversation:
    """A made-up session cut to so many messages; about 300 tokens (o200k) each."""
    script = CodingAgent(tokens=messages * 400).conversation(seed=0)
    return Conversation("bench", script.format, script.events[:messages], script.system, seed=0)


def replay_and_measure(conversation: Conversation, specs: tuple[str, ...]) -> list[Run]:
    found = []
    for spec in specs:
        blank = Run(conversation.id, conversation.format, spec, MODEL, 0, 0)
        strategy = find_strategy(spec)
        setting = Setting(MODEL, overhead=Unseen(), metrics=tuple(ASKED), tables=("calls",))
        done = run_one(blank, conversation, strategy, setting)
        assert done.status == "ok", done.error
        found.append(done)
    return found


def replay_alone(conversation: Conversation, spec: str) -> Trace:
    return record(conversation, find_strategy(spec), Options(MODEL, overhead=Unseen()))


def run(benchmark: BenchmarkFixture, messages: int, specs: tuple[str, ...]) -> None:
    conversation = session(messages)
    assert len(conversation.messages) == messages
    runs = replay_and_measure(conversation, specs)  # counts tokens once, as an experiment does
    benchmark.extra_info["counters"] = counters(run.calls for run in runs)
    calls = benchmark.extra_info["counters"]["calls"]
    benchmark.pedantic(replay_and_measure, (conversation, specs), rounds=3)
    what = specs[0] if len(specs) == 1 else "all ten"
    tell(benchmark, f"{what}, {messages:,} messages", calls)


def tell(benchmark: BenchmarkFixture, what: str, calls: int) -> None:
    rate = calls / benchmark.stats.stats.median
    benchmark.extra_info["calls_per_second"] = round(rate)
    print(f"\n{what}: {rate:,.0f} calls a second")


@pytest.mark.benchmark(disable_gc=True)  # as a run does
@pytest.mark.parametrize("spec", TEN)
def test_replay_alone(benchmark: BenchmarkFixture, spec: str) -> None:
    """Strategy, prompt, cache and bill: what a strategy costs before anything is made of it."""
    conversation = session(500)
    trace = replay_alone(conversation, spec)
    benchmark.extra_info["counters"] = counters([CALLS.rows(RunData(trace, conversation))])
    benchmark.pedantic(replay_alone, (conversation, spec), rounds=15)
    tell(benchmark, f"{spec} alone", len(trace.steps))


@pytest.mark.parametrize("spec", TEN)
def test_five_hundred_messages(benchmark: BenchmarkFixture, spec: str) -> None:
    run(benchmark, 500, (spec,))


def test_all_ten_together(benchmark: BenchmarkFixture) -> None:
    run(benchmark, 500, TEN)


@pytest.mark.parametrize("messages", [2_500, 5_000, 10_000])
@pytest.mark.parametrize("spec", TEN)
def test_long_sessions(benchmark: BenchmarkFixture, spec: str, messages: int) -> None:
    run(benchmark, messages, (spec,))
