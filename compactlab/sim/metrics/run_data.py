"""A trace with its conversation and prices, and values that several metrics share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from itertools import pairwise
from operator import attrgetter
from statistics import median
from typing import Any, NamedTuple, TypeVar

import msgspec

from compactlab.sim.cache.causes import CAUSES, ORDINARY
from compactlab.sim.core.blocks import blocks_of
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Message, Usage
from compactlab.sim.core.view import Messages
from compactlab.sim.facts import Ledger, States, Tracker, ledger_of
from compactlab.sim.models.model import Model
from compactlab.sim.models.pricing import Charge, Sheet, prices_of
from compactlab.sim.models.rates import Bill, read_instead
from compactlab.sim.replay.trace import SideCall, Step, Trace

Billed = Step | SideCall

# Cache writes that no later request reads. # A request *k* reads `read` tokens and writes up to
# `end`. Its writes are live up to the largest prefix that a later request *j* reads: the maximum
# over all *j* of the smaller of the tokens that *j* reads and the prefix that *k* and *j* share.
# Two prompts share the minimum that is kept on the path between them in the tree of
# :mod:`compactlab.sim.cache.prompt`.


def dead_writes(requests: Sequence[Billed]) -> list[int]:
    """Tokens that each request wrote and no later one read."""
    index = {request.place.number: i for i, request in enumerate(requests)}
    stems = [index.get(request.place.stem, -1) for request in requests]
    reads = [request.place.kept for request in requests]
    forks = _forks(stems, reads)
    # The prefix of a request that its successors have read.
    reached = [0] * len(requests)
    dead = [0] * len(requests)
    for i in range(len(requests) - 1, -1, -1):
        usage = requests[i].usage
        read, written = usage.cache_read, usage.cache_write
        if written:
            live = _live(i, reached, forks)
            dead[i] = max(0, read + written - max(read, live))
        reach, at = read, i
        while stems[at] >= 0:
            reach, at = min(reach, reads[at]), stems[at]
            if reached[at] >= reach:
                break  # and so have its predecessors
            reached[at] = reach
    return dead


def _live(i: int, reached: Sequence[int], forks: Sequence[tuple[int, int]]) -> int:
    """The prefix of a request's prompt that is read later, by the requests that share it."""
    live = reached[i]
    shared, above = forks[i]
    while above >= 0 and shared > live:
        live = max(live, min(shared, reached[above]))
        further, above = forks[above]
        shared = min(shared, further)
    return live


def _forks(stems: Sequence[int], kept: Sequence[int]) -> list[tuple[int, int]]:
    """For each request, its nearest predecessor with other successors, and the shared prefix."""
    children = Counter(stems)
    forks: list[tuple[int, int]] = []
    for stem, shared in zip(stems, kept, strict=True):
        if stem < 0:
            forks.append((0, -1))
        elif children[stem] > 1:
            forks.append((shared, stem))
        else:
            further, above = forks[stem]
            forks.append((min(shared, further), above))
    return forks


# Causes that are a strategy's changes of the prompt.
EDITS = frozenset({"compaction", "history_edit", "system_changed"})
AVOIDABLE = frozenset(CAUSES) - ORDINARY


# Cost, saving and break-even of each compaction.


@dataclass(frozen=True, slots=True)
class Payback:
    """The cost of a compaction, and its saving until the next one."""

    call: int  # its index
    avoidable_cost: float  # dollars of the caused cache misses above a read
    summary: float  # dollars of the summaries requested since the previous compaction
    removed: int  # tokens less than the previous prompt with the messages since
    calls: int  # calls from this one to the next compaction
    saved: float  # dollars to read the removed tokens on these calls

    @property
    def break_even(self) -> float:
        """Calls until it breaks even; infinite if it saves nothing."""
        spent = self.avoidable_cost + self.summary
        if spent <= 0:
            return 0.0
        return spent * self.calls / self.saved if self.saved > 0 else math.inf

    @property
    def paid(self) -> bool:
        """Whether it broke even before the next one, or the end."""
        return self.break_even <= self.calls


