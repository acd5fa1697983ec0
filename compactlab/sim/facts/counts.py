"""How many messages of a prompt hold each of many things, for all things at once."""

from __future__ import annotations

from functools import reduce
from operator import or_


class Counts:
    """A counter for each bit.

    The first plane has the last binary digits of all counts, the next one those before them:
    adding a message is adding 1 to many counts, in as many steps as they have digits.

    Examples
    --------
    >>> held = Counts()
    >>> held.add(0b11)
    >>> held.add(0b10)
    >>> held.take(0b11)
    >>> bin(held.bits)
    '0b10'
    """

    __slots__ = ("_planes",)

    def __init__(self) -> None:
        self._planes: list[int] = []

    def add(self, things: int) -> None:
        """Count things in; what is left over at one digit is carried to the next."""
        planes = self._planes
        for digit, plane in enumerate(planes):
            planes[digit] = plane ^ things
            things &= plane
            if not things:
                return
        if things:
            planes.append(things)

    def take(self, things: int) -> None:
        """Count things out that had been counted in; what is missing is borrowed."""
        planes = self._planes
        for digit, plane in enumerate(planes):
            planes[digit] = plane ^ things
            things &= planes[digit]
            if not things:
                return

    @property
    def bits(self) -> int:
        """Those whose count is not 0."""
        return reduce(or_, self._planes, 0)
