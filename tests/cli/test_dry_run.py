"""What a dry run computes from what it has tried: by hand, with shards and clocks of our own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from inline_snapshot import snapshot

from compactlab.cli import dry_run
from compactlab.cli.dry_run import Budget
from compactlab.request.names import plan
from compactlab.sim.core.isolation import TOO_LONG
from compactlab.sim.experiment.shard import OutOfTime
from compactlab.sim.replay.replay import replay
from compactlab.sim.store.run import Run
from compactlab.sim.store.store import Store
from tests.lines import fitting

ENDLESS = 10**9


class Clock:
    """A clock that stands still unless somebody moves it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True)
class Piece:
    """As much of a shard with one cell, and of the task in it, as is looked at."""

    name: str
    work: int
    tried: list[str]
    clock: Clock = field(default_factory=Clock)
    conversations: int = 1
    seconds: float = 0.0  # of each run
    reading: float = 0.0  # seconds for each conversation
    key: str = ""  # of its source
    unreadable: bool = False  # within the time that there is for it
    error: str = ""
    disclosure: None = None

    @property
    def cells(self) -> list[str]:
        return [self.name]

    @property
    def weight(self) -> int:
        return self.work

    @property
    def source(self) -> Piece:
        return self if self.key else replace(self, key=self.name)

    @property
    def tasks(self) -> tuple[Piece, ...]:
        return (self,)

    def apart(self) -> list[Piece]:
        return [self]

    def prepared(self, disclosure: None, timeout: float) -> Iterator[tuple[Run, Any]]:
        run = Run(self.name, "", "", "", 0, 0, error=self.error)

        def work(timeout: float) -> Run:
            self.clock.now += self.seconds
            self.tried.append(self.name)
            return run

        for _ in range(self.conversations):
            if self.unreadable:
                self.clock.now += timeout
                raise OutOfTime
            self.clock.now += self.reading
            yield run, work


def pieces(*works: int) -> tuple[list[Any], list[str]]:
    tried: list[str] = []
    return [Piece(f"p{number}", work, tried) for number, work in enumerate(works)], tried


def test_nothing_is_tried_twice_however_long_it_is():
    todo, tried = pieces(97, 1, 1, 1)
    found = dry_run._try(todo, None, Budget(clock=Clock()))
    assert sorted(tried) == ["p0", "p1", "p2", "p3"]
    assert (found.cells, found.work, found.broken_off) == (4, 100, 0)


def test_enough_is_tried_once_some_seconds_have_gone():
    clock, tried = Clock(), list[str]()
    todo: list[Any] = [Piece(f"p{n}", 1, tried, clock, seconds=2) for n in range(20)]
    found = dry_run._try(todo, None, Budget(seconds=9, clock=clock))
    assert (found.cells, found.seconds, found.broken_off) == (5, 10, 0)
    # A few are tried in any case, as one alone may be an odd one.
    found = dry_run._try(todo, None, Budget(seconds=0, least=3, clock=clock))
    assert found.cells == 3


def test_a_source_of_any_number_of_conversations_is_broken_off():
    tried: list[str] = []
    todo: list[Any] = [Piece("many", 1, tried, conversations=ENDLESS)]
    found = dry_run._try(todo, None, Budget(runs=7, clock=Clock()))
    assert tried == ["many"] * 7
    assert (len(found.runs), found.broken_off) == (7, 1)
    assert fitting(dry_run._estimate(found, todo, 1, ())) == snapshot("""\
about 0 calls in 7 runs, at least 1 s on 1 worker, 0.0 MB: computed from the 1 cell tried,
1 of them broken off\
""")


def test_what_has_as_many_conversations_as_are_tried_is_not_broken_off():
    todo: list[Any] = [Piece("seven", 1, [], conversations=7)]
    assert dry_run._try(todo, None, Budget(runs=7, clock=Clock())).broken_off == 0


def test_a_source_is_read_once_for_all_its_strategies():
    clock = Clock()
    todo: list[Any] = [
        Piece(f"p{n}", 1, [], clock, seconds=1, reading=10, key=f"source {n % 2}")
        for n in range(20)
    ]
    found = dry_run._try(todo, None, Budget(seconds=25, clock=clock))
    assert (found.cells, found.seconds, found.reading) == (3, 33, 30)
    assert "40 s on 1 worker" in dry_run._estimate(found, todo, 1, ())


