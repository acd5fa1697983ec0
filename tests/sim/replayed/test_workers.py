"""Workers: what is found does not depend on who does it, and whoever dies takes one run with him.

Limits on time are short, but nothing is measured: what they break off would go on for ever.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compactlab.sim.experiment.conditions import Setting
from compactlab.sim.experiment.shard import Shard
from compactlab.sim.experiment.sources import Source
from compactlab.sim.experiment.sweep import Done, Experiment
from compactlab.sim.experiment.workers import ALONE, Workers
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run
from compactlab.sim.store.store import Store
from compactlab.strategies.catalogue import find_strategy

OWN = """
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from compactlab import Strategy

MARK = Path({mark!r})


def last(messages, keep):
    return messages[-keep:]


@dataclass(frozen=True)
class Mine(Strategy):
    keep: int = 2

    def compact(self, view, host):
        return view.with_messages(last(view.messages, self.keep))


@dataclass(frozen=True)
class Raises(Strategy):
    def compact(self, view, host):
        raise ZeroDivisionError("oh no")


@dataclass(frozen=True)
class Loops(Strategy):
    def compact(self, view, host):
        while True:
            try:
                len(view.messages)
            except Exception:
                pass


@dataclass(frozen=True)
class Exits(Strategy):
    def compact(self, view, host):
        os._exit(1)


@dataclass(frozen=True)
class Killed(Strategy):
    def compact(self, view, host):
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Unlucky(Strategy):
    def compact(self, view, host):
        if not MARK.exists():
            MARK.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return view
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A file of strategies as users write them, good and bad."""
    file = tmp_path / "own.py"
    file.write_text(OWN.format(mark=str(tmp_path / "mark")))
    return file


def experiment(kit: Any, own: Path, *specs: str, talks: int = 1) -> Experiment:
    sources = []
    for n in range(talks):
        story = kit.Story()
        for turn in range(3 + n):
            story.user(f"question {n} {turn}").answer(f"answer {n} {turn}")
        script = story.script(id=f"talk-{n}")
        sources.append(Source(script.id, lambda script=script: [script]))
    found = [find_strategy(s if s.islower() else f"{own}:{s}") for s in specs]
    calls = Setting(tables=("calls",))
    return Experiment(tuple(sources), tuple(found), (kit.model,), calls)


def outcomes(results: Results) -> list[tuple[str, str, str]]:
    return [(r.conversation, r.strategy.partition("(")[0], r.status) for r in results.runs]


def good(results: Results) -> list[Run]:
    return [run for run in results.runs if run.status == "ok"]


def test_two_find_what_one_finds(kit, own, monkeypatch):
    """Also under a user's own strategies, whose file a worker cannot import."""
    monkeypatch.setattr("compactlab.sim.experiment.shard.FULL", 4)
    told: list[Done] = []
    planned = experiment(kit, own, "keep_all", "Mine", "Raises", "Mine(keep=1)", talks=6)
    one = planned.run(ALONE, told.append)
    alone, told = told, []
    two = planned.run(Workers(2), told.append)
    assert outcomes(one)[:4] == [
        ("talk-0", "keep_all", "ok"),
        ("talk-0", "mine", "ok"),
        ("talk-0", "raises", "failed"),
        ("talk-0", "mine", "ok"),
    ]
    assert two.runs == one.runs
    assert two.manifest == one.manifest
    assert len(alone) == 6
    assert sorted(map(str, told)) == sorted(map(str, alone))
    assert sum(done.cells for done in told) == 24
    assert sum(done.calls for done in told) == sum(len(run.calls) for run in one.runs)
    assert sum(done.failed for done in told) == 6


# A run that never ends meets any limit; a run that ends meets none that is far beyond its time.
@pytest.mark.parametrize("who", [ALONE, Workers(2)], ids=["one", "two"])
def test_a_strategy_that_never_ends_fails(who, kit, own):
    (failed,) = experiment(kit, own, "Loops").run(who, timeout=0.3).runs
    assert (failed.status, failed.error) == ("failed", "it took longer than 0.3 s")
    assert (failed.metrics, failed.rows) == ({}, {})


@pytest.mark.slow
@pytest.mark.parametrize("who", [ALONE, Workers(2)], ids=["one", "two"])
def test_a_strategy_that_never_ends_fails_its_own_row(who, kit, own):
    planned = experiment(kit, own, "keep_all", "Loops", "Mine")
    results = planned.run(who, timeout=30)
    assert outcomes(results) == [
        ("talk-0", "keep_all", "ok"),
        ("talk-0", "loops", "failed"),
        ("talk-0", "mine", "ok"),
    ]
    unlimited = replace(planned, strategies=(planned.strategies[0], planned.strategies[2])).run()
    assert [run.metrics for run in good(results)] == [run.metrics for run in unlimited.runs]


def check_deadly(results: Results, deadly: str, error: str, others: Results) -> None:
    assert [(r.strategy.partition("(")[0], r.status) for r in results.runs] == [
        ("keep_all", "ok"),
        (deadly.lower(), "failed"),
        ("mine", "ok"),
    ]
    (failed,) = results.failed
    assert failed.error == error
    assert (failed.source, failed.seed) == ("talk-0", 0)
    assert [run.metrics for run in good(results)] == [run.metrics for run in others.runs]


@pytest.mark.parametrize(
    ("deadly", "error"),
    [
        ("Exits", "it ended its process, with exit code 1"),
        ("Killed", "its process was killed by SIGKILL: out of memory, or killed by a user"),
    ],
)
@pytest.mark.parametrize("who", [ALONE, Workers(2)], ids=["one", "two"])
def test_a_strategy_that_ends_its_process_fails_its_own_row(deadly, error, who, kit, own):
    """This process lives, and finds what others find without it."""
    results = experiment(kit, own, "keep_all", deadly, "Mine").run(who)
    check_deadly(results, deadly, error, experiment(kit, own, "keep_all", "Mine").run())


@pytest.mark.slow
def test_a_shard_whose_workers_die_again_and_again_is_stored_as_if_nobody_had(kit, own, tmp_path):
    """Each worker dies that does more than one cell, which is nobody's fault."""
    planned = experiment(kit, own, "keep_all", "keep_none", "Mine", talks=2)
    whole, pieced = Store(tmp_path / "whole"), Store(tmp_path / "pieced")
    planned.run_into(whole, ALONE)
    frail = [Frail(shard.tasks) for shard in planned.missing(pieced)]
    told: list[Done] = []
    planned.run_into(pieced, Workers(2), told.append, todo=frail)
    assert [done.cells for done in told] == [6]
    assert stored(pieced) == stored(whole)


PARENT = os.getpid()


class Frail(Shard):
    """A shard over which workers die as long as it is whole."""

    def run(self, then: Any) -> Any:
        if os.getpid() != PARENT and len(self.cells) > 1:
            os._exit(1)
        return super().run(then)


def stored(store: Store) -> dict[str, bytes]:
    """The files of a store that hold results."""
    files = store.folder.glob("*/*.parquet")
    return {str(file.relative_to(store.folder)): file.read_bytes() for file in files}


def test_who_is_killed_once_is_run_again(kit, own):
    """By the system, that is, which wants memory for somebody else."""
    results = experiment(kit, own, "keep_all", "Unlucky").run()
    first, second = results.runs
    assert (first.status, second.status) == ("ok", "ok")
    assert first.metrics == second.metrics
    assert (own.parent / "mark").exists()
