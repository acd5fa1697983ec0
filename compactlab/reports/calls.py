"""The calls of a run, column by column."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from compactlab.sim.results import CALL_COLUMNS, Run

_PLACE = {name: place for place, name in enumerate(CALL_COLUMNS)}
_FRESH = ("uncached", "cache_write_5m", "cache_write_1h")


def column(run: Run, name: str) -> list[Any]:
    """One column of the calls of a run."""
    place = _PLACE[name]
    return [call[place] for call in run.calls]


def total(run: Run, *names: str) -> int:
    """The sum of columns."""
    return sum(sum(column(run, name)) for name in names)


def fresh(run: Run) -> list[int]:
    """Prompt tokens of each call that were not read from the cache."""
    places = [_PLACE[name] for name in _FRESH]
    return [sum(call[place] for place in places) for call in run.calls]


def sizes(run: Run) -> list[int]:
    """Prompt tokens of each call."""
    return [a + b for a, b in zip(fresh(run), column(run, "cache_read"), strict=True)]


def causes(runs: Iterable[Run]) -> Counter[str]:
    """Fresh tokens of runs by cause, those of side calls among them."""
    found: Counter[str] = Counter()
    for run in runs:
        for name in ("causes", "side_causes"):
            for text in column(run, name):
                found.update(json.loads(text))
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
