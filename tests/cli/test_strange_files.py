"""In a folder that may be a stranger's no link is followed, no pipe waited for, no end trusted.

What the code opens there is not listed here: it is what a run, another one and a report were seen
to open. So a file that is added to a store or to a folder of answers is tried, too.
"""

import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import called
from tests.llm.server import serving

# In this window Codex compacts twice, OpenCode four times.
STORY, WINDOW = "coding_agent(turns=2, tokens=12000)", 24_000
Trap = Callable[[Path, str, Path], None]
# Below these, all names are tried; what differs in them is a digest.
FOLDERS = ("store", "answers")

_seen: list[str] | None = None


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if (
        _seen is not None
        and event == "open"
        and isinstance(arguments[0], str | bytes | os.PathLike)
    ):
        _seen.append(os.path.abspath(os.fsdecode(arguments[0])))


sys.addaudithook(_note)  # which stays for good


def commands(url: str) -> dict[str, tuple[object, ...]]:
    llm = f"llm(model='gpt-5-mini', base_url='{url}/v1')"
    run = ("run", "--conversations", STORY, "--window", WINDOW, "--jobs", 1, "-o", "store")
    run = (*run, "--answers", "answers", "--metrics", "cost_usd", "--loop", "open")
    run = (
        *run,
        "--no-controls",
        "--ask",
        "record",
        "--budget",
        5,
        "--summarizer",
        llm,
        "--tables",
        "calls",
    )
    more = ("--strategies", "codex", "--strategies", "opencode")
    return {
        "first": (*run, *more[:2]),
        "run": (*run, *more),
        "report": ("report", "store", "--format", "json"),
        "merge": ("merge", "store", "-o", "merged"),
    }


@dataclass(frozen=True)
class Place:
    """What a run has left, and the names that were opened in it."""

    folder: Path
    names: tuple[str, ...]
    commands: dict[str, tuple[object, ...]]
    said: dict[tuple[str, str], str] = field(default_factory=dict)  # with nothing at a name

    def without(self, name: str, command: str) -> str:
        if (name, command) not in self.said:
            self.said[name, command] = tried(name, None, command, self)[1]
        return self.said[name, command]

    def again(self, folder: Path) -> None:
        for name in FOLDERS:
            shutil.rmtree(folder / name, ignore_errors=True)
            shutil.copytree(self.folder / name, folder / name)
        shutil.rmtree(folder / "merged", ignore_errors=True)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    global _seen  # noqa: PLW0603
    folder = tmp_path_factory.mktemp("strange")
    with pytest.MonkeyPatch.context() as patched, serving() as server:
        patched.chdir(folder)
        patched.setenv("COMPACTLAB_API_KEY", "a key of this test")
        asked = commands(server.url)
        _seen = []
        assert called(*asked["first"]).code == 0
        shutil.copytree(folder, folder / "kept", dirs_exist_ok=True)
        assert [called(*asked[name]).code for name in ("run", "report", "merge")] == [0, 0, 0]
        below = [Path(name) for name in dict.fromkeys(_seen)]
        _seen = None
        inside = [path.relative_to(folder) for path in below if path.is_relative_to(folder)]
        names = {str(path) for path in inside if path.parts[0] in FOLDERS and len(path.parts) > 1}
        kept = folder / "kept"
        names |= {str(p.relative_to(kept)) for p in kept.rglob("*") if p.parent != kept}
        alike = {re.sub(r"[0-9a-f]{16}", "#", name): name for name in sorted(names)}
        yield Place(kept, tuple(alike.values()), asked)


@cache
def outside(place: Path) -> Path:
    """Where links lead: a copy of all that is there."""
    return Path(shutil.copytree(place, place.parent / "outside"))


def a_link(path: Path, name: str, place: Path) -> None:
    path.symlink_to(outside(place) / name)


def a_link_to_a_pipe(path: Path, name: str, place: Path) -> None:
    pipe = place.parent / "pipe"
    if not pipe.exists():
        os.mkfifo(pipe)
    path.symlink_to(pipe)


def a_pipe(path: Path, name: str, place: Path) -> None:
    os.mkfifo(path)


def a_folder(path: Path, name: str, place: Path) -> None:
    path.mkdir()


def without_end(path: Path, name: str, place: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**43)


TRAPS = (a_link, a_link_to_a_pipe, a_pipe, a_folder, without_end)


def content(folder: Path) -> dict[str, tuple[int, int]]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(file): (file.stat().st_size, file.stat().st_mtime_ns) for file in files}


def tried(name: str, trap: Trap | None, command: str, place: Place) -> tuple[int, str]:
    """Call a command with a trap at a name, or with nothing there."""
    place.again(Path.cwd())
    path = Path(name)
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    if trap is not None and path.parent.is_dir():
        trap(path, name, place.folder)
    signal.alarm(120)
    done = called(*place.commands[command])
    signal.alarm(0)
    return done.code, done.out if done.code == 0 else done.err


def hung(*_: object) -> None:
    raise KeyboardInterrupt  # which no command takes for a fault of a file


def test_the_walk_meets_what_is_there(place):
    known = {"answers/.lock", "answers/pending.json", "answers/gpt-5-mini.jsonl", "store/.lock",
             "store/manifest.json", "store/runs", "store/.counts"}  # fmt: skip
    assert known <= set(place.names)
    assert any(name.startswith("store/calls/") for name in place.names)


@pytest.mark.parametrize("command", ["report", "run", "merge"])
@pytest.mark.parametrize("trap", TRAPS)
def test_whatever_lies_at_a_name_is_refused_or_not_looked_at(
    trap, command, place, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COMPACTLAB_API_KEY", "a key of this test")
    before = content(outside(place.folder))
    previous = signal.signal(signal.SIGALRM, hung)
    try:
        for name in place.names:
            code, said = tried(name, trap, command, place)
            assert code in (0, 1, 2), (name, said)  # 130: it waited
            # A folder of a store may be empty, and some files nobody needs.
            assert code or said == place.without(name, command), name
            assert content(outside(place.folder)) == before, name
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
