"""The facts that a summariser finds in a request, and the lines that state them."""

from __future__ import annotations

import random
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_

from compactlab.sim.core.conversation import Fact
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.facts.evidence import NOTHING, Evidence, Witness
from compactlab.sim.facts.wording import Wording
from compactlab.sim.replay.summarize import SummaryRequest


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
        """All facts."""
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
