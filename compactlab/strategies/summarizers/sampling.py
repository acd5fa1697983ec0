"""Shared code of summarisers that draw the fate of each fact: rounds, budget, and filler."""

from __future__ import annotations

import random
import re
from abc import abstractmethod
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import chain, islice
from operator import or_
from typing import ClassVar, NamedTuple

from compactlab.sim.core.conversation import Fact
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.core.stream import stream
from compactlab.sim.facts.evidence import NOTHING, Evidence, Witness
from compactlab.sim.facts.ledger import numbers
from compactlab.sim.facts.occurrences import normal, occurrences
from compactlab.sim.facts.wording import Wording
from compactlab.sim.replay.summarize import Count, SummaryRequest
from compactlab.strategies.summarizers.extractive import filling, written
from compactlab.strategies.summarizers.writer import Knowing, Unit, distinct, loud, units_in


@dataclass(frozen=True)
class Statements:
    """Sets of facts as bits, by how a request states them, without replaced facts."""

    fresh: int  # stated by its messages
    carried: int  # intact in the previous summary
    stale: int  # with their older value in the previous summary
    mutated: int  # damaged in the previous summary
    deleted: int  # of these, withdrawn by its messages
    shown: int  # everything that it states, including replaced facts
    given: frozenset[str]  # ids of its messages

    @property
    def known(self) -> int:
        return self.fresh | self.carried | self.stale | self.mutated


def statements_in(witness: Witness, request: SummaryRequest) -> Statements:
    """Find the facts in a request."""
    ledger = witness.ledger
    spoken, notes = _evidence(witness, request)
    fresh = ledger.held(spoken.verbatim) | spoken.intact
    carried = notes.intact | ledger.held(notes.verbatim)
    older = {number: mask for number, mask in ledger.older.items() if notes.key >> number & 1}
    stale = ledger.mask(n for n, mask in older.items() if mask & notes.stated) & ~(fresh | carried)
    mutated = notes.key & ~(fresh | carried | stale)
    known = fresh | carried | stale | mutated
    replaced = reduce(or_, (m for n, m in ledger.older.items() if known >> n & 1), 0)
    ids = frozenset(message.id for message in request.messages)
    ended = ledger.mask(n for n, fact in enumerate(ledger.facts) if fact.scope in ids)
    deleted = ledger.mask(n for n, fact in enumerate(ledger.facts) if fact.deleted_at in ids)
    due = ~(replaced | ended | ledger.decoys)
    shown = fresh | carried | notes.stated
    known &= due
    given = ids.union(source.id for part in _parts(request) for source in part.sources)
    return Statements(
        fresh & known,
        carried & known,
        stale & known,
        mutated & known,
        deleted & known,
        shown,
        given,
    )


def _evidence(witness: Witness, request: SummaryRequest) -> tuple[Evidence, Evidence]:
    """Return the evidence in messages, and that in summaries, including the previous one."""
    spoken = NOTHING
    notes = [part for part in request.previous if part.kind == "summary"]
    rest = [part for part in request.previous if part.kind != "summary"]
    for message in request.messages:
        if is_summary(message):
            notes += [part for part in message.parts if part.kind == "summary"]
            rest += [part for part in message.parts if part.kind != "summary"]
        else:
            spoken |= witness.message(message)
    return spoken | witness.parts(rest), witness.parts(notes)


def is_summary(message: Message) -> bool:
    """Whether a message contains a summary."""
    return any(part.kind == "summary" for part in message.parts)


def summaries(request: SummaryRequest) -> list[Part]:
    """Return all parts of a request that are summaries."""
    return [part for part in _parts(request) if part.kind == "summary"]


def _parts(request: SummaryRequest) -> Iterator[Part]:
    yield from request.previous
    for message in request.messages:
        yield from message.parts


# Lines that state facts in a summary, with their sources.

_POLARITY = {"is": "", "must": " (must)", "must_not": " (must not)", "asks": " (not decided)"}
_MOST = 3  # maximum sources of a line; a common word has hundreds of origins
_DIGITS, _LETTERS = "0123456789", "abcdefghijklmnopqrstuvwxyz"


def recited(fact: Fact, given: Container[str]) -> Part:
    """State a fact as it is: key, polarity and value.

    Its sources are those of its origins that are in ``given``.
    """
    return Part("text", _line(fact, fact.value), "summary", _sources(fact, given))


def outdated(fact: Fact, older: Fact, given: Container[str]) -> Part:
    """State a fact with its previous value; the sources are those of both."""
    sources = tuple(dict.fromkeys((*_sources(older, given), *_sources(fact, given))))
    return Part("text", _line(fact, older.value), "summary", sources)


def damaged(fact: Fact, dice: random.Random, given: Container[str]) -> Part | None:
    """State a fact with another value, or without its polarity.

    Return None if it cannot be damaged without changing its key: for example, if it has no key, or
    if the key contains the value.
    """
    lines = list(dict.fromkeys(_damages(fact, dice)))
    dice.shuffle(lines)
    for line in lines:
        wording = Wording(line).says(fact)
        if wording.wrong:
            return Part("text", line, "summary", _sources(fact, given))
    return None


def _damages(fact: Fact, dice: random.Random) -> Iterator[str]:
    if fact.polarity != "asks":  # a question is damaged by an answer
        yield _line(fact, _another(fact.value, dice))
    if fact.polarity != "is":
        yield _line(fact, fact.value, polarity="")


def _line(fact: Fact, value: str, polarity: str | None = None) -> str:
    word = _POLARITY[fact.polarity] if polarity is None else polarity
    return f"{fact.key}{word}: {value}" if fact.key else f"{word}{value}".strip()


def _another(value: str, dice: random.Random) -> str:
    """Change one digit of a value, or one letter if it has no digit."""
    places = [n for n, c in enumerate(value) if c in _DIGITS]
    alphabet = _DIGITS if places else _LETTERS
    places = places or [n for n, c in enumerate(value) if c.isalpha()]
    if not places:
        return ""
    index = dice.choice(places)
    other = dice.choice([each for each in alphabet if each != value[index].lower()])
    return value[:index] + other + value[index + 1 :]


def _sources(fact: Fact, given: Container[str]) -> tuple[Source, ...]:
    sources = tuple(source for source in fact.origin if source.id in given) or fact.origin[:1]
    return sources if fact.whole else sources[:_MOST]


_HEADING = "Simulated summary, round {}: what is kept was drawn"
_ROUND = re.compile(r"Simulated summary, round (\d{1,6})\b")
_WORD = re.compile(r"\w+")
_LOOKED_AT = 2000  # maximum number of units tried as filler


Purpose = str | int
"""What is drawn for: ``note``, or the round of a summary."""


class Line(NamedTuple):
    """A line of a future summary, and its draw: smaller is luckier."""

    chance: float
    number: int  # number of the fact; negative for a quoted message
    part: Part


def _luck(line: Line) -> tuple[float, int]:
    return line.chance, line.number


