"""A strategy that was tuned: its settings over the same conversations, and what follows of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from compactlab.reports.analysis.bootstrap import FEWEST
from compactlab.reports.analysis.calls import column, sizes
from compactlab.reports.analysis.comparison import RECALL, Comparison, Row
from compactlab.reports.analysis.preservation import Preservation, Share
from compactlab.reports.analysis.sample import Sample
from compactlab.reports.analysis.trade_off import knee
from compactlab.reports.tune.choice import Choice, HeldOut, Ratio, held_out, left_out, ratio
from compactlab.reports.tune.settings import CLIENTS, Model, Pasted

if TYPE_CHECKING:
    import pandas as pd

TRIGGER = "trigger"
COST, RECOVERY = "cost_usd", "cost_with_recovery_usd"
# A choice of one half should cost no more than this over the best of the other half.
CLOSE = 0.05
# So many times the cost of its own rule is told.
_SPIRAL = 2.0


@dataclass(frozen=True)
class Asked:
    """What is looked for.

    Parameters
    ----------
    recall
        The share of needs at the lag that a setting must meet, where facts are labelled.
    lag
        Tokens of log from which on needs count; None for the lag of the comparison.
    margin
        The share by which a setting may cost more and still count as near the cheapest.
    """

    recall: float = 0.8
    lag: int | None = None
    margin: float = 0.02


@dataclass(frozen=True)
class Tried:
    """A setting that was tried, with its figures over all conversations.

    Parameters
    ----------
    spec, label
        The strategy with this setting.
    values
        The fields that differ from the strategy as it was given; none for its own rule.
    place
        Tokens at which it compacts, on a chart's axis; None where that is no number of tokens.
    cost, recovery
        Dollars, without and with the recovery of what is missing.
    cost_of_own, of_own
        The same over those of the strategy as it was given.
    missed
        The share of needs at the lag that is missed; None without needs.
    compactions, over
        Compactions, and the share of calls whose prompt exceeds the window.
    """

    spec: str
    label: str
    values: Mapping[str, Any]
    place: float | None
    cost: float
    recovery: float
    cost_of_own: Ratio
    of_own: Ratio
    missed: Share | None
    compactions: float
    over: float

    @property
    def own(self) -> bool:
        """Whether it is the strategy as it was given."""
        return not self.values


@dataclass(frozen=True)
class Told:
    """What the summaries of a setting preserve of what summaries without content lose."""

    spec: str
    conversations: int
    exposure: Share | None
    preserved: Share | None

    @property
    def apart(self) -> bool | None:
        """Whether they are told from summaries without content; None if that cannot be known."""
        if self.preserved is None or self.conversations < FEWEST:
            return None
        # No interval is one that is too wide to tell anything.
        return self.preserved.low is not None and self.preserved.low > 0


@dataclass(frozen=True)
class Tuned:
    """A strategy under one window: its settings, and which of them to choose.

    Parameters
    ----------
    strategy
        Its spec, as it was given.
    window, model
        The window in tokens, and the model that most calls went to.
    tried
        Its settings, by place; the first of :attr:`rounds` has those that were tried first.
    choice
        What each costs and misses in each conversation.
    lag
        Tokens of log from which on needs count.
    inferred
        Whether needs are inferred, so that no limit can be set on memory.
    keep_all
        Dollars of keeping everything; None if it was not run.
    """

    strategy: str
    label: str
    over: tuple[str, ...]
    window: int
    model: Model
    tried: tuple[Tried, ...]
    choice: Choice
    lag: int
    inferred: bool
    asked: Asked
    conversations: tuple[str, ...]
    keep_all: float | None = None
    told: tuple[Told, ...] = ()
    dropped: bool = False  # whether it clearly cost more than another strategy: it was not refined
    runs: int = 0

    @cached_property
    def own(self) -> int:
        """The place of the strategy as it was given."""
        return next(place for place, each in enumerate(self.tried) if each.own)

    @cached_property
    def best(self) -> int | None:
        """The place of the cheapest setting that keeps to the limit; None if none does."""
        return self.choice.best()

    @cached_property
    def interval(self) -> tuple[int, ...] | None:
        """The places of settings that may be the cheapest; None with too few conversations."""
        inside = self.choice.candidates()
        return None if inside is None else tuple(map(int, np.flatnonzero(inside)))

    @cached_property
    def flat(self) -> tuple[int, ...]:
        """The places of settings that cost at most the margin more than the cheapest."""
        return tuple(map(int, np.flatnonzero(self.choice.within(self.asked.margin))))

    @cached_property
    def candidate(self) -> int | None:
        """The place of the one of these that misses least: what these sessions would choose."""
        return self.choice.advised()

    @cached_property
    def advised(self) -> int | None:
        """The place of the setting to take; None if none keeps to the limit.

        That is the strategy as it was given, unless another one is shown to be cheaper in sessions
        that had no say in it, or keeps to a limit that the own rule breaks.
        """
        if self.candidate is None or not self.choice.allowed()[self.own]:
            return self.candidate
        shown = self.saving is not None and self.saving.cheaper
        return self.candidate if shown else self.own

    @cached_property
    def spiral(self) -> tuple[int, int, float] | None:
        """A setting and a session in which it costs over twice as much as its own rule.

        Of several settings the last one, and of it the worst session; None if there is none.
        """
        costs = self.choice.costs
        times = np.divide(
            costs, costs[self.own], out=np.ones_like(costs), where=costs[self.own] > 0
        )
        places = np.flatnonzero(times.max(axis=1) > _SPIRAL)
        if not len(places):
            return None
        place, session = int(places[-1]), int(times[places[-1]].argmax())
        return place, session, float(times[place, session])

    @cached_property
    def knee(self) -> int | None:
        """The knee of the front between dollars and needs missed."""
        known = [place for place, each in enumerate(self.tried) if each.missed is not None]
        if not known:
            return None
        shares = [each.missed.value for each in self.tried if each.missed is not None]
        found = knee([self.tried[place].recovery for place in known], shares)
        return None if found is None else known[found]

    @cached_property
    def held_out(self) -> HeldOut | None:
        """What a choice made on half of the conversations is worth on the other half."""
        return held_out(self.choice, CLOSE)

    @cached_property
    def saving(self) -> Ratio | None:
        """What is chosen costs over its own rule, in conversations that had no say in it."""
        return left_out(self.choice, self.own)

    @cached_property
    def acts(self) -> bool:
        """Whether any setting ever compacted."""
        return any(each.compactions for each in self.tried)

    def pasted(self, place: int) -> Pasted | None:
        """What to paste for a setting; None for strategies of no client that was looked up."""
        client = CLIENTS.get(self.strategy.partition("(")[0])
        tried = self.tried[place]
        if client is None or tried.place is None or set(tried.values) != {TRIGGER}:
            return None
        return client.pasted(round(tried.place), self.model)

    def frame(self) -> pd.DataFrame:
        """A row a setting, with all figures."""
        import pandas as pd

        return pd.DataFrame([self.figures(place) for place in range(len(self.tried))])

    def figures(self, place: int) -> dict[str, Any]:
        """The figures of a setting, by their names."""
        each, shown = self.tried[place], self.choice.shown()[place]
        missed = each.missed
        limited = self.choice.limit is not None
        return {
            "strategy": self.strategy,
            "window": self.window,
            "setting": each.spec,
            **{name: each.values.get(name) for name in self.over},
            "place": each.place,
            "cost_usd": each.cost,
            "cost_with_recovery_usd": each.recovery,
            "of_own": each.of_own.value,
            "of_own_low": each.of_own.low,
            "of_own_high": each.of_own.high,
            "missed": missed and missed.value,
            "missed_low": missed and missed.low,
            "missed_high": missed and missed.high,
            "compactions": each.compactions,
            "over_window": each.over,
            "within_limit": bool(self.choice.allowed()[place]) if limited else None,
            "shown_within_limit": bool(shown) if limited else None,
            "may_be_cheapest": None if self.interval is None else place in self.interval,
            "within_margin": place in self.flat,
            "best": place == self.best,
            "advised": place == self.advised,
            "knee": place == self.knee,
        }


@dataclass(frozen=True)
class Point:
    """A setting to be run: its spec, the fields that it changes, and a number for the axis."""

    spec: str
    label: str
    values: Mapping[str, Any]
    number: float | None = None


@dataclass(frozen=True)
class Subject:
    """A strategy that is being tuned, under a window, with the settings that have been run."""

    strategy: str
    label: str
    over: tuple[str, ...]
    model: Model
    points: tuple[Point, ...]
    dropped: bool = False

    def tuned(self, comparison: Comparison, asked: Asked) -> Tuned | None:
        """Put its settings together; None if its own rule did not succeed."""
        rows = {row.spec: row for row in comparison.rows}
        points = [point for point in self.points if point.spec in rows]
        if not any(not point.values for point in points):
            return None
        lag = asked.lag or comparison.lag
        found = [(self._place(point, rows[point.spec]), point) for point in points]
        found.sort(key=lambda pair: (pair[0] is None, pair[0] or 0.0, not pair[1].values))
        ordered = [rows[point.spec] for _, point in found]
        sample = Sample(ordered, [COST, RECOVERY, RECALL[lag]])
        own = next(place for place, (_, point) in enumerate(found) if not point.values)
        tried = tuple(_tried(found, ordered, sample, own, lag))
        inferred = any(run.labels == "inferred" for run in ordered[own].runs)
        least = ordered[own].value("overflows")
        choice = Choice(
            sample.values(RECOVERY),
            1 - sample.values(RECALL[lag]),
            None if inferred else asked.recall,
            np.array([row.value("overflows") <= least for row in ordered]),
            own,
            asked.margin,
        )
        whole = comparison.row("keep_all")
        return Tuned(
            self.strategy,
            self.label,
            self.over,
            self.model.window,
            self.model,
            tried,
            choice,
            lag,
            inferred,
            asked,
            tuple(conversation for _, conversation in sample.conversations),
            whole.value(COST) if whole else None,
            dropped=self.dropped,
            runs=sum(len(row.runs) for row in ordered),
        )

    def _place(self, point: Point, row: Row) -> float | None:
        """Tokens at which a setting compacts: as asked for, by the client's rule, or as seen."""
        if point.number is not None:
            return point.number
        if point.values and TRIGGER not in self.over:
            return None
        client = CLIENTS.get(self.strategy.partition("(")[0])
        if client is not None and "(" not in self.label:
            return float(client.own(self.model))
        return compacts_at(row) or float(self.model.window)


