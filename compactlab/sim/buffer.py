"""What sequences of messages are stored in, and how they are compared.

A list that only ever grows at its end, with sums over it that are extended and never made anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from operator import indexOf

from compactlab.sim.message import Message
from compactlab.sim.weight import Weight

Edit = tuple[int, int, int]
"""How one sequence of messages became another: *same*, *gone* and *come*.

Whatever is edited in place, left out or cut off in front leaves most of what stands behind it as it
was: nobody need look at that again. The first *same* messages are the same. From there on the one
sequence was changed up to the index *gone*; what came instead stands in the other up to the index
*come*. Behind it follow the messages that stood behind *gone*, all of them, and then what is new.
"""


def first_true(found: Iterable[bool], otherwise: int) -> int:
    """Place of the first that is true."""
    try:
        return indexOf(found, True)
    except ValueError:
        return otherwise


def without(some: list[Message], others: list[Message]) -> list[Message]:
    """Those that are left of some when others are taken away, each as often as it is there."""
    gone = set(map(id, others))
    if gone.isdisjoint(map(id, some)):
        return some
    ids = list(map(id, some))
    if len(set(ids)) == len(ids):  # nearly always, and cheaper
        return [message for message, id in zip(some, ids, strict=True) if id not in gone]
    taken = dict(Counter(map(id, others)))
    left = []
    for message in some:
        if taken.get(id(message)):
            taken[id(message)] -= 1
        else:
            left.append(message)
    return left


class Buffer:
    """A list that grows at its end, and running sums over it by weight.

    Parameters
    ----------
    items
        The list.
    sums
        By weight, sums of the first 0, 1, 2, ... items, as far as they are known.
    stem
        Of a buffer that was made from another one: that one's mark, and how many leading items
        they have in common.
    """

    __slots__ = ("items", "mark", "stem", "sums")

    def __init__(
        self,
        items: list[Message],
        sums: dict[Weight, list[int]] | None = None,
        stem: tuple[object, int] = (None, 0),
    ) -> None:
        self.items, self.stem = items, stem
        self.sums = {} if sums is None else sums
        self.mark = object()

    def running(self, weight: Weight) -> list[int]:
        """Sums of the first 0, 1, 2, ... items."""
        sums = self.sums.get(weight)
        if sums is None:
            sums = self.sums[weight] = [0]
        if len(sums) <= len(self.items):
            total = sums[-1]
            for item in self.items[len(sums) - 1 :]:  # mostly one or two
                total += weight(item)
                sums.append(total)
        return sums

    def branch(self, length: int, items: Iterable[Message]) -> Buffer:
        """The first so many items and then others; what was summed before is kept."""
        sums = {weight: known[: length + 1] for weight, known in self.sums.items()}
        return Buffer([*self.items[:length], *items], sums, stem=(self.mark, length))

    def edited(self, stop: int, changes: Mapping[int, Message]) -> Buffer:
        """The items before an index, others in the place of some; sums go on from what is known."""
        edited = self.branch(stop, ())
        edited.stem = self.mark, min(changes)
        items, places = edited.items, sorted(changes)
        for place in places:
            items[place] = changes[place]
        for weight, sums in edited.sums.items():
            before, more = self.sums[weight], 0
            for place, following in pairwise([*places, stop]):
                if place + 1 < len(sums):
                    more += weight(items[place]) - (before[place + 1] - before[place])
                    if more:
                        span = slice(place + 1, following + 1)
                        sums[span] = [known + more for known in sums[span]]
        return edited

    def common(self, other: Buffer) -> int:
        """How many leading items are known to be the same in both."""
        if other.stem[0] is self.mark:
            return other.stem[1]
        return self.stem[1] if self.stem[0] is other.mark else 0
