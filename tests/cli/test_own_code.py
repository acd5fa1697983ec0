"""Whatever a strategy of the user's own does, it costs its own row, and the others are right."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from compactlab.sim.store.results import Results
from tests.cli.conftest import Outcome
from tests.lines import lines_with

HEAD = """
import atexit, builtins, os, random, signal, sys, threading, time, warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compactlab import Strategy

"""
CLASS = """
@dataclass(frozen=True)
class {name}(Strategy):
    def compact(self, view, host):
        {act}
        return view
"""
# What somebody's first strategy may do, by accident or not, and what is told of its row.
DEEDS = {
    "raise ValueError('no idea')": "ValueError: no idea",
    "sys.exit(0)": "SystemExit: 0",
    "sys.exit()": "SystemExit: ",
    "exit(0)": "SystemExit: 0",
    "os._exit(0)": "it ended its process, with exit code 0",
    "raise KeyboardInterrupt": "KeyboardInterrupt: ",
    "raise GeneratorExit": "GeneratorExit: ",
    "raise StopIteration": "RuntimeError: generator raised StopIteration",
    "raise BaseException('so')": "BaseException: so",
    "raise MemoryError": "MemoryError: ",
    "os.kill(os.getpid(), signal.SIGTERM)": "its process was killed by SIGTERM",
    "os.kill(os.getpid(), signal.SIGKILL)": "its process was killed by SIGKILL",
    "os.kill(os.getpid(), signal.SIGSEGV)": "its process was killed by SIGSEGV",
    "os.closerange(0, 4096)": "it ended its process, with exit code 1",
    "return None": "ERROR",
    "return 'a view'": "ERROR",
}
# What does not even cost its row, but must not reach any other.
HARMLESS = (
    "os.chdir('/')",
    "os.environ.clear()",
    "sys.path.clear(); sys.modules.pop('json', None)",
    "sys.stdout.close(); sys.stderr.close()",
    "print('\\x1b[2J\\x1b]0;title\\x07', file=sys.stderr)",
    "builtins.print = None",
    "np.seterr(all='raise'); random.seed(1); np.random.seed(1)",
    "warnings.simplefilter('error')",
    "sys.setrecursionlimit(sys.getrecursionlimit() + 1)",
    "signal.signal(signal.SIGINT, signal.SIG_IGN); signal.alarm(0)",
    "threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()",
    "atexit.register(os._exit, 0)",
    "open(os.devnull).close() or os.umask(0)",
)


@pytest.fixture
def run(compactlab, chat, tmp_path, monkeypatch) -> Callable[..., Outcome]:
    monkeypatch.chdir(tmp_path)
    chat(tmp_path / "talk.jsonl")

    def call(*options: object, jobs: int = 1) -> Outcome:
        return compactlab(
            *("run", "--conversations", "talk.jsonl", "--model", "claude-sonnet-4-5"),
            *("--metrics", "money", "--jobs", jobs, "--loop", "open", *options),
        )

    return call


def written(tmp_path: Path, acts: list[str]) -> list[str]:
    """A file with a strategy for each act, and options that name them all between others."""
    classes = [CLASS.format(name=f"Own{n}", act=act) for n, act in enumerate(acts)]
    (tmp_path / "own.py").write_text(HEAD + "".join(classes))
    own = [f"--strategies=own.py:Own{n}" for n in range(len(acts))]
    return ["--strategies=keep_all", *own, "--strategies=sliding_window(keep=2)"]


def rows(folder: Path) -> dict[str, tuple[str, str]]:
    return {run.label: (run.status, run.error) for run in Results.load(folder).runs}


@pytest.mark.parametrize("jobs", [1, 2])
def test_each_deed_costs_its_own_row_which_is_named(run, tmp_path, monkeypatch, jobs):
    monkeypatch.setattr(
        "compactlab.sim.experiment.shard.FULL", 6
    )  # several shards, else one worker would do
    done = run(*written(tmp_path, list(DEEDS)), jobs=jobs)
    assert done.code == 1, done.said
    found = rows(tmp_path / "compactlab-out")
    assert found.pop("keep_all") == ("ok", "")
    assert found.pop("sliding_window(keep=2)") == ("ok", "")
    assert len(found) == len(DEEDS)
    for (label, (status, error)), expected in zip(found.items(), DEEDS.values(), strict=True):
        assert status == "failed", label
        assert error.startswith(expected) or expected == "ERROR", error
        assert label in done.out
    alone = run("--strategies=keep_all", "--strategies=sliding_window(keep=2)", "--out=alone")
    assert alone.code == 0
    good = [each for each in Results.load("compactlab-out").runs if each.status == "ok"]
    assert good == Results.load("alone").runs


@pytest.mark.parametrize("deed", ["sys.exit(0)", "os._exit(0)", "raise KeyboardInterrupt"])
def test_alone_in_the_only_shard_it_is_no_success(run, tmp_path, deed):
    (tmp_path / "own.py").write_text(HEAD + CLASS.format(name="Own", act=deed))
    done = run("--strategies=own.py:Own")
    assert done.code == 1
    assert [status for status, _ in rows(tmp_path / "compactlab-out").values()] == ["failed"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_it_disturbs_is_its_own_process(run, tmp_path, monkeypatch, jobs):
    monkeypatch.setattr("compactlab.sim.experiment.shard.FULL", 6)
    done = run(*written(tmp_path, list(HARMLESS)), jobs=jobs)
    assert done.code == 0, done.said
    every = Results.load("compactlab-out").runs
    assert {each.status for each in every} == {"ok"}
    assert len({each.metrics["cost_usd"] for each in every[:-1]}) == 1
    assert "\x1b" not in done.said
    assert Path.cwd() == tmp_path


@pytest.mark.parametrize(
    ("act", "jobs"),
    [
        ("[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 15)]; deaf()", 1),
        ("signal.signal(signal.SIGALRM, signal.SIG_IGN); deaf()", 2),
        ("signal.setitimer(signal.ITIMER_REAL, 0); deaf()", 1),
        ("threading.Thread(target=deaf).start(); deaf()", 1),
        ("time.sleep(1000)", 1),
        ("os.system('sleep 1000')", 1),
    ],
)
def test_past_its_time_it_is_ended_whatever_it_does_not_hear(run, tmp_path, monkeypatch, act, jobs):
    monkeypatch.setattr("compactlab.sim.experiment.shard.FULL", 2)
    options = written(tmp_path, [act])
    with (tmp_path / "own.py").open("a") as file:
        file.write(DEAF)
    done = run(*options, "--timeout", 2, jobs=jobs)
    assert done.code == 1, done.said
    assert rows(tmp_path / "compactlab-out") == {
        "keep_all": ("ok", ""),
        "own0": ("failed", "it took longer than 2 s"),
        "sliding_window(keep=2)": ("ok", ""),
    }


DEAF = """
def deaf():
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
"""


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("import sys; sys.exit(0)", "own.py cannot be loaded: SystemExit: 0"),
        ("import os; os._exit(0)", "own.py:Own cannot be loaded: it ended its process, with exit"),
        ("raise KeyboardInterrupt", "own.py:Own cannot be loaded: KeyboardInterrupt"),
        ("1 / 0", "own.py cannot be loaded: ZeroDivisionError"),
        ("def (", "own.py cannot be loaded: SyntaxError"),
        ("open('notes.txt')", "own.py cannot be loaded: FileNotFoundError"),
        (
            "import argparse\np = argparse.ArgumentParser(prog='p')\np.add_argument('x')\n"
            "p.parse_args([])",
            "SystemExit: 2; it printed: usage: p [-h] x",
        ),
        ("Own = 3", "own.py:Own is not a strategy"),
        (
            HEAD + CLASS.format(name="Own", act="pass") + "    def __post_init__(self):\n"
            "        sys.exit(0)\n",
            "own.py:Own cannot be loaded: SystemExit: 0",
        ),
    ],
)
def test_what_cannot_be_loaded_is_wrong_usage(run, tmp_path, body, told):
    (tmp_path / "own.py").write_text(body)
    done = run("--strategies=keep_all", "--strategies=own.py:Own")
    assert (done.code, done.out) == (2, ""), done.said
    assert told in done.err
    assert not (tmp_path / "compactlab-out").exists()


def test_loading_it_disturbs_nothing_here(run, tmp_path):
    """Not even the folder in which paths begin, before they are looked at."""
    code = "os.chdir('/'); builtins.print = None; sys.stdout.close(); sys.path.clear()\n"
    (tmp_path / "own.py").write_text(HEAD + code + CLASS.format(name="Own", act="pass"))
    done = run("--strategies=keep_all", "--strategies=own.py:Own")
    assert print is not None
    assert Path.cwd() == tmp_path
    assert done.code == 0, done.said
    assert rows(tmp_path / "compactlab-out")["keep_all"] == ("ok", "")


def test_what_it_prints_is_shown_clean_under_its_row(run, tmp_path):
    act = "print('seen', len(view.messages), '\\x1b[31mred\\u202e')"
    done = run(*written(tmp_path, [act]))
    assert done.code == 0
    at = done.err.splitlines().index("own0 over talk printed:")
    assert done.err.splitlines()[at + 1] == "  seen 1 \ufffd[31mred\ufffd"
    assert "seen" not in done.out
    text = (tmp_path / "compactlab-out" / "report.html").read_text("utf-8")
    assert "seen 1" not in text


def test_a_secret_that_it_prints_is_hidden_on_demand(run, tmp_path):
    act = "print('password=swordfish')"
    assert "swordfish" in run(*written(tmp_path, [act])).err
    done = run(*written(tmp_path, [act]), "--redact", "--out=hidden")
    assert "own0 over talk printed:" in done.err
    assert "swordfish" not in done.said


def test_a_flood_of_rows_that_print_is_cut(run, compactlab, chat, tmp_path):
    for number in range(25):
        chat(tmp_path / "talks" / f"{number}.jsonl")
    (tmp_path / "own.py").write_text(HEAD + CLASS.format(name="Own", act="print('x')"))
    done = run("--strategies=own.py:Own", "--conversations=talks")
    assert done.err.count("printed:") == 20
    assert done.err.count("more rows print something; it is not shown") == 1


@pytest.mark.parametrize("deed", ["sys.exit(0)", "os._exit(0)"])
def test_explain_names_what_ends_it(compactlab, chat, tmp_path, deed):
    file = tmp_path / "own.py"
    file.write_text(HEAD + CLASS.format(name="Own", act=f"print('so far'); {deed}"))
    talk = chat(tmp_path / "talk.jsonl")
    model = ("--model", "claude-sonnet-4-5")
    done = compactlab("explain", talk, "--strategies", f"{file}:Own", *model)
    assert (done.code, done.out) == (2, "")
    assert "own() fails: " in done.err
    assert "own printed:\n  so far" in done.err


def test_a_run_with_cells_missing_is_no_success(run, tmp_path, monkeypatch):
    """Whyever they are: here the workers are sent home too early."""

    class Lazy:
        def run(self, work, shards):
            yield from ((shard, work(shard)) for shard in shards[1:])

    monkeypatch.setattr("compactlab.sim.experiment.shard.FULL", 2)
    monkeypatch.setattr("compactlab.sim.experiment.workers.Workers", lambda *given: Lazy())
    done = run("--strategies=keep_all", "--strategies=keep_none")
    assert done.code == 1, done.said
    assert lines_with(done.err, "not been run") == snapshot(
        "2 cells of the experiment have not been run"
    )


def test_every_run_of_it_begins_anew(run, chat, tmp_path):
    """What a module remembers of one conversation is not known in the next."""
    for number in range(3):
        chat(tmp_path / "talks" / f"{number}.jsonl", turns=2 + number)
    (tmp_path / "own.py").write_text(
        HEAD
        + "seen = []\n"
        + CLASS.format(name="Own", act="seen.append(1); print('now', len(seen))")
    )
    done = run("--strategies=own.py:Own", "--conversations=talks")
    assert done.err.count("  now 1\n") == 4  # of each of four talks the first call


def test_its_file_may_change_while_it_runs(run, tmp_path):
    """What runs is what was there at the beginning, by whose digest the results are known."""
    act = "Path('own.py').write_text('1 / 0')"
    done = run(*written(tmp_path, [act, act]))
    assert done.code == 0, done.said
    manifest = json.loads((tmp_path / "compactlab-out" / "manifest.json").read_text("utf-8"))
    codes = manifest["strategies_code"]
    assert len(codes.keys() - {*manifest["bounds"]}) == 4


FEW = """
if __name__ == "__main__":
    from compactlab.__main__ import main
    from compactlab.sim.experiment import shard
    shard.FULL = 1
    main()
"""


def test_nothing_that_lies_about_is_imported_by_workers(chat, tmp_path):
    """A folder of transcripts may hold files of Python, with names that Python looks for."""
    chat(tmp_path / "talk.jsonl")
    for name in ("pickle", "signal", "threading"):
        (tmp_path / f"{name}.py").write_text("open('imported', 'w')\n1 / 0")
    options = ["--conversations=talk.jsonl", "--strategies=keep_all", "--strategies=keep_none"]
    options += ["--model=gpt-5", "--jobs=2", "--metrics=money", "--loop=open"]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "command").write_text(FEW)
    done = subprocess.run(
        [sys.executable, tmp_path / "bin" / "command", "run", *options],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "imported").exists()
