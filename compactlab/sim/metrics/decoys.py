"""Facts that were never stated, and are found all the same: what chance alone would keep."""

from __future__ import annotations

from collections.abc import Iterable

from compactlab.sim.conversation import Fact
from compactlab.sim.facts.counts import Counts
from compactlab.sim.facts.ledger import Ledger, numbers
from compactlab.sim.facts.wording import Wording, normal
from compactlab.sim.message import Message, Part
from compactlab.sim.metrics.reading import Reading
from compactlab.sim.metrics.shared import shared


@shared
def decoys_said(reading: Reading) -> list[int]:
    """Of each step, the decoys that its prompt says, as bits.

    A decoy has no origin, so any part may say it. Only parts that are not verbatim are asked: a
    fact whose words stand there as they were said is found by where they come from, and chance has
    no hand in it; other words make a fact intact, and these may do so by chance.
    """
    ledger = reading.ledger
    if not ledger.decoys:
        return [0] * len(reading.trace.steps)
    ear, said = _Ear(ledger), Counts()
    system: tuple[Part, ...] = ()
    found = []
    for change in reading.changes:
        for message in change.gone:
            said.take(ear.message(message))
        for message in change.come:
            said.add(ear.message(message))
        if change.step.system is not system:
            said.take(ear.parts(system))
            system = change.step.system
            said.add(ear.parts(system))
        found.append(said.bits)
    return found


class _Ear:
    """Hears decoys in what a strategy has made."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._decoys = [
            (1 << number, ledger.facts[number], _names(ledger.facts[number]))
            for number in numbers(ledger.decoys)
        ]
        self._heard: dict[str, int] = {}
        self._known: dict[int, tuple[Message, int]] = {}

    def message(self, message: Message) -> int:
        """The decoys that a message says."""
        if self._ledger.messages.get(message.id) is message:
            return 0
        known = self._known.get(id(message))
        if known is None:
            # The message is held too: an id may be given again once its object is gone.
            known = self._known[id(message)] = message, self.parts(message.parts)
        return known[1]

    def parts(self, parts: Iterable[Part]) -> int:
        """The decoys that parts say."""
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
            # Cutting a text into words is dear, and most texts have nothing to do with any decoy.
            wording = Wording(text if named else "")
            known = sum(bit for bit, decoy, _ in named if wording.says(decoy).intact)
            self._heard[text] = known
        return known


def _names(fact: Fact) -> list[str]:
    """What a text must hold, one of them, to say a fact."""
    names = [name for name in (fact.key, *fact.aliases) if name]
    return [normal(name) for name in names or (fact.value, *fact.variants)]
