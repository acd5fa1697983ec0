"""Views (possible prompts), their messages, and the phases of a session."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise, repeat
from operator import indexOf, is_, is_not
from typing import overload

import msgspec

from compactlab.sim.core.message import Message, Part, Weight

# Storage of message sequences, and their comparison.
#
# A list that only grows at its end, with cumulative sums that are extended and never recomputed.

Edit = tuple[int, int, int]
"""How one sequence of messages became another: *same*, *gone* and *come*.

The first *same* messages are equal. After them, the old messages before index *gone* were replaced
by the new messages before index *come*. Then follow all old messages from *gone* on, and then the
appended ones. Most edits leave the messages after them unchanged, so these need not be read again.
"""


def first_true(found: Iterable[bool], otherwise: int) -> int:
    """Return the index of the first true value."""
    try:
        return indexOf(found, True)
    except ValueError:
        return otherwise


def without(some: list[Message], others: list[Message]) -> list[Message]:
    """Return the items of one list minus those of another, with multiplicity."""
    gone = set(map(id, others))
    if gone.isdisjoint(map(id, some)):
        return some
    ids = list(map(id, some))
    if len(set(ids)) == len(ids):  # the usual and faster case
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
    """A list that grows at its end, with cumulative sums by weight."""

    __slots__ = ("items", "mark", "stem", "sums")

    def __init__(
        self,
        items: list[Message],
        sums: dict[Weight, list[int]] | None = None,
        stem: tuple[object, int] = (None, 0),
    ) -> None:
        # The identity of the parent buffer, and the number of shared leading items.
        self.items, self.stem = items, stem
        self.sums = {} if sums is None else sums  # by weight: sums of the first 0, 1, 2, ... items
        self.mark = object()

    def running(self, weight: Weight) -> list[int]:
        """Return the sums of the first 0, 1, 2, ... items."""
        sums = self.sums.get(weight)
        if sums is None:
            sums = self.sums[weight] = [0]
        if len(sums) <= len(self.items):
            total = sums[-1]
            for item in self.items[len(sums) - 1 :]:  # usually one or two
                total += weight(item)
                sums.append(total)
        return sums

    def branch(self, length: int, items: Iterable[Message]) -> Buffer:
        """Return a buffer with a number of first items and then others; known sums are kept."""
        sums = {weight: known[: length + 1] for weight, known in self.sums.items()}
        return Buffer([*self.items[:length], *items], sums, stem=(self.mark, length))

    def edited(self, stop: int, changes: Mapping[int, Message]) -> Buffer:
        """Return the items before an index with some replaced; known sums are continued."""
        edited = self.branch(stop, ())
        edited.stem = self.mark, min(changes)
        items, places = edited.items, sorted(changes)
        for index in places:
            items[index] = changes[index]
        for weight, sums in edited.sums.items():
            before, more = self.sums[weight], 0
            for index, following in pairwise([*places, stop]):
                if index + 1 < len(sums):
                    more += weight(items[index]) - (before[index + 1] - before[index])
                    if more:
                        span = slice(index + 1, following + 1)
                        sums[span] = [known + more for known in sums[span]]
        return edited

    def common(self, other: Buffer) -> int:
        """Return the number of leading items known to be the same in both."""
        if other.stem[0] is self.mark:
            return other.stem[1]
        return self.stem[1] if self.stem[0] is other.mark else 0


# Sequences of messages, stored so that a replay can afford thousands of them.
#
# A replay of a long session makes thousands of views, each of which differs from the last by one or
# two messages. So a view's messages are a window on a list that only grows at its end. The cost of
# appending, of cutting off the front and of comparing two views does not grow with the session.
# Cumulative sums are stored with the list and extended, never recomputed.


class Messages(Sequence[Message]):
    """An immutable sequence of messages that shares its storage with its origins.

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
        """Return the messages from an index up to another one, as a new list."""
        start, last = self._start, self._stop
        end = last if stop is None or start + stop > last else start + stop
        return self._buffer.items[start + first : end]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Messages) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[type[Messages], tuple[list[Message]]]:
        return Messages, (list(self),)  # without the rest of the shared storage

    def __repr__(self) -> str:
        return f"Messages({[message.id for message in self]})"

    def append(self, *messages: Message) -> Messages:
        """Return these messages followed by others."""
        items, stop = self._buffer.items, self._stop
        if stop == len(items):
            items.extend(messages)
        elif any(map(is_not, messages, [*items[stop : stop + len(messages)], None])):
            # The storage already continues with other messages.
            return self.branch(len(self), messages)
        return self._window(self._start, stop + len(messages))

    def branch(self, index: int, messages: Iterable[Message]) -> Messages:
        """Return the messages before an index, followed by others.

        Known sums of the former are kept, so replacing messages near the end of a long history is
        cheap.
        """
        if not 0 <= index <= len(self):
            raise IndexError("no such message")
        branch = Messages.__new__(Messages)
        branch._buffer = self._buffer.branch(self._start + index, messages)
        branch._start, branch._stop = self._start, len(branch._buffer.items)
        return branch

    def replace(self, changes: Mapping[int, Message]) -> Messages:
        """Return these messages with some replaced; the same object if there are no changes.

        Known sums of later messages are kept, too.
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
        """Return the number of leading messages that are the same objects in both."""
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
        """Return the number of leading messages to cut so that the other starts with the rest.

        It is 0 unless both are windows on the same list.
        """
        if self._buffer is other._buffer and self._start < other._start < self._stop <= other._stop:
            return other._start - self._start
        return 0

    def edit(self, other: Messages) -> Edit:
        """Return how this sequence became the other: same, gone and come.

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
        # There are few new messages: the last old one is found quickly from the end.
        new = first_true(map(is_, reversed(its), repeat(mine[-1])), len(its))
        its = its[: len(its) - new]
        moved = first_true(map(is_not, reversed(mine), reversed(its)), min(len(mine), len(its)))
        come = same + (len(its) - moved if moved else len(its) + new)
        return same, len(self) - moved, come

    def holds(self, message: Message) -> bool:
        """Whether a message is among these, as the same object."""
        return any(map(is_, self, repeat(message)))

    def stored_with(self, other: Messages) -> bool:
        """Whether both are windows on the same list."""
        return self._buffer is other._buffer

    def difference(self, other: Messages) -> tuple[list[Message], list[Message]]:
        """Return the messages to remove from and to add to this sequence to get the other."""
        mine, its = self._buffer.items, other._buffer.items
        if self.ahead_of(other):
            return mine[self._start : other._start], its[self._stop : other._stop]
        same, gone, come = self.edit(other)
        left = mine[self._start + same : self._start + gone]
        new = its[other._start + same : other._start + come]
        new += its[other._start + come + len(self) - gone : other._stop]
        return without(left, new), without(new, left)

    def total(self, weight: Weight) -> int:
        """Return the sum of a weight over all messages; known sums are reused."""
        sums = self._buffer.running(weight)
        return sums[self._stop] - sums[self._start]

    def tail_from(self, weight: Weight, budget: int) -> int:
        """Return the start of the longest tail whose weight is within a budget."""
        sums = self._buffer.running(weight)
        first = bisect_left(sums, sums[self._stop] - budget, self._start, self._stop)
        return first - self._start

    def last_holding(self, weight: Weight, amount: int) -> int | None:
        """Return the start of the shortest tail of at least a weight; None if there is none."""
        sums = self._buffer.running(weight)
        last = bisect_right(sums, sums[self._stop] - amount, self._start, self._stop) - 1
        return last - self._start if last >= self._start else None


