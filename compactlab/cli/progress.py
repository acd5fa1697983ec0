"""Progress of a long run: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

import click

from compactlab.sim.results import Run
from compactlab.sim.sweep import Experiment, Source


class Progress:
    """Shows what is done; used with ``with``, and called with every source that is.

    Parameters
    ----------
    experiment
        What is run.
    """

    def __init__(self, experiment: Experiment) -> None:
        self._total = len(experiment.sources)
        self._done = self._failed = self._calls = 0
        self._started = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.description}", markup=False),
            )
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("", total=self._total)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, source: Source, runs: list[Run]) -> None:
        """Count a source that is done."""
        self._done += 1
        self._failed += sum(run.status != "ok" for run in runs)
        self._calls += sum(len(run.calls) for run in runs)
        rate = self._calls / max(time.monotonic() - self._started, 1e-9)
        said = f"{rate:,.0f} calls/s" + (f", {self._failed} failed" if self._failed else "")
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done, description=said)
        else:
            click.echo(f"[{self._done}/{self._total}] {source.name}: {said}", err=True)
