"""The table of facts: what became of each fact of a conversation, in the open loop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from compactlab.sim.facts import STATES
from compactlab.sim.facts.ledger import numbers
from compactlab.sim.metrics import Reading
from compactlab.sim.tables.table import Column, Columns, Table


class _Duration:
    """For how many calls each bit of a mask was set; looks only at what changes."""

    def __init__(self, bits: int) -> None:
        self.calls = [0] * bits
        self._since = [0] * bits
        self._mask = 0

    def follow(self, masks: Iterable[int]) -> list[int]:
        at = 0
        for at, mask in enumerate(masks):
            self._move(mask, at)
        self._move(0, at + 1)
        return self.calls

    def _move(self, mask: int, at: int) -> None:
        for bit in numbers(mask ^ self._mask):
            if mask >> bit & 1:
                self._since[bit] = at
            else:
                self.calls[bit] += at - self._since[bit]
        self._mask = mask


def _of(reading: Reading) -> Columns:
    ledger, facts = reading.ledger, reading.ledger.facts
    moments = [ledger.moments[step.answer] for step in reading.trace.steps]
    states = reading.states
    counted: dict[str, Any] = {
        f"calls_{name}": _Duration(len(facts)).follow(
            moment.due & state[place] for moment, state in zip(moments, states, strict=True)
        )
        for place, name in enumerate(STATES)
    }
    gone = (m.due & ~(s.kept | s.unknown) for m, s in zip(moments, states, strict=True))
    met = (m.needed & (s.kept | s.unknown) for m, s in zip(moments, states, strict=True))
    missed = (m.needed & ~(s.kept | s.unknown) for m, s in zip(moments, states, strict=True))
    return {
        "fact": [fact.id for fact in facts],
        "type": [fact.kind for fact in facts],
        "stated_in": [fact.origin[0].id if fact.origin else "" for fact in facts],
        "decoy": [fact.decoy for fact in facts],
        "calls_due": _Duration(len(facts)).follow(moment.due for moment in moments),
        **counted,
        "needs": _Duration(len(facts)).follow(moment.needed for moment in moments),
        "needs_met": _Duration(len(facts)).follow(met),
        "first_gone": _first(len(facts), gone),
        "first_missed": _first(len(facts), missed),
    }


def _first(bits: int, masks: Iterable[int]) -> list[int]:
    """The number of the first call at which each bit is set; 0 if it never is."""
    found, seen = [0] * bits, 0
    for call, mask in enumerate(masks, 1):
        for bit in numbers(mask & ~seen):
            found[bit] = call
        seen |= mask
    return found


FACTS = Table(
    "facts",
    "a fact of a conversation under a strategy, in the open loop",
    {
        "fact": Column("text", "its id"),
        "type": Column("text", "its type"),
        "stated_in": Column("text", "id of the first message that states it"),
        "decoy": Column("flag", "whether it is never stated, and measures chance"),
        "calls_due": Column("count", "calls of the script at which it was due"),
        **{
            f"calls_{name}": Column("count", f"of those calls, those with it {name}")
            for name in STATES
        },
        "needs": Column("count", "calls of the script that needed it"),
        "needs_met": Column("count", "of those, the calls whose prompt held it, or may have"),
        "first_gone": Column(
            "count", "first call at which it was due and surely not kept; 0: none"
        ),
        "first_missed": Column("count", "first call that needed it and had it not; 0: none"),
    },
    _of,
)
