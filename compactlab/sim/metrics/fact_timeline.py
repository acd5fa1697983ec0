"""The states of facts, call by call of the script: the basis of all memory metrics."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import and_
from statistics import fmean
from typing import NamedTuple

from compactlab.sim.core.blocks import blocks_of
from compactlab.sim.core.conversation import keep_latest, walked
from compactlab.sim.core.message import Message
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.facts import States
from compactlab.sim.facts.ledger import Ledger, Moment, numbers
from compactlab.sim.facts.tracker import Counts
from compactlab.sim.metrics.run_data import RunData, shared
from compactlab.sim.replay.trace import Step

# The ages of facts at each call of a script, by any clock.


class Age(NamedTuple):
    """The recent facts at a call."""

    now: int  # the clock's time
    recent: tuple[int, ...]  # for each limit, the facts with a lower age
    # Facts that are due for the first time, and the time of their statement.
    began: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Ages:
    """The recent facts at several calls.

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
        """At each call, the facts with an age below one of the limits."""
        index = self.limits.index(limit)
        return [age.recent[index] for age in self.at]

    def between(self, low: int, high: int | None) -> list[int]:
        """At each call, the facts with an age from one limit to below another."""
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
    """Compute the ages of facts at each call of a script.

    A rewind also turns the clock back.
    """
    walk = _Walk(ledger, limits)
    by_message: dict[str, Age] = {}
    for path, message in walked(ledger.conversation, walk.path):
        if path is not walk.path:
            walk.turn(path)
        if message.call is not None:
            path.now += asked.get(message.id, 0) if asked else 0
            by_message[message.id] = walk.age(message.id)
        path.now += said(message) if said else 0
        walk.hear(message.id)
    return by_message


@dataclass
class _Path:
    """The times of statements on the path to a call; a rewind shortens the path."""

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
        # The bits of origins that only state a fact together.
        self._pieces = {
            index: number
            for number, (first, length) in ledger.wholes.items()
            for index in range(first, first + length)
        }
        self._known = 0
        self.turn(_Path())

    def turn(self, path: _Path) -> None:
        """Continue from another message."""
        self.path = path
        self._windows = [_Window(path, limit) for limit in self._limits]

    def hear(self, id: str) -> None:
        """Add a message."""
        bits, path = self.ledger.verbatim.get(id, 0), self.path
        if not bits:
            return
        path.times.append(path.now)
        path.stated.append(self._stated(bits))
        new = bits & ~path.heard
        path.heard |= bits
        for index in numbers(new):
            path.first[self._pieces.get(index, index)] = path.now

    def _stated(self, bits: int) -> int:
        """The facts that origins state."""
        facts = bits & self._facts
        for index in numbers(bits & ~self._facts):
            facts |= 1 << self._pieces[index]
        return facts

    def age(self, answer: str) -> Age:
        """Return the recent facts at a call."""
        new = self.ledger.moments[answer].due & ~self._known
        self._known |= new
        began = tuple((number, self.path.first[number]) for number in numbers(new))
        recent = tuple(window.move() for window in self._windows)
        return Age(self.path.now, recent, began)


class _Window:
    """The facts stated within a moving window of time."""

    def __init__(self, path: _Path, limit: int) -> None:
        self._path, self._limit = path, limit
        self._first = self._next = bisect_right(path.times, path.now - limit)
        self._counts = Counts()
        self._facts = 0

    def move(self) -> int:
        """Add new statements, remove those that are too old, and return the facts."""
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


# Limits of ages, for the age curve and IA@k. Rounds: the first six.
TOKENS = (1_000, 4_000, 16_000, 64_000)
TURNS = (1, 2, 5, 10, 20, 100)
ROUNDS = (1, 2, 3, 4, 5, 6)


