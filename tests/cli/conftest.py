"""What the stories about the command line have in common: commands, and tiny transcripts."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill, indent
from typing import Any

import pytest
from click.testing import CliRunner

from compactlab.__main__ import main
from compactlab.cli.dry_run import Budget
from compactlab.scenarios import catalogue

TINY = "coding_agent(turns=2, tokens=2000)"


@dataclass(frozen=True)
class Outcome:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return self.out + self.err

    def told(self, *folders: Path, out: bool = True) -> str:
        """Its exit code and all that it said, for a snapshot: without the folders of the test.

        Or without its output, where its errors are what matters.
        """
        text = f"{self.code}\n{self.said if out else self.err}"
        for folder in folders:
            text = text.replace(f"{folder}/", "").replace(str(folder), ".")
        return "\n".join(fill(line, 96) for line in text.splitlines())


def endings(call: Callable[..., Outcome], given: Iterable[Sequence[object]], *folders: Path) -> str:
    """Return the words of each command and, under them, how it ended and all that it said."""
    return "".join(
        f"{' '.join(map(str, words))}\n{indent(call(*words).told(*folders), '    ')}\n"
        for words in given
    )


def _code(error: SystemExit) -> int:
    return error.code if isinstance(error.code, int) else int(error.code is not None)


def called(*arguments: object) -> Outcome:
    """Call the command line in this process."""
    with CliRunner().isolation() as (out, err, _), pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", ["compactlab", *map(str, arguments)])
        # Unless it is told how many, it starts no workers: that takes longer than tiny runs.
        patched.setattr(os, "cpu_count", lambda: 1)
        code = 0
        try:
            main()
        except SystemExit as error:
            code = _code(error)
        sys.stdout.flush()
        sys.stderr.flush()
        outcome = Outcome(code, out.getvalue().decode(), err.getvalue().decode())
    assert "Traceback" not in outcome.said
    return outcome


@pytest.fixture(scope="module", autouse=True)
def _scenarios(made_once: None) -> None:
    """Each is made once."""


@pytest.fixture
def small_scenarios(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scenarios are small, whatever their specs ask for: commands that are shown end at once."""
    real = catalogue._scenarios

    def small(text: str) -> list[Any]:
        return [replace(each, tokens=min(each.tokens, 4_000)) for each in real(text)]

    monkeypatch.setattr(catalogue, "_scenarios", small)


@pytest.fixture
def drawn() -> None:
    """Asked for by whom pages shall show the parts of their comparisons to, and charts."""


@pytest.fixture
def compactlab(request, monkeypatch) -> Callable[..., Outcome]:
    """Call the command line's own `main` in this process, under click's runner."""

    # A dry run tries a few cells; here one will do.
    monkeypatch.setattr("compactlab.cli.dry_run.BUDGET", Budget(seconds=0.0, least=1))
    # To fill a page takes longer than a tiny run; with charts, five times as long.
    if "drawn" not in request.fixturenames:
        monkeypatch.setattr("compactlab.reports.page.page.section", lambda *_, **__: ())

    return called


@pytest.fixture(scope="session")
def process() -> Callable[..., Outcome]:
    """Run the command line in a process of its own, whose sets have an order of their own."""

    def call(*arguments: object, cwd: Path | None = None, hashes: int = 0) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "compactlab", *map(str, arguments)],
            capture_output=True,
            cwd=cwd,
            env={**os.environ, "PYTHONHASHSEED": str(hashes)},
            timeout=120,
            check=False,
        )
        outcome = Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert "Traceback" not in outcome.said
        return outcome

    return call


@pytest.fixture(scope="session")
def chat() -> Callable[..., None]:
    """Write a small conversation as messages of OpenAI's Chat Completions."""

    def write(path: Path, turns: int = 3, tool: str = "read") -> Path:
        call = {"id": "c1", "type": "function", "function": {"name": tool, "arguments": "{}"}}
        messages: list[dict[str, object]] = [
            {"role": "user", "content": "Read the file notes.txt."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "the port is 8080"},
            {"role": "assistant", "content": "The port is 8080."},
        ]
        for turn in range(turns - 1):
            messages += [
                {"role": "user", "content": f"And now number {turn}?"},
                {"role": "assistant", "content": f"Number {turn} is done."},
            ]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(message) + "\n" for message in messages))
        return path

    return write


@pytest.fixture(scope="session")
def bad() -> Callable[[Path], Path]:
    """Write a transcript whose third line is broken."""

    def write(path: Path) -> Path:
        lines = (
            '{"role": "user", "content": "hello"}',
            '{"role": "assistant", "content": "yes?"}',
            '{"role": "user", "content": ',
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


@pytest.fixture(scope="session")
def store(tmp_path_factory, chat) -> Path:
    """The results of a tiny run: two strategies over a scenario and a transcript."""
    folder = tmp_path_factory.mktemp("store") / "out"
    talk = chat(folder.parent / "talk.jsonl")
    options = ("--strategies", "keep_all", "--strategies", "sliding_window(keep=4)", "--jobs", 1)
    more = ("--model", "claude-sonnet-4-5", "--out", folder)
    done = called("run", "--conversations", TINY, "--conversations", talk, *options, *more)
    assert done.code == 0, done.said
    return folder


def files(folder: Path) -> dict[str, str]:
    """What is in a folder: digests by name. Of pages that differ no test should show the rest."""
    return {
        str(f.relative_to(folder)): digest(f.read_bytes()) for f in folder.rglob("*") if f.is_file()
    }


def digest(content: bytes) -> str:
    """What stands for the bytes of a file."""
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(scope="session")
def contents() -> Callable[[Path], dict[str, str]]:
    """What is in a folder: digests by name."""
    return files
