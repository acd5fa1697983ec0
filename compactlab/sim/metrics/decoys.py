"""Decoys, facts that the script never states: how many facts are kept by chance."""

from __future__ import annotations

from collections.abc import Iterable

from compactlab.sim.core.conversation import Fact
from compactlab.sim.core.message import Message, Part
from compactlab.sim.facts.ledger import Ledger, numbers
from compactlab.sim.facts.occurrences import normal
from compactlab.sim.facts.tracker import Counts
from compactlab.sim.facts.wording import Wording
from compactlab.sim.metrics.fact_timeline import fact_timeline, share
from compactlab.sim.metrics.memory import amnesia
from compactlab.sim.metrics.metric import metric
from compactlab.sim.metrics.run_data import RunData, shared

_NOTES = "chance correction: project's notes on metrics, section 4"

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


@metric("share", "lower", "sum of decoys found over sum of decoys, of all calls", _NOTES)
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


@metric(
    "share", "lower", "one less recall above chance over the possible recall above chance", _NOTES
)
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


@metric("share", "lower", "count: 1 if invalid, else 0", _NOTES)
def guessable(data: RunData) -> float | None:
    """1 if the run is invalid for memory: more than 5 % of the decoys are found; else 0."""
    chance = decoys_found(data)
    return None if chance is None else float(chance > INVALID)
