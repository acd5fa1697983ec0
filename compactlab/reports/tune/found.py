"""All that was found by tuning: strategies under windows, and what was read and run for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from compactlab.reports.tune.survey import Picked
from compactlab.reports.tune.tuned import Asked, Tuned

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Work:
    """What it took: runs that were not in a store, their calls, and seconds."""

    runs: int = 0
    calls: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Found:
    """What was found.

    Parameters
    ----------
    tuned
        A strategy under a window each.
    picked
        The sessions of each window, and how many were left out.
    surveyed
        How many sources were read.
    failures
        What could not be read.
    asked
        The limit on memory and the margin.
    work
        What was run for it.
    """

    tuned: tuple[Tuned, ...]
    picked: tuple[Picked, ...]
    surveyed: int
    failures: tuple[str, ...]
    asked: Asked
    work: Work

    def frame(self) -> pd.DataFrame:
        """A row a setting, a strategy and a window, with all figures."""
        import pandas as pd

        frames = [each.frame() for each in self.tuned]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
