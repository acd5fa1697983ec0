"""Filling a store: what is there is not run again, and what has changed is noticed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compactlab.scenarios.catalogue import sources
from compactlab.scenarios.readers import native
from compactlab.sim.core.errors import InputError, UsageError
from compactlab.sim.experiment.conditions import Setting
from compactlab.sim.experiment.sources import Source
from compactlab.sim.experiment.sweep import Done, Experiment
from compactlab.sim.experiment.workers import ALONE, DIED, Workers
from compactlab.sim.store.merge import merge
from compactlab.sim.store.results import Results
from compactlab.sim.store.store import FAILED, Store
from compactlab.strategies.catalogue import find_strategy

OWN = """
from dataclasses import dataclass
from compactlab import Strategy

@dataclass(frozen=True)
class Mine(Strategy):
    def compact(self, view, host):
        return view.with_messages(view.messages[-{keep}:])
"""


class Field:
    """A folder with conversations and a strategy of somebody's, and a store beside it."""

    def __init__(self, folder: Path, kit: Any) -> None:
        self.folder, self.kit = folder, kit
        self.store = Store(folder / "store")
        (folder / "talks").mkdir()
        for name in ("a", "b", "c"):
            self.talk(name, turns=3)
        self.own(keep=2)

    def talk(self, name: str, turns: int) -> None:
        story = self.kit.Story()
        for turn in range(turns):
            story.user(f"{name} asks {turn}").answer(f"{name} answers {turn}")
        native.write(story.script(id=name, seed=-1), self.folder / "talks" / f"{name}.jsonl")

    def own(self, keep: int) -> None:
        (self.folder / "own.py").write_text(OWN.format(keep=keep))

    def planned(
        self, *specs: str, seeds: int = 1, windows: tuple[int, ...] = (), **setting: Any
    ) -> Experiment:
        found, _ = sources([self.folder / "talks"], seeds)
        strategies = (s if s.islower() else f"{self.folder / 'own.py'}:{s}" for s in specs)
        compared = tuple(find_strategy(spec) for spec in strategies)
        # In this process, which takes less time: what other processes change is told elsewhere.
        return Experiment(
            tuple(found),
            compared,
            (self.kit.model,),
            Setting(
                **{"tables": ("calls",), "isolate": False, "metrics": ("cost_usd",), **setting}
            ),
            windows=windows,
        )

    def filled(self, *specs: str, **more: Any) -> int:
        """Fill the store; how many cells were run."""
        told: list[Done] = []
        self.planned(*specs, **more).run_into(self.store, ALONE, told.append)
        return sum(done.cells for done in told)

    @property
    def results(self) -> Results:
        return Results.load(self.store.folder)

    def shown(self) -> list[tuple[str, str, int]]:
        runs = self.results.runs
        return [(r.conversation, r.strategy.partition("(")[0], r.seed) for r in runs]


@pytest.fixture
def field(tmp_path: Path, kit: Any) -> Field:
    """Three conversations of three turns."""
    return Field(tmp_path, kit)


def test_what_is_there_is_not_run_again(field):
    assert field.filled("keep_all", "Mine") == 6
    before = files(field.store.folder)
    assert field.results.runs == field.planned("keep_all", "Mine").run().runs
    assert field.filled("keep_all", "Mine") == 0
    assert files(field.store.folder) == before
    assert field.planned("keep_all", "Mine").missing(field.store) == []


def test_another_strategy_costs_no_more_than_itself(field):
    assert field.filled("keep_all") == 3
    assert field.filled("Mine", "keep_all") == 3
    assert field.shown() == [
        (talk, strategy, 0) for talk in "abc" for strategy in ("mine", "keep_all")
    ]
    alone = field.planned("Mine", "keep_all").run()
    assert field.results.frame().equals(alone.frame())
    # And one that is named no more is left out, but not forgotten.
    assert field.filled("keep_all") == 0
    assert field.shown() == [(talk, "keep_all", 0) for talk in "abc"]
    assert len(field.results.query("FROM all_runs")) == 6
    assert field.filled("keep_all", "Mine") == 0
    assert len(field.results.runs) == 6


