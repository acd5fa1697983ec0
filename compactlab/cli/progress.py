"""Progress of long work: a bar on a terminal, else plain lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from compactlab.cli.output import is_quiet, note
from compactlab.reports.render.text import clean, counted, printed_by

if TYPE_CHECKING:
    from compactlab.llm.asker import Asker
    from compactlab.sim.experiment.shard import Shard
    from compactlab.sim.experiment.sweep import Done

# A bar of progress on a terminal; nothing elsewhere.


class Bar:
    """A context manager that shows how much of some work is done."""

    estimates = True  # whether the bar estimates the remaining time

    def __init__(self, total: int) -> None:
        self._total = total
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty() and not is_quiet():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Drawn

            columns = (
                BarColumn(),
                MofNCompleteColumn(),
                *([TimeRemainingColumn()] if self.estimates else []),
                TextColumn("{task.description}", markup=False),
            )
            self._bar = Drawn(*columns, console=Console(stderr=True), transient=True)
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

    @property
    def shown(self) -> bool:
        return self._bar is not None

    def show(self, done: int, text: str) -> None:
        """Update the progress and its text."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, description=text)


# Progress of a long run: a bar on a terminal, plain lines elsewhere.

# Seconds between lines without a terminal.
_PAUSE = 2.0
# The remaining time is estimated from this share of the work on.
_KNOWN = 0.1
# The output of this many rows is shown.
_PRINTED = 20


class Progress(Bar):
    """A context manager that shows progress; it is called with every finished shard."""

    estimates = False  # it estimates by work itself, because cells differ in size

    def __init__(self, todo: Sequence[Shard]) -> None:
        super().__init__(sum(len(shard.cells) for shard in todo))
        self._done = self._failed = self._calls = 0
        self._left = self._all = sum(shard.work for shard in todo)
        # Time and remaining work at the first shard: the time before it is for starting up.
        self._first: tuple[float, int] | None = None
        self._started = time.monotonic()
        self._shown_at = -_PAUSE
        self._printed = 0

    def __call__(self, done: Done) -> None:
        """Count a finished shard, and show the output of plug-in code in it."""
        self._show_printed(done)
        self._done += done.cells
        self._failed += done.failed
        self._calls += done.calls
        gone = max(time.monotonic() - self._started, 1e-9)
        self._left -= done.work
        self._first = self._first or (gone, self._left)
        state = [f"{self._calls / gone:,.0f} calls/s"]
        if self._done < self._total and (left := self._lasts(gone)) is not None:
            state.append(f"about {lasting(left)} left")
        if self._failed:
            state.append(f"{self._failed} failed")
        self.show(self._done, ", ".join(state))
        last = self._done >= self._total
        if not self.shown and (last or gone - self._shown_at >= _PAUSE):
            self._shown_at = gone
            share = f"[{self._done:,}/{counted(self._total, 'cell')}] {done.name}"
            note(clean(f"{share}: {', '.join(state)}"))

    def _lasts(self, gone: float) -> float | None:
        """The remaining seconds; None before there is enough data."""
        assert self._first is not None
        start, left = self._first
        worked = left - self._left
        if worked < _KNOWN * self._all:
            return None
        return (gone - start) / worked * self._left

    def _show_printed(self, done: Done) -> None:
        for name, text in done.printed:
            self._printed += 1
            if self._printed <= _PRINTED:
                note(printed_by(name, text))
            elif self._printed == _PRINTED + 1:
                note("more rows print something; it is not shown")


@contextmanager
def accounted(asker: Asker) -> Iterator[None]:
    """Print how many answers were asked for meanwhile and their cost, even after an error."""
    answers, dollars = asker.spent
    try:
        yield
    finally:
        more, spent = asker.spent
        note(
            f"asked for {counted(more - answers, 'new answer')}, for {spent - dollars:.4f} USD; "
            f"{asker.folder} holds {counted(more, 'answer')} for {spent:.4f} USD"
        )


def lasting(seconds: float) -> str:
    """A duration in words.

    Examples
    --------
    >>> lasting(0.4), lasting(70), lasting(3600), lasting(200_000)
    ('1 s', '70 s', '60 min', '55.6 h')
    """
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
