"""A tuned strategy: its settings over the same conversations, and the conclusions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any

import numpy as np

from compactlab.reports.analysis.bootstrap import FEWEST
from compactlab.reports.analysis.calls import column, sizes
from compactlab.reports.analysis.comparison import RECALL, Comparison, Row
from compactlab.reports.analysis.preservation import Preservation, Share
from compactlab.reports.analysis.sample import Sample
from compactlab.reports.analysis.trade_off import knee
from compactlab.reports.tune.choice import Choice, HeldOut, Ratio, held_out, left_out, ratio
from compactlab.reports.tune.settings import CLIENTS, Client, Model, Pasted
from compactlab.sim.replay.strategy import Strategy

TRIGGER = "trigger"
COST, RECOVERY = "cost_usd", "cost_with_recovery_usd"
# The acceptable regret of a choice from one half on the other half.
CLOSE = 0.05
# A setting that costs this many times its default is reported.
_SPIRAL = 2.0


@dataclass(frozen=True)
class Target:
    """The requirements on a setting."""

    # The minimum recall at the distance, if facts are labelled.
    recall: float = 0.8
    # The distance: needs count from this many tokens on; None for that of the comparison.
    lag: int | None = None
    # The relative margin by which a setting may cost more and still count as near the cheapest.
    margin: float = 0.02


@dataclass(frozen=True)
class Variant:
    """A strategy with some of its fields set."""

    strategy: Strategy  # with this setting
    # The fields that differ from the given strategy; empty for its own rule.
    values: Mapping[str, Any]
    # The trigger in tokens; None if the strategy's own rule decides.
    trigger: float | None = None

    @property
    def spec(self) -> str:
        return self.strategy.spec


@dataclass(frozen=True)
class Tried:
    """A setting with its figures over all conversations."""

    spec: str  # the strategy with this setting
    # The fields that differ from the given strategy; empty for its own rule.
    values: Mapping[str, Any]
    # Tokens at which it compacts, for the chart's axis; None if unknown.
    size: float | None
    cost: float  # dollars
    recovery: float  # dollars, including the recovery of missed facts
    of_own: Ratio  # ``recovery`` over that of the given strategy
    missed: Share | None  # the share of needs at the distance that is missed; None without needs
    compactions: float
    over: float  # the share of calls whose prompt exceeds the window

    @property
    def own(self) -> bool:
        """Whether it is the given strategy."""
        return not self.values


@dataclass(frozen=True)
class SummaryEffect:
    """What the summaries of a setting preserve, compared with empty summaries."""

    spec: str
    conversations: int
    exposure: Share | None
    preserved: Share | None

    @property
    def apart(self) -> bool | None:
        """Whether they differ significantly from empty summaries; None if unknown."""
        if self.preserved is None or self.conversations < FEWEST:
            return None
        # A missing interval counts as too wide.
        return self.preserved.low is not None and self.preserved.low > 0


@dataclass(frozen=True)
class Tuned:
    """A strategy under one window: its settings, and which of them to choose."""

    strategy: str  # its given spec
    label: str  # its label in tables
    over: tuple[str, ...]  # the tuned fields
    model: Model  # the model of most calls
    tried: tuple[Tried, ...]  # its settings, by the size at which they compact
    choice: Choice  # costs and misses of the settings by conversation
    lag: int  # the distance: needs count from this many tokens on
    inferred: bool  # whether needs are inferred, so that recall cannot be limited
    target: Target
    conversations: tuple[str, ...]
    keep_all: float | None = None  # dollars of ``keep_all``; None if it was not run
    summaries: tuple[SummaryEffect, ...] = ()
    dropped: bool = False  # not refined: another strategy costs significantly less
    runs: int = 0

    @property
    def window(self) -> int:
        """The context window in tokens."""
        return self.model.window

    @cached_property
    def own(self) -> int:
        """The index of the given strategy."""
        return next(index for index, each in enumerate(self.tried) if each.own)

    @cached_property
    def best(self) -> int | None:
        """The index of the cheapest setting that keeps to the limit; None if none does."""
        return self.choice.best()

    @cached_property
    def interval(self) -> tuple[int, ...] | None:
        """The indices of settings that may be the cheapest; None with too few conversations."""
        inside = self.choice.candidates()
        return None if inside is None else tuple(map(int, np.flatnonzero(inside)))

    @cached_property
    def flat(self) -> tuple[int, ...]:
        """The indices of settings that cost at most the margin more than the cheapest."""
        return tuple(map(int, np.flatnonzero(self.choice.within(self.target.margin))))

    @cached_property
    def candidate(self) -> int | None:
        """The index of the setting in ``flat`` with the highest recall: these sessions' choice."""
        return self.choice.advised()

    @cached_property
    def advised(self) -> int | None:
        """The index of the recommended setting; None if none keeps to the limit.

        It is the given strategy, unless the candidate is significantly cheaper in held-out
        sessions, or only the candidate keeps to the limit.
        """
        if self.candidate is None or not self.choice.allowed()[self.own]:
            return self.candidate
        shown = self.saving is not None and self.saving.cheaper
        return self.candidate if shown else self.own

    @cached_property
    def spiral(self) -> tuple[int, int, float] | None:
        """A setting and a session in which it costs over twice as much as the default.

        Of several settings the last one, with its worst session; None without any.
        """
        costs = self.choice.costs
        times = np.divide(
            costs, costs[self.own], out=np.ones_like(costs), where=costs[self.own] > 0
        )
        indices = np.flatnonzero(times.max(axis=1) > _SPIRAL)
        if not len(indices):
            return None
        index, session = int(indices[-1]), int(times[indices[-1]].argmax())
        return index, session, float(times[index, session])

    @cached_property
    def knee(self) -> int | None:
        """The knee of the Pareto front of cost and misses."""
        known = [index for index, each in enumerate(self.tried) if each.missed is not None]
        if not known:
            return None
        shares = [each.missed.value for each in self.tried if each.missed is not None]
        found = knee([self.tried[index].recovery for index in known], shares)
        return None if found is None else known[found]

    @cached_property
    def held_out(self) -> HeldOut | None:
        """The evaluation of a choice from half of the conversations on the other half."""
        return held_out(self.choice, CLOSE)

    @cached_property
    def saving(self) -> Ratio | None:
        """The cost of leave-one-out choices over that of the given strategy."""
        return left_out(self.choice, self.own)

    @cached_property
    def acts(self) -> bool:
        """Whether any setting ever compacted."""
        return any(each.compactions for each in self.tried)

    def pasted(self, index: int) -> Pasted | None:
        """What to paste for a setting; None if the strategy has no known client."""
        client = client_of(self.strategy)
        tried = self.tried[index]
        if client is None or tried.size is None or set(tried.values) != {TRIGGER}:
            return None
        return client.pasted(round(tried.size), self.model)


