"""A shard that nobody survives is done cell by cell, until the deadly run is alone and fails."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib.externals.loky import BrokenProcessPool

from compactlab.sim.experiment.conditions import Condition, Setting
from compactlab.sim.experiment.shard import Shard, Task
from compactlab.sim.experiment.sources import Source
from compactlab.sim.experiment.workers import (
    DIED,
    Outcome,
    Work,
    Workers,
    _Processes,
    _survived,
    _Waiting,
)
from compactlab.sim.store.run import Run
from compactlab.strategies import KeepAll, KeepNone, SlidingWindow


@dataclass(frozen=True)
class Ready(Shard):
    """A shard of which nothing has to be replayed: a row a cell, conversation by conversation."""

    def counting(self) -> tuple[list[Run], dict[str, bytes]]:
        runs = [r for task in self.tasks for n in (0, 1) for r in task.failed("ok", "", n)]
        return runs, {task.source.key: b"counts" for task in self.tasks}


# They hold nothing; `list` is no code of others, which would be called in a process of its own.
SOURCES = [Source(f"source {n}", list, seed=n, content=str) for n in range(3)]
CONDITIONS = tuple(Condition(s, "", Setting()) for s in (KeepAll(), KeepNone(), SlidingWindow()))
SHARDS = [
    Ready((Task(SOURCES[0], CONDITIONS),)),
    Ready(tuple(Task(s, CONDITIONS) for s in SOURCES[1:])),
]


class Perilous:
    """Does shards, if nothing deadly is in them."""

    def __init__(self, deadly: set[tuple[str, str]]) -> None:
        self.deadly = deadly
        self.asked: list[Shard] = []

    def run(self, work: Work, shards: Sequence[Shard]) -> Iterator[Outcome]:
        for shard in shards:
            self.asked.append(shard)
            yield shard, DIED if self.deadly & set(shard.cells) else work(shard)


def rows(shard: Shard) -> list[tuple[str, str, int, str]]:
    """The rows of a shard, as they will be stored."""
    return [(r.source_key, r.condition, r.place, r.status) for r in shard.runs()]


def counting(shard: Shard) -> tuple[list[Run], dict[str, bytes]]:
    return shard.run(lambda _, runs, counts: (runs, counts))


@cache
def every() -> list[tuple[str, str]]:
    """All cells; their keys are digests of the engine, which nobody needs who only collects."""
    return [cell for shard in SHARDS for cell in shard.cells]


@given(st.deferred(lambda: st.sets(st.sampled_from(every()))))
def test_exactly_the_deadly_runs_fail_and_all_else_is_as_if_nobody_had_died(deadly):
    found = list(_survived(Perilous(deadly), rows, SHARDS))
    assert [shard.name for shard, _ in found] == [shard.name for shard in SHARDS]
    for (_, done), shard in zip(found, SHARDS, strict=True):
        # A run that is not tried has one row, whatever its source holds.
        lost = [row[:2] for row in done if row[3] == "failed"]
        assert sorted(lost) == sorted(deadly & set(shard.cells))
        assert [row for row in done if row[3] == "ok"] == [
            row for row in rows(shard) if row[:2] not in deadly
        ]


def test_who_dies_of_what_was_nobodys_fault_leaves_the_shard_as_it_would_have_been():
    class Unlucky(Perilous):
        def run(self, work: Work, shards: Sequence[Shard]) -> Iterator[Outcome]:
            for shard in shards:
                yield shard, DIED if len(shard.cells) > 1 else work(shard)

    found = _survived(Unlucky(set()), counting, SHARDS)
    assert {shard.name: done for shard, done in found} == {
        shard.name: counting(shard) for shard in SHARDS
    }


def test_what_is_not_deadly_is_done_as_it_is():
    team = Perilous({every()[0]})
    shards = [shard for shard, _ in _survived(team, rows, SHARDS)]
    assert shards[-1] is SHARDS[1]
    assert [shard.cells for shard in team.asked] == [
        SHARDS[0].cells,
        *([cell] for cell in every()[:3]),
        SHARDS[1].cells,
    ]


def test_the_row_of_a_deadly_run_names_it():
    ((_, (runs, _)),) = _survived(Perilous({every()[0]}), counting, SHARDS[0].apart()[:1])
    (run,) = runs
    assert isinstance(run, Run)
    assert (run.status, run.strategy, run.source) == ("failed", "keep_all()", "source 0")
    assert "the worker died" in run.error


def test_alone_there_is_no_other_process():
    assert [shard for shard, _ in Workers().run(rows, SHARDS)] == SHARDS


def test_a_process_goes_on_with_the_source_that_it_has_read():
    """To read one again, and to find out what its texts say, takes as long as some strategies."""
    a, b = (Task(source, CONDITIONS) for source in SOURCES[:2])
    waiting = _Waiting([shard for task in (a, b) for shard in Shard((task,)).apart()])
    first, other = SOURCES[0].key, SOURCES[1].key
    given = [waiting.next("", ()), waiting.next("", {first}), waiting.next(other, {first})]
    assert [shard.tasks[0].source for shard in given] == [SOURCES[0], SOURCES[1], SOURCES[1]]
    assert waiting.next(first, {other}).tasks[0].source == SOURCES[0]


def test_a_process_whose_source_is_done_helps_with_that_of_another():
    task = Task(SOURCES[0], CONDITIONS)
    waiting = _Waiting(Shard((task,)).apart())
    given = [waiting.next("gone", {SOURCES[0].key}) for _ in CONDITIONS]
    assert [cell for shard in given for cell in shard.cells] == task.cells
    assert not waiting


@given(jobs=st.integers(1, 4), sizes=st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_nobody_leaves_a_source_that_is_not_done_or_shares_one_that_need_not_be(jobs, sizes):
    """Whoever ends first: a process changes only where nothing is left, to what is nobody's."""
    left = dict(enumerate(sizes))
    holds: dict[int, int] = {}

    class Quick:
        """A process that has done a shard as soon as it is asked."""

        held = ""

        def begin(self, work: Work, shard: Shard) -> Future[object]:
            number = shard.tasks[0].source.seed
            if (before := holds.get(id(self))) not in (None, number):
                assert not left[before]
            others = {held for each, held in holds.items() if each != id(self)}
            if before != number and number in others:
                assert not [n for n, size in left.items() if size and n not in others]
            left[number] -= 1
            holds[id(self)], self.held = number, shard.tasks[-1].source.key
            future: Future[object] = Future()
            future.set_result(work(shard))
            return future

    sources = [Source(f"source {n}", list, seed=n, content=str) for n in left]
    shards = [Ready((Task(s, CONDITIONS[:1]),)) for s in sources for _ in range(sizes[s.seed])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("compactlab.sim.experiment.workers._Process", Quick)
        patch.setattr("compactlab.sim.experiment.workers._idle", [])
        done = list(_Processes(jobs).run(rows, shards))
    assert sorted(shard.name for shard, _ in done) == sorted(shard.name for shard in shards)
    assert not any(left.values())


def test_a_process_that_was_killed_while_it_had_nothing_to_do_is_replaced(monkeypatch):
    class Executor:
        """One that takes a shard as long as nobody has killed its worker."""

        def __init__(self, killed: bool) -> None:
            self.killed = killed

        def submit(self, call, work: Work, shard: Shard) -> Future[object]:
            if self.killed:
                raise BrokenProcessPool
            future: Future[object] = Future()
            future.set_result(work(shard))
            return future

    executors = iter([Executor(killed=True), Executor(killed=False)])
    monkeypatch.setattr("compactlab.sim.experiment.workers._executor", lambda: next(executors))
    monkeypatch.setattr("compactlab.sim.experiment.workers._idle", [])
    assert [done for _, done in _Processes(1).run(rows, SHARDS)] == [*map(rows, SHARDS)]
