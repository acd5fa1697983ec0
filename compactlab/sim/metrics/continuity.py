"""How smoothly the work goes on: what the next actions need, what the tail still says."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import or_

from compactlab.sim.blocks import blocks_of
from compactlab.sim.message import Message, Part
from compactlab.sim.metrics.metric import OWN, Metric
from compactlab.sim.metrics.reading import RECENT, Reading
from compactlab.sim.model import Model
from compactlab.sim.needs import bits, forward_needs
from compactlab.sim.trace import Step
from compactlab.sim.view import Messages


def forward_need(reading: Reading) -> float | None:
    """Share of the words that the next five actions use, and that had appeared, in context."""
    needs = forward_needs(reading.conversation)
    held = _Held()
    met = wanted = 0
    system: tuple[Part, ...] = ()
    for step, gone, come, *_ in reading.changes:
        for message in gone:
            held.take(needs.bits_in(message))
        for message in come:
            held.add(needs.bits_in(message))
        if step.system is not system:
            held.take(bits(needs.held_by(system)))
            system = step.system
            held.add(bits(needs.held_by(system)))
        needed = needs.wanted[5][step.answer]
        wanted += needed.bit_count()
        met += (held.words & needed).bit_count()
    return met / wanted if wanted else None


class _Held:
    """How many messages of a prompt hold each word, for all words at once.

    A word is a bit. The first plane has the last binary digits of all words' counts, the next one
    those before them: adding a message is adding 1 to many counts, in as many steps as they have
    digits.
    """

    def __init__(self) -> None:
        self._planes: list[int] = []

    def add(self, words: int) -> None:
        """Count words in; what is left over at one digit is carried to the next."""
        planes = self._planes
        for digit, plane in enumerate(planes):
            planes[digit] = plane ^ words
            words &= plane
            if not words:
                return
        planes.append(words)

    def take(self, words: int) -> None:
        """Count words out that had been counted in; what is missing is borrowed."""
        planes = self._planes
        for digit, plane in enumerate(planes):
            planes[digit] = plane ^ words
            words &= planes[digit]
            if not words:
                return

    @property
    def words(self) -> int:
        """Those whose count is not 0."""
        return reduce(or_, self._planes, 0)


def verbatim_recency(reading: Reading) -> float | None:
    """Mean over compactions of the share of the last ten messages that the prompt ends with."""
    shares = [
        _tail_share(change.step, change.tail, reading.model(change.step.model))
        for change in reading.changes
        if change.step.compaction
    ]
    return sum(shares) / len(shares) if shares else None


def _tail_share(step: Step, tail: Messages, model: Model) -> float:
    recent = step.log[-RECENT:]
    if recent == tail:
        return 1.0
    tokens = blocks_of(model.tokenizer).weight
    kept = 0
    for said, sent in zip(reversed(recent), reversed(tail), strict=False):
        if said is not sent and said != sent:
            break
        kept += 1
    total = recent.total(tokens)
    return recent[len(recent) - kept :].total(tokens) / total if total else 1.0


# A prompt begins with the user; but what stands before a provider's own compaction block, which is
# the agent's, the provider itself ignores.
_BLOCK = "compactionSummary"


def structural_validity(reading: Reading) -> float | None:
    """One less the faults per message, over all prompts: what a provider would reject."""
    faults = _Faults()
    found = messages = 0
    for step, gone, come, moved, placed, length, first, _ in reading.changes:
        # In the order of the prompts: whether a result is early depends on what stands before it.
        for message in chain(gone, moved):
            faults.update(message, -1)
        for message in chain(come[:placed], moved, come[placed:]):
            faults.update(message, 1)
        if first is None:
            # No provider takes a prompt without messages: all that was said is at fault.
            found += len(step.log) or 1
            messages += len(step.log) or 1
        else:
            found += faults.count + (first.role != "user" and first.origin != _BLOCK)
            messages += length
    return max(0.0, 1 - found / messages) if messages else None


class _Faults:
    """Counts faults in a prompt from which messages go and to which they come."""

    def __init__(self) -> None:
        self.count = 0
        self._pairs: dict[str, _Pair] = defaultdict(_Pair)
        self._ids: dict[str, int] = {}

    def update(self, message: Message, by: int) -> None:
        """Count a message in (1) or out (-1)."""
        id = message.id
        times = self._ids[id] = self._ids.get(id, 0) + by
        if times > (by > 0):
            self.count += by
        empty = True
        for part in message.parts:
            if part.text or part.size:
                empty = False
            if part.type in {"tool_call", "tool_result"}:
                self.count += self._pairs[part.call_id].update(part.type == "tool_call", by)
        if empty:
            self.count += by


@dataclass(slots=True)
class _Pair:
    """Calls and results of one id; a result that comes before its call is answered by none.

    Its faults are calls without a result, and results without a call before them.
    """

    calls: int = 0
    results: int = 0
    early: int = 0
    faults: int = 0

    def update(self, is_call: bool, by: int) -> int:
        """Count a call or a result in (1) or out (-1); return by how much the faults change."""
        if is_call:
            self.calls += by
        else:
            if by > 0:
                self.early += not self.calls
            elif self.early:
                self.early -= 1
            self.results += by
        before = self.faults
        self.faults = self.early + abs(self.calls - (self.results - self.early))
        return self.faults - before


_SLIPSTREAM = "the recorded future as ground truth, arXiv 2605.08580"

METRICS = (
    Metric("share", "higher", "of the last ten messages, what the prompt ends with (VRC@10)",
           "mean over compactions", OWN, verbatim_recency),
    Metric("share", "higher", "of what the next five actions use, what is in context (FNC@5)",
           "sum of what is in context over sum of what is used, of all calls",
           _SLIPSTREAM, forward_need),
    Metric("share", "higher", "messages without a fault that a provider would reject",
           "one less faults over messages, each summed over calls", OWN, structural_validity),
)  # fmt: skip
