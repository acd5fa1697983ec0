"""What several metrics need, made once for a reading."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from compactlab.sim.metrics.reading import Reading

_Made = TypeVar("_Made")


def shared(make: Callable[[Reading], _Made]) -> Callable[[Reading], _Made]:
    """A function of a reading whose result the reading keeps."""
    key = f"{make.__module__}.{make.__qualname__}"

    @wraps(make)
    def once(reading: Reading) -> _Made:
        known = vars(reading)
        if key not in known:
            known[key] = make(reading)
        made: _Made = known[key]
        return made

    return once
