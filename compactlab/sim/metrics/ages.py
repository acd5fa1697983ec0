"""How long ago facts were stated, at each call of a script, by any clock."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from compactlab.sim.conversation import Rewind
from compactlab.sim.facts.counts import Counts
from compactlab.sim.facts.ledger import Ledger, numbers
from compactlab.sim.message import Message


class Age(NamedTuple):
    """What is recent at a call.

    Parameters
    ----------
    now
        What the clock shows.
    recent
        For each limit, the facts that were last stated less than so long ago, as bits.
    began
        Facts that are due for the first time, and what the clock showed when they were stated.
    """

    now: int
    recent: tuple[int, ...]
    began: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Ages:
    """What is recent at each of some calls.

    Parameters
    ----------
    limits
        The limits, rising.
    at
        The calls.

    Examples
    --------
    Fact 0 was stated less than 10 ago, fact 1 less than 20.

    >>> ages = Ages((10, 20), [Age(25, (0b01, 0b11), ())])
    >>> ages.between(10, 20)
    [2]
    """

    limits: tuple[int, ...]
    at: Sequence[Age]

    def within(self, limit: int) -> list[int]:
        """At each call, the facts last stated less than so long ago, by one of the limits."""
        place = self.limits.index(limit)
        return [age.recent[place] for age in self.at]

    def between(self, low: int, high: int | None) -> list[int]:
        """At each call, those last stated so long ago or longer, and less than that other limit.

        Parameters
        ----------
        low
            One of the limits, or 0.
        high
            One of the limits; None for no end, and then other facts than those that have been
            stated are among them.
        """
        younger = self.within(low) if low else [0] * len(self.at)
        if high is None:
            return [~young for young in younger]
        return [old & ~young for old, young in zip(self.within(high), younger, strict=True)]


def ages(
    ledger: Ledger,
    limits: Sequence[int],
    said: Callable[[Message], int] | None = None,
    asked: Mapping[str, int] | None = None,
) -> dict[str, Age]:
    """Tell the ages of facts at each call of a script.

    A rewind turns the clock back as well.

    Parameters
    ----------
    ledger
        The facts.
    limits
        Ages to compare with.
    said
        How far the clock moves while a message is said; not at all by default. A fact's age is
        told from the end of the message that states it.
    asked
        How far it moves right before a call, by the id of its answer; not at all by default.

    Returns
    -------
    dict
        The ages by the id of the call's answer.
    """
    walk = _Walk(ledger, limits)
    ticks = asked or {}
    targets = {e.to for e in ledger.conversation.events if isinstance(e, Rewind)}
    known = {"": _Path()}
    found: dict[str, Age] = {}
    for event in ledger.conversation.events:
        if isinstance(event, Rewind):
            walk.turn(known[event.to].copy())
        elif isinstance(event, Message):
            if event.call is not None:
                walk.path.now += ticks.get(event.id, 0)
                found[event.id] = walk.age(event.id)
            walk.path.now += said(event) if said else 0
            walk.hear(event.id)
            if event.id in targets:
                known[event.id] = walk.path.copy()
    return found


@dataclass
class _Path:
    """The way to here, which a rewind goes back on: when which facts were stated."""

    now: int = 0
    heard: int = 0
    times: list[int] = field(default_factory=list)
    stated: list[int] = field(default_factory=list)
    first: dict[int, int] = field(default_factory=dict)

    def copy(self) -> _Path:
        return _Path(self.now, self.heard, [*self.times], [*self.stated], dict(self.first))


class _Walk:
    def __init__(self, ledger: Ledger, limits: Sequence[int]) -> None:
        self.ledger, self._limits = ledger, limits
        self._facts = (1 << len(ledger.facts)) - 1
        # The bits of origins of which only all together state a fact.
        self._pieces = {
            place: number
            for number, (first, length) in ledger.wholes.items()
            for place in range(first, first + length)
        }
        self._known = 0
        self.turn(_Path())

    def turn(self, path: _Path) -> None:
        """Go on from somewhere else."""
        self.path = path
        self._windows = [_Window(path, limit) for limit in self._limits]

    def hear(self, id: str) -> None:
        """A message has been said."""
        bits, path = self.ledger.verbatim.get(id, 0), self.path
        if not bits:
            return
        path.times.append(path.now)
        path.stated.append(self._stated(bits))
        new = bits & ~path.heard
        path.heard |= bits
        for place in numbers(new):
            path.first[self._pieces.get(place, place)] = path.now

    def _stated(self, bits: int) -> int:
        """The facts that origins are of."""
        facts = bits & self._facts
        for place in numbers(bits & ~self._facts):
            facts |= 1 << self._pieces[place]
        return facts

    def age(self, answer: str) -> Age:
        """A call is made."""
        new = self.ledger.moments[answer].due & ~self._known
        self._known |= new
        began = tuple((number, self.path.first[number]) for number in numbers(new))
        recent = tuple(window.move() for window in self._windows)
        return Age(self.path.now, recent, began)


class _Window:
    """The facts that were stated within a time, as the time goes on."""

    def __init__(self, path: _Path, limit: int) -> None:
        self._path, self._limit = path, limit
        self._first = self._next = bisect_right(path.times, path.now - limit)
        self._counts = Counts()
        self._facts = 0

    def move(self) -> int:
        """Let in what has been stated, let out what was too long ago, and say what is left."""
        times, oldest = self._path.times, self._path.now - self._limit
        first, last = self._first, self._next
        while self._next < len(times):
            self._counts.add(self._path.stated[self._next])
            self._next += 1
        while self._first < self._next and times[self._first] <= oldest:
            self._counts.take(self._path.stated[self._first])
            self._first += 1
        if (first, last) != (self._first, self._next):
            self._facts = self._counts.bits
        return self._facts


def in_order(found: Mapping[str, Age], answers: Iterable[str]) -> list[Age]:
    """The ages at some calls, by the ids of their answers."""
    return [found[answer] for answer in answers]
