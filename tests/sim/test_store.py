"""The store: shards that are whole or not there, under one writer."""

import os
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from compactlab.sim.core.errors import InputError, UsageError
from compactlab.sim.core.files import replace_file
from compactlab.sim.store.run import Run, shard_files
from compactlab.sim.store.store import FAILED, Store
from compactlab.sim.store.tables import RUNS, TABLES
from tests.lines import refusal

CALLS = TABLES["calls"].filled({"call": [1, 2, 3]})


ONE, TWO, THREE = (str(n) * 16 for n in (1, 2, 3))
COUNTER = "c" * 16
KEYS = {letter: f"{ord(letter):016x}" for letter in "ABC123"}


def cell(name: str) -> tuple[str, str]:
    """The keys of a source and a condition, of which each is a letter here."""
    return KEYS[name[0]], KEYS[name[1]]


def run(cell: str, **more: Any) -> Run:
    """A run of a cell: a source and a condition, a letter each."""
    head = ("talk", "pi", "keep_all()", "recorded", 0, 0)
    keys = {"source_key": KEYS[cell[0]], "condition": KEYS[cell[1]]}
    return Run(*head, **keys, rows={"calls": CALLS}, **more)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store of two shards, of two cells and of one that failed."""
    made = Store(tmp_path / "store")
    made.describe({"prices": "list"})
    made.put(ONE, shard_files([run("A1"), run("A2")]))
    made.put(TWO, shard_files([run("B1", status="failed", error="oh")]))
    return made


def left(store: Store) -> list[str]:
    """Where files lie in a store."""
    files = (path for path in store.folder.rglob("*") if path.is_file())
    return sorted(path.relative_to(store.folder).as_posix() for path in files)


WHOLE = [f"calls/{ONE}.parquet", f"calls/{TWO}.parquet"]
WHOLE += [f"digests/{ONE}.sha256", f"digests/{TWO}.sha256", "manifest.json"]
WHOLE += [f"runs/{ONE}.parquet", f"runs/{TWO}.parquet"]


def test_it_knows_its_shards_and_cells(store):
    assert store.shards() == [ONE, TWO]
    assert store.cells() == {cell("A1"): ONE, cell("A2"): ONE, cell("B1"): TWO}
    assert store.cells(FAILED) == {cell("B1"): TWO}
    assert store.manifest() == {"prices": "list"}
    assert left(store) == WHOLE


def test_one_that_is_not_there_is_empty(tmp_path):
    store = Store(tmp_path / "nowhere")
    assert not store.exists
    assert (store.shards(), store.cells()) == ([], {})
    store.tidy()
    store.clear()
    assert not store.folder.exists()


def test_what_is_dropped_is_gone_from_all_tables(store):
    store.drop([ONE, THREE])
    assert list(store.cells()) == [cell("B1")]
    assert left(store) == [file for file in WHOLE if ONE not in file]


def test_a_shard_that_is_put_again_replaces_the_old_one_with_all_its_tables(store):
    alone = run("A3")
    alone.rows = {}
    store.put(ONE, shard_files([alone]))
    assert store.cells() == {cell("A3"): ONE, cell("B1"): TWO}
    assert WHOLE[0] not in left(store)


def test_clearing_leaves_what_is_not_its_own(store):
    (store.folder / "mine.txt").write_text("x")
    (store.folder / "calls" / "mine.txt").write_text("x")
    store.clear()
    assert left(store) == ["calls/mine.txt", "mine.txt"]
    store.clear()  # which is no store of ours any more
    assert left(store) == ["calls/mine.txt", "mine.txt"]


def test_what_was_counted_is_kept_beside_the_tables(store):
    assert store.remembered(COUNTER) == {}
    store.remember("a" * 16, COUNTER, b"counts")
    store.remember("a" * 16, COUNTER, b"others come too late")
    store.remember("b" * 16, COUNTER, b"")
    assert Store(store.folder).remembered(COUNTER) == {"a" * 16: b"counts", "b" * 16: b""}
    assert (store.shards(), len(store.cells())) == ([ONE, TWO], 3)
    store.tidy()
    assert len(store.remembered(COUNTER)) == 2
    assert store.remembered(THREE) == {}
    store.clear()
    assert not store.folder.exists()


def failing_at(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the renaming of that number on, the disk is full."""
    real, renamed = os.replace, []

    def replace(source: Any, target: Any) -> None:
        renamed.append(target)
        if len(renamed) >= number:
            raise OSError("no space left")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)


