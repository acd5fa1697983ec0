"""Messages in order, so kept that a replay can afford thousands of such sequences.

A replay of a long session makes thousands of views, each of which differs from the last by a
message or two. So the messages of a view are a window on a list that only ever grows at its end:
appending, cutting off the front, and finding what two views share cost nothing that grows with
the session, and sums over messages are kept beside the list and extended, never made anew.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from operator import is_, is_not
from typing import overload

from compactlab.sim.buffer import Buffer, Edit, first_true, without
from compactlab.sim.message import Message
from compactlab.sim.weight import Weight


class Messages(Sequence[Message]):
    """An immutable sequence of messages that shares its storage with those it was made from.

    Parameters
    ----------
    items
        The messages.

    Examples
    --------
    >>> hello, bye = (Message(i, "user", ()) for i in ("hello", "bye"))
    >>> one = Messages([hello])
    >>> two = one.append(bye)
    >>> len(one), len(two), one.shared(two), two[1:].shared(two)
    (1, 2, 1, 0)
    """

    __slots__ = ("_buffer", "_start", "_stop")

    def __init__(self, items: Iterable[Message] = ()) -> None:
        self._buffer = Buffer(list(items))
        self._start, self._stop = 0, len(self._buffer.items)

    def _window(self, start: int, stop: int) -> Messages:
        window = Messages.__new__(Messages)
        window._buffer, window._start = self._buffer, start
        window._stop = stop if stop > start else start
        return window

    def __len__(self) -> int:
        return self._stop - self._start

    def __iter__(self) -> Iterator[Message]:
        return iter(self._buffer.items[self._start : self._stop])

    def __reversed__(self) -> Iterator[Message]:
        return map(self._buffer.items.__getitem__, range(self._stop - 1, self._start - 1, -1))

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Messages: ...
    def __getitem__(self, index: int | slice) -> Message | Messages:
        if isinstance(index, slice):
            if not index.start and index.stop is None and index.step is None:
                return self
            start, stop, step = index.indices(self._stop - self._start)
            if step != 1:
                raise ValueError("messages are sliced in order")
            return self._window(self._start + start, self._start + stop)
        place = index + (self._start if index >= 0 else self._stop)
        if not self._start <= place < self._stop:
            raise IndexError("no such message")
        return self._buffer.items[place]

    def between(self, first: int, stop: int | None = None) -> list[Message]:
        """The messages from an index on, up to another one, as a list of their own."""
        start, last = self._start, self._stop
        end = last if stop is None or start + stop > last else start + stop
        return self._buffer.items[start + first : end]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Messages) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[type[Messages], tuple[list[Message]]]:
        return Messages, (list(self),)  # not what else is stored with them

    def __repr__(self) -> str:
        return f"Messages({[message.id for message in self]})"

    def append(self, *messages: Message) -> Messages:
        """These messages and then those."""
        items, stop = self._buffer.items, self._stop
        if stop == len(items):
            items.extend(messages)
        elif any(map(is_not, messages, [*items[stop : stop + len(messages)], None])):
            # Somebody else has gone on from here with other messages.
            return self.branch(len(self), messages)
        return self._window(self._start, stop + len(messages))

    def branch(self, index: int, messages: Iterable[Message]) -> Messages:
        """The messages before an index, and then others.

        What is known of the former is not found out anew, so that replacing messages near the end
        of a long history is cheap.
        """
        if not 0 <= index <= len(self):
            raise IndexError("no such message")
        branch = Messages.__new__(Messages)
        branch._buffer = self._buffer.branch(self._start + index, messages)
        branch._start, branch._stop = self._start, len(branch._buffer.items)
        return branch

    def replace(self, changes: Mapping[int, Message]) -> Messages:
        """These messages, with others in the place of some; themselves, if there are none.

        What is known of those behind is not found out anew, either.
        """
        if not changes:
            return self
        if min(changes) < 0 or max(changes) >= len(self):
            raise IndexError("no such message")
        edited = Messages.__new__(Messages)
        places = {self._start + index: message for index, message in changes.items()}
        edited._buffer = self._buffer.edited(self._stop, places)
        edited._start, edited._stop = self._start, self._stop
        return edited

    def shared(self, other: Messages) -> int:
        """How many leading messages are the same objects in both."""
        start, its_start = self._start, other._start
        shorter = min(self._stop - start, other._stop - its_start)
        known = 0
        if start == its_start:
            if self._buffer is other._buffer:
                return shorter
            known = max(0, min(self._buffer.common(other._buffer) - start, shorter))
        mine, its = self._buffer.items, other._buffer.items
        if known == shorter or mine[start + known] is not its[its_start + known]:
            return known
        differ = map(is_not, self._walk(known), other._walk(known))
        return known + first_true(differ, shorter - known)

    def _walk(self, index: int) -> Iterator[Message]:
        return map(self._buffer.items.__getitem__, range(self._start + index, self._stop))

    def ahead_of(self, other: Messages) -> int:
        """How many messages to cut off in front so that the other begins with the rest; 0 if none.

        Only where both are windows on the same list.
        """
        if self._buffer is other._buffer and self._start < other._start < self._stop <= other._stop:
            return other._start - self._start
        return 0

    def edit(self, other: Messages) -> Edit:
        """How this sequence became the other: same, gone and come.

        Examples
        --------
        >>> one, two, three, four = (Message(i, "user", ()) for i in "1234")
        >>> Messages([one, two, three]).edit(Messages([one, three, four]))
        (1, 2, 1)
        """
        ahead = self.ahead_of(other)
        if ahead:
            return 0, ahead, 0
        same = self.shared(other)
        if same == self._stop - self._start:
            return same, same, same
        mine = self._buffer.items[self._start + same : self._stop]
        its = other._buffer.items[other._start + same : other._stop]
        # What is new is little: from the end it is not far to the last one that was there before.
        new = first_true(map(is_, reversed(its), repeat(mine[-1])), len(its))
        its = its[: len(its) - new]
        moved = first_true(map(is_not, reversed(mine), reversed(its)), min(len(mine), len(its)))
        come = same + (len(its) - moved if moved else len(its) + new)
        return same, len(self) - moved, come

    def holds(self, message: Message) -> bool:
        """Whether a message is among these, that very object."""
        return any(map(is_, self, repeat(message)))

    def stored_with(self, other: Messages) -> bool:
        """Whether both are windows on the same list."""
        return self._buffer is other._buffer

    def difference(self, other: Messages) -> tuple[list[Message], list[Message]]:
        """What must leave this sequence, and what must come to it, to make the other.

        Returns
        -------
        tuple
            The messages that are only here, and those that are only there, by identity.
        """
        mine, its = self._buffer.items, other._buffer.items
        if self.ahead_of(other):
            return mine[self._start : other._start], its[self._stop : other._stop]
        same, gone, come = self.edit(other)
        left = mine[self._start + same : self._start + gone]
        new = its[other._start + same : other._start + come]
        new += its[other._start + come + len(self) - gone : other._stop]
        return without(left, new), without(new, left)

    def total(self, weight: Weight) -> int:
        """Sum of a weight over all messages; what was summed before is not summed again."""
        sums = self._buffer.running(weight)
        return sums[self._stop] - sums[self._start]

    def tail_from(self, weight: Weight, budget: int) -> int:
        """Index of the first message from which on they weigh no more than a budget."""
        sums = self._buffer.running(weight)
        first = bisect_left(sums, sums[self._stop] - budget, self._start, self._stop)
        return first - self._start

    def last_holding(self, weight: Weight, amount: int) -> int | None:
        """Index of the last message from which on they weigh at least so much; None if none is."""
        sums = self._buffer.running(weight)
        last = bisect_right(sums, sums[self._stop] - amount, self._start, self._stop) - 1
        return last - self._start if last >= self._start else None