def test_no_rehearsal_takes_longer_than_its_budget():
    """Neither a long cell nor those that are tried in any case."""
    clock, tried = Clock(), list[str]()
    todo: list[Any] = [
        Piece(f"p{n}", 1, tried, clock, conversations=ENDLESS, seconds=8) for n in range(9)
    ]
    found = dry_run._try(todo, None, Budget(whole=30, runs=1_000, clock=clock))
    assert (len(tried), found.cells, found.broken_off) == (4, 1, 1)
    assert found.seconds == clock.now == 32


def test_a_conversation_that_takes_too_long_to_read_is_broken_off():
    clock = Clock()
    todo: list[Any] = [Piece(f"p{n}", 1, [], clock, unreadable=True) for n in range(9)]
    found = dry_run._try(todo, None, Budget(patience=10, whole=30, least=3, clock=clock))
    assert (found.cells, found.broken_off, found.runs) == (3, 3, [])
    told = dry_run._estimate(found, todo, 1, ())
    assert fitting(told) == snapshot("""\
about 0 calls in 0 runs, at least 90 s on 1 worker, 0.0 MB: computed from the 3 cells
tried, 3 of them broken off\
""")


def test_a_run_that_is_too_long_makes_the_estimate_a_lower_bound():
    todo: list[Any] = [Piece("slow", 1, [], error=f"{TOO_LONG} 5 s")]
    found = dry_run._try(todo, 5, Budget(clock=Clock()))
    assert found.broken_off == 1


@pytest.mark.parametrize(
    ("works", "jobs", "told"),
    [
        ((2, 2, 2), 1, "60 s on 1 worker"),
        ((2, 2, 2), 3, "20 s on 3 workers"),
        ((4, 1, 1), 3, "40 s on 3 workers"),  # the longest is done by one
        ((2, 2, 2), 8, "20 s on 3 workers"),
    ],
)
def test_workers_share_the_work_as_far_as_it_can_be_shared(works, jobs, told):
    todo, _ = pieces(*works)
    tried = dry_run._Tried(cells=1, work=1, seconds=10.0)
    assert told in dry_run._estimate(tried, todo, jobs, ("calls",))


@pytest.mark.parametrize("loop", ["open", "closed"])
def test_a_dry_run_replays_at_most_a_tenth(loop, monkeypatch):
    """However fast the machine is: time ends nothing here."""
    work: list[int] = []

    def counted(conversation: Any, strategy: Any, options: Any) -> Any:
        # Under a bound no facts are followed, which is most of the work.
        work.append(1 if strategy.label in ("keep_all", "keep_none") else 4)
        return replay(conversation, strategy, options)

    monkeypatch.setattr("compactlab.sim.experiment.shard.replay", counted)
    monkeypatch.setattr(dry_run, "BUDGET", replace(dry_run.BUDGET, clock=Clock()))
    session = "coding_agent(turns=6, tokens=24000)"
    strategies = ["claude_code", "codex", "opencode", "pi"]
    planned = plan(session, strategies, window=24_000, loop=loop, seeds=2, bounds=True)
    planned.run()
    whole = sum(work)
    work.clear()
    dry_run.rehearse(planned, Store("none"), 1)
    assert 1 <= sum(work) <= whole / 10


def test_no_further_run_is_tried_beyond_the_limit():
    todo, _ = pieces(4, 4, 4, 4)
    assert dry_run._try(todo, None, Budget(clock=Clock()), limit=9).cells == 2
    # One is, whatever its work.
    assert dry_run._try(todo, None, Budget(clock=Clock()), limit=1).cells == 1


def test_whole_runs_take_longer_than_what_was_tried_of_them():
    todo, _ = pieces(2, 2, 2)
    tried = dry_run._Tried(cells=1, work=1, seconds=10.0, reading=4.0)
    assert "60 s on 1 worker" in dry_run._estimate(tried, todo, 1, ("calls",))
    assert "5 min on 1 worker" in dry_run._estimate(tried, todo, 1, ("calls",), longer=7.0)
