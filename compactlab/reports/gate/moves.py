"""Which conversations moved most: where to look first when a rule fails."""

from __future__ import annotations

import math
from collections.abc import Iterable

from compactlab.reports.gate.record import Record
from compactlab.reports.gate.rules import Rule, same
from compactlab.reports.gate.side import by_conversation, value_of
from compactlab.reports.gate.verdict import Move

_TOLD = 3


def moved_most(
    rule: Rule, before: Iterable[Record], after: Iterable[Record], type: str = ""
) -> tuple[Move, ...]:
    """The conversations that moved most, in the direction that a rule limits.

    Parameters
    ----------
    rule
        The rule.
    before, after
        The runs, as they were and as they are; of none before, or where none has moved, those
        that now stand furthest out.
    type
        The type of fact; "" for all.

    Returns
    -------
    tuple
        At most three, the worst first.
    """
    was, is_ = by_conversation(before), by_conversation(after)
    every = [
        (
            Move(
                key[1],
                value_of(was.get(key, []), rule.metric, type),
                value_of(is_.get(key, []), rule.metric, type),
            ),
            key,
        )
        for key in sorted({*was, *is_})
    ]
    changed = [
        (step, key, move)
        for move, key in every
        if not same(move.before, move.after) and (step := _step(rule, move)) > 0
    ]
    if not changed and not rule.relative:
        changed = [(_out(rule, move), key, move) for move, key in every if move.after is not None]
    # What differs in its last digits alone is the same, and then the name decides.
    ordered = sorted(changed, key=lambda found: (-float(f"{found[0]:.9g}"), found[1]))
    return tuple(move for _, _, move in ordered[:_TOLD])


def _step(rule: Rule, move: Move) -> float:
    """How far a conversation moved in the direction that is limited; what came or went is most."""
    if move.before is None or move.after is None:
        return math.inf if rule.exact else 0.0
    if rule.exact or (rule.upper and rule.lower):
        return abs(move.after - move.before)
    return move.after - move.before if rule.upper else move.before - move.after


def _out(rule: Rule, move: Move) -> float:
    """How far out a conversation stands."""
    value = move.after or 0.0
    if rule.upper and rule.lower:
        return abs(value - rule.amount)
    return value if rule.upper else -value
