"""A disk that fills up in the middle of a file: what was there stays whole, and nothing is left."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from inline_snapshot import snapshot

import compactlab
from tests.lines import lines_with
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


@pytest.fixture(params=WAYS)
def complaint(request: pytest.FixtureRequest) -> Callable[..., str]:
    """What a command says that ends because the disk is full."""

    def ended(*words: object) -> str:
        with pytest.MonkeyPatch.context() as patched:
            request.param(patched)
            code, _, complained = call(*words)
        assert code == 2, complained
        assert "Traceback" not in complained
        return lines_with(complained, "No space")

    return ended


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_old_file_is_whole(*, name, complaint, store, talk, tmp_path):
    file, kept = tmp_path / "file", tmp_path / "kept.json"
    if "{kept}" in COMMANDS[name]:
        assert call("baseline", store, "-o", kept)[0] == 0
    file.write_text(OLD)
    before = sorted(tmp_path.iterdir())
    places = {"{file}": file, "{store}": store, "{talk}": talk, "{kept}": kept}
    assert complaint(*(places.get(word, word) for word in COMMANDS[name])) == snapshot(
        "compactlab: cannot write 'file': No space left on device"
    )
    assert file.read_text("utf-8") == OLD
    assert sorted(tmp_path.iterdir()) == before


def test_a_run_that_cannot_write_says_so_and_goes_on_later(complaint, tmp_path):
    out = tmp_path / "out"
    words = ("run", "--conversations", "coding_agent(turns=2, tokens=2000)", "--jobs", 1)
    words = (*words, "--strategies", "keep_all", "--metrics", "cost_usd", "--out", out)
    assert complaint(*words) == snapshot(
        "compactlab: cannot write 'out/manifest.json': No space left on device"
    )
    left = [file for file in out.rglob("*") if file.is_file() and file.name != ".lock"]
    assert left == []
    assert call(*words, "--loop", "open")[0] == 0
    assert json.loads((out / "manifest.json").read_text("utf-8"))["loop"] == ""


def test_a_page_that_cannot_be_written_leaves_the_one_before(complaint, store):
    page = store / "report.html"
    page.write_text(OLD)
    before = sorted(store.rglob("*"))
    assert complaint("merge", store, "-o", store) == snapshot(
        "compactlab: cannot write 'out/manifest.json': No space left on device"
    )
    assert page.read_text("utf-8") == OLD
    assert sorted(store.rglob("*")) == before


def test_of_new_files_none_is_there_by_half(complaint, tmp_path):
    assert complaint("new", "strategy", "my_own", "--dir", tmp_path) == snapshot(
        "compactlab: cannot write 'my_own.py': No space left on device"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_charts_are_whole(complaint, store, tmp_path):
    assert complaint("report", store, "--charts", tmp_path) == snapshot(
        "compactlab: cannot write 'cache-misses-by-cause.svg': No space left on device"
    )
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []
