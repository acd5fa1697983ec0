"""What a summariser that knows the facts finds of them in what it is given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_

from compactlab.sim.facts.evidence import NOTHING, Evidence, Witness
from compactlab.sim.message import Message, Part
from compactlab.sim.summarize import SummaryRequest


@dataclass(frozen=True)
class Told:
    """Facts as bits, by how a request states them; what it shows to be replaced is left out.

    Parameters
    ----------
    fresh
        Stated by its messages.
    carried
        Intact in the summary before.
    stale
        Of which the summary before has the older value.
    mutated
        That the summary before has damaged.
    deleted
        Those of them that its messages take back.
    shown
        All that it says, what was replaced as well.
    given
        Ids of the messages that it is made of.
    """

    fresh: int
    carried: int
    stale: int
    mutated: int
    deleted: int
    shown: int
    given: frozenset[str]

    @property
    def known(self) -> int:
        """All of them."""
        return self.fresh | self.carried | self.stale | self.mutated


def told(witness: Witness, request: SummaryRequest) -> Told:
    """Read a request."""
    ledger = witness.ledger
    said, notes = _evidence(witness, request)
    fresh = ledger.held(said.verbatim) | said.intact
    carried = notes.intact | ledger.held(notes.verbatim)
    older = {number: mask for number, mask in ledger.older.items() if notes.key >> number & 1}
    stale = ledger.mask(n for n, mask in older.items() if mask & notes.said) & ~(fresh | carried)
    mutated = notes.key & ~(fresh | carried | stale)
    known = fresh | carried | stale | mutated
    replaced = reduce(or_, (m for n, m in ledger.older.items() if known >> n & 1), 0)
    ids = frozenset(message.id for message in request.messages)
    ended = ledger.mask(n for n, fact in enumerate(ledger.facts) if fact.scope in ids)
    deleted = ledger.mask(n for n, fact in enumerate(ledger.facts) if fact.deleted_at in ids)
    due = ~(replaced | ended | ledger.decoys)
    shown = fresh | carried | notes.said
    known &= due
    given = ids.union(source.id for part in _parts(request) for source in part.sources)
    return Told(
        fresh & known,
        carried & known,
        stale & known,
        mutated & known,
        deleted & known,
        shown,
        given,
    )


def _evidence(witness: Witness, request: SummaryRequest) -> tuple[Evidence, Evidence]:
    """What the messages show, and what summaries do: the one before, and those among them."""
    said = NOTHING
    notes = [part for part in request.previous if part.kind == "summary"]
    rest = [part for part in request.previous if part.kind != "summary"]
    for message in request.messages:
        if _is_summary(message):
            notes += [part for part in message.parts if part.kind == "summary"]
            rest += [part for part in message.parts if part.kind != "summary"]
        else:
            said |= witness.message(message)
    return said | witness.parts(rest), witness.parts(notes)


def _is_summary(message: Message) -> bool:
    return any(part.kind == "summary" for part in message.parts)


def summaries(request: SummaryRequest) -> list[Part]:
    """All parts of a request that were summarised already."""
    return [part for part in _parts(request) if part.kind == "summary"]


def _parts(request: SummaryRequest) -> Iterator[Part]:
    yield from request.previous
    for message in request.messages:
        yield from message.parts
