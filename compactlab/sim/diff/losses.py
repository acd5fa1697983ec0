"""Which facts each call's prompt has lost, and which of them were missed later."""

from __future__ import annotations

from typing import NamedTuple

from compactlab.sim.facts.ledger import numbers
from compactlab.sim.metrics import Reading


class Loss(NamedTuple):
    """What one prompt no longer holds.

    Parameters
    ----------
    facts
        The facts that it has lost, as bits.
    missed
        Of those that a later call, or this one, needs and does not find: the index of the first
        such call, by the number of the fact. A need is put down to the last prompt that lost it.
    """

    facts: int
    missed: dict[int, int]


def losses(reading: Reading) -> dict[int, Loss]:
    """What prompts have lost.

    A fact is lost at a call if it is due there, the prompt surely does not hold it, and the prompt
    before held it, or may have, or it was stated since.

    Parameters
    ----------
    reading
        A replay, in the open loop.

    Returns
    -------
    dict
        By the index of the call, of those whose prompt has lost anything.
    """
    moments = reading.ledger.moments
    found: dict[int, Loss] = {}
    last: dict[int, dict[int, int]] = {}  # of each fact, who missed what was lost with it
    held = seen = 0
    for call, (step, states) in enumerate(zip(reading.trace.steps, reading.states, strict=True)):
        moment = moments[step.answer]
        due = moment.due
        now = states.verbatim | states.intact | states.unknown
        lacking = due & ~now
        if lacking:
            if lost := lacking & (held | ~seen):
                loss = found[call] = Loss(lost, {})
                last.update(dict.fromkeys(numbers(lost), loss.missed))
            for fact in numbers(moment.needed & lacking):
                if fact in last:
                    last[fact].setdefault(fact, call)
        held = now
        seen |= due
    return found
