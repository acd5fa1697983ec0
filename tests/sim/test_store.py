"""The store: shards that are whole or not there, under one writer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from compactlab.sim.errors import InputError, UsageError
from compactlab.sim.run import Run, parcel
from compactlab.sim.store import Store
from compactlab.sim.tables import RUNS, TABLES
from compactlab.sim.whole_file import replace_file

CALLS = TABLES["calls"].filled({"call": [1, 2, 3]})


def run(cell: str, **more: Any) -> Run:
    """A run of a cell: a source and a condition, a letter each."""
    head = ("talk", "pi", "keep_all()", "recorded", 0, 0)
    return Run(*head, source_key=cell[0], condition=cell[1], rows={"calls": CALLS}, **more)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store of two shards, of two cells and of one that failed."""
    made = Store(tmp_path / "store")
    made.put("one", parcel([run("A1"), run("A2")]))
    made.put("two", parcel([run("B1", status="failed", error="oh")]))
    made.describe({"prices": "list"})
    return made


def left(store: Store) -> list[str]:
    """Where files lie in a store."""
    files = (path for path in store.folder.rglob("*") if path.is_file())
    return sorted(path.relative_to(store.folder).as_posix() for path in files)


WHOLE = ["calls/one.parquet", "calls/two.parquet", "manifest.json"]
WHOLE += ["runs/one.parquet", "runs/two.parquet"]


def test_it_knows_its_shards_and_cells(store: Store) -> None:
    assert store.shards() == ["one", "two"]
    assert store.cells() == {("A", "1"): "one", ("A", "2"): "one", ("B", "1"): "two"}
    assert store.cells("status <> 'ok'") == {("B", "1"): "two"}
    assert store.manifest() == {"prices": "list"}
    assert left(store) == WHOLE


def test_one_that_is_not_there_is_empty(tmp_path: Path) -> None:
    store = Store(tmp_path / "nowhere")
    assert not store.exists
    assert (store.shards(), store.cells()) == ([], {})
    store.tidy()
    store.clear()
    assert not store.folder.exists()


def test_what_is_dropped_is_gone_from_all_tables(store: Store) -> None:
    store.drop(["one", "no such shard"])
    assert list(store.cells()) == [("B", "1")]
    assert left(store) == ["calls/two.parquet", "manifest.json", "runs/two.parquet"]


def test_a_shard_that_is_put_again_replaces_the_old_one_with_all_its_tables(store: Store) -> None:
    alone = run("A3")
    alone.rows = {}
    store.put("one", parcel([alone]))
    assert store.cells() == {("A", "3"): "one", ("B", "1"): "two"}
    assert "calls/one.parquet" not in left(store)


def test_clearing_leaves_what_is_not_its_own(store: Store) -> None:
    (store.folder / "mine.txt").write_text("x")
    (store.folder / "calls" / "mine.txt").write_text("x")
    store.clear()
    assert left(store) == ["calls/mine.txt", "mine.txt"]
    for file in left(store):
        (store.folder / file).unlink()
    store.clear()
    assert not store.folder.exists()


def test_what_was_counted_is_kept_beside_the_tables(store: Store) -> None:
    assert store.remembered("c") == {}
    store.remember("a" * 16, "c", b"counts")
    store.remember("a" * 16, "c", b"others come too late")
    store.remember("b" * 16, "c", b"")
    assert Store(store.folder).remembered("c") == {"a" * 16: b"counts", "b" * 16: b""}
    assert (store.shards(), len(store.cells())) == (["one", "two"], 3)
    store.tidy()
    assert len(store.remembered("c")) == 2
    assert store.remembered("another") == {}
    store.clear()
    assert not store.folder.exists()


# --------------------------------------------------------------------------- nothing half written


def failing_at(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the renaming of that number on, the disk is full."""
    real, renamed = os.replace, []

    def replace(source: Any, target: Any) -> None:
        renamed.append(target)
        if len(renamed) >= number:
            raise OSError("no space left")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)


@pytest.mark.parametrize("shard", ["one", "three"])
@pytest.mark.parametrize("number", [1, 2])
def test_a_shard_without_its_runs_is_not_there(
    number: int, shard: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New or in the place of another: broken off, it is done again, and no mixture."""
    with monkeypatch.context() as patch:
        failing_at(number, patch)
        with pytest.raises(UsageError, match="no space left"):
            store.put(shard, parcel([run("C1")]))
    assert store.shards() == [name for name in ("one", "two") if name != shard]
    assert ("C", "1") not in store.cells()
    store.tidy()
    assert left(store) == [file for file in WHOLE if shard not in file]
    store.put(shard, parcel([run("C1")]))
    assert store.cells()["C", "1"] == shard


def test_what_a_killed_run_left_is_tidied_away_and_nothing_else(store: Store) -> None:
    store.path("facts", "half").parent.mkdir()
    for leftover in (store.path("facts", "half"), store.path("calls", "half")):
        leftover.write_bytes(b"x")
    for begun in (store.path(RUNS, "one"), store.path("calls", "half")):
        begun.with_name(f".{begun.name}.tmp").write_bytes(b"x")
    mine = [store.folder / "calls" / "notes.txt", store.folder / "prompts" / "system.md"]
    for file in mine:
        file.parent.mkdir(exist_ok=True)
        file.write_text("not of the store")
    (store.folder / "prompts" / "more").mkdir()
    store.tidy()
    assert left(store) == sorted([*WHOLE, "calls/notes.txt", "prompts/system.md"])


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    for content in (b"old", b"new"):
        replace_file(tmp_path / "file", content)
    assert (tmp_path / "file").read_bytes() == b"new"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_what_cannot_be_renamed_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_file(tmp_path / "file", b"old")
    failing_at(1, monkeypatch)
    with pytest.raises(UsageError, match="no space left"):
        replace_file(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


# ------------------------------------------------------------------------------------ one writer


def test_only_one_writes_at_a_time(store: Store) -> None:
    with store.locked():
        with (
            pytest.raises(UsageError, match="another run is writing into"),
            Store(store.folder).locked(),
        ):
            raise AssertionError
        assert store.cells()
    with Store(store.folder).locked():
        assert store.cells()


def test_the_lock_is_let_go_when_a_run_fails(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.locked():
        raise ZeroDivisionError
    with store.locked():
        assert store.exists


def test_where_nothing_can_be_written_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for folder in ("file", "file/deeper", "no\0name"):
        with pytest.raises(UsageError, match="cannot write to"), Store(tmp_path / folder).locked():
            raise AssertionError


def test_a_folder_of_any_name_can_be_read(tmp_path: Path) -> None:
    store = Store(tmp_path / "it's [a] 50 % *store* größer")
    store.put("one", parcel([run("A1")]))
    store.describe({})
    assert store.cells() == {("A", "1"): "one"}


def test_what_cannot_be_asked_is_told_with_the_place(store: Store) -> None:
    with pytest.raises(InputError, match="cannot be read") as told:
        store.cells("no such column")
    assert str(store.folder) in str(told.value)
