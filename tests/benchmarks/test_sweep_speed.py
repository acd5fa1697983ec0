"""A sweep from its file to its store: 200 calls a conversation under ten rule strategies.

The whole of it, 1,000 conversations and 2 million calls, is `make bench-sweep`; without
``COMPACTLAB_CONVERSATIONS`` it is some of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from compactlab.sim.store.results import Results
from compactlab.sim.store.store import Store
from tests.benchmarks.counters import counters

CONVERSATIONS = int(os.environ.get("COMPACTLAB_CONVERSATIONS", "24"))
# Sizes as in the recordings; 250,000 tokens over 200 calls grow by 1,250 a call.
EXPERIMENT = f"""
conversations = [
  {{ scenario = "coding_agent", tokens = 250_000, calls = 200, seeds = {CONVERSATIONS} }},
]
strategies = [
  "keep_all", "keep_none", "turn_slice(history_limit=4)", "token_budget", "sliding_window",
  "pair_safe_window", "clear_tool_results", "ttl_prune", "random_keep",
  "observation_masking(polling=10)",
]
models = ["claude-sonnet-4-5"]
loop = "open"
metrics = ["money", "cache", "forward_need"]
tables = ["calls"]
jobs = 2
out = "out"
"""
# What the command line does, and then the most memory that its process has had.
COMMAND = """
import atexit, json, resource, sys
from compactlab.__main__ import main
most = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
atexit.register(lambda: open("memory.json", "w").write(json.dumps(most())))
main()
"""


def compactlab(folder: Path) -> int:
    """Run the experiment in a process of its own, and give its peak of memory in bytes."""
    command = [sys.executable, "-c", COMMAND, "run", "sweep.toml"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return int(json.loads((folder / "memory.json").read_text("utf-8")))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    folder: Path = tmp_path_factory.mktemp("sweep")
    (folder / "sweep.toml").write_text(EXPERIMENT)
    return folder


def test_a_sweep(benchmark: Any, folder: Path) -> None:
    memory = benchmark.pedantic(compactlab, (folder,), rounds=1, iterations=1)
    store = Store(folder / "out")
    with store.connected() as connection:
        ((tokens,),) = connection.execute(
            "SELECT avg(prompt_tokens_peak) / 200 FROM all_runs WHERE strategy = 'keep_all()'"
        ).fetchall()
    counted = counters(run.calls for run in Results.load(store.folder).runs)
    calls = counted["calls"]
    size = sum(file.stat().st_size for file in (folder / "out" / "calls").iterdir())
    seconds = benchmark.stats.stats.min
    benchmark.extra_info.update(
        calls=calls,
        counters=counted,
        growth=round(tokens),
        calls_per_s=round(calls / seconds),
        bytes_per_call=round(size / calls, 1),
        parent_mb=round(memory / 1e6),
        seconds_for_2_million=round(seconds * 2e6 / calls),
    )
    extra = {name: value for name, value in benchmark.extra_info.items() if name != "counters"}
    told = (f"{name} {value:,}" for name, value in extra.items())
    print(f"\n{CONVERSATIONS:,} conversations, {seconds:,.1f} s:", ", ".join(told))
    assert size / calls <= 40


def test_the_second_start(benchmark: Any, folder: Path) -> None:
    """Everything is there: nothing is loaded, made or replayed."""
    benchmark.extra_info["counters"] = {}
    benchmark.pedantic(compactlab, (folder,), rounds=1, iterations=1)
