"""How many calls a second a replay makes, cost metrics and forward need included.

Aims, a core: 20,000 calls a second on 500 messages of realistic sizes, 10,000 on 10,000 messages
for strategies that leave the prefix alone. Run by ``make bench``.
"""

from __future__ import annotations

import re
from functools import cache

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from compactlab.scenarios.coding_agent import CodingAgent
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.experiment.conditions import Setting
from compactlab.sim.experiment.shard import run_one
from compactlab.sim.replay.sizes import Unseen
from compactlab.sim.replay.strategy import Agent
from compactlab.sim.store.run import Run
from compactlab.strategies import ALL_STRATEGIES
from compactlab.strategies.catalogue import STRATEGIES, find_strategy
from tests.benchmarks.counters import counters

# What asks for summaries or extra turns is as fast as whoever writes them.
_WRITTEN = {
    "auto_compact", "memory_flush", "recency_buffer", "preserve_turns", "full_summary",
    "rolling_summary", "turn_checkpoints", "user_words", "prune_then_summarize", "fraction_split",
    "server_compaction",
    *(name for name, cls in STRATEGIES.usable().items() if issubclass(cls, Agent)),
}  # fmt: skip
RULES = [spec for spec in ALL_STRATEGIES if _WRITTEN.isdisjoint(re.findall(r"\w+", spec))]
KEEP_THE_PREFIX = ("keep_all", "as_recorded")


@cache
def session(messages: int) -> Conversation:
    """A made-up session cut to so many messages; about 270 tokens (o200k) each."""
    script = CodingAgent(turns=messages // 20, tokens=messages * 400).conversation(seed=0)
    return Conversation("bench", script.format, script.events[:messages], script.system, seed=0)


def replay_and_measure(conversation: Conversation, spec: str) -> Run:
    blank = Run(conversation.id, conversation.format, spec, "claude-sonnet-4-5", 0, 0)
    setting = Setting(blank.model, overhead=Unseen(), tables=("calls",))
    done = run_one(blank, conversation, find_strategy(spec), setting)
    assert done.status == "ok", done.error
    return done


def run(benchmark: BenchmarkFixture, messages: int, spec: str) -> None:
    conversation = session(messages)
    assert len(conversation.messages) == messages
    done = replay_and_measure(conversation, spec)  # counts tokens once, as an experiment does
    benchmark.extra_info["counters"] = counters([done.calls])
    benchmark(replay_and_measure, conversation, spec)
    rate = len(conversation.calls) / benchmark.stats.stats.median
    benchmark.extra_info["calls_per_second"] = round(rate)
    print(f"\n{spec}, {messages:,} messages: {rate:,.0f} calls a second")


@pytest.mark.parametrize("spec", RULES)
def test_five_hundred_messages(benchmark: BenchmarkFixture, spec: str) -> None:
    run(benchmark, 500, spec)


@pytest.mark.parametrize("spec", KEEP_THE_PREFIX)
def test_ten_thousand_messages(benchmark: BenchmarkFixture, spec: str) -> None:
    run(benchmark, 10_000, spec)
