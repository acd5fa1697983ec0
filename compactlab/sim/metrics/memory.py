"""Amnesia: the share of required facts that a prompt no longer holds."""

from __future__ import annotations

from itertools import pairwise
from operator import and_
from typing import Literal, NamedTuple, get_args

from compactlab.sim.core.conversation import FactType
from compactlab.sim.metrics.fact_timeline import (
    ROUNDS,
    TOKENS,
    fact_timeline,
    lack,
    share,
)
from compactlab.sim.metrics.metric import Member, metric
from compactlab.sim.metrics.run_data import RunData

_AMNESIA = "amnesia: project's notes on metrics, section 4"
_NEEDS = "sum of missed needs over sum of needs, of all calls"
_TYPES = "mean over types of one less facts kept over facts due, each summed over calls"
_PAIRS = "one less facts kept over facts due, each summed over calls"

TYPES: tuple[FactType, ...] = get_args(FactType)


@metric("share", "lower", _NEEDS, _AMNESIA, label="miss rate, all needs")
def amnesia_need(data: RunData) -> float | None:
    """Fact miss rate: share of the needs that the prompt does not meet.

    A need is a fact and a call of the script that uses it, while the fact is due. It is met if the
    fact is verbatim or intact in that call's prompt. If the fact's state is unknown, the need is
    left out. If a conversation has no labels, needs are inferred from its actions (see below).
    """
    timeline = fact_timeline(data)
    return lack(timeline.kept, timeline.needed)


@metric("share", "lower", _NEEDS, _AMNESIA, label="not retrievable")
def amnesia_need_effective(data: RunData) -> float | None:
    """Share of the needs that are neither met nor retrievable.

    As ``amnesia_need``, but retrievable facts count as kept. It does not show whether an agent
    would fetch them, so never show it alone.
    """
    timeline = fact_timeline(data)
    return lack(timeline.within_reach, timeline.needed)


@metric("share", "neither", "sum of such needs over sum of needs, of all calls", _AMNESIA)
def need_retrievable(data: RunData) -> float | None:
    """Share of the needs that are unmet but retrievable."""
    timeline = fact_timeline(data)
    return share((states.retrievable for states in timeline.states), timeline.needed)


@metric("share", "lower", _TYPES, _AMNESIA, label="mean of fact types")
def amnesia(data: RunData) -> float | None:
    """Share of due facts that the prompt does not hold, as the mean over types.

    For each type separately: all pairs of a call of the script and a due fact of that type, without
    those whose state is unknown, and the share of these pairs in another state than verbatim or
    intact. Types without such pairs are left out. The mean is over types, so that a type with many
    facts does not dominate.
    """
    timeline = fact_timeline(data)
    return timeline.amnesia(timeline.kept, timeline.known)


@metric("share", "lower", _TYPES, _AMNESIA)
def amnesia_effective(data: RunData) -> float | None:
    """As ``amnesia``, but retrievable facts count as held."""
    timeline = fact_timeline(data)
    return timeline.amnesia(timeline.within_reach, timeline.known)


@metric(
    "share",
    "lower",
    _PAIRS,
    _AMNESIA,
    members=[Member(f"amnesia_{t}", t, label=t.replace("_", " ")) for t in TYPES],
)
def _of_type(data: RunData, kind: FactType) -> float | None:
    """Share of due facts of type {} that the prompt does not hold, neither verbatim nor intact."""
    timeline = fact_timeline(data)
    facts = timeline.ledger.of_kind.get(kind, 0)
    return lack(timeline.kept, [due & facts for due in timeline.known])


# Immediate amnesia: a compaction removes facts stated just before it.

LAST = (1, 2, 5, 10)  # numbers of user turns, for IA@k


@metric(
    "share",
    "lower",
    "one less facts kept over facts due, each summed over compactions",
    "immediate amnesia: project's notes on metrics, section 4",
    members=[Member(f"immediate_amnesia_{k}", k, "turn" if k == 1 else f"{k} turns") for k in LAST],
)
def _immediate(data: RunData, turns: int) -> float | None:
    """Share of the facts of the last {} of the user that a compaction removed (IA@k).

    Of the facts due at the first call of the script after each compaction and stated in those turns
    (the call's turn is the first), the share that is neither verbatim nor intact. Facts of all
    compactions are summed, so a compaction after many statements weighs more.
    """
    timeline = fact_timeline(data)
    due = [
        facts if compacted else 0
        for facts, compacted in zip(timeline.known, timeline.rounds_made, strict=True)
    ]
    return lack(timeline.kept, [*map(and_, due, timeline.turns.within(turns))])


# Amnesia by age of the facts.

_TURNS = (1, 5, 20, 100)


class _Span(NamedTuple):
    """Ages of facts, from one to below another."""

    clock: Literal["tokens", "turns", "rounds"]
    low: int
    high: int | None


_AGES = (
    *(
        Member(f"amnesia_age_{high // 1000}k", _Span("tokens", low, high),
               f"{low // 1000} to {high // 1000}k tokens")
        for low, high in pairwise((0, *TOKENS))
    ),
    Member("amnesia_age_more", _Span("tokens", TOKENS[-1], None),
           f"{TOKENS[-1] // 1000}k tokens or more"),
    *(
        Member(f"amnesia_turns_{high}", _Span("turns", low, high),
               f"{low + 1} to {high} turns" if low else "1 turn")
        for low, high in pairwise((0, *_TURNS))
    ),
    Member("amnesia_turns_more", _Span("turns", _TURNS[-1], None), f"more than {_TURNS[-1]} turns"),
    *(
        Member(f"amnesia_round_{low}", _Span("rounds", low, high), f"{low} compactions")
        for low, high in pairwise((0, *ROUNDS))
    ),
)  # fmt: skip


@metric(
    "share",
    "lower",
    _TYPES,
    "age curve: project's notes on metrics, section 4",
    members=_AGES,
)
def _aged(data: RunData, span: _Span) -> float | None:
    """Share of due facts stated {} ago that the prompt does not hold (mean over types).

    A fact's age at a call is measured since its last statement: in tokens of the log, counted by
    the first call's model; in user turns, of which the statement's turn is the first; or in
    compactions.
    """
    timeline = fact_timeline(data)
    among = getattr(timeline, span.clock).between(span.low, span.high)
    return timeline.amnesia(timeline.kept, [*map(and_, timeline.known, among)])
