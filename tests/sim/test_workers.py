"""A shard that nobody survives is taken apart, until the deadly run is alone and fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from compactlab.sim.cluster import DIED, Outcome
from compactlab.sim.condition import Condition, Setting
from compactlab.sim.run import Run
from compactlab.sim.shard import Shard, Task
from compactlab.sim.source import Source
from compactlab.sim.workers import Work, Workers, _survived
from compactlab.strategies import KeepAll, KeepNone, SlidingWindow


def nothing() -> list[object]:
    return []


SOURCES = [Source(f"source {n}", nothing, seed=n) for n in range(3)]
CONDITIONS = tuple(Condition(s, "", Setting()) for s in (KeepAll(), KeepNone(), SlidingWindow()))
SHARDS = [
    Shard((Task(SOURCES[0], CONDITIONS),)),
    Shard(tuple(Task(s, CONDITIONS) for s in SOURCES[1:])),
]


class Perilous:
    """Does shards, if nothing deadly is in them."""

    def __init__(self, deadly: set[tuple[str, str]]) -> None:
        self.deadly = deadly
        self.asked = 0

    def do(self, work: Work, shards: Sequence[Shard]) -> Iterator[Outcome]:
        for shard in shards:
            self.asked += 1
            yield shard, DIED if self.deadly & set(shard.cells) else work(shard)


def told(shard: Shard) -> list[tuple[str, str, str]]:
    """The runs of a shard; here nothing is replayed."""
    if type(shard) is Shard:
        return [(*cell, "ok") for cell in shard.cells]
    return [(run.source_key, run.condition, run.status) for run in shard.runs()]


EVERY = [cell for shard in SHARDS for cell in shard.cells]


@pytest.mark.parametrize("deadly", [[], [0], [4], [0, 4, 5], list(range(9))])
def test_exactly_the_deadly_runs_fail(deadly):
    killers = {EVERY[n] for n in deadly}
    found = [run for _, done in _survived(Perilous(killers), told, SHARDS) for run in done]
    assert sorted(found) == sorted((*c, "failed" if c in killers else "ok") for c in EVERY)


def test_what_is_not_deadly_is_done_as_it_is():
    team = Perilous({EVERY[0]})
    shards = [shard for shard, _ in _survived(team, told, SHARDS)]
    assert shards[-1] is SHARDS[1]
    assert [shard.cells for shard in shards[:-1]] == [[cell] for cell in EVERY[:3]]
    assert team.asked == 2 + 3


def test_the_row_of_a_deadly_run_names_it():
    ((_, runs),) = _survived(
        Perilous({EVERY[0]}), lambda shard: shard.runs(), SHARDS[0].apart()[:1]
    )
    (run,) = runs
    assert isinstance(run, Run)
    assert (run.status, run.strategy, run.source) == ("failed", "keep_all()", "source 0")
    assert "the worker died" in run.error


def test_alone_there_is_no_other_process():
    assert [shard for shard, _ in Workers().do(told, SHARDS)] == SHARDS
