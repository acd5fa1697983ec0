"""Bytes that a disk or a copy has changed are noticed: no other figure is shown without a word."""

import json
import os
import shutil
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest

import compactlab
from compactlab.sim.core.errors import InputError, UnverifiedWarning
from compactlab.sim.store import store as module
from compactlab.sim.store.results import Results
from compactlab.sim.store.store import Store
from compactlab.sim.store.tables import TABLES

TALKS = ["coding_agent(turns=2, tokens=3000)", "support_chat(tokens=3000)"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: Any) -> Path:
    """A small store with every table."""
    folder: Path = tmp_path_factory.mktemp("whole") / "store"
    compactlab.run(
        TALKS,
        ["keep_all", "full_summary"],
        window=3000,
        loop="closed",
        tables=[*TABLES],
        out=folder,
    )
    return folder


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "store"))


def shown(folder: Path) -> str:
    """All that a store holds."""
    results = Results.load(folder)
    tables = {name: results.table(name) for name in TABLES}
    frames = {"runs": results.frame(), **tables}
    return repr(results.manifest) + "".join(f.to_json() for f in frames.values())


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)


def flipped(file: Path, rng: Random) -> None:
    content = bytearray(file.read_bytes())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    file.write_bytes(content)


@pytest.mark.parametrize("seed", range(16))
def test_a_flipped_bit_is_named_with_its_file_or_changes_nothing(seed, whole, store, compactlab):
    """Hundreds of flips in all, of each file in turn."""
    rng, before, every = Random(seed), shown(whole), files(whole)
    noticed = dict.fromkeys(every, 0)
    reported = compactlab("report", store, "--format", "json").out
    for file in every:
        damaged = store / file.relative_to(whole)
        flipped(damaged, rng)
        try:
            found = shown(store)
        except InputError as error:
            noticed[file] += 1
            found = before if file.relative_to(whole).as_posix() in str(error) else str(error)
        assert found == before
        if noticed[file] == 1:
            ended = compactlab("report", store, "--format", "json")
            assert ended.out == reported or (ended.code, file.name in ended.err) == (2, True)
        shutil.copy(file, damaged)
    # What is counted in advance is no result: it is counted again where it was damaged.
    assert all(n for file, n in noticed.items() if file.parent.name != ".counts")


def test_merging_and_asking_in_sql_take_nothing_that_is_damaged(store, tmp_path, compactlab):
    file = sorted((store / "messages").iterdir())[0]
    flipped(file, Random(1))
    for command in (("merge", store, "-o", tmp_path / "other"), ("query", store, "SELECT 1")):
        ended = compactlab(*command)
        assert (ended.code, f"messages/{file.name}" in ended.err) == (2, True)
    file.unlink()  # as the message says
    assert compactlab("report", store).code == 2


def test_a_store_without_digests_is_read_with_a_note(whole, store, tmp_path, compactlab):
    shutil.rmtree(store / "digests")
    with pytest.warns(UnverifiedWarning):
        again = shown(store)
    assert again == shown(whole)
    one = compactlab("report", "--brief", store)
    assert (one.code, one.err.count("note: ")) == (0, 1)
    # Joined into another one it gets some.
    assert compactlab("merge", store, "-o", tmp_path / "other").code == 0
    assert Store(tmp_path / "other").unverified == []


@pytest.mark.filterwarnings("ignore::compactlab.sim.core.errors.UnverifiedWarning")
@pytest.mark.parametrize(("table", "part", "all"), [("facts", "needs_met", "needs"),
                                                    ("lags", "met", "needs")])  # fmt: skip
def test_without_digests_a_part_never_exceeds_the_whole(table, part, all, store):
    shutil.rmtree(store / "digests")
    file = next(f for f in sorted((store / table).iterdir()) if pq.read_metadata(f).num_rows)
    rows = pq.read_table(file, partitioning=None)
    more = rows.set_column(
        rows.column_names.index(part), part, [[n + 1 for n in rows[all].to_pylist()]]
    )
    pq.write_table(more, file)
    with pytest.raises(InputError, match=rf"{table}/{file.name}: row 0: {part} exceeds {all}"):
        shown(store)


@pytest.mark.filterwarnings("ignore::compactlab.sim.core.errors.UnverifiedWarning")
@pytest.mark.parametrize("column", ["cost_usd", "compaction", "cache_miss_append"])
def test_without_digests_the_calls_of_a_run_add_up_to_its_figures(column, store):
    shutil.rmtree(store / "digests")
    file = next(f for f in sorted((store / "calls").iterdir()) if pq.read_metadata(f).num_rows)
    rows = pq.read_table(file, partitioning=None)
    values = rows[column].to_pylist()
    values[0] = not values[0] if isinstance(values[0], bool) else values[0] + 1
    at = rows.column_names.index(column)
    pq.write_table(rows.set_column(at, column, [values]), file)
    with pytest.raises(InputError, match=rf"calls/{file.name}: row 0: the sum of .*{column}"):
        shown(store)


def test_a_command_compares_each_file_once(store, monkeypatch, compactlab):
    """Their digests take some 2 % of a report's time; twice would be too much."""
    compared: Counter[int] = Counter()
    real = module.digest_of_file

    def counted(file: Any) -> str:
        compared[os.fstat(file.fileno()).st_ino] += 1
        return real(file)

    monkeypatch.setattr(module, "digest_of_file", counted)
    assert compactlab("report", store).code == 0
    assert compared
    assert set(compared.values()) == {1}


def test_a_changed_manifest_is_refused(store, compactlab):
    file = store / "manifest.json"
    manifest = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps(manifest), "utf-8")  # laid out otherwise, it says the same
    assert compactlab("report", "--brief", store).code == 0
    file.write_text(json.dumps({**manifest, "window": 3001}), "utf-8")
    assert compactlab("report", "--brief", store).code == 2