@dataclass(frozen=True, eq=False)
class Drawing(Knowing):
    """Writes the drawn lines after a heading with the round, then filler."""

    # draw, audible: the number of the draw, and the probability of an audible answer
    draw: int
    audible: float
    purpose: ClassVar[str]  # name of its random streams

    @abstractmethod
    def size(self, request: SummaryRequest, round: int, given: int) -> int:
        """Draw the length of a summary, for an input of this many tokens."""

    @abstractmethod
    def lines(self, request: SummaryRequest, purpose: Purpose, ratio: float) -> Iterable[Line]:
        """Draw the lines for the request's facts, in the order of the script."""

    def summarize(self, request: SummaryRequest, count: Count) -> tuple[Part, ...]:
        given = [*request.previous, *(part for m in request.messages for part in m.parts)]
        sources = [source for part in given for source in part.sources]
        round = _round(request)
        heading = _HEADING.format(round)
        room = request.max_tokens - count(heading)
        if not sources or room < 0:
            return ()
        ends = Source(sources[0].id), Source(sources[-1].id)
        first = Part("text", heading, "summary", tuple(dict.fromkeys(ends)))
        tokens = sum(count(part.text) for part in given)
        size = min(self.size(request, round, tokens), tokens)
        ratio = min(size, request.max_tokens) / max(1, tokens)
        lines = _within(list(self.lines(request, round, ratio)), room, count)
        used = count(heading) + sum(count(part.text) for part in lines)
        most = min(size, request.max_tokens) - used
        return (first, *lines, *self._filler(request, round, most, count))

    def told(
        self, request: SummaryRequest, purpose: Purpose, count: Count
    ) -> Iterable[tuple[int, Part]]:
        """Return the drawn lines, the luckiest first; see :class:`~.writer.Knowing`."""
        tokens = sum(count(part.text) for m in request.messages for part in m.parts)
        ratio = min(request.max_tokens, tokens) / max(1, tokens)
        lines = sorted(self.lines(request, purpose, ratio), key=_luck)
        return ((line.number, line.part) for line in lines)

    def answer(self, messages: Sequence[Message], silent: str) -> str:
        """Return the token for silence, or at random a longer answer."""
        dice = self.dice("answer", messages[-1].id if messages else "")
        return loud(dice, silent) if silent and dice.random() < self.audible else silent

    def dice(self, *purpose: str | int) -> random.Random:
        """Return the random stream of a purpose, which is the same for all strategies."""
        return stream(self.seed, self.conversation.id, self.purpose, *purpose, self.draw)

    def ordered(self, facts: int) -> list[int]:
        """Sort facts by their first statements."""
        every = self.ledger.facts
        return sorted(numbers(facts), key=lambda number: self.place[every[number].origin[0].id])

    @cached_property
    def _needles(self) -> dict[str, set[str]]:
        """The normalised names and values of all facts, including decoys.

        The keys are their first words, if these are always whole words in a text, otherwise "".
        """
        needles: dict[str, set[str]] = {}
        for fact in self.ledger.facts:
            for each in (fact.key, *fact.aliases, fact.value, *fact.variants):
                if needle := normal(each):
                    first = _WORD.match(needle)
                    whole = first and needle[0].isalnum() and first[0][-1].isalnum()
                    needles.setdefault(first[0] if first and whole else "", set()).add(needle)
        return needles

    def _filler(
        self, request: SummaryRequest, round: int, most: int, count: Count
    ) -> tuple[Part, ...]:
        """Quote sentences that are not about any fact."""
        units = list(distinct(chain.from_iterable(map(units_in, request.messages))))
        order = list(range(len(units)))
        self.dice("filler", round).shuffle(order)
        mute = (n for n in islice(order, _LOOKED_AT) if self._mute(units[n]))
        return written(units, filling(mute, units, most, count), most, count)

    def _mute(self, unit: Unit) -> bool:
        """Whether a unit contains no key and no value of a fact."""
        if not unit.role:
            return False
        mute = self._mutes.get(unit.text)
        if mute is None:
            mute = self._mutes[unit.text] = not (_ROUND.search(unit.text) or self._names(unit.text))
        return mute

    @cached_property
    def _mutes(self) -> dict[str, bool]:
        """A cache of results for units, shared by strategies."""
        return {}

    def _names(self, said: str) -> bool:
        """Whether a text contains a key or a value of a fact."""
        text = normal(said)
        words = self._needles.keys() & {"", *_WORD.findall(text)}
        return any(
            needle in text and next(occurrences(text, needle), None) is not None
            for word in words
            for needle in self._needles[word]
        )


def _round(request: SummaryRequest) -> int:
    """Return the round of a summary: one more than that of the previous one."""
    before = summaries(request)
    rounds = (int(match[1]) for part in before for match in _ROUND.finditer(part.text))
    return 1 + max(rounds, default=1 if before else 0)


def _within(lines: list[Line], room: int, count: Count) -> list[Part]:
    """Return the lines that fit; if there is too little room, the luckiest ones."""
    lucky = set()
    for place in sorted(range(len(lines)), key=lambda place: (lines[place].chance, place)):
        room -= count(lines[place].part.text)
        if room < 0:
            break
        lucky.add(place)
    return [line.part for place, line in enumerate(lines) if place in lucky]