def test_another_seed_costs_no_more_than_itself(field):
    assert field.filled("keep_all") == 3
    assert field.filled("keep_all", seeds=3) == 6
    assert field.shown() == [(talk, "keep_all", seed) for talk in "abc" for seed in range(3)]
    assert field.filled("keep_all", seeds=2) == 0
    assert len(field.shown()) == 6


def test_another_conversation_costs_no_more_than_itself(field):
    field.filled("keep_all", "Mine")
    field.talk("ab", turns=1)
    assert field.filled("keep_all", "Mine") == 2
    assert [talk for talk, *_ in field.shown()] == [*"aa", "ab", "ab", *"bbcc"]


def test_a_changed_conversation_is_run_again_and_no_other(field):
    field.filled("keep_all", "Mine")
    field.talk("b", turns=5)
    assert field.filled("keep_all", "Mine") == 2
    assert [len(run.calls) for run in field.results.runs] == [3, 3, 5, 5, 3, 3]
    field.talk("b", turns=3)
    assert field.filled("keep_all", "Mine") == 0
    assert [len(run.calls) for run in field.results.runs] == [3] * 6


def test_a_changed_strategy_is_run_again_and_no_other(field):
    field.filled("keep_all", "Mine")
    before = {run.strategy: run.metrics for run in field.results.runs}
    field.own(keep=1)
    assert field.filled("keep_all", "Mine") == 3
    after = {run.strategy: run.metrics for run in field.results.runs}
    assert {spec for spec in before if before[spec] != after[spec]} == {"mine()"}
    assert len(field.results.runs) == 6


@pytest.mark.parametrize(
    "other",
    [{"window": 4_000}, {"metrics": ("calls", "cost_usd")}, {"tables": ("calls", "facts")}],
    ids=lambda other: next(iter(other)),
)  # fmt: skip
def test_another_setting_is_another_experiment(other, field):
    field.filled("keep_all")
    assert field.filled("keep_all", **other) == 3
    assert len(field.shown()) == 3
    assert field.filled("keep_all") == 0


