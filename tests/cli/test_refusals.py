"""Whatever is wrong is named, with where it is and what would be right, and nothing is lost."""

import os
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from compactlab.scenarios.readers import transcript as transcripts
from tests.cli.conftest import TINY, endings, files

SMALL = ("--conversations", TINY, "--strategies", "keep_all", "--jobs", 1)


TYPED = [
    ("run", "--window", "64kb"),
    ("run", "--seeds", "two"),
    ("run", "--timeout", "10s"),
    ("run", "--conversations", "coding_agent(tokens=64k)"),
    ("run", "--dask", "nowhere"),
    (
        "run",
        "no/such.toml",
    ),
    ("run", "--strategies", "no/such.py:A"),
]


def test_what_was_typed_is_named_with_what_would_be_right(compactlab, golden):
    golden("faults/typed.txt", endings(compactlab, TYPED))


def test_code_that_looks_for_a_file_is_not_taken_for_one_that_is_gone(compactlab, tmp_path):
    (tmp_path / "mine.py").write_text("open('nowhere.json')")
    done = compactlab("run", "--strategies", f"{tmp_path / 'mine.py'}:Mine")
    assert done.code == 2
    assert "nowhere.json" in done.err


@pytest.mark.parametrize("command", ["run", "inspect", "audit", "fit"])
def test_a_folder_without_transcripts_is_named(compactlab, tmp_path, command):
    named = ["--conversations"] if command == "run" else []
    done = compactlab(command, *named, tmp_path)
    assert (done.code, done.out) == (2, "")
    assert f"no transcript was found in {tmp_path}" in done.err
    (tmp_path / "notes.txt").write_text("nothing")
    done = compactlab(command, *named, tmp_path)
    assert done.code == 2
    assert "1 file of unknown format" in done.err


@pytest.mark.parametrize("name", ["talks", "talks/a.jsonl"])
def test_transcripts_in_the_place_of_an_experiment_are_told_where_they_belong(
    compactlab, chat, tmp_path, name
):
    chat(tmp_path / "talks" / "a.jsonl")
    done = compactlab("run", tmp_path / name)
    assert (done.code, done.out) == (2, "")
    assert f"is replayed by compactlab run --conversations {tmp_path / name}" in done.err


def test_a_folder_that_nobody_may_look_into_is_named(chat, tmp_path, compactlab, monkeypatch):
    """Its transcripts are not passed over as if there were none."""
    chat(tmp_path / "talks" / "a.jsonl")
    shut = tmp_path / "talks" / "shut"
    shut.mkdir()
    _shut(monkeypatch, shut)
    assert transcripts.find([tmp_path / "talks"])[0] == [tmp_path / "talks" / "a.jsonl", shut]
    done = compactlab("inspect", tmp_path / "talks")
    assert done.code == 1
    assert f"{shut}: Permission denied" in done.err
    done = compactlab("inspect", shut)
    assert done.code == 2
    assert f"{shut}: Permission denied" in done.err


def _shut(monkeypatch, folder: Path) -> None:
    """Let nobody look into a folder, root neither."""
    listed, opened, allowed = os.scandir, Path.open, os.access

    def scandir(path="."):
        if Path(path) == folder:
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    def open_(self, *arguments, **named):
        if self == folder:
            raise PermissionError(13, "Permission denied", str(self))
        return opened(self, *arguments, **named)

    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr(Path, "open", open_)
    monkeypatch.setattr(
        os, "access", lambda path, mode: Path(path) != folder and allowed(path, mode)
    )


def test_a_page_of_somebody_else_is_not_written_over(compactlab, tmp_path):
    (tmp_path / "report.html").write_text("precious")
    done = compactlab("run", *SMALL, "--out", tmp_path)
    assert done.told(tmp_path) == snapshot("""\
2
compactlab: '.' is neither a store of results nor empty ('report.html' is there): name another
folder, or move away what is in it\
""")
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_text() == "precious"


def test_a_transcript_that_cannot_be_read_costs_no_earlier_results(compactlab, bad, tmp_path):
    """Nothing of it is stored, and what was there is there as it was."""
    out = tmp_path / "out"
    assert compactlab("run", *SMALL, "--out", out).code == 0
    before = files(out)
    broken = bad(tmp_path / "bad.jsonl")
    done = compactlab(
        *("run", "--strict", "--conversations", broken, "--model", "claude-opus-4-5"),
        *(*SMALL[2:], "--out", out),
    )
    assert done.code == 2
    assert f"{broken}:3: not JSON" in done.err
    assert files(out) == before
    assert compactlab("run", *SMALL, "--out", out).told(tmp_path) == snapshot("""\
0
nothing to run: 2 cells are there
compactlab report out shows them; report: out/report.html\
""")


def test_no_number_is_too_long_to_be_refused(compactlab):
    for digits in ("9" * 5000, "9" * 5000 + "k"):
        done = compactlab("run", "--window", digits)
        assert done.code == 2
        assert "is not a whole number" in done.err
