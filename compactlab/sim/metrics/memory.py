"""What a prompt remembers: recall, and amnesia, the share of required facts that are gone."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import and_
from typing import Literal, NamedTuple, get_args

from compactlab.sim.core.blocks import blocks_of
from compactlab.sim.core.conversation import Fact, FactType, keep_latest, walked
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.facts.ledger import Ledger, numbers
from compactlab.sim.facts.occurrences import normal
from compactlab.sim.facts.tracker import Counts
from compactlab.sim.facts.wording import Wording
from compactlab.sim.metrics.fact_timeline import (
    ROUNDS,
    TOKENS,
    fact_timeline,
    lack,
    share,
)
from compactlab.sim.metrics.metric import OWN, Member, metric
from compactlab.sim.metrics.run_data import RunData, shared

# Lower ends of the steps of distance, in tokens.
LAGS = (0, 1_000, 2_000, 5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 320_000)
# Distances that are figures of a run; one of them is the headline of a comparison.
LONG = LAGS[1:9]

Steps = Mapping[int, int]
"""Of a call: the facts that it needs, as bits, by the step of their lag."""


@dataclass
class _Path:
    """The path to a call; a rewind shortens it."""

    now: int = 0  # tokens of the log
    stated: dict[int, int] = field(default_factory=dict)  # by fact: its last statement

    def copy(self) -> _Path:
        return _Path(self.now, dict(self.stated))


@keep_latest
def lags(ledger: Ledger, tokenizer: Tokenizer) -> dict[str, Steps]:
    """Compute the distance of each need of a script, by the id of the answer that needs it.

    The distance is the number of tokens of the log between the last message that stated the fact
    and the call. It depends only on the script, so it is the same for all strategies. A rewind
    reverts it.
    """
    tokens = blocks_of(tokenizer).weight
    by_answer: dict[str, Steps] = {}
    for path, message in walked(ledger.conversation, _Path()):
        if message.call is not None:
            by_answer[message.id] = dict(_steps(path, ledger.moments[message.id].needed))
        path.now += tokens(message)
        for number, _, _ in ledger.origins.get(message.id, ()):
            path.stated[number] = path.now
    return by_answer


def _steps(path: _Path, needed: int) -> Iterator[tuple[int, int]]:
    steps: dict[int, int] = {}
    for number in numbers(needed):
        step = bisect_right(LAGS, path.now - path.stated[number]) - 1
        steps[step] = steps.get(step, 0) | 1 << number
    yield from sorted(steps.items())


def lag_of(ledger: Ledger, tokenizer: Tokenizer, answer: str, fact: int) -> int | None:
    """The lower end of the step of a need's distance; None if the call does not need the fact.

    The tokenizer is that of the first call's model, the fact its number in the ledger.
    """
    steps = lags(ledger, tokenizer).get(answer, {})
    return next((LAGS[index] for index, facts in steps.items() if facts >> fact & 1), None)


@dataclass(frozen=True)
class Recall:
    """The numbers of needs and of met needs by distance, one for each of :data:`LAGS`."""

    needs: Sequence[int]
    met: Sequence[int]

    def beyond(self, lag: int) -> tuple[int, int]:
        """The numbers of needs, and of met needs, at this distance or more."""
        index = LAGS.index(lag)
        return sum(self.needs[index:]), sum(self.met[index:])


@shared
def recall(data: RunData) -> Recall:
    """Count a replay's needs by distance, without those whose fact has an unknown state."""
    timeline = fact_timeline(data)
    by_answer = lags(timeline.ledger, timeline.tokenizer)
    needs, met = [0] * len(LAGS), [0] * len(LAGS)
    for step, states in zip(timeline.steps, timeline.states, strict=True):
        for index, facts in by_answer[step.answer].items():
            known = facts & ~states.unknown if states.unknown else facts
            needs[index] += known.bit_count()
            met[index] += (known & states.kept).bit_count()
    return Recall(needs, met)


@metric(
    "share",
    "higher",
    "sum of needs met over sum of needs, of all calls",
    "own, docs/metrics.md#recall-by-distance",
    members=[
        Member(
            f"recall_{lag // 1000}k",
            lag,
            f"{lag:,}",
            label=f"recall \N{GREATER-THAN OR EQUAL TO}{lag // 1000}k",
        )
        for lag in LONG
    ],
)
def _recall(data: RunData, lag: int) -> float | None:
    """Share of the needs at a distance of {} tokens or more that the prompt meets.

    A need is a fact and a call of the script that uses it, while the fact is due. Its distance is
    the number of tokens of the log between the last message that stated the fact and the call,
    counted by the first call's model. It depends only on the script, so it is the same for all
    strategies. A need is met if the fact is verbatim or intact in the prompt. Nearly all strategies
    keep the last messages verbatim, so they meet needs at short distances without any summary.
    """
    needs, met = recall(data).beyond(lag)
    return met / needs if needs else None


_NEEDS = "sum of missed needs over sum of needs, of all calls"
_TYPES = "mean over types of one less facts kept over facts due, each summed over calls"
_PAIRS = "one less facts kept over facts due, each summed over calls"

TYPES: tuple[FactType, ...] = get_args(FactType)


@metric("share", "lower", _NEEDS, OWN, label="miss rate, all needs")
def amnesia_need(data: RunData) -> float | None:
    """Fact miss rate: share of the needs that the prompt does not meet.

    A need is a fact and a call of the script that uses it, while the fact is due. It is met if the
    fact is verbatim or intact in that call's prompt. If the fact's state is unknown, the need is
    left out. If a conversation has no labels, needs are inferred from its actions (see below).
    """
    timeline = fact_timeline(data)
    return lack(timeline.kept, timeline.needed)


