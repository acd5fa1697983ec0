"""The evaluator itself: Inspect asks an endpoint what was exported, and its log is read back."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from peers.environment import InstallError, ready

from tests.cli.conftest import called
from tests.reports.probe.conftest import SESSION, session
from tests.reports.probe.reading import finds, reading, repeats

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Inspect:
    """Inspect with what its task needs, as of 2026-11-26."""

    name: str = "inspect"
    pins: tuple[str, ...] = ("inspect-ai==0.3.285", "openai>=3", str(ROOT))
    minors: tuple[int, ...] = (11, 12, 13)


@pytest.mark.slow
def test_inspect_asks_and_scores_what_was_exported(tmp_path, monkeypatch):
    try:
        python = ready(Inspect(), tmp_path)
    except InstallError as error:
        pytest.skip(str(error))
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "examples" / "inspect_task.py", tmp_path)
    for what, answer in (("recall", finds), ("next-action", repeats)):
        probe = (
            "probe", SESSION, "--strategies", "keep_all", "--strategies", "sliding_window(keep=4)",
            "--window", 16_000, "--reader", "local/small", "--answers", f"answers-{what}",
            "--questions", 3, "--draws", 2, "--what", what,
        )  # fmt: skip
        assert called(*probe, "--export", "samples.jsonl").code == 0
        with reading(answer(session())) as server:
            command = [
                python.with_name("inspect"), "eval", "inspect_task.py",
                "-T", "samples=samples.jsonl", "--model", "openai-api/local/small", "--epochs", "2",
                "--log-format", "json", "--log-dir", what, "--display", "none",
            ]  # fmt: skip
            place = {"LOCAL_BASE_URL": f"{server.url}/v1", "LOCAL_API_KEY": "a key of this test"}
            subprocess.run(command, env={**os.environ, **place}, check=True)
        (log,) = (tmp_path / what).glob("*.json")
        done = called(*probe, "--log", log)
        assert done.code == 0, done.said
        scorer = "includes" if what == "recall" else "same_action"
        (row,) = [n for n in done.out.splitlines() if n.startswith(scorer) and "keep_all" in n]
        scores = {"recall": ["1", "0", "1", "1"], "next-action": ["1", "1"]}
        assert row.split()[2:] == scores[what]
