"""Code is started only where somebody has named it, or has said that a file may name it."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from compactlab.sim.store.results import Results

PROGRAM = """
import json, pathlib, sys
pathlib.Path(sys.argv[1]).touch()
for text in sys.stdin:
    line = json.loads(text)
    if line["type"] == "hello":
        print(json.dumps({"type": "hello", "protocol": 1, "name": "p", "version": "1"}), flush=True)
    if line["type"] == "view":
        print(json.dumps({"type": "answer", "id": line["id"]}), flush=True)
"""
TINY = "coding_agent(turns=2, tokens=2000)"


@pytest.fixture
def trace(tmp_path, monkeypatch) -> Path:
    """A file that is there as soon as the program beside it, or the class, was started."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "own.py").write_text(
        f"open({str(tmp_path / 'started')!r}, 'w').close()\n"
        "from compactlab.strategies import KeepAll as Own\n"
    )
    return tmp_path / "started"


def program(trace: Path) -> str:
    return f"exec({shlex.join([sys.executable, 'program.py', str(trace)])!r})"


def experiment(*strategies: object) -> Path:
    listed = ", ".join(map(json.dumps, strategies))
    tables = f'conversations = ["{TINY}"]\nmetrics = ["money"]\nloop = "open"\n'
    file = Path("experiment.toml")
    file.write_text(f"{tables}strategies = [{listed}]\n")
    return file


@pytest.mark.parametrize("written", ["spec", "pipeline", "class", "table"])
def test_a_file_starts_no_code_unless_that_is_allowed(compactlab, trace, written):
    spec = program(trace)
    file = {
        "spec": lambda: experiment("keep_all", spec),
        "pipeline": lambda: experiment(f"keep_all + {spec}"),
        "class": lambda: experiment("own.py:Own"),
        "table": lambda: experiment("keep_all"),
    }[written]()
    if written == "table":
        words = json.dumps(shlex.join([sys.executable, "program.py", str(trace)]))
        table = f'[{{ name = "exec", command = {words} }}]'
        file.write_text(file.read_text().replace('["keep_all"]', table))
    done = compactlab("run", file)
    assert done.code == 2
    assert "is code, which a file may start only with --allow-code" in done.err
    assert not trace.exists()
    assert compactlab("run", file, "--allow-code", "--jobs", 1).code == 0
    assert trace.exists()


@pytest.mark.parametrize("written", ['"own.py:Own"', '[{ name = "own.py:Own" }]'])
def test_nor_does_a_file_start_a_summariser(compactlab, trace, written):
    source = Path("own.py")
    empty = "compactlab.strategies.summarizers.controls import Empty"
    source.write_text(source.read_text().replace("compactlab.strategies import KeepAll", empty))
    file = experiment("keep_all")
    file.write_text(f"{file.read_text()}summarizer = {written}\n")
    done = compactlab("run", file)
    assert done.code == 2
    assert "own.py:Own is code, which a file may start only with --allow-code" in done.err
    assert not trace.exists()
    assert compactlab("run", file, "--allow-code", "--jobs", 1).code == 0
    assert trace.exists()


def test_what_the_command_line_names_is_started(compactlab, trace):
    done = compactlab(
        *("run", "--conversations", TINY, "--loop", "open", "--metrics", "money", "--jobs", 1),
        *("--strategies", "keep_all", "--strategies", program(trace)),
    )
    assert done.code == 0, done.said
    assert trace.exists()
    kept, asked = Results.load("compactlab-out").runs
    assert {**asked.metrics} == {**kept.metrics}


def test_a_store_a_baseline_and_a_report_start_nothing(compactlab, trace):
    assert compactlab("run", experiment("keep_all", program(trace)), "--allow-code").code == 0
    trace.unlink()
    labels = [run.label for run in Results.load("compactlab-out").runs if "exec" in run.label]
    assert labels
    for command in (
        ("report", "compactlab-out"),
        ("compare", "compactlab-out", "keep_all", *labels),
        ("baseline", "compactlab-out", "-o", "baseline.json"),
        ("gate", "compactlab-out", "--baseline", "baseline.json"),
        ("query", "compactlab-out", "select strategy from runs"),
        ("merge", "compactlab-out", "-o", "merged"),
    ):
        done = compactlab(*command)
        assert done.code in (0, 1), done.said
        assert not trace.exists(), command


def test_a_command_in_a_file_is_taken_from_where_the_file_stands(compactlab, trace, monkeypatch):
    file = experiment(program(trace)).absolute()
    (file.parent / "elsewhere").mkdir()
    monkeypatch.chdir(file.parent / "elsewhere")
    assert compactlab("run", file, "--allow-code", "--jobs", 1).code == 0
    assert trace.exists()
