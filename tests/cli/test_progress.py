"""How long an experiment will still take: by the work that is left, and not by its cells."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from compactlab.cli import progress
from compactlab.sim.experiment.sweep import Done


def test_what_is_left_is_reckoned_by_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    times = iter([0.0, 30.0])
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(times)))
    todo: list[Any] = [SimpleNamespace(cells=["a"], work=work) for work in (6, 2, 1, 1)]
    with progress.Progress(todo) as told:
        told(Done(1, 300, 0, "long", 6))
    assert "[1/4 cells] long: 10 calls/s, about 20 s left" in capsys.readouterr().err
