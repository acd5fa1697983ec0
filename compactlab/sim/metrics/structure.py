"""Structural faults of prompts, and prompts that providers would reject."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from compactlab.sim.core.message import SUMMARY, Message
from compactlab.sim.metrics.metric import OVER_CALLS, metric
from compactlab.sim.metrics.run_data import RunData, shared


@metric(
    "share", "higher", "one less faults over messages, each summed over calls", label="validity"
)
def structural_validity(data: RunData) -> float | None:
    """Share of the messages without a structural fault.

    Faults are: a tool result without its call before it, a call without its result, two messages of
    the same id, a message without content, a prompt that does not begin with a user message (the
    provider ignores content before its own compaction block), and stacked summaries. Of several
    summaries of the same message, all but one are faults; the message with the most summaries
    counts. In a prompt without messages, every message so far is a fault. Successive messages of
    one role are no fault: providers merge them, and every client sends attachments next to the
    user's text. Recordings have faults of their own (an aborted call); ``keep_all`` shows their
    number.
    """
    soundness = _soundness(data)
    if not soundness.messages:
        return None
    return max(0.0, 1 - soundness.faults / soundness.messages)


@metric("calls", "lower", OVER_CALLS)
def rejected_calls(data: RunData) -> int:
    """Calls whose prompt no provider would accept.

    The prompt has a tool result without its call before it, or a call without its result, or no
    message. Other faults do not count, because only some providers reject them. Faults of the
    recording count, too: ``keep_all`` shows their number.
    """
    return _soundness(data).rejected


@metric("messages", "lower", "count over the run", "openclaw pull request 17345", aggregation="sum")
def broken_references(data: RunData) -> int:
    """Pointers to content in files that is missing or changed.

    Each pointer of the session counts once, if its content is gone or has another hash when the
    pointer first appears. Other paths, such as those of read files, are not pointers. 0 for
    strategies that move no content to files.
    """
    return sum(len(step.outside.broken) for step in data.trace.steps)


class _Soundness(NamedTuple):
    """Faults and messages of all prompts, and the prompts that would be rejected."""

    faults: int
    messages: int
    rejected: int


_PAIR = ("tool_call", "tool_result")


@shared
def _soundness(data: RunData) -> _Soundness:
    faults = _Faults()
    count = messages = rejected = 0
    for step, gone, come, moved, placed, length, first, _ in data.changes:
        # In the order of the prompts: whether a result is early depends on earlier messages. For
        # moved messages, that can change if their calls or results were removed or added.
        ids = {id for message in chain(gone, come) for id in _paired(message)} if moved else set()
        again = [m for m in moved if not ids.isdisjoint(_paired(m))] if ids else ()
        for message in chain(gone, again):
            faults.update(message, -1)
        for message in chain(come[:placed], again, come[placed:]):
            faults.update(message, 1)
        if first is None:
            # No provider accepts a prompt without messages: every message so far is a fault.
            count += len(step.log) or 1
            messages += len(step.log) or 1
            rejected += 1
        else:
            count += faults.count + faults.orphans + faults.stacks.count
            # A prompt must begin with a user message; but the provider ignores messages before its
            # own compaction block, which is an agent message.
            count += first.role != "user" and first.origin != SUMMARY
            messages += length
            rejected += faults.orphans > 0
    return _Soundness(count, messages, rejected)


def _paired(message: Message) -> list[str]:
    """The ids of the calls and results in a message."""
    return [part.call_id for part in message.parts if part.type in _PAIR]


class _Faults:
    """Counts faults in a prompt as messages are removed and added.

    Calls and results without a partner are counted separately.
    """

    def __init__(self) -> None:
        self.count = 0
        self.orphans = 0
        self.stacks = _Stacks()
        self._pairs: dict[str, _Pair] = defaultdict(_Pair)
        self._ids: dict[str, int] = {}

    def update(self, message: Message, by: int) -> None:
        """Count a message in (1) or out (-1)."""
        id = message.id
        times = self._ids[id] = self._ids.get(id, 0) + by
        if times > (by > 0):
            self.count += by
        empty, sums_up = True, False
        for part in message.parts:
            if part.text or part.size:
                empty = False
            if part.kind == "summary":
                sums_up = True
            if part.type in _PAIR:
                self.orphans += self._pairs[part.call_id].update(part.type == "tool_call", by)
        if empty:
            self.count += by
        if sums_up:
            self.stacks.update(message, by)


class _Stacks:
    """Counts summaries with the same sources as another one in the prompt.

    The replacement of a single tool result is not a summary.
    """

    def __init__(self) -> None:
        self.count = 0
        self._standing: Counter[str] = Counter()

    def update(self, message: Message, by: int) -> None:
        """Count a message with a summary in (1) or out (-1)."""
        parts = (p for p in message.parts if p.kind == "summary" and p.type == "text")
        for id in {source.id for part in parts for source in part.sources}:
            self._standing[id] += by
        self.count = max(0, max(self._standing.values(), default=0) - 1)


@dataclass(slots=True)
class _Pair:
    """Calls and results of one id; a result before its call does not match it.

    Its faults are calls without a result, and results without a previous call.
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
