"""Ctrl-C at any moment: a word, exit code 130, and no traceback."""

import subprocess
import sys

import pytest

from compactlab.sim.store.store import Store


def _stop(*arguments, **named):
    raise KeyboardInterrupt


@pytest.mark.parametrize("command", ["run", "inspect", "audit", "fit"])
def test_before_the_work_has_begun(compactlab, chat, tmp_path, monkeypatch, command):
    monkeypatch.setattr("compactlab.request.names.sources", _stop)
    monkeypatch.setattr("compactlab.scenarios.catalogue.sources", _stop)
    named = ["--conversations"] if command == "run" else []
    done = compactlab(command, *named, chat(tmp_path / "talk.jsonl"))
    assert (done.code, done.out, done.err.strip()) == (130, "", "stopped")


def test_while_the_database_is_asked(store):
    """DuckDB makes an error of its own of it."""
    with pytest.raises(KeyboardInterrupt), Store(store).connected():
        raise RuntimeError("Query interrupted")
    with pytest.raises(RuntimeError, match="anything else"), Store(store).connected():
        raise RuntimeError("anything else")


HOOK = """
import sys

_, module, *arguments = sys.argv

class Stops:
    def find_spec(self, name, *_):
        if name == module:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Stops())
sys.argv = ["compactlab", *arguments]
from compactlab.__main__ import main
main()
"""


@pytest.mark.parametrize("module", ["compactlab.cli.group", "click", "pydantic"])
def test_while_it_is_still_loading(module, tmp_path):
    arguments = ("run", "--dry-run", "--out", str(tmp_path / "out"))
    done = subprocess.run(
        [sys.executable, "-c", HOOK, module, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "stopped\n")
