"""The way from the command to the loop is short enough to be read."""

import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import compactlab
from compactlab.sim.experiment import shard

PACKAGE = str(Path(compactlab.__file__).parent)


def test_five_frames_lie_between_the_command_and_the_loop(compactlab, tmp_path, monkeypatch):
    ways: list[list[str]] = []
    loop = shard.replay

    def watched(*given: Any) -> Iterator[Any]:
        own = [f.name for f in traceback.extract_stack() if f.filename.startswith(PACKAGE)]
        ways.append([*own[own.index("run") :], "replay"])
        return loop(*given)

    monkeypatch.setattr(shard, "replay", watched)
    what = ("--conversations", "coding_agent(turns=1, tokens=2000)", "--strategies", "keep_all")
    done = compactlab("run", *what, "--jobs", 1, "--out", tmp_path / "out")
    assert done.code == 0, done.said
    # Of the strategy that is named, and of the other bound.
    assert ways == [["run", "run_into", "run", "run_one", "replay"]] * 2