def _tried(
    found: Sequence[tuple[float | None, Point]],
    rows: Sequence[Row],
    sample: Sample,
    own: int,
    lag: int,
) -> Iterator[Tried]:
    costs, recoveries = sample.values(COST), sample.values(RECOVERY)
    for place, ((number, point), row) in enumerate(zip(found, rows, strict=True)):
        memory = Preservation(row, lag)
        recall = memory.recall()
        yield Tried(
            point.spec,
            point.label,
            point.values,
            number,
            float(costs[place].sum()),
            float(recoveries[place].sum()),
            ratio(costs[place], costs[own]),
            ratio(recoveries[place], recoveries[own]),
            recall and recall.rest,
            row.value("compactions"),
            row.value("over_window"),
        )


def compacts_at(row: Row) -> float | None:
    """Tokens of the prompts after which a strategy compacted, in the median; None if never."""
    seen = []
    for run in row.runs:
        prompts, compacted = sizes(run), column(run, "compaction")
        seen += [prompts[n - 1] for n in range(1, len(prompts)) if compacted[n]]
    return float(median(seen)) if seen else None


def told(comparison: Comparison, spec: str, lag: int) -> Told | None:
    """What the summaries of a setting preserve, of runs with null summarisers beside them."""
    row = next((row for row in comparison.rows if row.spec == spec), None)
    if row is None or not row.summarises:
        return None
    memory = Preservation(row, lag)
    return Told(spec, memory.conversations, memory.exposure, memory.preserved())
