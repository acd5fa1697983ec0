"""Questions to a store: 24 strategies over 2 million calls."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import compactlab
from compactlab.sim.store.results import ask
from compactlab.sim.store.run import Run, shard_files
from compactlab.sim.store.store import Store

STRATEGIES, CONVERSATIONS = 24, 470  # of about 180 calls
EACH = 5  # conversations in a shard
COMPARISON = """
    SELECT strategy, count(*), sum(calls.cost_usd), max(uncached + cache_read + cache_write_5m),
           quantile_cont(uncached + cache_read + cache_write_5m, [0.5, 0.95, 0.99])
    FROM calls JOIN runs USING (run) GROUP BY strategy ORDER BY 3
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: Any) -> Store:
    """A store as large as that of a sweep; its calls are those of a few runs, again and again."""
    folder: Path = tmp_path_factory.mktemp("store")
    session = "coding_agent(tokens=60000, calls=200)"
    specs = ["keep_all", "sliding_window", "clear_tool_results(trigger=20000)"]
    runs = compactlab.run([session], specs, window=64_000, metrics=["money"], tables=["calls"]).runs
    store = Store(folder)
    for shard in range(0, CONVERSATIONS, EACH):
        numbers = range(shard, min(shard + EACH, CONVERSATIONS))
        store.put(f"{shard:016x}", shard_files([_as(runs, n, s) for n in numbers
                                           for s in range(STRATEGIES)]))  # fmt: skip
    store.describe({"compactlab": compactlab.__version__})
    return store


def _as(runs: list[Run], conversation: int, strategy: int) -> Run:
    """One of the runs, as that of another conversation under another strategy."""
    name = f"conversation-{conversation}"
    run = runs[(conversation + strategy) % len(runs)]
    return replace(run, conversation=name, source_key=name, strategy=f"strategy-{strategy}")


def test_a_comparison_with_percentiles(benchmark: Any, store: Store) -> None:
    _, rows = benchmark(ask, store, COMPARISON)
    assert len(rows) == STRATEGIES
    benchmark.extra_info["counters"] = {"calls": sum(row[1] for row in rows)}