@metric("share", "lower", _NEEDS, OWN, label="not retrievable")
def amnesia_need_effective(data: RunData) -> float | None:
    """Share of the needs that are neither met nor retrievable.

    As ``amnesia_need``, but retrievable facts count as kept. It does not show whether an agent
    would fetch them, so never show it alone.
    """
    timeline = fact_timeline(data)
    return lack(timeline.within_reach, timeline.needed)


@metric("share", "neither", "sum of such needs over sum of needs, of all calls", OWN)
def need_retrievable(data: RunData) -> float | None:
    """Share of the needs that are unmet but retrievable."""
    timeline = fact_timeline(data)
    return share((states.retrievable for states in timeline.states), timeline.needed)


@metric("share", "lower", _TYPES, OWN, label="mean of fact types")
def amnesia(data: RunData) -> float | None:
    """Share of due facts that the prompt does not hold, as the mean over types.

    For each type separately: all pairs of a call of the script and a due fact of that type, without
    those whose state is unknown, and the share of these pairs in another state than verbatim or
    intact. Types without such pairs are left out. The mean is over types, so that a type with many
    facts does not dominate.
    """
    timeline = fact_timeline(data)
    return timeline.amnesia(timeline.kept, timeline.known)


@metric("share", "lower", _TYPES, OWN)
def amnesia_effective(data: RunData) -> float | None:
    """As ``amnesia``, but retrievable facts count as held."""
    timeline = fact_timeline(data)
    return timeline.amnesia(timeline.within_reach, timeline.known)


@metric(
    "share",
    "lower",
    _PAIRS,
    OWN,
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
    OWN,
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
    OWN,
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


# Decoys: facts that were never stated, so only chance can keep them.


@shared
def decoys_said(data: RunData) -> list[int]:
    """The decoys that each step's prompt states, as bits.

    A decoy has no origin, so any part may state it. Only parts that are not verbatim are checked:
    verbatim facts are known by their origin, not by their words, so chance plays no part.
    """
    ledger = data.ledger
    if not ledger.decoys:
        return [0] * len(data.trace.steps)
    ear, counts = _Ear(ledger), Counts()
    system: tuple[Part, ...] = ()
    states = []
    for change in data.changes:
        for message in change.gone:
            counts.take(ear.message(message))
        for message in change.come:
            counts.add(ear.message(message))
        if change.step.system is not system:
            counts.take(ear.parts(system))
            system = change.step.system
            counts.add(ear.parts(system))
        states.append(counts.bits)
    return states


class _Ear:
    """Finds decoys in messages that a strategy made."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._decoys = [
            (1 << number, ledger.facts[number], _names(ledger.facts[number]))
            for number in numbers(ledger.decoys)
        ]
        self._heard: dict[str, int] = {}
        self._known: dict[int, tuple[Message, int]] = {}

    def message(self, message: Message) -> int:
        """The decoys that a message states."""
        if self._ledger.messages.get(message.id) is message:
            return 0
        known = self._known.get(id(message))
        if known is None:
            # The message is stored, too, because the id of a deleted object may be reused.
            known = self._known[id(message)] = message, self.parts(message.parts)
        return known[1]

    def parts(self, parts: Iterable[Part]) -> int:
        """The decoys that parts state."""
        bits = 0
        for part in parts:
            if part.kind != "verbatim" and part.text:
                bits |= self._text(part.text)
        return bits

    def _text(self, text: str) -> int:
        known = self._heard.get(text)
        if known is None:
            plain = normal(text)
            named = [each for each in self._decoys if any(name in plain for name in each[2])]
            # Cutting a text into words is expensive, and most texts name no decoy.
            wording = Wording(text if named else "")
            known = sum(bit for bit, decoy, _ in named if wording.says(decoy).intact)
            self._heard[text] = known
        return known


def _names(fact: Fact) -> list[str]:
    """Strings of which a text must contain one to state a fact."""
    names = [name for name in (fact.key, *fact.aliases) if name]
    return [normal(name) for name in names or (fact.value, *fact.variants)]


# Corrections for chance.

# Shares of decoys found above which chance is corrected for, and above which a run is invalid
# because its values are too easy to guess.
CORRECTED, INVALID = 0.005, 0.05


@metric("share", "lower", "sum of decoys found over sum of decoys, of all calls", OWN)
def decoys_found(data: RunData) -> float | None:
    """Share of the decoys, never stated, that prompts hold by chance.

    A decoy is generated like a fact and never stated. It counts as found if any part of the prompt
    that is not verbatim states it as an intact fact. Verbatim parts are not checked: their facts
    are known by provenance, not by their words.
    """
    decoys, calls = data.ledger.decoys, len(fact_timeline(data).steps)
    matches = (
        facts
        for facts, step in zip(decoys_said(data), data.trace.steps, strict=True)
        if not step.recovery
    )
    return share(matches, [decoys] * calls)


@metric("share", "lower", "one less recall above chance over the possible recall above chance", OWN)
def amnesia_corrected(data: RunData) -> float | None:
    """Amnesia (mean over types) corrected for chance.

    ``amnesia / (1 - decoys_found)``, at most 1. That is 1 - R* with R* = (R - c) / (1 - c), where R
    is 1 - ``amnesia`` and c ``decoys_found``. It has no value if c is at most 0.5 %: then no
    correction is needed.
    """
    chance, forgotten = decoys_found(data), amnesia(data)
    if chance is None or forgotten is None or not CORRECTED < chance < 1:
        return None
    return min(1.0, forgotten / (1 - chance))


@metric("share", "lower", "count: 1 if invalid, else 0", OWN)
def guessable(data: RunData) -> float | None:
    """1 if the run is invalid for memory: more than 5 % of the decoys are found; else 0."""
    chance = decoys_found(data)
    return None if chance is None else float(chance > INVALID)