def removed_by(last: Step, step: Step, model: Model) -> int:
    """The tokens by which a prompt is smaller than the previous one with the messages since."""
    tokens = blocks_of(model.tokenizer).weight
    come = step.log.total(tokens) - last.log.total(tokens)
    return last.usage.prompt + come - step.usage.prompt


RECENT = 10
# Calls before a compaction with which its spike is compared.
BASE_CALLS = 5
EMPTY = Messages()


class Change(NamedTuple):
    """The difference between a prompt and the previous one.

    Whole prompts are not kept: under a strategy that rewrites each, their total size is quadratic
    in the session.
    """

    step: Step
    gone: tuple[Message, ...]  # the removed messages
    come: tuple[Message, ...]  # the added messages
    # Unchanged messages after the removed ones; some added messages may precede them.
    moved: Messages
    placed: int  # number of added messages before these
    length: int  # number of the prompt's messages
    first: Message | None  # the prompt's first message
    tail: Messages  # after a compaction, the last ten of them


@dataclass(frozen=True)
class RunData:
    """The data of a run from which metrics are computed."""

    trace: Trace
    conversation: Conversation
    # The closed loop in the best case (stale and mutated facts are noticed) and in the worst (they
    # are used); None for an open one.
    best: RunData | None = None
    worst: RunData | None = None
    # The same replay in the open loop with other summarisers, by name; this one if no summary was
    # requested.
    controls: Mapping[str, RunData] = field(default_factory=dict)

    def beside(self, **others: Any) -> RunData:
        """The same data with other replays; computed values are kept."""
        joined = replace(self, **others)
        vars(joined).update({**vars(self), **vars(joined)})
        return joined

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

    def cost(self, call: Billed) -> float:
        """Dollars for a request, at the prices of its date and size."""
        return self.rates(call).cost(call.usage)

    def rates(self, call: Billed) -> Charge:
        """The prices of a request, at its date and size."""
        return self.prices(call.model, call.time, call.usage.prompt)

    def prices(self, model: str, time: float, prompt: int) -> Charge:
        """The prices of a model at a date, for a prompt of some size in tokens."""
        sheet = self._sheets.get(model)
        if sheet is None:
            sheet = self._sheets[model] = prices_of(self.model(model))
        return sheet.rates(time, prompt)

    def stores(self, call: Billed) -> bool:
        """Whether a request can read a cache, or could have."""
        known = self._stores.get(call.model)
        if known is None:
            policy = self.model(call.model).policy
            known = self._stores[call.model] = policy is not None and policy.lifetime() > 0
        return known

    def model(self, name: str) -> Model:
        model = self._models.get(name)
        if model is None:
            model = self._models[name] = self.trace.catalogue.find(name)
        return model

    # The cost of a request with other tokens.

    def above_reading(self, call: Billed, causes: Collection[str] = AVOIDABLE) -> float:
        """The cost of the cache-miss tokens of some causes above reading them."""
        if call.causes.keys().isdisjoint(causes) or not self.stores(call):
            return 0.0
        spans, edge = [], 0
        for cause, tokens in call.causes.items():
            if cause in causes:
                spans.append((edge, edge + tokens))
            edge += tokens
        rates = self.rates(call)
        return rates.cost(call.usage) - rates.cost(read_instead(call.usage, spans))

    def above_input(self, call: Billed, unread: int) -> float:
        """The cost of a request's last written tokens above sending them uncached."""
        if not unread:
            return 0.0
        usage = call.usage
        short = min(unread, usage.cache_write_5m)
        plain = msgspec.structs.replace(
            usage,
            cache_write_5m=usage.cache_write_5m - short,
            cache_write_1h=usage.cache_write_1h - (unread - short),
            uncached=usage.uncached + unread,
        )
        rates = self.rates(call)
        return rates.cost(usage) - rates.cost(plain)

    def _if_larger(self, call: Billed, tokens: int) -> float:
        """The additional cost of a request with more tokens to read.

        Without a cache they would have been sent like all others.
        """
        usage, rates = call.usage, self.rates(call)
        name = "cache_read" if self.stores(call) else "uncached"
        larger = msgspec.structs.replace(usage, **{name: getattr(usage, name) + tokens})
        return rates.cost(larger) - rates.cost(usage)

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
        return [call for step in self.trace.steps for call in step.side]

    @property
    def summaries(self) -> list[SideCall]:
        return [call for call in self.side_calls if call.purpose == "summary"]

    @cached_property
    def requests(self) -> list[Billed]:
        """All calls and side calls, in the order in which they were made."""
        made: list[Billed] = [*self.trace.steps, *self.side_calls]
        return sorted(made, key=lambda each: each.place.number)

    @cached_property
    def dead(self) -> list[int]:
        """The tokens that each request wrote and no later one read."""
        return dead_writes(self.requests)

    @cached_property
    def avoidable_costs(self) -> list[float]:
        """The avoidable cache cost of each request in dollars."""
        return [self.above_reading(request) for request in self.requests]

    @cached_property
    def causes(self) -> Counter[str]:
        """Cache-miss tokens by cause, including side calls."""
        totals: Counter[str] = Counter()
        for each in self.requests:
            for cause, tokens in each.causes.items():
                totals[cause] += tokens
        return totals

    @cached_property
    def paybacks(self) -> list[Payback]:
        """Cost and saving of each compaction, in order."""
        steps = self.trace.steps
        starts = [i for i, step in enumerate(steps) if step.compaction and i]
        computed: list[Payback] = []
        before = -1
        for i, end in pairwise([*starts, len(steps)]):
            number = steps[i].place.number
            asked = [call for call in self.summaries if before < call.place.number < number]
            removed = removed_by(steps[i - 1], steps[i], self.model(steps[i].model))
            computed.append(
                Payback(
                    i,
                    self.above_reading(steps[i], EDITS),
                    math.fsum(map(self.cost, asked)),
                    removed,
                    end - i,
                    math.fsum(self._if_larger(step, removed) for step in steps[i:end]),
                )
            )
            before = number
        return computed

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
    def cache_misses(self) -> list[int]:
        """Tokens of each call's prompt that were not read from the cache."""
        steps = self.trace.steps
        return [n - step.usage.cache_read for n, step in zip(self.prompts, steps, strict=True)]

    @cached_property
    def spikes(self) -> list[tuple[int, float]]:
        """For each compaction: cache misses of its call, and the median of the calls before."""
        cache_misses = self.cache_misses
        return [
            (cache_misses[i], median(cache_misses[max(0, i - BASE_CALLS) : i]))
            for i, step in enumerate(self.trace.steps)
            if step.compaction and i
        ]

    @cached_property
    def changes(self) -> list[Change]:
        """The change of the prompt from each call to the next."""
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
                    # Content before moved messages may have changed its order.
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
        """The facts that the script states, withdraws and needs."""
        return ledger_of(self.conversation)

    @property
    def states(self) -> list[States]:
        """The state of every fact in each call's prompt."""
        return self._followed[0]

    @property
    def memory(self) -> list[int]:
        """The facts in the agent's memory at each call, as bits."""
        return self._followed[1]

    @cached_property
    def _followed(self) -> tuple[list[States], list[int]]:
        stored: dict[str, str] = {}
        steps = self.trace.steps
        strips = bool(self.ledger.thought) and self.model(steps[0].model).strips_thinking
        tracker = Tracker(self.ledger, stored, strips=strips)
        states, memory = [], []
        for change in self.changes:
            step = change.step
            for message in step.created:
                tracker.hear(message)
            stored.update(step.outside.stored)
            tracker.remember(step.outside.notes)
            states.append(tracker.change(change.gone, change.come, step.system))
            memory.append(tracker.memory)
        return states, memory


# Values that several metrics need, computed once per run.

_Made = TypeVar("_Made")


def shared(make: Callable[[RunData], _Made]) -> Callable[[RunData], _Made]:
    """A function of a run's data whose result is cached in it."""
    key = f"{make.__module__}.{make.__qualname__}"

    @wraps(make)
    def once(data: RunData) -> _Made:
        known = vars(data)
        if key not in known:
            known[key] = make(data)
        made: _Made = known[key]
        return made

    return once