class View(msgspec.Struct, frozen=True):
    """System blocks and messages: a possible prompt.

    Parameters
    ----------
    system
        Parts of the system prompt and tool definitions.
    messages
        The messages, oldest first.
    """

    system: tuple[Part, ...] = ()
    messages: Messages = msgspec.field(default_factory=Messages)

    def append(self, *messages: Message) -> View:
        """Return this view with messages added at the end."""
        return View(self.system, self.messages.append(*messages))

    def with_messages(self, messages: Iterable[Message]) -> View:
        """Return this view with other messages; the same object if they are unchanged."""
        if not isinstance(messages, Messages):
            messages = Messages(messages)
        mine = self.messages
        if messages is mine or len(messages) == len(mine) == messages.shared(mine):
            return self
        return View(self.system, messages)

    def with_system(self, *parts: Part) -> View:
        """Return this view with other system blocks."""
        return View(parts, self.messages)


class Phase(StrEnum):
    """A moment in the life of a session."""

    BEFORE_TURN = "before_turn"
    """After a user message, before the first call of the turn."""
    BEFORE_CALL = "before_call"
    """Before a request."""
    AFTER_CALL = "after_call"
    """Directly after the answer; the cache is warm."""
    AFTER_TURN = "after_turn"
    """After the last answer of a turn, which calls no tool."""
    ON_OVERFLOW = "on_overflow"
    """The prompt exceeds the window; once per call."""
    ON_IDLE = "on_idle"
    """The session has been idle for a while, with an unknown end."""