class StopError(Exception):
    """Somebody pulls the plug."""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of two cells."""
    monkeypatch.setattr("compactlab.sim.experiment.shard.FULL", 4)


def files(folder: Path) -> dict[str, bytes]:
    paths = sorted(path for path in folder.rglob("*.*") if path.suffix in (".parquet", ".json"))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("after", [1, 2])
def test_whoever_goes_on_makes_the_same_files(after, field, tmp_path):
    """Stopped behind any shard: not a byte is another in the end."""
    planned = field.planned("keep_all", "Mine")
    planned.run_into(Store(tmp_path / "undisturbed"), ALONE)
    done: list[Done] = []

    def stop(shard: Done) -> None:
        done.append(shard)
        if len(done) == after:
            raise StopError

    with pytest.raises(StopError):
        planned.run_into(field.store, ALONE, stop)
    assert len(field.results.runs) == 2 * after
    assert field.results.missing == 6 - 2 * after
    assert field.filled("keep_all", "Mine") == 6 - 2 * after
    assert field.results.missing == 0
    assert files(field.store.folder) == files(tmp_path / "undisturbed")


@pytest.mark.usefixtures("small")
def test_the_rows_are_in_the_experiments_order_whatever_was_done_first(field):
    specs = ("sliding_window(keep=1)", "Mine", "keep_all", "keep_none")
    field.filled(*specs[::-2])
    planned = field.planned(*specs, seeds=2)
    planned.run_into(field.store, ALONE, todo=planned.missing(field.store)[::-1])
    assert field.shown() == [
        (talk, strategy, seed)
        for talk in "abc"
        for seed in (0, 1)
        for strategy in ("sliding_window", "mine", "keep_all", "keep_none")
    ]
    alone = planned.run()
    assert field.results.frame().equals(alone.frame())


def once_broken(script: Any, mark: Path) -> Iterator[Any]:
    """Conversations on a disk that is there from the second time on."""
    yield script
    if not mark.exists():
        mark.touch()
        raise InputError("not JSON", "log.jsonl", 3)


def test_what_failed_is_not_run_again_by_itself(field, kit, tmp_path):
    """But when its shards are dropped, as --retry does."""
    script = kit.Story().user("hi").answer("ho").script(id="log")
    source = Source(
        "log", lambda: once_broken(script, tmp_path / "mark"), content=lambda: "always the same"
    )
    planned = Experiment((source,), (find_strategy("keep_all"),), (kit.model,))
    planned.run_into(field.store, ALONE)
    assert [run.status for run in field.results.runs] == ["ok", "unreadable"]
    assert planned.missing(field.store) == []
    field.store.drop(set(field.store.cells(FAILED).values()))
    assert [shard.cells for shard in planned.missing(field.store)] == [
        [(source.key, planned.conditions[0].key)]
    ]
    planned.run_into(field.store, ALONE)
    assert [run.status for run in field.results.runs] == ["ok"]


def test_whoever_wants_it_fast_stops_at_the_first_that_fails(field):
    (field.folder / "own.py").write_text(
        OWN.format(keep=2).replace("return view.with", "raise ValueError('oh') or view.with")
    )
    planned = field.planned("keep_all", "Mine")
    planned.run_into(field.store, ALONE, fail_fast=True)
    assert [run.status for run in field.results.runs] == ["ok", "failed"]
    assert sum(len(shard.cells) for shard in planned.missing(field.store)) == 4
    planned.run_into(field.store, ALONE)
    assert [run.status for run in field.results.runs] == ["ok", "failed"] * 3


def test_a_shard_that_has_lost_a_file_is_made_again_in_other_pieces_too(field):
    planned = field.planned("keep_all", "Mine")
    planned.run_into(field.store, ALONE)
    before = field.shown()
    field.store.path("calls", field.store.shards()[0]).unlink()
    planned.run_into(field.store, ALONE, fail_fast=True)
    assert len(field.store.shards()) == 6
    assert field.shown() == before
    assert all(len(run.calls) == 3 for run in field.results.runs)


def test_only_what_is_told_is_run(field):
    planned = field.planned("keep_all", "Mine")
    (shard,) = planned.missing(field.store)
    planned.run_into(field.store, ALONE, todo=shard.apart()[2:4])
    assert field.shown() == [("b", "keep_all", 0), ("b", "mine", 0)]


def test_the_manifest_is_of_the_last_experiment(field):
    field.filled("Mine", window=4_000)
    field.filled("keep_all", "Mine")
    planned = field.planned("keep_all", "Mine")
    manifest = field.results.manifest
    assert {name: manifest[name] for name in planned.manifest()} == planned.manifest()
    assert manifest["sources"] == ["a", "b", "c"]
    assert manifest["conditions"] == [condition.key for condition in planned.conditions]
    assert planned.is_described_by(field.store)
    assert not field.planned("keep_all").is_described_by(field.store)


@pytest.mark.parametrize("kept", ["whole", "damaged", "of something else"])
def test_what_was_counted_once_changes_nothing(kept, field):
    """Counts are recalled for another strategy; whatever became of them, figures are the same."""
    field.filled("keep_all")
    counter = field.planned("keep_all").setting.counter
    held = field.store.remembered(counter)
    assert sorted(held) == sorted(source.key for source in field.planned("keep_all").sources)
    for n, key in enumerate(held):
        content = {"whole": held[key], "damaged": held[key][:5], "of something else": b"x"}[kept]
        (field.store.folder / ".counts" / f"{key}.{counter}").write_bytes(content if n else b"")
    assert field.filled("keep_all", "Mine") == 3
    alone = field.planned("keep_all", "Mine").run()
    assert field.results.frame().equals(alone.frame())


def test_what_runs_have_used_does_not_depend_on_how_they_were_run(field):
    """Neither on the order, nor on pieces, nor on workers, nor on where it is kept."""
    planned = field.planned("keep_all", "Mine")
    alone = planned.run()
    used = alone.manifest["used"]
    assert sorted(used["conditions"]) == sorted(c.key for c in planned.conditions)
    assert list(used["models"]) == [field.kit.model]
    assert sorted(used["counts"]) == sorted({run.digest for run in alone.runs})
    field.filled("Mine")
    field.filled("keep_all", "Mine")
    assert field.results.manifest["used"] == used
    halves = [Store(field.folder / name) for name in ("one", "two")]
    for half, specs in zip(halves, (["keep_all"], ["Mine"]), strict=True):
        field.planned(*specs).run_into(half, ALONE)
    merge(halves, Store(field.folder / "merged"))
    merged = Results.load(field.folder / "merged")
    assert merged.manifest["used"] == used
    # Nobody has told the merged store's shards apart, and still nothing is lost.
    planned.run_into(Store(field.folder / "merged"), ALONE)
    assert Results.load(field.folder / "merged").manifest["used"] == used


def test_what_runs_have_used_outlives_an_interruption(field):
    planned = field.planned("keep_all", "Mine")

    def stop(done: Done) -> None:
        raise KeyboardInterrupt

    (shard,) = planned.missing(field.store)
    with pytest.raises(KeyboardInterrupt):
        planned.run_into(field.store, ALONE, stop, todo=shard.apart())
    assert field.filled("keep_all", "Mine") == 5
    assert field.results.manifest["used"] == planned.run().manifest["used"]


def test_what_runs_have_used_is_known_again_under_their_setting(field):
    field.filled("keep_all")
    before = field.results.manifest
    field.filled("keep_all", window=4_000)
    other = field.results.manifest["used"]["models"][field.kit.model]
    assert other["window"] == ["4000"]
    assert field.filled("keep_all") == 0
    assert field.results.manifest["used"] == before["used"]


def test_a_run_under_several_windows_is_the_runs_under_each(field):
    field.filled("keep_all", "Mine", windows=(4_000, 9_000))
    swept = field.results
    assert swept.manifest["window"] == [4_000, 9_000]
    assert [run.window for run in swept.runs[:4]] == [4_000, 4_000, 9_000, 9_000]
    for window in (4_000, 9_000):
        alone = field.planned("keep_all", "Mine", window=window).run()
        assert [run for run in swept.runs if run.window == window] == alone.runs


def test_a_window_that_is_there_is_not_run_again_in_several(field):
    field.filled("keep_all", window=4_000)
    assert field.filled("keep_all", windows=(4_000, 9_000)) == 3
    used = field.results.manifest["used"]
    assert used["models"][field.kit.model]["window"] == ["4000", "9000"]
    assert used == field.planned("keep_all", windows=(4_000, 9_000)).run().manifest["used"]
    # And back: what several windows have used is known by each.
    assert field.filled("keep_all", window=9_000) == 0
    used = field.results.manifest["used"]
    assert used == field.planned("keep_all", window=9_000).run().manifest["used"]


def test_stores_of_different_windows_merge_into_one_of_several(field):
    stores = [Store(field.folder / f"{window}") for window in (9_000, 4_000)]
    for store, window in zip(stores, (9_000, 4_000), strict=True):
        field.planned("keep_all", window=window).run_into(store, ALONE)
    merge(stores, field.store)
    merged = field.results
    assert merged.manifest["window"] == [4_000, 9_000]
    assert sorted(run.window for run in merged.runs) == [4_000] * 3 + [9_000] * 3
    assert field.filled("keep_all", windows=(4_000, 9_000)) == 0
    field.planned("keep_all").run_into(own := Store(field.folder / "own"), ALONE)
    with pytest.raises(UsageError, match=r"window: .*4000 has 4000, .*own 0"):
        merge([stores[1], own], Store(field.folder / "both"))


def test_a_damaged_note_of_what_was_used_is_passed_over(field):
    field.filled("keep_all")
    for file in (field.store.folder / ".counts").glob(f"*.{field.planned('Mine').setting.key}"):
        file.write_bytes(b"{")
    field.store.describe({})
    assert field.filled("keep_all") == 0
    assert field.results.manifest["used"] == {}


class Deadly:
    """Workers that die over whatever is more than one cell, as if somebody killed them."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

    def run(self, work: Any, shards: Any) -> Iterator[Any]:
        for shard in shards:
            yield shard, DIED if len(shard.cells) > 1 else work(shard)


def test_a_shard_that_was_taken_apart_is_stored_as_if_it_had_not_been(field, monkeypatch):
    field.filled("keep_all", "Mine", seeds=2)
    whole = files(field.store.folder)
    field.store.clear()
    monkeypatch.setattr("compactlab.sim.experiment.workers._Processes", Deadly)
    field.planned("keep_all", "Mine", seeds=2).run_into(field.store, Workers(2))
    assert files(field.store.folder) == whole
