"""A disk that fills up in the middle of a file: what was there stays whole, and nothing is left."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import compactlab
from tests.test_hostile_outputs import call

OLD = "what was there"
FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "out"
    compactlab.run(
        "coding_agent(turns=2, tokens=2000)",
        ("keep_all", "keep_none"),
        metrics=["cost_usd"],
        out=out,
    )
    return out


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A conversation with recorded usage."""
    from compactlab.scenarios.readers import native
    from tests.hostile import conversation

    file = tmp_path_factory.mktemp("talk") / "talk.jsonl"
    native.write(conversation("x", 1), file)
    return file


def in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full when half of a file has been written."""
    opened = Path.open

    class Half:
        def __init__(self, file: object) -> None:
            self._file = file

        def __enter__(self) -> Half:
            return self

        def __exit__(self, *_: object) -> None:
            self._file.close()  # type: ignore[attr-defined]

        def write(self, content: bytes) -> int:
            self._file.write(content[: len(content) // 2])  # type: ignore[attr-defined]
            raise FULL

    def opening(path: Path, mode: str = "r", *rest: object, **named: object) -> object:
        file = opened(path, mode, *rest, **named)  # type: ignore[call-overload]
        return Half(file) if set(mode) & set("wax") else file

    monkeypatch.setattr(Path, "open", opening)


def at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full when a file is to get its name."""

    def replace(*_: object) -> None:
        raise FULL

    monkeypatch.setattr(os, "replace", replace)


WAYS: list[Callable[[pytest.MonkeyPatch], None]] = [in_the_middle, at_the_end]

COMMANDS = {
    "audit --html": ("audit", "{talk}", "--html", "{file}"),
    "audit --churn-out": ("audit", "{talk}", "--churn-out", "{file}"),
    "baseline": ("baseline", "{store}", "-o", "{file}"),
    "fit": ("fit", "{talk}", "--made", "1", "-o", "{file}"),
    "gate --json": ("gate", "{store}", "--baseline", "{kept}", "--json", "{file}"),
    "gate --junit": ("gate", "{store}", "--baseline", "{kept}", "--junit", "{file}"),
    "gate --markdown": ("gate", "{store}", "--baseline", "{kept}", "--markdown", "{file}"),
    "schema": ("schema", "-o", "{file}"),
    "score --facts-out": ("score", "{talk}", "{talk}", "--facts-out", "{file}"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_old_file_is_whole(*, name, way, store, talk, tmp_path, monkeypatch):
    file, kept = tmp_path / "file", tmp_path / "kept.json"
    if "{kept}" in COMMANDS[name]:
        assert call("baseline", store, "-o", kept)[0] == 0
    file.write_text(OLD)
    before = sorted(tmp_path.iterdir())
    places = {"{file}": file, "{store}": store, "{talk}": talk, "{kept}": kept}
    way(monkeypatch)
    code, _, complained = call(*(places.get(word, word) for word in COMMANDS[name]))
    monkeypatch.undo()
    assert code == 2, complained
    assert "No space left on device" in complained
    assert "Traceback" not in complained
    assert file.read_text("utf-8") == OLD
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_cannot_write_says_so_and_goes_on_later(way, tmp_path, monkeypatch):
    out = tmp_path / "out"
    words = ("run", "--conversations", "coding_agent(turns=2, tokens=2000)", "--jobs", 1)
    words = (*words, "--strategies", "keep_all", "--metrics", "cost_usd", "--out", out)
    way(monkeypatch)
    code, _, complained = call(*words)
    monkeypatch.undo()
    assert code == 2, complained
    assert "No space left on device" in complained
    assert "Traceback" not in complained
    left = [file for file in out.rglob("*") if file.is_file() and file.name != ".lock"]
    assert left == []
    assert call(*words, "--loop", "open")[0] == 0
    assert json.loads((out / "manifest.json").read_text("utf-8"))["loop"] == ""


@pytest.mark.parametrize("way", WAYS)
def test_a_page_that_cannot_be_written_leaves_the_one_before(way, store, monkeypatch):
    page = store / "report.html"
    page.write_text(OLD)
    before = sorted(store.rglob("*"))
    way(monkeypatch)
    code, _, complained = call("merge", store, "-o", store)
    monkeypatch.undo()
    assert code == 2, complained
    assert "No space left on device" in complained
    assert page.read_text("utf-8") == OLD
    assert sorted(store.rglob("*")) == before


@pytest.mark.parametrize("way", WAYS)
def test_of_new_files_none_is_there_by_half(way, tmp_path, monkeypatch):
    way(monkeypatch)
    code, _, complained = call("new", "strategy", "my_own", "--dir", tmp_path)
    monkeypatch.undo()
    assert code == 2
    assert "No space left on device" in complained
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_charts_are_whole(way, store, tmp_path, monkeypatch):
    way(monkeypatch)
    code, _, complained = call("report", store, "--charts", tmp_path)
    monkeypatch.undo()
    assert code == 2, complained
    assert "No space left on device" in complained
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []
