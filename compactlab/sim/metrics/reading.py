"""A trace with its conversation, and what several metrics need of both, made once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from statistics import median
from typing import NamedTuple

from compactlab.sim.conversation import Conversation
from compactlab.sim.facts import Ledger, States, Tracker, ledger_of
from compactlab.sim.message import Message, Usage
from compactlab.sim.messages import Messages
from compactlab.sim.metrics.dead import dead_writes
from compactlab.sim.metrics.payback import Payback, paybacks
from compactlab.sim.metrics.price import above_reading
from compactlab.sim.model import Model
from compactlab.sim.pricing import Charge, Sheet, prices_of
from compactlab.sim.rates import Bill
from compactlab.sim.trace import SideCall, Step, Trace

RECENT = 10
# Calls before a compaction that its spike is measured against.
BASE_CALLS = 5
EMPTY = Messages()


class Change(NamedTuple):
    """How a prompt differs from the one before.

    Whole prompts are not kept: under a strategy that makes each anew, all of them together grow
    with the square of the session.

    Parameters
    ----------
    step
        The call.
    gone, come
        The messages that left, and those that came.
    moved
        What stood behind those that left and was not touched. Of those that came, some may stand
        before it and some behind; see ``placed``.
    placed
        How many of those that came stand before it.
    length
        How many messages the prompt has.
    first
        The first of them.
    tail
        After a compaction, the last ten of them.
    """

    step: Step
    gone: tuple[Message, ...]
    come: tuple[Message, ...]
    moved: Messages
    placed: int
    length: int
    first: Message | None
    tail: Messages


@dataclass(frozen=True)
class Reading:
    """What a metric is computed from.

    Parameters
    ----------
    trace
        What happened.
    conversation
        What it happened to.
    best, worst
        The same in the closed loop, where what is stale or mutated is noticed or used; None where
        the loop was left open.
    """

    trace: Trace
    conversation: Conversation
    best: Reading | None = None
    worst: Reading | None = None

    def beside(self, best: Reading, worst: Reading) -> Reading:
        """The same with its replays in the closed loop; what was computed of it is kept."""
        found = replace(self, best=best, worst=worst)
        vars(found).update({**vars(self), **vars(found)})
        return found

    @cached_property
    def costs(self) -> list[float]:
        """Dollars of each call, without its side calls."""
        return list(map(self.cost, self.trace.steps))

    @cached_property
    def bill(self) -> Bill:
        """Dollars of all calls by class of tokens, without side calls."""
        bills = [self.rates(step).bill(step.usage) for step in self.trace.steps]
        return (
            Bill(*map(math.fsum, zip(*bills, strict=True))) if bills else Bill(0.0, 0.0, 0.0, 0.0)
        )

    def cost(self, call: Step | SideCall) -> float:
        """Dollars for a request, at the prices of its date and size."""
        return self.rates(call).cost(call.usage)

    def rates(self, call: Step | SideCall) -> Charge:
        """The prices of a request, at its date and size."""
        sheet = self._sheets.get(call.model)
        if sheet is None:
            sheet = self._sheets[call.model] = prices_of(self.model(call.model))
        return sheet.rates(call.time, call.usage.prompt)

    def stores(self, call: Step | SideCall) -> bool:
        """Whether anything of a request can be read, or could have been."""
        known = self._stores.get(call.model)
        if known is None:
            policy = self.model(call.model).policy
            known = self._stores[call.model] = policy is not None and policy.lifetime() > 0
        return known

    def model(self, name: str) -> Model:
        """A model that a call names."""
        model = self._models.get(name)
        if model is None:
            model = self._models[name] = self.trace.catalogue.find(name)
        return model

    @cached_property
    def _models(self) -> dict[str, Model]:
        return {}

    @cached_property
    def _sheets(self) -> dict[str, Sheet]:
        return {}

    @cached_property
    def _stores(self) -> dict[str, bool]:
        return {}

    @cached_property
    def side_calls(self) -> list[SideCall]:
        """All side calls in order."""
        return [call for step in self.trace.steps for call in step.side]

    @cached_property
    def requests(self) -> list[Step | SideCall]:
        """All calls and side calls, in the order in which they were made."""
        made: list[Step | SideCall] = [*self.trace.steps, *self.side_calls]
        return sorted(made, key=lambda each: each.place.number)

    @cached_property
    def dead(self) -> list[int]:
        """Of each request, the tokens that it wrote and no later one has read."""
        return dead_writes(self.requests)

    @cached_property
    def premiums(self) -> list[float]:
        """Of each request, the dollars above reading what need not have been fresh."""
        return [above_reading(self, request) for request in self.requests]

    @cached_property
    def causes(self) -> Counter[str]:
        """Fresh tokens by cause, those of side calls among them."""
        found: Counter[str] = Counter()
        for each in self.requests:
            for cause, tokens in each.causes.items():
                found[cause] += tokens
        return found

    @cached_property
    def paybacks(self) -> list[Payback]:
        """Of each compaction, what it cost and what it saved."""
        return paybacks(self.trace.steps, self)

    @cached_property
    def usage(self) -> Usage:
        """Tokens of all calls and side calls together."""
        calls = [step.usage for step in self.trace.steps] + [c.usage for c in self.side_calls]
        return Usage(*(sum(map(attrgetter(name), calls)) for name in Usage.__struct_fields__))

    @cached_property
    def prompts(self) -> list[int]:
        """Tokens of each call's prompt."""
        return [step.usage.prompt for step in self.trace.steps]

    @cached_property
    def fresh(self) -> list[int]:
        """Tokens of each call's prompt that were not read from the cache."""
        steps = self.trace.steps
        return [n - step.usage.cache_read for n, step in zip(self.prompts, steps, strict=True)]

    @cached_property
    def spikes(self) -> list[tuple[int, float]]:
        """For each compaction: fresh tokens of its call, and the median of the calls before."""
        fresh = self.fresh
        return [
            (fresh[i], median(fresh[max(0, i - BASE_CALLS) : i]))
            for i, step in enumerate(self.trace.steps)
            if step.compaction and i
        ]

    @cached_property
    def changes(self) -> list[Change]:
        """How the prompt changed from each call to the next."""
        changes = []
        before = EMPTY
        for step, prompt in zip(self.trace.steps, self.trace.prompts(), strict=True):
            shared, length = step.shared, len(prompt)
            gone: Iterable[Message] = ()
            come: Iterable[Message] = step.added
            moved, placed = EMPTY, 0
            if shared < len(before):
                if before.stored_with(prompt):
                    gone, come = before[shared:].difference(prompt[shared:])
                else:
                    # Whatever stands before what was moved may have changed its order.
                    same, left, new = before.edit(prompt)
                    gone, moved, placed = before[same:left], before[left:], new - same
                    come = (*prompt[same:new], *prompt[new + len(moved) :])
            tail = prompt[-RECENT:] if step.compaction else EMPTY
            first = prompt[0] if length else None
            changes.append(
                Change(step, tuple(gone), tuple(come), moved, placed, length, first, tail)
            )
            before = prompt
        return changes

    @property
    def ledger(self) -> Ledger:
        """What the script states, takes back and needs."""
        return ledger_of(self.conversation)

    @property
    def states(self) -> list[States]:
        """Of each call, the state of every fact in its prompt."""
        return self._followed[0]

    @property
    def memory(self) -> list[int]:
        """Of each call, the facts that the agent's memory holds, as bits."""
        return self._followed[1]

    @cached_property
    def _followed(self) -> tuple[list[States], list[int]]:
        stored: dict[str, str] = {}
        tracker = Tracker(self.ledger, stored)
        states, memory = [], []
        for change in self.changes:
            step = change.step
            for message in step.born:
                tracker.hear(message)
            stored.update(step.outside.stored)
            tracker.remember(step.outside.notes)
            states.append(tracker.change(change.gone, change.come, step.system))
            memory.append(tracker.memory)
        return states, memory
