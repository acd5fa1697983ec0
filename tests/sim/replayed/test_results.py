"""The store: what is saved is loaded again, whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from compactlab.sim.errors import InputError
from compactlab.sim.metrics import METRICS
from compactlab.sim.results import CALL_COLUMNS, Results
from compactlab.sim.run import Run
from compactlab.sim.store import replace_file

CALL = (
    "a1", "gpt-5", 1.5, 1, 2, 3, 4, 5, 0.25, 1, 9, 0.125, True, False, True,
    '{"append": 4}', '{"extra_turn": 2}', 0.5, 7,
)  # fmt: skip


def found(value: float = 1.0) -> Results:
    """Two runs that went well, of two calls and of none, and one that failed."""
    head = {"scenario": "pi", "model": "recorded", "window": 0, "seed": 1, "digest": "0" * 16}
    figures = dict.fromkeys(METRICS, value)
    return Results(
        [
            Run("one", strategy="keep_all()", metrics=figures, calls=[CALL, CALL], **head),
            Run("one", strategy="brief()", metrics={**figures, "write_spike": None}, **head),
            Run("two", strategy="keep_all()", status="failed", error="größer", **head),
        ],
        {"prices": "list", "models": ["recorded"]},
    )


def test_what_is_saved_is_loaded_again(tmp_path: Path) -> None:
    found().save(tmp_path / "new" / "store")
    again = Results.load(tmp_path / "new" / "store")
    assert again.manifest == found().manifest
    assert again.runs[:2] == found().runs[:2]
    assert (again.runs[2].status, again.runs[2].error) == ("failed", "größer")
    assert set(again.runs[2].metrics.values()) == {None}
    assert again.frame().equals(found().frame())
    assert again.calls().equals(found().calls())


def test_saving_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        found().save(tmp_path / name)
    Results.load(tmp_path / "one").save(tmp_path / "three")
    names = {"runs.parquet", "calls.parquet", "manifest.json"}
    for name in ("one", "two", "three"):
        assert {file.name for file in (tmp_path / name).iterdir()} == names
        for file in names:
            assert (tmp_path / name / file).read_bytes() == (tmp_path / "one" / file).read_bytes()


def test_an_empty_experiment_is_stored_too(tmp_path: Path) -> None:
    Results([]).save(tmp_path)
    again = Results.load(tmp_path)
    assert again == Results([])
    assert len(again.frame()) == len(again.calls()) == 0


def test_the_failed_ones_are_named() -> None:
    assert [run.conversation for run in found().failed] == ["two"]


def test_the_frame_has_a_row_a_run(tmp_path: Path) -> None:
    frame = found().frame()
    assert len(frame) == 3
    assert list(frame.columns[-len(METRICS) :]) == list(METRICS)
    assert {str(frame[name].dtype) for name in METRICS} == {"float64"}
    assert {str(frame[name].dtype) for name in ("window", "seed")} == {"int64"}
    assert {str(frame[name].dtype) for name in ("strategy", "error", "status")} <= {"str", "object"}
    assert frame["cost_usd"].isna().tolist() == [False, False, True]


def test_the_frame_of_calls_has_a_row_a_call() -> None:
    calls = found().calls()
    assert len(calls) == 2
    assert calls["run"].tolist() == [0, 0]
    assert calls["call_model"].tolist() == ["gpt-5", "gpt-5"]
    for name, type in CALL_COLUMNS.items():
        if type != "string":
            assert str(calls[name].dtype) == type


# -------------------------------------------------------------------------- what is no store


def broken_manifest(text: str) -> Any:
    return lambda folder: (folder / "manifest.json").write_text(text)


def parquet(folder: Path, file: str, **columns: list[Any]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), folder / file)


def calls_of_nobody(folder: Path) -> None:
    import pyarrow.parquet as pq

    table = pq.read_table(folder / "calls.parquet")
    moved = table.set_column(0, "run", [[7] * len(table)])
    pq.write_table(moved, folder / "calls.parquet")


DAMAGE = {
    "no manifest": lambda folder: (folder / "manifest.json").unlink(),
    "no runs": lambda folder: (folder / "runs.parquet").unlink(),
    "no calls": lambda folder: (folder / "calls.parquet").unlink(),
    "an empty manifest": broken_manifest(""),
    "half a manifest": broken_manifest('{"store": 1, "prices'),
    "a manifest that is a list": broken_manifest("[1]"),
    "a manifest that is a number": broken_manifest("1"),
    "a manifest in another encoding": lambda f: (f / "manifest.json").write_bytes(b"\xff\xfe{}"),
    "a manifest without version": broken_manifest("{}"),
    "half of the runs": lambda f: (f / "runs.parquet").write_bytes(
        (f / "runs.parquet").read_bytes()[:99]
    ),
    "no parquet": lambda f: (f / "calls.parquet").write_bytes(b"hello"),
    "runs of another tool": lambda f: parquet(f, "runs.parquet", name=["x"]),
    "calls of another tool": lambda f: parquet(f, "calls.parquet", name=["x"]),
    "calls of nobody": calls_of_nobody,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_is_damaged_is_named(damage: Any, tmp_path: Path) -> None:
    store = tmp_path / "store"
    found().save(store)
    damage(store)
    with pytest.raises(InputError, match="store"):
        Results.load(store)


def test_where_nothing_is_there_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no store of results"):
        Results.load(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="no store of results"):
        Results.load(tmp_path / "file")


@pytest.mark.parametrize("version", [0, 1, "2", None])
def test_a_store_of_another_version_says_what_to_do(version: Any, tmp_path: Path) -> None:
    found().save(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "store": version}))
    with pytest.raises(InputError, match="another version; run the experiment again"):
        Results.load(tmp_path)


# ---------------------------------------------------------------------------- nothing half written


def failing_at(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the renaming of that number on, the disk is full."""
    real, calls = os.replace, []

    def replace(source: Any, target: Any) -> None:
        calls.append(target)
        if len(calls) >= number:
            raise OSError("no space left")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_store_that_cannot_be_replaced_is_no_mixture(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Either the old one is still there, or it is said that none is."""
    old, new = found(1.0), found(2.0)
    new.runs[0].calls.append(CALL)
    new.manifest["prices"] = "another list"
    old.save(tmp_path)
    with monkeypatch.context() as patch:
        failing_at(number, patch)
        with pytest.raises(OSError, match="no space left"):
            new.save(tmp_path)
    try:
        left = Results.load(tmp_path)
    except InputError:
        return
    assert left.manifest == old.manifest
    assert left.frame().equals(old.frame())
    assert left.calls().equals(old.calls())


def test_the_old_store_is_intact_if_nothing_can_be_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found().save(tmp_path)
    before = {f.name: f.read_bytes() for f in tmp_path.iterdir() if not f.name.startswith(".")}
    failing_at(1, monkeypatch)
    with pytest.raises(OSError, match="no space left"):
        found(2.0).save(tmp_path)
    after = {f.name: f.read_bytes() for f in tmp_path.iterdir() if not f.name.startswith(".")}
    assert after == before


def test_what_cannot_be_renamed_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_at(1, monkeypatch)
    with pytest.raises(OSError, match="no space left"):
        replace_file(tmp_path / "file", b"content")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    for content in (b"old", b"new"):
        replace_file(tmp_path / "file", content)
    assert (tmp_path / "file").read_bytes() == b"new"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
