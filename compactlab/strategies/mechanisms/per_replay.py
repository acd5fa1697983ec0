"""What a strategy remembers while a replay lasts, beside its notes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import ReferenceType, ref

from compactlab.sim.host import Host

T = TypeVar("T")


class PerReplay(Generic[T]):
    """One of something for each replay, known by its host.

    For what makes a strategy faster, or lets it give the same object twice, and changes nothing
    else: it is no JSON, and no rewind takes it back. A strategy may serve one replay after the
    other, or several at once; what it remembers of one must not tell in another.

    Parameters
    ----------
    make
        Makes an empty one.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._known: dict[int, tuple[ReferenceType[Host], T]] = {}

    def of(self, host: Host) -> T:
        """The one of the replay to which a host belongs."""
        known = self._known.get(id(host))
        if known is None or known[0]() is not host:
            self._known = {key: each for key, each in self._known.items() if each[0]()}
            known = self._known[id(host)] = (ref(host), self._make())
        return known[1]

    def __reduce__(self) -> tuple[type[PerReplay[T]], tuple[Callable[[], T]]]:
        # A copy on another worker begins with nothing.
        return PerReplay, (self._make,)
