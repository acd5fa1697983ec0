"""The calls of one or many runs, as columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compactlab.sim.core.errors import ModelError
from compactlab.sim.metrics.memory import LONG
from compactlab.sim.models.model import Catalogue
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run

Counts = NDArray[np.int64]

# Prompt tokens that were not read from the cache.
MISSED = ("uncached", "cache_write_5m", "cache_write_1h")
_ALL = (*MISSED, "cache_read")


class Calls:
    """The calls of some runs, in the order of the runs.

    A column of all runs is one array: a loop over a million runs would take an hour.

    Examples
    --------
    >>> Calls([]).totals("uncached").tolist()
    []
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        rows = [run.calls for run in runs]
        self.counts = np.array([len(each) for each in rows], np.intp)  # calls by run
        self._ends = np.cumsum(self.counts)
        self._rows = [each for each in rows if len(each)]

    @cached_property
    def runs(self) -> NDArray[np.intp]:
        """The index of each call's run."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @cached_property
    def _places(self) -> NDArray[np.intp] | None:
        """The indices of the calls in their shared columns; None if they share none."""
        if any(each.columns is not self._rows[0].columns for each in self._rows[1:]):
            return None
        starts = np.zeros(len(self.counts), np.intp)
        starts[self.counts > 0] = [each.start for each in self._rows]
        return (starts - self._ends + self.counts)[self.runs] + np.arange(len(self.runs))

    def array(self, name: str) -> NDArray[Any]:
        if not self._rows:
            return np.zeros(0, np.int64)
        if self._places is None:
            return np.concatenate([each.array(name) for each in self._rows])
        shared: NDArray[Any] = self._rows[0].columns[name][self._places]
        return shared

    def sum(self, names: Iterable[str]) -> Counts:
        """The sum of columns of whole numbers, call by call."""
        tokens = np.zeros(len(self.runs), np.int64)
        for name in names:
            tokens += self.array(name)
        return tokens

    def of_runs(self, values: NDArray[Any]) -> Counts:
        """Sums of whole numbers of the calls, by run."""
        sums = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
        added: Counts = sums[self._ends] - sums[self._ends - self.counts]
        return added

    def totals(self, *names: str) -> Counts:
        """The sum of columns of whole numbers, by run."""
        return self.of_runs(self.sum(names))

    @property
    def sizes(self) -> Counts:
        """Prompt tokens of each call."""
        return self.sum(_ALL)


def changed(runs: Sequence[Run], others: Sequence[Run]) -> NDArray[np.bool_]:
    """Which runs differ from their counterparts in the sizes or the number of prompts."""
    ours, theirs = Calls(runs), Calls(others)
    changed: NDArray[np.bool_] = ours.counts != theirs.counts
    alike = np.flatnonzero(~changed).tolist()
    if changed.any():
        ours, theirs = Calls([runs[n] for n in alike]), Calls([others[n] for n in alike])
    changed[alike] = ours.of_runs(ours.sizes != theirs.sizes) > 0
    return changed


def models(runs: Iterable[Run]) -> Counter[str]:
    """Calls of runs by model."""
    return Counter(Calls(list(runs)).array("model").tolist())


# Functions of a single run.


def column(run: Run, name: str) -> list[Any]:
    """One column of the calls of a run."""
    return run.calls[name] if len(run.calls) else []


def total(run: Run, *names: str) -> int:
    """The sum of columns."""
    calls = run.calls
    return sum(map(calls.total, names)) if len(calls) else 0


def cache_misses(run: Run) -> list[int]:
    """Prompt tokens of each call that were not read from the cache."""
    tokens: list[int] = Calls([run]).sum(MISSED).tolist()
    return tokens


def sizes(run: Run) -> list[int]:
    """Prompt tokens of each call."""
    tokens: list[int] = Calls([run]).sizes.tolist()
    return tokens


def same_sizes(run: Run, other: Run) -> bool:
    """Whether two runs have equal prompt sizes, call by call."""
    return not changed([run], [other])[0]


def bills(run: Run) -> list[float]:
    """Cumulative dollars by call, including summary calls."""
    if not len(run.calls):
        return []
    costs, sides = (run.calls.array(name) for name in ("cost_usd", "side_cost_usd"))
    totals: list[float] = np.cumsum(costs + sides).tolist()
    return totals


def binned(values: list[Any], bins: int) -> list[Any]:
    """The largest value of each bin; the values themselves if they are few enough.

    Examples
    --------
    >>> binned([1, 5, 2, 4, 3], 3)
    [5, 4, 3]
    """
    step = -(-len(values) // bins) or 1
    return [max(values[at : at + step]) for at in range(0, len(values), step)]


# Nearer than the first, real agents keep the conversation verbatim, independent of summaries; in
# larger windows they keep more. The key is the smallest window, in tokens, with this distance.
_BY_WINDOW = {0: 20_000, 200_000: 40_000, 1_000_000: 80_000}


def distance_of(results: Results) -> int:
    """The distance of a store: the requested one, else by the largest of its windows.

    It is independent of the strategies, so adding a row changes no other row's recall.
    """
    asked = results.manifest.get("distance")
    if asked in LONG:
        return int(asked)
    # All strategies call the same models, so one is enough.
    one: dict[tuple[object, ...], Run] = {}
    for run in results.runs:
        if run.status == "ok":
            one.setdefault((run.model, run.window, run.scenario, run.conversation), run)
    by_window: dict[int, list[Run]] = {}
    for run in one.values():
        by_window.setdefault(run.window, []).append(run)
    windows = [
        window_of(model, narrowed, results.catalogue)
        for narrowed, runs in by_window.items()
        for model in models(runs) or {run.model for run in runs}
    ]
    return _BY_WINDOW[max(least for least in _BY_WINDOW if least <= max(windows, default=0))]


def window_of(model: str, narrowed: int, catalogue: Catalogue) -> int:
    """The context window of a model in a run, in tokens; 0 if the model is unknown."""
    try:
        return catalogue.find(model).narrowed(narrowed or None).window
    except ModelError:
        return narrowed