@dataclass(frozen=True)
class FactTimeline:
    """The calls of the script and the states of facts in their prompts; sets of facts are bits.

    The recovery calls of a closed loop are not among them.
    """

    ledger: Ledger
    steps: Sequence[Step]
    states: Sequence[States]
    memory: Sequence[int]  # the facts that the agent's memory holds
    # At each call, the compactions since the previous call, including its own.
    rounds_made: Sequence[int]
    tokenizer: Tokenizer  # of the first call's model; it measures the log

    @cached_property
    def moments(self) -> list[Moment]:
        """The labels of the facts at each call."""
        moments = self.ledger.moments
        return [moments[step.answer] for step in self.steps]

    @cached_property
    def due(self) -> list[int]:
        """The facts that should be known: stated, and not superseded, deleted or expired."""
        return [moment.due for moment in self.moments]

    @cached_property
    def known(self) -> list[int]:
        """The due facts whose state is known."""
        return [
            moment.due & ~states.unknown if states.unknown else moment.due
            for moment, states in zip(self.moments, self.states, strict=True)
        ]

    @cached_property
    def kept(self) -> list[int]:
        """The facts that are verbatim or intact, due or not."""
        return [states.kept for states in self.states]

    @cached_property
    def within_reach(self) -> list[int]:
        """The kept and the retrievable facts."""
        return [
            kept | states.retrievable if states.retrievable else kept
            for kept, states in zip(self.kept, self.states, strict=True)
        ]

    @cached_property
    def needed(self) -> list[int]:
        """The facts with a known state that each call uses."""
        return [
            moment.needed & ~states.unknown if states.unknown else moment.needed
            for moment, states in zip(self.moments, self.states, strict=True)
        ]

    def amnesia(self, held: Sequence[int], due: Sequence[int]) -> float | None:
        """Share of due facts that are not held, over all calls, as the mean over types."""
        whole, retained = self._joined(due), self._joined(map(and_, held, due))
        counts = (
            ((whole & kind).bit_count(), (retained & kind).bit_count()) for kind in self._kinds
        )
        lacks = [(count - retained_here) / count for count, retained_here in counts if count]
        return fmean(lacks) if lacks else None

    def _joined(self, sets: Iterable[int]) -> int:
        """The concatenated sets of facts of all calls, to be counted at once."""
        size = len(self.ledger.facts) // 8 + 1
        return int.from_bytes(b"".join([each.to_bytes(size, "little") for each in sets]), "little")

    @cached_property
    def _kinds(self) -> list[int]:
        """The facts of each type, for all calls."""
        return [self._joined([kind] * len(self.steps)) for kind in self.ledger.of_kind.values()]

    @cached_property
    def tokens(self) -> Ages:
        return self._ages(TOKENS, _ages_in_tokens(self.ledger, self.tokenizer))

    @cached_property
    def turns(self) -> Ages:
        """Ages in user turns that began since."""
        return self._ages(TURNS, _ages_in_turns(self.ledger))

    @cached_property
    def rounds(self) -> Ages:
        made = {step.answer: n for step, n in zip(self.steps, self.rounds_made, strict=True)}
        return self._ages(ROUNDS, ages(self.ledger, ROUNDS, asked=made))

    def _ages(self, limits: tuple[int, ...], by_answer: Mapping[str, Age]) -> Ages:
        return Ages(limits, [by_answer[step.answer] for step in self.steps])


@shared
def fact_timeline(data: RunData) -> FactTimeline:
    """The states of the facts in a replay."""
    steps, known_states = data.trace.steps, []
    rounds_made, waiting = [], 0
    for index, step in enumerate(steps):
        waiting += step.compaction
        if not step.recovery:
            known_states.append(index)
            rounds_made.append(waiting)
            waiting = 0
    return FactTimeline(
        data.ledger,
        [steps[index] for index in known_states],
        [data.states[index] for index in known_states],
        [data.memory[index] for index in known_states],
        rounds_made,
        data.model(steps[0].model).tokenizer if steps else Tokenizer(),
    )


def share(some: Iterable[int], whole: Sequence[int]) -> float | None:
    """The share of sets of facts that is in others, over all calls; None if they are empty."""
    count = sum(map(int.bit_count, whole))
    return sum(map(int.bit_count, map(and_, some, whole))) / count if count else None


def lack(some: Iterable[int], whole: Sequence[int]) -> float | None:
    """The share of sets of facts that is not in others; None if they are empty."""
    count = sum(map(int.bit_count, whole))
    common = sum(map(int.bit_count, map(and_, some, whole)))
    return (count - common) / count if count else None


@keep_latest
def _ages_in_tokens(ledger: Ledger, tokenizer: Tokenizer) -> dict[str, Age]:
    return ages(ledger, TOKENS, blocks_of(tokenizer).weight)


@keep_latest
def _ages_in_turns(ledger: Ledger) -> dict[str, Age]:
    return ages(ledger, TURNS, lambda message: message.starts_turn)
