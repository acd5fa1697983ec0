"""A bar of progress on a terminal; nothing elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self


class Bar:
    """Shows how much of some work is done; used with ``with``.

    Parameters
    ----------
    total
        How much work there is.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Drawn

            columns = (
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
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
        """Whether somebody can see it."""
        return self._bar is not None

    def show(self, done: int, said: str) -> None:
        """Say how much is done, and something about it."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, description=said)
