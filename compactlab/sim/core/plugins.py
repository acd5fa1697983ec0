"""What installed packages add: named by their entry points, loaded when they are asked for.

A package names its strategies, summarisers and readers in the groups ``compactlab.strategies``,
``compactlab.summarizers`` and ``compactlab.readers``. A built-in name wins over an installed one.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from compactlab.sim.core.errors import UsageError

T = TypeVar("T")


def installed(kind: str) -> dict[str, EntryPoint]:
    """What installed packages add of a kind (``strategies``), by name; the first of a name wins."""
    points: dict[str, EntryPoint] = {}
    for point in entry_points(group=f"compactlab.{kind}"):
        points.setdefault(point.name, point)
    return points


def loaded(point: EntryPoint, check: Callable[[str, object], T]) -> T:
    """Load what an entry point names, and check that it is of its kind.

    Raises
    ------
    UsageError
        If it cannot be loaded, or is not what it should be.
    """
    try:
        found = point.load()
    except (Exception, SystemExit) as error:
        raise UsageError(f"{point.name} cannot be loaded: {error}") from None
    return check(point.name, found)
