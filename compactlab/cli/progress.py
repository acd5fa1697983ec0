"""Progress of a long run: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time

import click

from compactlab.cli.bar import Bar
from compactlab.sim.results import Run
from compactlab.sim.sweep import Experiment, Source


class Progress(Bar):
    """Shows what is done; used with ``with``, and called with every source that is.

    Parameters
    ----------
    experiment
        What is run.
    """

    def __init__(self, experiment: Experiment) -> None:
        super().__init__(len(experiment.sources))
        self._done = self._failed = self._calls = 0
        self._started = time.monotonic()

    def __call__(self, source: Source, runs: list[Run]) -> None:
        """Count a source that is done."""
        self._done += 1
        self._failed += sum(run.status != "ok" for run in runs)
        self._calls += sum(len(run.calls) for run in runs)
        rate = self._calls / max(time.monotonic() - self._started, 1e-9)
        said = f"{rate:,.0f} calls/s" + (f", {self._failed} failed" if self._failed else "")
        self.show(self._done, said)
        if not self.shown:
            click.echo(f"[{self._done}/{self._total}] {source.name}: {said}", err=True)
