"""The calls of a run, column by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compactlab.sim.causes import CAUSES
from compactlab.sim.run import Run

_FRESH = ("uncached", "cache_write_5m", "cache_write_1h")
_ALL = (*_FRESH, "cache_read")


def column(run: Run, name: str) -> list[Any]:
    """One column of the calls of a run."""
    return run.calls[name] if len(run.calls) else []


def total(run: Run, *names: str) -> int:
    """The sum of columns."""
    return sum(int(run.calls.array(name).sum()) for name in names) if len(run.calls) else 0


def fresh(run: Run) -> list[int]:
    """Prompt tokens of each call that were not read from the cache."""
    found: list[int] = _sum(run, _FRESH).tolist()
    return found


def sizes(run: Run) -> list[int]:
    """Prompt tokens of each call."""
    found: list[int] = _sum(run, _ALL).tolist()
    return found


def bills(run: Run) -> list[float]:
    """Dollars up to and with each call, side calls among them."""
    if not len(run.calls):
        return []
    costs, sides = (run.calls.array(name) for name in ("cost_usd", "side_cost_usd"))
    found: list[float] = np.cumsum(costs + sides).tolist()
    return found


def prompt_tokens(run: Run) -> int:
    """Prompt tokens of all calls together."""
    return int(_sum(run, _ALL).sum())


def same_sizes(run: Run, other: Run) -> bool:
    """Whether the prompts of two runs are as large as each other, call by call."""
    return np.array_equal(_sum(run, _ALL), _sum(other, _ALL))


def _sum(run: Run, names: Iterable[str]) -> NDArray[np.int64]:
    """The sum of columns, call by call."""
    found = np.zeros(len(run.calls), np.int64)
    for name in names if len(run.calls) else ():
        found += run.calls.array(name)
    return found


def causes(runs: Iterable[Run]) -> Counter[str]:
    """Fresh tokens of runs by cause, those of side calls among them."""
    found: Counter[str] = Counter()
    for run in runs:
        for cause in CAUSES:
            if tokens := total(run, f"fresh_{cause}"):
                found[cause] += tokens
    return found


def models(runs: Iterable[Run]) -> Counter[str]:
    """Calls of runs by model."""
    return Counter(name for run in runs for name in column(run, "model"))


def binned(values: list[Any], bins: int) -> list[Any]:
    """The largest value of each bin; the values themselves if they are few enough.

    Examples
    --------
    >>> binned([1, 5, 2, 4, 3], 3)
    [5, 4, 3]
    """
    step = -(-len(values) // bins) or 1
    return [max(values[at : at + step]) for at in range(0, len(values), step)]


def acted(run: Run, kept: Run | None) -> bool:
    """Whether a run sent anything else than keeping everything does, or asked for something.

    Parameters
    ----------
    run
        The run.
    kept
        That of ``keep_all`` over the same case; None where it was not replayed.
    """
    if any(map(run.metrics.get, ("rewrites", "side_cost_usd", "tokens_added"))):
        return True
    return kept is not None and not same_sizes(run, kept)
