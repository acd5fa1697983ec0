"""Progress of a long run: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence

from compactlab.cli.bar import Bar
from compactlab.cli.disclosing import say
from compactlab.reports.text import clean, counted, printed_by
from compactlab.sim.shard import Shard
from compactlab.sim.sweep import Done

# Where there is no terminal, a line every so many seconds will do.
_PAUSE = 2.0
# Of so many rows is shown what they print.
_PRINTED = 20


class Progress(Bar):
    """Shows what is done; used with ``with``, and called with every shard that is.

    Parameters
    ----------
    todo
        What there is to do.
    """

    def __init__(self, todo: Sequence[Shard]) -> None:
        super().__init__(sum(len(shard.cells) for shard in todo))
        self._done = self._failed = self._calls = 0
        self._left = sum(shard.work for shard in todo)
        self._work = 0
        self._started = time.monotonic()
        self._told = -_PAUSE
        self._printed = 0

    def __call__(self, done: Done) -> None:
        """Count a shard that is done, and show what somebody's own code has printed in it."""
        self._show_printed(done)
        self._done += done.cells
        self._failed += done.failed
        self._calls += done.calls
        gone = max(time.monotonic() - self._started, 1e-9)
        self._work += done.work
        self._left -= done.work
        left = gone / max(self._work, 1) * self._left
        told = [f"{self._calls / gone:,.0f} calls/s"]
        if self._done < self._total:
            told.append(f"about {lasting(left)} left")
        if self._failed:
            told.append(f"{self._failed} failed")
        self.show(self._done, ", ".join(told))
        last = self._done >= self._total
        if not self.shown and (last or gone - self._told >= _PAUSE):
            self._told = gone
            said = f"[{self._done:,}/{counted(self._total, 'cell')}] {done.name}"
            say(clean(f"{said}: {', '.join(told)}"), err=True)

    def _show_printed(self, done: Done) -> None:
        for name, text in done.printed:
            self._printed += 1
            if self._printed <= _PRINTED:
                say(printed_by(name, text), err=True)
            elif self._printed == _PRINTED + 1:
                say("more rows print something; it is not shown", err=True)


def lasting(seconds: float) -> str:
    """How long something lasts, in words.

    Examples
    --------
    >>> lasting(0.4), lasting(70), lasting(3600), lasting(200_000)
    ('1 s', '70 s', '60 min', '55.6 h')
    """
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