def client_of(strategy: str) -> Client | None:
    """The client whose rule a strategy implements, by its spec; None if unknown."""
    return CLIENTS.get(strategy.partition("(")[0])


def tuned_of(
    variants: Sequence[Variant],
    over: tuple[str, ...],
    model: Model,
    comparison: Comparison,
    target: Target,
) -> Tuned | None:
    """Collect the settings of a strategy, its own rule first; None if the own rule failed."""
    rows = {row.spec: row for row in comparison.rows}
    strategy = variants[0].strategy
    if strategy.spec not in rows:
        return None
    lag = target.lag or comparison.lag
    found = [
        (_size(each, strategy, over, model, rows[each.spec]), each)
        for each in variants
        if each.spec in rows
    ]
    found.sort(key=lambda pair: (pair[0] is None, pair[0] or 0.0, not pair[1].values))
    ordered = [rows[variant.spec] for _, variant in found]
    own = next(index for index, (_, variant) in enumerate(found) if not variant.values)
    sample = Sample(ordered, [COST, RECOVERY, RECALL[lag]])
    inferred = any(run.labels == "inferred" for run in ordered[own].runs)
    least = ordered[own].value("overflows")
    whole = comparison.row("keep_all")
    return Tuned(
        strategy.spec,
        strategy.label,
        over,
        model,
        tuple(_tried(found, ordered, sample, own, lag)),
        Choice(
            sample.values(RECOVERY),
            1 - sample.values(RECALL[lag]),
            None if inferred else target.recall,
            np.array([row.value("overflows") <= least for row in ordered]),
            own,
            target.margin,
        ),
        lag,
        inferred,
        target,
        tuple(conversation for _, conversation in sample.conversations),
        whole.value(COST) if whole else None,
        runs=sum(len(row.runs) for row in ordered),
    )


def _size(
    variant: Variant, strategy: Strategy, over: Collection[str], model: Model, row: Row
) -> float | None:
    """Tokens at which a setting compacts: given, by the client's rule, or observed."""
    if variant.trigger is not None:
        return variant.trigger
    if variant.values and TRIGGER not in over:
        return None
    client = client_of(strategy.spec)
    if client is not None and "(" not in strategy.label:
        return float(client.own(model))
    return compacts_at(row) or float(model.window)


def _tried(
    found: Sequence[tuple[float | None, Variant]],
    rows: Sequence[Row],
    sample: Sample,
    own: int,
    lag: int,
) -> Iterator[Tried]:
    costs, recoveries = sample.values(COST), sample.values(RECOVERY)
    for index, ((size, variant), row) in enumerate(zip(found, rows, strict=True)):
        recall = Preservation(row, lag).recall()
        yield Tried(
            variant.spec,
            variant.values,
            size,
            float(costs[index].sum()),
            float(recoveries[index].sum()),
            ratio(recoveries[index], recoveries[own]),
            recall and recall.rest,
            row.value("compactions"),
            row.value("over_window"),
        )


def compacts_at(row: Row) -> float | None:
    """The median size of prompts before compactions; None if it never compacted."""
    seen = []
    for run in row.runs:
        prompts, compacted = sizes(run), column(run, "compaction")
        seen += [prompts[n - 1] for n in range(1, len(prompts)) if compacted[n]]
    return float(median(seen)) if seen else None


def summary_effect(comparison: Comparison, spec: str, lag: int) -> SummaryEffect | None:
    """What the summaries of a setting preserve, from runs that include null summarisers."""
    row = next((row for row in comparison.rows if row.spec == spec), None)
    if row is None or not row.summarises:
        return None
    memory = Preservation(row, lag)
    return SummaryEffect(spec, memory.conversations, memory.exposure, memory.preserved())