@pytest.mark.parametrize("shard", [ONE, THREE])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_shard_without_its_runs_is_not_there(number, shard, store, monkeypatch):
    """New or in the place of another: broken off, it is done again, and no mixture."""
    with monkeypatch.context() as patch:
        failing_at(number, patch)
        with pytest.raises(UsageError, match="no space left"):
            store.put(shard, shard_files([run("C1")]))
    assert store.shards() == [name for name in (ONE, TWO) if name != shard]
    assert cell("C1") not in store.cells()
    store.tidy()
    assert left(store) == [file for file in WHOLE if shard not in file]
    store.put(shard, shard_files([run("C1")]))
    assert store.cells()[cell("C1")] == shard


def test_what_a_killed_run_left_is_tidied_away_and_nothing_else(store):
    store.path("facts", THREE).parent.mkdir()
    for leftover in (store.path("facts", THREE), store.path("calls", THREE)):
        leftover.write_bytes(b"x")
    for begun in (store.path(RUNS, ONE), store.path("calls", THREE)):
        begun.with_name(f".{begun.name}.tmp").write_bytes(b"x")
    mine = [store.folder / "calls" / "notes.txt", store.folder / "prompts" / "system.md"]
    for file in mine:
        file.parent.mkdir(exist_ok=True)
        file.write_text("not of the store")
    (store.folder / "prompts" / "more").mkdir()
    store.tidy()
    assert left(store) == sorted([*WHOLE, "calls/notes.txt", "prompts/system.md"])


def test_a_file_is_replaced_whole(tmp_path):
    for content in (b"old", b"new"):
        replace_file(tmp_path / "file", content)
    assert (tmp_path / "file").read_bytes() == b"new"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_what_cannot_be_renamed_leaves_nothing_behind(tmp_path, monkeypatch):
    replace_file(tmp_path / "file", b"old")
    failing_at(1, monkeypatch)
    assert refusal(UsageError, lambda: replace_file(tmp_path / "file", b"new")) == snapshot(
        "cannot write 'file': no space left"
    )
    assert (tmp_path / "file").read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_only_one_writes_at_a_time(store):
    with store.locked():
        with (
            pytest.raises(UsageError, match="another run is writing into"),
            Store(store.folder).locked(),
        ):
            raise AssertionError
        assert store.cells()
    with Store(store.folder).locked():
        assert store.cells()


def test_the_lock_is_let_go_when_a_run_fails(store):
    with pytest.raises(ZeroDivisionError), store.locked():
        raise ZeroDivisionError
    with store.locked():
        assert store.exists


def test_where_nothing_can_be_written_it_is_said(tmp_path):
    (tmp_path / "file").write_text("x")
    for folder in ("file", "file/deeper", "no\0name"):
        with pytest.raises(UsageError, match="cannot write to"), Store(tmp_path / folder).locked():
            raise AssertionError


def test_a_folder_of_any_name_can_be_read(tmp_path):
    store = Store(tmp_path / "it's [a] 50 % *store* größer")
    store.describe({})
    store.put(ONE, shard_files([run("A1")]))
    assert store.cells() == {cell("A1"): ONE}


def test_what_cannot_be_read_is_told_with_the_place(store):
    store.path(RUNS, TWO).write_bytes(b"PAR1 not really")
    with pytest.raises(InputError, match=f"damaged .*runs/{TWO}.parquet") as told:
        store.cells()
    assert str(store.folder) in str(told.value)
