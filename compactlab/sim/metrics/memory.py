"""Amnesia: how much of what should be known at a call stands in its prompt no more."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

from compactlab.sim.conversation import FactType
from compactlab.sim.metrics.course import course, lack, share
from compactlab.sim.metrics.metric import Metric
from compactlab.sim.metrics.reading import Reading

TYPES: tuple[FactType, ...] = get_args(FactType)


def amnesia_need(reading: Reading) -> float | None:
    """Share of the needs that the prompt does not meet: the headline, as it weighs what is used.

    A need is a fact and a call of the script that uses it, while the fact is due. It is met if the
    fact is verbatim or intact in that call's prompt; if its state is unknown, the need is left
    out. Where a conversation has no labels, needs are what its actions show (see below).
    """
    found = course(reading)
    return lack(found.kept, found.needed)


def amnesia_need_effective(reading: Reading) -> float | None:
    """Share of the needs that the prompt neither meets nor tells how to: the rest is retrievable.

    As ``amnesia_need``, with what is retrievable counted as kept. It says nothing about whether an
    agent would fetch it, so it is never to be shown alone.
    """
    found = course(reading)
    return lack(found.within_reach, found.needed)


def need_retrievable(reading: Reading) -> float | None:
    """Share of the needs whose fact the prompt does not hold, but tells how to fetch."""
    found = course(reading)
    return share((states.retrievable for states in found.states), found.needed)


def amnesia(reading: Reading) -> float | None:
    """Mean over types of the share of due facts that are neither verbatim nor intact.

    For each type apart: all pairs of a call of the script and a fact of that type that is due at
    it, without those whose state is unknown, and the share of them in another state than verbatim
    or intact. Types of which there are no such pairs are left out. The mean is over types, so that
    a type with many facts does not outshout the others.
    """
    found = course(reading)
    return found.amnesia(found.kept, found.known)


def amnesia_effective(reading: Reading) -> float | None:
    """The same mean, with what is retrievable counted as kept; never to be shown alone."""
    found = course(reading)
    return found.amnesia(found.within_reach, found.known)


def _of_type(kind: FactType) -> Callable[[Reading], float | None]:
    def of_type(reading: Reading) -> float | None:
        found = course(reading)
        facts = found.ledger.of_kind.get(kind, 0)
        return lack(found.kept, [due & facts for due in found.known])

    of_type.__name__ = of_type.__qualname__ = f"amnesia_{kind}"
    of_type.__doc__ = f"Share of due facts of type {kind} that are neither verbatim nor intact."
    return of_type


_NOTES = "amnesia as the project's notes on metrics define it, section 4"
_NEEDS = "sum of needs not met over sum of needs, of all calls"
_TYPES = "mean over types of one less facts kept over facts due, each summed over calls"
_PAIRS = "one less facts kept over facts due, each summed over calls"

METRICS = (
    Metric("share", "lower", "facts that a call uses and its prompt does not hold",
           _NEEDS, _NOTES, amnesia_need),
    Metric("share", "lower", "the same, less what its prompt tells how to fetch",
           _NEEDS, _NOTES, amnesia_need_effective),
    Metric("share", "neither", "facts that a call uses and its prompt only tells how to fetch",
           "sum of such needs over sum of needs, of all calls", _NOTES, need_retrievable),
    Metric("share", "lower", "facts due at a call that its prompt does not hold, by type",
           _TYPES, _NOTES, amnesia),
    Metric("share", "lower", "the same, less what its prompt tells how to fetch",
           _TYPES, _NOTES, amnesia_effective),
    *(
        Metric("share", "lower", f"facts due at a call that its prompt does not hold: {kind}",
               _PAIRS, _NOTES, _of_type(kind))
        for kind in TYPES
    ),
)  # fmt: skip
