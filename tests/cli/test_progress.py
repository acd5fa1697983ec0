"""How long an experiment will still take: by the work that is left, and not by its cells."""

from types import SimpleNamespace
from typing import Any

import pytest
from inline_snapshot import snapshot

from compactlab.cli import progress
from compactlab.sim.experiment.sweep import Done


def test_what_is_left_is_reckoned_by_work(monkeypatch, capsys):
    times = iter([0.0, 5.0, 12.0, 30.0])
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(times)))
    todo: list[Any] = [SimpleNamespace(cells=["a"], work=work) for work in (1, 4, 36, 39)]
    with progress.Progress(todo) as told:
        told(Done(1, 50, 0, "start", 1))
        told(Done(1, 70, 0, "short", 4))
        told(Done(1, 300, 0, "long", 36))
    first, second, third = capsys.readouterr().err.splitlines()
    assert first == snapshot("[1/4 cells] start: 10 calls/s")
    assert second == snapshot("[2/4 cells] short: 10 calls/s")
    assert third == snapshot("[3/4 cells] long: 14 calls/s, about 24 s left")


@pytest.mark.parametrize("estimates", [True, False])
def test_a_terminal_has_one_estimate(estimates, monkeypatch):
    """The bar's own counts cells, which are of all sizes: where work is known, it is not shown."""
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True, raising=False)
    todo: list[Any] = [SimpleNamespace(cells=["a"], work=1)]
    bar = progress.Bar(1) if estimates else progress.Progress(todo)
    with bar:
        columns = [type(column).__name__ for column in bar._bar.columns]
    assert ("TimeRemainingColumn" in columns) == estimates
