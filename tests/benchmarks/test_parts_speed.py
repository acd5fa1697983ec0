"""What the parts of a sweep take, each beside the least that it could take. Run by ``make bench``.

The least is what the same result needs of the libraries below: tokens by tiktoken alone, lines by
a decoder that checks nothing, a step by making its objects. docs/dev/performance.md quotes both.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tiktoken

import compactlab
from compactlab.scenarios.coding_agent import CodingAgent
from compactlab.scenarios.readers import native
from compactlab.scenarios.readers.transcript import read
from compactlab.sim.core import tokens
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.facts import inferred
from compactlab.sim.facts.needs import ForwardNeeds
from compactlab.sim.metrics import FAMILIES, RunData, figures
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.replay.sizes import Unseen
from compactlab.sim.replay.trace import Step
from compactlab.sim.store.run import Run, shard_files
from compactlab.sim.store.tables import CALLS
from compactlab.strategies.catalogue import find_strategy
from tests.benchmarks.counters import counters

MODEL = "claude-sonnet-4-5"
NAMES = {family.name: [metric.name for metric in family.metrics] for family in FAMILIES}


@cache
def session() -> Conversation:
    """200 calls that grow by 1,250 tokens each."""
    return CodingAgent(tokens=250_000, calls=200).conversation(seed=0)


@cache
def texts() -> list[str]:
    return list({part.text for message in session().messages for part in message.parts})


@cache
def transcript() -> Path:
    path = Path(tempfile.mkdtemp()) / "session.jsonl"
    native.write(session(), path)
    return path


@cache
def reading(spec: str = "keep_all") -> RunData:
    trace = record(session(), find_strategy(spec), Options(MODEL, overhead=Unseen()))
    return RunData(trace, session())


def fresh() -> RunData:
    """The same, of which nothing has been computed yet."""
    return RunData(reading().trace, session())


@cache
def runs() -> list[Run]:
    rows = {"calls": CALLS.rows(reading())}
    return [Run(str(n), "", "", MODEL, 0, 0, rows=rows) for n in range(40)]


def count() -> None:
    encode = tokens.encoding("o200k_base").encode
    for text in texts():
        encode(text)


@cache
def vocabulary() -> tiktoken.Encoding:
    pattern, sha256 = tokens._VOCABULARIES["o200k_base"]
    ranks = tokens._ranks("o200k_base", sha256)
    return tiktoken.Encoding("o", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


def count_bare() -> None:
    for text in texts():
        vocabulary().encode_ordinary(text)


def parse() -> None:
    list(read(transcript()))


def parse_bare() -> None:
    decode = msgspec.json.Decoder().decode
    for line in transcript().read_bytes().splitlines():
        decode(line)


def make_up() -> None:
    tokens.forget_counts()
    CodingAgent(tokens=250_000, calls=200).conversation(seed=0)


def replay() -> None:
    record(session(), find_strategy("keep_all"), Options(MODEL, overhead=Unseen()))


def replay_bare() -> None:
    for step in reading().trace.steps:
        Step(*(getattr(step, name) for name in Step.__struct_fields__))


def measure() -> None:
    figures(fresh(), [*NAMES["money"], *NAMES["cache"]])


def measure_bare() -> None:
    for step in reading().trace.steps:
        msgspec.structs.astuple(step.usage)


def follow() -> None:
    assert fresh().states


def follow_bare() -> None:
    """A few operations on integers with a bit a fact, for each call."""
    bits = (1 << len(session().facts)) - 1
    for _ in reading().trace.steps:
        for state in range(8):
            (bits >> state) & ~bits


def look_ahead() -> None:
    ForwardNeeds(session())


def look_ahead_bare() -> None:
    for text in texts():
        set(text.split())


def infer() -> None:
    inferred(session())


def pack() -> None:
    shard_files(runs(), ["calls"])


def pack_bare() -> None:
    """The same columns as plain parquet, without texts."""
    rows = runs()[0].rows["calls"]
    arrays = {n: np.tile(rows.array(n), 40) for n, c in CALLS.columns.items() if c.type != "text"}
    pq.write_table(pa.table(arrays), pa.BufferOutputStream(), compression="zstd")


PARTS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "tokenizing": (count, count_bare),
    "parsing": (parse, parse_bare),
    "making up": (make_up, count_bare),
    "replay of keep_all": (replay, replay_bare),
    "figures of money and cache": (measure, measure_bare),
    "states of facts": (follow, follow_bare),
    "words that are needed": (look_ahead, look_ahead_bare),
    "facts that are inferred": (infer, look_ahead_bare),
    "packing 40 runs": (pack, pack_bare),
}


@pytest.mark.parametrize("least", [False, True], ids=["measured", "least"])
@pytest.mark.parametrize("part", PARTS)
def test_a_part(benchmark: Any, part: str, least: bool) -> None:
    work = PARTS[part][least]
    work()
    benchmark.group = part
    benchmark.extra_info["counters"] = {
        "characters": sum(map(len, texts())),
        **counters([runs()[0].calls]),
    }
    benchmark(work)
    print(
        f"\n{part}, {'least' if least else 'measured'}: {benchmark.stats.stats.min * 1e3:,.2f} ms"
    )


def sweep(calls: int, strategies: int, seeds: int, metrics: list[str]) -> list[Run]:
    return compactlab.run(
        [f"coding_agent(tokens={calls * 1_250}, calls={calls})"],
        [f"turn_slice(history_limit={n + 1})" for n in range(strategies)],
        [MODEL],
        seeds=seeds,
        metrics=metrics,
        tables=["calls"],
    ).runs


MONEY = [*NAMES["money"], *NAMES["cache"]]
GROWTH = {
    **{f"{calls} calls": (calls, 4, 1, MONEY) for calls in (100, 200, 400, 800)},
    **{f"{strategies} strategies": (100, strategies, 1, MONEY) for strategies in (1, 2, 8, 16)},
    **{f"{seeds} conversations": (100, 4, seeds, MONEY) for seeds in (2, 4, 8)},
    "with facts followed": (200, 4, 1, [*MONEY, *NAMES["memory"]]),
    "with needs looked ahead": (200, 4, 1, [*MONEY, "forward_need"]),
}


@pytest.mark.parametrize("what", GROWTH)
def test_how_cost_grows(benchmark: Any, what: str) -> None:
    """A sweep of 4 strategies over one conversation of 200 calls, with one thing changed."""
    benchmark.group = "growth"
    runs = benchmark.pedantic(sweep, GROWTH[what], rounds=3, warmup_rounds=1)
    benchmark.extra_info["counters"] = counters(run.calls for run in runs)
    print(f"\n{what}: {benchmark.stats.stats.min * 1e3:,.0f} ms")
