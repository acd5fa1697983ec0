"""Amnesia: the share of required facts that a prompt no longer holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from operator import and_, attrgetter
from typing import Literal, get_args

from compactlab.sim.core.conversation import FactType
from compactlab.sim.facts import STATES
from compactlab.sim.facts.ledger import Ledger, numbers
from compactlab.sim.metrics.fact_timeline import (
    ROUNDS,
    TOKENS,
    FactTimeline,
    fact_timeline,
    lack,
    share,
)
from compactlab.sim.metrics.metric import Metric
from compactlab.sim.metrics.run_data import RunData

TYPES: tuple[FactType, ...] = get_args(FactType)


def amnesia_need(data: RunData) -> float | None:
    """Share of the needs that the prompt does not meet: the fact miss rate.

    A need is a fact and a call of the script that uses it, while the fact is due. It is met if the
    fact is verbatim or intact in that call's prompt. If the fact's state is unknown, the need is
    left out. Where a conversation has no labels, its actions give the needs (see below).
    """
    timeline = fact_timeline(data)
    return lack(timeline.kept, timeline.needed)


def amnesia_need_effective(data: RunData) -> float | None:
    """Share of the needs that the prompt neither meets nor tells how to fetch.

    As ``amnesia_need``, but retrievable facts count as kept. It does not show whether an agent
    would fetch them, so never show it alone.
    """
    timeline = fact_timeline(data)
    return lack(timeline.within_reach, timeline.needed)


def need_retrievable(data: RunData) -> float | None:
    """Share of the needs whose fact the prompt does not hold, but tells how to fetch."""
    timeline = fact_timeline(data)
    return share((states.retrievable for states in timeline.states), timeline.needed)


def amnesia(data: RunData) -> float | None:
    """Mean over types of the share of due facts that are neither verbatim nor intact.

    For each type separately: all pairs of a call of the script and a due fact of that type, without
    those whose state is unknown, and the share of these pairs in another state than verbatim or
    intact. Types without such pairs are left out. The mean is over types, so that a type with many
    facts does not dominate.
    """
    timeline = fact_timeline(data)
    return timeline.amnesia(timeline.kept, timeline.known)


def amnesia_effective(data: RunData) -> float | None:
    """The same mean, but retrievable facts count as kept; never show it alone."""
    timeline = fact_timeline(data)
    return timeline.amnesia(timeline.within_reach, timeline.known)


def _of_type(kind: FactType) -> Callable[[RunData], float | None]:
    def of_type(data: RunData) -> float | None:
        timeline = fact_timeline(data)
        facts = timeline.ledger.of_kind.get(kind, 0)
        return lack(timeline.kept, [due & facts for due in timeline.known])

    of_type.__name__ = of_type.__qualname__ = f"amnesia_{kind}"
    of_type.__doc__ = f"Share of due facts of type {kind} that are neither verbatim nor intact."
    return of_type


_AMNESIA = "amnesia as the project's notes on metrics define it, section 4"
_NEEDS = "sum of missed needs over sum of needs, of all calls"
_TYPES = "mean over types of one less facts kept over facts due, each summed over calls"
_PAIRS = "one less facts kept over facts due, each summed over calls"

MEMORY = (
    Metric("share", "lower", "fact miss rate: facts that a call uses and its prompt does not hold",
           _NEEDS, _AMNESIA, amnesia_need),
    Metric("share", "lower", "the same, without facts that its prompt tells how to fetch",
           _NEEDS, _AMNESIA, amnesia_need_effective),
    Metric("share", "neither", "facts that a call uses and its prompt only tells how to fetch",
           "sum of such needs over sum of needs, of all calls", _AMNESIA, need_retrievable),
    Metric("share", "lower", "facts due at a call that its prompt does not hold, by type",
           _TYPES, _AMNESIA, amnesia),
    Metric("share", "lower", "the same, without facts that its prompt tells how to fetch",
           _TYPES, _AMNESIA, amnesia_effective),
    *(
        Metric("share", "lower", f"facts due at a call that its prompt does not hold: {kind}",
               _PAIRS, _AMNESIA, _of_type(kind))
        for kind in TYPES
    ),
)  # fmt: skip


# Amnesia by age of the facts.

Clock = Literal["tokens", "turns", "rounds"]

_MEASURED = {
    "tokens": "measured in tokens of the log after the message that stated it last, as the model "
    "of the first call counts them",
    "turns": "measured in turns of the user; the turn in which it was stated last is the first",
    "rounds": "measured in compactions since it was stated last",
}


def _aged(
    name: str, words: str, clock: Clock, low: int, high: int | None
) -> Callable[[RunData], float | None]:
    def aged(data: RunData) -> float | None:
        timeline: FactTimeline = fact_timeline(data)
        among = getattr(timeline, clock).between(low, high)
        return timeline.amnesia(timeline.kept, [*map(and_, timeline.known, among)])

    aged.__name__ = aged.__qualname__ = f"amnesia_{name}"
    aged.__doc__ = (
        f"Amnesia of facts at the age of {words}, as the mean over types.\n\n"
        f"A fact's age at a call is {_MEASURED[clock]}."
    )
    return aged


def _metric(name: str, words: str, clock: Clock, low: int, high: int | None) -> Metric:
    return Metric(
        "share",
        "lower",
        f"facts due that the prompt does not hold, stated {words} ago",
        _TYPES,
        _AGE_CURVE,
        _aged(name, words, clock, low, high),
    )


_AGE_CURVE = "age curve as the project's notes on metrics define it, section 4"
_TURNS = (1, 5, 20, 100)

BY_AGE = (
    *(
        _metric(f"age_{high // 1000}k", f"{low // 1000} to {high // 1000}k tokens",
                "tokens", low, high)
        for low, high in pairwise((0, *TOKENS))
    ),
    _metric("age_more", f"{TOKENS[-1] // 1000}k tokens or more", "tokens", TOKENS[-1], None),
    *(
        _metric(f"turns_{high}", f"{low + 1} to {high} turns" if low else "1 turn",
                "turns", low, high)
        for low, high in pairwise((0, *_TURNS))
    ),
    _metric("turns_more", f"more than {_TURNS[-1]} turns", "turns", _TURNS[-1], None),
    *(
        _metric(f"round_{low}", f"{low} compactions", "rounds", low, high)
        for low, high in pairwise((0, *ROUNDS))
    ),
)  # fmt: skip


# Immediate amnesia: facts stated just before a compaction that it removed.

LAST = (1, 2, 5, 10)  # turns of the user: project's notes on metrics, section 4, IA@k


def _in_turns(count: int) -> Callable[[RunData], float | None]:
    def immediate(data: RunData) -> float | None:
        timeline = fact_timeline(data)
        due = [
            facts if compacted else 0
            for facts, compacted in zip(timeline.known, timeline.rounds_made, strict=True)
        ]
        return lack(timeline.kept, [*map(and_, due, timeline.turns.within(count))])

    immediate.__name__ = immediate.__qualname__ = f"immediate_amnesia_{count}"
    immediate.__doc__ = (
        f"Immediate amnesia, IA@{count}: the share of facts stated in the last {_words(count)} of "
        "the user that the first prompt after a compaction no longer holds.\n\n"
        "Facts due at the first call of the script after each compaction and stated in those "
        "turns; the turn of the call is the first. The share that is neither verbatim nor intact. "
        "Facts of all compactions are summed, so a compaction after many statements weighs more."
    )
    return immediate


def _words(count: int) -> str:
    return "turn" if count == 1 else f"{count} turns"


_IMMEDIATE = "immediate amnesia as the project's notes on metrics define it, section 4"

IMMEDIATE = tuple(
    Metric("share", "lower",
           f"facts of the last {_words(count)} that a compaction removed (IA@{count})",
           "one less facts kept over facts due, each summed over compactions", _IMMEDIATE,
           _in_turns(count))
    for count in LAST
)  # fmt: skip


# States of due facts: amnesia summarises them.


def _in_state(state: str) -> Callable[[RunData], float | None]:
    def occupancy(data: RunData) -> float | None:
        timeline = fact_timeline(data)
        return share(map(attrgetter(state), timeline.states), timeline.due)

    occupancy.__name__ = occupancy.__qualname__ = f"occupancy_{state}"
    occupancy.__doc__ = (
        f"Share of due facts that are in the state {state}.\n\n"
        "All pairs of a call of the script and a due fact. The shares of all states add up to 1."
    )
    return occupancy


OCCUPANCY = tuple(
    Metric("share", "neither", f"due facts in the state {state}",
           "sum of such facts over sum of due facts, of all calls",
           "states as the project's notes on metrics define them, section 4", _in_state(state))
    for state in STATES
)  # fmt: skip


# Errors in a prompt: old values, changed ones, and deleted facts.

# Project's notes on metrics, sections 0.4 and 4: a damaged rule did more harm than a missing one.
MUTATED, LOST = 1.5, 1.0


def stale(data: RunData) -> float | None:
    """Share of revised facts of which the prompt holds only an older value.

    A revised fact is due and supersedes others, at each call of the script: the end of a task does,
    too, so the states stale and resurrected count. Facts whose state is unknown are left out.
    """
    timeline = fact_timeline(data)
    revised = timeline.ledger.revised
    due = [facts & revised for facts in timeline.known]
    return share((states.outdated for states in timeline.states), due)


def conflict(data: RunData) -> float | None:
    """Share of revised facts whose new and old value both appear, with nothing to order them.

    Only text that is not the log's own counts: verbatim text is in the log's order.
    """
    timeline = fact_timeline(data)
    revised = timeline.ledger.revised
    due = [facts & revised for facts in timeline.known]
    return share((states.conflict for states in timeline.states), due)


def cascade(data: RunData) -> float | None:
    """Share of dependents of a changed fact that are held unchanged, without the change.

    A dependent is a due fact that follows, directly or through others, from a superseded fact; its
    value dates from before the change. It counts as an error if it is verbatim or intact while none
    of the facts that supersede the changed one is: the agent then relies on a value that it cannot
    know to be out of date. If the change is in the prompt, too, the agent can know. A dependent
    that has been superseded itself is no longer due, and its successor may be stale. All dependents
    at all calls of the script count, without those whose state is unknown.
    """
    timeline = fact_timeline(data)
    chains = _Chains(timeline.ledger)
    count = wrong = 0
    for moment, known, retained in zip(
        timeline.moments, timeline.known, timeline.kept, strict=True
    ):
        changed = moment.replaced & chains.premises
        if changed:
            dependents, errors = chains.of(changed, retained)
            count += (dependents & known).bit_count()
            wrong += (errors & known & retained).bit_count()
    return wrong / count if count else None


class _Chains:
    """What follows from which facts, and what supersedes those."""

    def __init__(self, ledger: Ledger) -> None:
        self._following: dict[int, int] = defaultdict(int)
        self._newer: dict[int, int] = defaultdict(int)
        for number in range(len(ledger.facts)):
            for premise in _premises(ledger, number):
                self._following[premise] |= 1 << number
        for number, older in ledger.older.items():
            for each in numbers(older):
                self._newer[each] |= 1 << number
        self.premises = ledger.mask(self._following)

    def of(self, changed: int, kept: int) -> tuple[int, int]:
        """What follows from changed facts, and that of it whose change is not told."""
        dependents = untold = 0
        for premise in numbers(changed):
            dependents |= self._following[premise]
            if not self._newer[premise] & kept:
                untold |= self._following[premise]
        return dependents, untold


def _premises(ledger: Ledger, number: int) -> set[int]:
    """The facts that one follows from, directly or through others."""
    waiting, seen = [*ledger.facts[number].depends_on], set()
    while waiting:
        each = ledger.number[waiting.pop()]
        if each not in seen:
            seen.add(each)
            waiting += ledger.facts[each].depends_on
    return seen - {number}


def deletion_leak(data: RunData) -> float | None:
    """Share of deleted facts that are still verbatim or intact.

    All pairs of a call of the script and a fact that was deleted before it, without those whose
    state is unknown. The deletion itself may be in the prompt, too, so a strategy that keeps
    everything has a leak of 1: the metric shows which facts should be gone, not what an agent would
    believe.
    """
    timeline = fact_timeline(data)
    both = zip(timeline.moments, timeline.states, strict=True)
    return share(timeline.kept, [moment.deleted & ~states.unknown for moment, states in both])


def mutation(data: RunData) -> float | None:
    """Share of due facts that are mutated: another value, or the contrary, is stated.

    All pairs of a call of the script and a due fact, without those whose state is unknown. What
    asks and is stated as decided (the state presumed) counts, too.
    """
    timeline = fact_timeline(data)
    return share((states.changed for states in timeline.states), timeline.known)


def severity(data: RunData) -> float | None:
    """Mutated facts times 1.5, and lost ones and those of state key_only times 1.0, over due facts.

    All pairs of a call of the script and a due fact, without those whose state is unknown. Stale,
    conflicting and retrievable facts have no weight. A damaged rule weighs more than a missing one,
    because agents followed it less. The weights are a choice, not a result.
    """
    mutated = mutation(data)
    timeline = fact_timeline(data)
    lost = share((states.lost | states.key_only for states in timeline.states), timeline.known)
    return None if mutated is None or lost is None else MUTATED * mutated + LOST * lost


_ERRORS = "errors as the project's notes on metrics define them, section 4"
_REVISED = "sum of such facts over sum of revised facts, of all calls"
_DUE = "sum of such facts over sum of due facts, of all calls"

CORRUPTION = (
    Metric("share", "lower", "revised facts of which the prompt holds only an older value",
           _REVISED, _ERRORS, stale),
    Metric("share", "lower", "revised facts whose old and new value both appear, unordered",
           _REVISED, _ERRORS, conflict),
    Metric("share", "lower", "facts held unchanged although a fact that they follow from changed",
           "sum of such facts over sum of dependents of changed facts, of all calls",
           "own, after the cascades of MEME, arXiv 2605.12477", cascade),
    Metric("share", "lower", "deleted facts that the prompt still holds",
           "sum of such facts over sum of deleted facts, of all calls", _ERRORS, deletion_leak),
    Metric("share", "lower", "due facts whose value or polarity was changed", _DUE, _ERRORS,
           mutation),
    Metric("ratio", "lower", "changed facts times 1.5 and lost ones times 1.0, over due facts",
           "sum of weighted facts over sum of due facts, of all calls", _ERRORS, severity),
)  # fmt: skip


# Open loops and standing instructions.


def open_loops(data: RunData) -> float | None:
    """Share of open loops that are verbatim or intact.

    All pairs of a call of the script and an open loop that has not been closed, without those whose
    state is unknown.
    """
    timeline = fact_timeline(data)
    loops = timeline.ledger.of_kind.get("open_loop", 0)
    return share(timeline.kept, [due & loops for due in timeline.known])


def _instruction(
    polarity: Literal["must", "must_not"], words: str
) -> Callable[[RunData], float | None]:
    def instruction(data: RunData) -> float | None:
        timeline = fact_timeline(data)
        asked = timeline.ledger.mask(
            number
            for number, fact in enumerate(timeline.ledger.facts)
            if fact.polarity == polarity and fact.scope == "session"
        )
        return share(timeline.kept, [due & asked for due in timeline.known])

    instruction.__name__ = instruction.__qualname__ = f"instruction_{polarity}"
    instruction.__doc__ = (
        f"Share of standing instructions to {words} that are verbatim or intact.\n\n"
        f"All pairs of a call of the script and a due fact of polarity {polarity} whose scope is "
        "the rest of the session, without those whose state is unknown."
    )
    return instruction


_DEFINED = "{} as the project's notes on metrics define it, section 4"
_LOOPS, _KEPT = _DEFINED.format("open loops kept"), _DEFINED.format("instruction persistence")
_SUM = "sum of facts kept over sum of facts due, of all calls"

INSTRUCTIONS = (
    Metric("share", "higher", "open loops that the prompt still states", _SUM, _LOOPS, open_loops),
    Metric("share", "higher", "standing instructions to do something that the prompt holds",
           _SUM, _KEPT, _instruction("must", "do something")),
    Metric("share", "higher", "standing instructions not to do something that the prompt holds",
           _SUM, _KEPT, _instruction("must_not", "avoid something")),
)  # fmt: skip
