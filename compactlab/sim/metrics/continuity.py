"""How smoothly the work goes on: what the next actions need, what the tail still says."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from compactlab.sim.message import Message, Part
from compactlab.sim.metrics.reading import RECENT, Change, Reading
from compactlab.sim.model import find_model
from compactlab.sim.needs import ForwardNeeds, forward_needs
from compactlab.sim.prompt import blocks_of
from compactlab.sim.trace import Step
from compactlab.sim.view import Messages


def forward_need(reading: Reading) -> float | None:
    """Share of the words that the next five actions use, and that had appeared, in context."""
    needs = forward_needs(reading.conversation)
    held = _Held(needs)
    met = wanted = 0
    for change in reading.changes:
        held.move(change)
        needed = needs.needed[change.step.answer]
        wanted += len(needed)
        met += held.count(needed)
    return met / wanted if wanted else None


class _Held:
    """Which words stand in a prompt from which messages go and to which they come."""

    def __init__(self, needs: ForwardNeeds) -> None:
        self._needs = needs
        self._counts = [0] * needs.size
        self._system: tuple[Part, ...] = ()

    def move(self, change: Change) -> None:
        """Become the next prompt."""
        counts, held_in = self._counts, self._needs.held_in
        for message in change.gone:
            for number in held_in(message):
                counts[number] -= 1
        for message in change.come:
            for number in held_in(message):
                counts[number] += 1
        if change.step.system is not self._system:
            for number in self._needs.held_by(self._system):
                counts[number] -= 1
            self._system = change.step.system
            for number in self._needs.held_by(self._system):
                counts[number] += 1

    def count(self, numbers: tuple[int, ...]) -> int:
        """How many of some words stand in the prompt."""
        return len(numbers) - [*map(self._counts.__getitem__, numbers)].count(0)


def verbatim_recency(reading: Reading) -> float | None:
    """Mean over compactions of the share of the last ten messages that the prompt ends with."""
    shares = [
        _tail_share(change.step, change.tail)
        for change in reading.changes
        if change.step.compaction
    ]
    return sum(shares) / len(shares) if shares else None


def _tail_share(step: Step, tail: Messages) -> float:
    tokens = blocks_of(find_model(step.model).tokenizer).tokens
    recent = step.log[-RECENT:]
    kept = 0
    for said, sent in zip(reversed(recent), reversed(tail), strict=False):
        if said is not sent and said != sent:
            break
        kept += 1
    total = recent.total(tokens)
    return recent[len(recent) - kept :].total(tokens) / total if total else 1.0


def structural_validity(reading: Reading) -> float | None:
    """One less the faults per message, over all prompts: what a provider would reject."""
    faults = _Faults()
    found = messages = 0
    for change in reading.changes:
        for message in change.gone:
            faults.update(message, -1)
        for message in change.come:
            faults.update(message, 1)
        if change.first is None:
            # No provider takes a prompt without messages: all that was said is at fault.
            found += len(change.step.log) or 1
            messages += len(change.step.log) or 1
        else:
            found += faults.count + (change.first.role != "user")
            messages += change.length
    return max(0.0, 1 - found / messages) if messages else None


class _Faults:
    """Counts faults in a prompt from which messages go and to which they come."""

    def __init__(self) -> None:
        self.count = 0
        self._pairs: dict[str, _Pair] = defaultdict(_Pair)
        self._ids: Counter[str] = Counter()

    def update(self, message: Message, by: int) -> None:
        """Count a message in (1) or out (-1)."""
        self._ids[message.id] += by
        if self._ids[message.id] > (by > 0):
            self.count += by
        empty = True
        for part in message.parts:
            if part.text or part.size:
                empty = False
            if part.type in ("tool_call", "tool_result"):
                pair = self._pairs[part.call_id]
                before = pair.faults
                pair.update(part.type == "tool_call", by)
                self.count += pair.faults - before
        if empty:
            self.count += by


@dataclass
class _Pair:
    """Calls and results of one id; a result that comes before its call is answered by none."""

    calls: int = 0
    results: int = 0
    early: int = 0

    @property
    def faults(self) -> int:
        """Calls without a result, and results without a call before them."""
        return self.early + abs(self.calls - (self.results - self.early))

    def update(self, is_call: bool, by: int) -> None:
        """Count a call or a result in (1) or out (-1)."""
        if is_call:
            self.calls += by
            return
        if by > 0:
            self.early += not self.calls
        elif self.early:
            self.early -= 1
        self.results += by
