"""A real model, recorded and replayed: the way that it takes, and the model itself."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from real_model import TASKS, serving

from tests.examples.conftest import EXAMPLES
from tests.lines import refusal

RECORDED = EXAMPLES / "real_model" / "answers"
GOLDEN = Path(__file__).parent / "golden" / "real_model"


def test_a_server_that_does_not_start_is_named_with_its_log(tmp_path):
    log = tmp_path / "server.log"
    # This Python has no model: the server's script fails at once.
    assert refusal(SystemExit, lambda: serving(Path(sys.executable), log).__enter__()) == snapshot(
        "the server does not start: see server.log"
    )
    assert "xllamacpp" in log.read_text()


# One of the three is asked for in the fast suite.
SOME = [pytest.param(t, marks=[pytest.mark.slow] * (t.title != "next actions")) for t in TASKS]


@pytest.mark.parametrize("task", SOME, ids=lambda task: task.title)
def test_nobody_is_asked_without_an_address(task, tmp_path):
    with pytest.raises(SystemExit, match="none is recorded for this request"):
        print(task.output("", tmp_path / "none", tmp_path / "out"))
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("task", SOME, ids=lambda task: task.title)
def test_the_stored_answers_of_the_real_model_give_the_stored_tables(task, tmp_path):
    """Recorded by ``python examples/real_model.py --answers examples/real_model/answers``;
    COMPACTLAB_UPDATE_GOLDEN=1 stores what is shown."""
    shown = task.output("", RECORDED / task.folder, tmp_path / "out")[""]
    golden = GOLDEN / f"{task.folder}.txt"
    if "COMPACTLAB_UPDATE_GOLDEN" in os.environ:
        golden.write_bytes(shown)
    assert shown == golden.read_bytes()
    # Nonsense: it proves the way, and says so.
    assert b"Reader too weak" in shown or b"No strategy is recommended" in shown


@pytest.mark.slow
def test_a_real_model_is_recorded_and_replayed_to_the_byte(tmp_path):
    command = [sys.executable, EXAMPLES / "real_model.py", "--folder", tmp_path]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if "cannot be had" in run.stderr:
        pytest.skip(run.stderr.splitlines()[-1])
    assert run.returncode == 0, run.stdout + run.stderr
    assert "Its text is nonsense" in run.stdout
    assert run.stdout.count("the same bytes") == len(TASKS) == 3
