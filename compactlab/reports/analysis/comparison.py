"""Runs aggregated: one row per strategy, over the cases where all strategies succeeded."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean

import numpy as np

from compactlab.reports.analysis.aggregate import acted, digest_of, figures_of, memory_of, replays
from compactlab.reports.analysis.calls import distance_of, models
from compactlab.reports.analysis.trade_off import front
from compactlab.reports.render.text import clean
from compactlab.sim.core.errors import ModelError
from compactlab.sim.metrics import METRICS
from compactlab.sim.metrics.memory import LONG
from compactlab.sim.models.model import Catalogue, built_in
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run

Figures = Mapping[str, float | None]

# A table names up to this many strategies with equal runs in one row; data has a row for each.
_NAMED = 8


def refused(own: Figures) -> float:
    """The share of a strategy's calls that the API would reject."""
    calls = own["calls"]
    return (own["rejected_calls"] or 0.0) / calls if calls else 0.0


# Strategies that lose no content on their own.
WHOLE = ("keep_all", "as_recorded")

# The metrics that decide which strategies are usable.
JUDGING = (
    "cost_usd", "side_cost_usd", "prompt_tokens_peak", "tokens_added", "calls", "rewrites",
    "overflows", "over_window", "rejected_calls", "system_dropped",
)  # fmt: skip

# A run's recorded bill, the part of it for prompts, and the replayed cost of prompts.
_RECORDED = (
    "recorded_usd", "recorded_input_usd", "cost_input_usd", "cost_read_usd", "cost_write_usd",
)  # fmt: skip

NULLS = frozenset({"keep_all", "keep_none", "random_keep"})
# Strategies that are always replayed.
BOUNDS = ("keep_all", "keep_none", "as_recorded")

# The recall metric of each distance.
RECALL = {lag: f"recall_{lag // 1000}k" for lag in LONG}
# The recall that a strategy needs to be recommended. It is a convention, no result. About six of
# seven needs are nearer than 20,000 tokens and always met, so it is 3 points of all needs.
ENOUGH = 0.8

# Recordings contain torn calls of their own, and cuts next to these tear a few more prompts. A
# strategy that separates calls from their results does so in many prompts.
FAULT_MARGIN = 0.01

# Rules of the contract whose violation a provider may reject: readers have to act on them.
REJECTED = {"pairs": "a tool call without its result, or a result without its call"}

Case = tuple[str, str, int]
"""Scenario, conversation and seed."""

Kind = tuple[str, int, str]
"""Model, window and summariser."""


@dataclass(frozen=True)
class Row:
    """The aggregate of a strategy over all cases of a comparison."""

    spec: str
    label: str  # the short name for tables
    runs: tuple[Run, ...]  # one per case
    figures: Figures  # by metric, and the cost relative to the reference
    sees_future: bool
    breaks: Mapping[str, str]  # rules of the contract that it deliberately breaks, with reasons
    faulty: bool  # whether the API would reject more of its calls than are torn in the log
    acted: int  # conversations in which it sent other prompts than keep_all
    # Tokens reserved by default that a narrowed window caps, by purpose.
    caps: Mapping[str, int] = field(default_factory=dict)
    own: bool = False  # whether it is a plug-in or the user's own
    twins: tuple[str, ...] = ()  # strategies with equal runs that share its table row
    doubtful: bool = False  # it has torn calls, and the number in the log is unknown
    beyond: str = ""  # why its prompts may exceed the window, and what keeps it within
    by_price: bool = False  # whether it decides by prices, so that others need a replay

    @property
    def name(self) -> str:
        """The name of the strategy without its fields."""
        return _name(self.spec)

    @property
    def control(self) -> bool:
        return not NULLS.isdisjoint(_name(part) for part in self.spec.split(" + "))

    @property
    def bound(self) -> bool:
        """Whether it is shown as a bound: a control, or one that sees the future."""
        return self.control or self.sees_future

    @property
    def rejected_for(self) -> tuple[str, ...]:
        """The rules it deliberately breaks and for which the API may reject a prompt."""
        return tuple(rule for rule in REJECTED if rule in self.breaks)

    @property
    def exceeds_window(self) -> bool:
        """Whether any of its prompts was larger than the window."""
        return bool(self.figures["overflows"])

    @property
    def bare(self) -> bool:
        """Whether any of its prompts lacks the system prompt or tools of the conversation."""
        return bool(self.figures["system_dropped"])

    @property
    def usable(self) -> bool:
        """Whether it could be used: its prompts fit and are whole, and it sees no future."""
        wrong = self.exceeds_window or self.faulty or self.doubtful or self.bare
        return not (wrong or self.sees_future)

    @property
    def as_recorded(self) -> bool:
        """Whether it is ``as_recorded``: logs do not contain the cost of its summaries."""
        return self.name == "as_recorded"

    @property
    def choice(self) -> bool:
        """Whether it is usable, no control, not ``as_recorded``, and compacted at least once."""
        return self.usable and not self.control and not self.as_recorded and self.acted > 0

    @property
    def summarises(self) -> bool:
        """Whether it requested summaries, so that the summariser matters."""
        return any(run.metrics.get("side_cost_usd") for run in self.runs)

    @property
    def did(self) -> tuple[object, ...]:
        """All metrics of its runs to the last bit, its figures and marks: the key of equal rows."""
        figures = tuple(sorted(self.figures.items()))
        return self.sees_future, self.rejected_for, figures, digest_of(self.runs)

    @property
    def recall(self) -> float | None:
        """Recall at the distance of the comparison."""
        return self.figures["recall"]

    @property
    def conversations(self) -> int:
        """The number of conversations behind its figures."""
        return len(replays(self.runs))

    def value(self, metric: str) -> float:
        """A figure, 0 where there is none."""
        return self.figures[metric] or 0.0

    def mean(self, metric: str = "cost_usd") -> float:
        """The mean over conversations of a figure that is a sum over them."""
        return self.of_one[metric] or 0.0

    @cached_property
    def of_one(self) -> Figures:
        """Its figures for tables: sums as means over conversations, as a person pays for one."""
        known = {key: value for key, value in self.figures.items() if value is not None}
        summed = {key for key in known if key in METRICS and METRICS[key].aggregation == "sum"}
        return {**self.figures, **{key: known[key] / self.conversations for key in summed}}


@dataclass(frozen=True)
class RecordedBill:
    """The cost of the recorded usage, and the deviation of the replay from it."""

    cost: float  # USD of the recorded usage, at the replay's prices
    # The relative difference of the replayed cost of prompts from the recorded one.
    difference: float
    # The larger of its absolute value and the value expected from independent differences of
    # conversations: a sum may be right by chance.
    deviation: float


def recorded_bill(row: Row | None) -> RecordedBill | None:
    """The recorded bill for the replay as recorded; None if some usage is unknown."""
    if row is None:
        return None
    replayed, logged, cost = [], [], 0.0
    for group in replays(row.runs):
        known = [[run.metrics.get(name) for run in group] for name in _RECORDED]
        if any(value is None for values in known for value in values):
            return None
        bill, prompts, *parts = (fmean(value or 0.0 for value in values) for values in known)
        cost += bill
        logged.append(prompts)
        replayed.append(math.fsum(parts))
    whole = math.fsum(logged)
    if not whole:
        return None
    gaps = [ours - theirs for ours, theirs in zip(replayed, logged, strict=True)]
    difference = math.fsum(gaps) / whole
    return RecordedBill(cost, difference, max(abs(difference), math.hypot(*gaps) / whole))


@dataclass(frozen=True)
class Comparison:
    """The strategies under one model, window and summariser, over the same cases."""

    model: str
    window: int
    rows: tuple[Row, ...]  # one per strategy, the cheapest first
    cases: tuple[Case, ...]
    left_out: tuple[Case, ...]  # cases in which a compared strategy failed
    dropped: tuple[str, ...]  # labels of strategies that succeeded in less than half of the cases
    summarizer: str = ""
    written_by: str = ""  # the summariser's label, if the results hold several
    lag: int = 20_000  # the distance: needs count from this many tokens on
    catalogue: Catalogue = field(default_factory=built_in, repr=False)
    named: tuple[str, ...] = ()  # specs in the order in which the experiment names them
    bounds: tuple[Row, ...] = ()  # not named by the user; not among the rows
    # Missing bounds, each with the reason.
    unknown: Mapping[str, str] = field(default_factory=dict)
    measured: tuple[str, ...] = ()  # the metrics that were computed; those of ``run --metrics``

    @property
    def headline(self) -> str:
        """The recall metric at the distance of this comparison."""
        return RECALL[self.lag]

    @property
    def primary(self) -> tuple[str, str]:
        """The primary metrics, fixed in advance: one of memory, one of cost."""
        return self.headline, "cost_usd"

    @property
    def kind(self) -> Kind:
        """The model, window and summariser of its runs."""
        return self.model, self.window, self.summarizer

    @cached_property
    def models(self) -> Counter[str]:
        """Calls by the model that received them, under one of the strategies."""
        return models(run for row in self.rows[:1] for run in row.runs)

    @property
    def conversations(self) -> int:
        """The number of conversations, not counting repeated replays."""
        return len({case[:2] for case in self.cases})

    def row(self, name: str) -> Row | None:
        """The row of a strategy or bound, by its name without fields."""
        return next((row for row in (*self.rows, *self.bounds) if row.name == name), None)

    @property
    def strategies(self) -> tuple[Row, ...]:
        """The rows without those that are shown as bounds."""
        return tuple(row for row in self.rows if not row.bound)

    @property
    def beside(self) -> tuple[Row, ...]:
        """All bounds, named by the user or not."""
        return (*(row for row in self.rows if row.bound), *self.bounds)

    @cached_property
    def undecided(self) -> bool:
        """Whether the choices are unknown because ``keep_all`` is missing.

        ``keep_all`` shows how many calls are torn in the log, and whether prompts were changed.
        """
        usable = (row for row in self.strategies if not (row.exceeds_window or row.as_recorded))
        still = "keep_all" in self.unknown
        return any(row.doubtful or (still and not row.acted) for row in usable)

    @cached_property
    def choices(self) -> tuple[Row, ...]:
        """The usable strategies, the cheapest first; none if undecided."""
        return () if self.undecided else tuple(row for row in self.rows if row.choice)

    def dominated(self, row: Row) -> bool:
        """Whether a choice costs less and recalls more."""
        cost, recall = row.value("cost_usd"), row.recall or 0.0
        return any(
            each.value("cost_usd") < cost and (each.recall or 0.0) > recall for each in self.choices
        )

    @cached_property
    def lines(self) -> tuple[Row, ...]:
        """The rows of printed tables: strategies with equal runs share one row with all names.

        Runs are equal if two strategies differ only in name, or in parameters without effect here.
        Controls, ``as_recorded`` and the user's own strategies keep their rows. The reference is
        named first; otherwise advice uses the first row.
        """
        reference = self.reference.spec if self.reference else ""
        alike: dict[object, list[Row]] = {}
        for row in self.rows:
            alone = row.control or row.as_recorded or row.own
            same = alike.setdefault(row.spec if alone else row.did, [])
            same.insert(0 if row.spec == reference else len(same), row)
        return tuple(
            replace(
                first,
                label=_together([row.label for row in (first, *others)]),
                twins=tuple(row.spec for row in others),
            )
            if others
            else first
            for first, *others in alike.values()
        )

    def line(self, row: Row) -> Row:
        """The table row that includes a strategy; an unnamed bound is its own row."""
        lines = (line for line in self.lines if row.spec in (line.spec, *line.twins))
        return next(lines, row)

    @cached_property
    def reference(self) -> Row | None:
        """The row that the others are compared with: one whose cost a user can have.

        The first that applies: ``as_recorded``; ``keep_all``, if it always fits the window; the
        client of the model's provider; the first usable strategy of the experiment that no choice
        beats in both cost and recall. None if nothing is usable, or if a bound that may be the
        reference is unknown.
        """
        played, whole = self.row("as_recorded"), self.row("keep_all")
        if "as_recorded" in self.unknown or (self.model != "recorded" and self._lost(whole)):
            return None
        if played is not None and self.recorded and (played.usable or self._as_it_was):
            return played
        if self._lost(whole) or self.undecided:
            return None
        if whole is not None and whole.usable:
            return whole
        places = {spec: index for index, spec in enumerate(self.named)}
        candidates = [r for r in self.rows if r.usable and not (r.control or r.as_recorded)]
        candidates.sort(key=lambda row: places.get(row.spec, len(places)))
        default = next((row for row in candidates if row.name in self.clients), None)
        return default or next((row for row in candidates if not self.dominated(row)), None)

    def _lost(self, whole: Row | None) -> bool:
        return whole is None and "keep_all" in self.unknown

    @property
    def _as_it_was(self) -> bool:
        """Whether calls go to the recorded models and no window is narrowed."""
        return self.model == "recorded" and not self.window

    @property
    def clients(self) -> frozenset[str]:
        """The strategies of the clients that belong to the models' providers."""
        clients = set()
        for each in self.models or {self.model: 0}:
            with suppress(ModelError):
                clients.add(self.catalogue.find(each).client)
        return frozenset(clients)

    @property
    def recorded(self) -> bool:
        """Whether ``as_recorded`` differs from ``keep_all``."""
        played, keep_all = self.row("as_recorded"), self.row("keep_all")
        if played is None:
            return False
        same = keep_all is not None and keep_all.figures["cost_usd"] == played.figures["cost_usd"]
        return self.model == "recorded" or not same

    @cached_property
    def recorded_bill(self) -> RecordedBill | None:
        """The cost of the recorded usage, if the calls are replayed as recorded."""
        return recorded_bill(self.row("as_recorded"))

    @property
    def deviation(self) -> float:
        """The replay's relative error: smaller differences of cost do not count."""
        return self.recorded_bill.deviation if self.recorded_bill else 0.0

    @property
    def front(self) -> tuple[Row, ...]:
        """The Pareto front: choices that no other beats in both cost and recall."""
        choices = self.choices
        costs = [row.value("cost_usd") for row in choices]
        return tuple(choices[n] for n in front(costs, [-(row.recall or 0.0) for row in choices]))


def comparisons(results: Results) -> list[Comparison]:
    """Group runs by model, window and summariser, and aggregate those of each strategy."""
    groups: dict[Kind, list[Run]] = {}
    for run in results.runs:
        if run.status != "unreadable":
            groups.setdefault(kind_of(run), []).append(run)
    distance = distance_of(results)
    return [compare(results, kind, runs, distance) for kind, runs in groups.items()]


def label(results: Results, spec: str) -> str:
    """The short name of a strategy or of a bound."""
    labels = {**results.manifest.get("bounds", {}), **results.manifest.get("strategies", {})}
    return clean(labels.get(spec, spec))


def compare(
    results: Results, kind: Kind, runs: Sequence[Run], distance: int | None = None
) -> Comparison:
    """Aggregate the runs under one model, window and summariser."""
    cases = list(dict.fromkeys(case_of(run) for run in runs))
    done = _done(runs)
    compared, common = _compared(cases, done)
    within = set(common)
    model, window, summarizer = kind
    # Bounds write no summaries, so they are the same for every summariser.
    beside = _done(run for run in results.bounds if (run.model, run.window) == (model, window))
    unknown = _unknown(results, {_name(spec) for spec in compared}, beside, common)
    every = {spec: [done[spec][case] for case in common] for spec in compared}
    bounds = {
        spec: [own[case] for case in common]
        for spec, own in beside.items()
        if common and _name(spec) not in unknown
    }
    whole = next((own for spec, own in (every | bounds).items() if _name(spec) == "keep_all"), None)
    torn = refused(figures_of(whole)) if whole else None
    rows, others = (
        [_row(results, spec, tuple(own), whole, torn) for spec, own in each.items()]
        for each in (every, bounds)
    )
    lag = distance_of(results) if distance is None else distance
    return _related(
        Comparison(
            model,
            window,
            tuple(
                sorted(
                    (_at(row, lag) for row in rows),
                    key=lambda row: (row.value("cost_usd"), row.label),
                )
            ),
            tuple(common),
            tuple(case for case in cases if case not in within),
            tuple(label(results, spec) for spec in done if spec not in compared),
            summarizer,
            _written_by(results, summarizer),
            lag,
            results.catalogue,
            tuple(dict.fromkeys([*results.manifest.get("strategies", {}), *done])),
            tuple(_at(row, lag) for row in others),
            unknown,
            tuple(results.manifest.get("metrics", METRICS)),
        )
    )


def _compared(
    cases: Sequence[Case], done: Mapping[str, Mapping[Case, Run]]
) -> tuple[list[str], list[Case]]:
    """The strategies that succeeded in half of the cases, and the cases where all of these did."""
    # A case that failed under every strategy, e.g. without a price, says nothing about any.
    done_cases = {case for own in done.values() for case in own}
    compared = [spec for spec in done if 2 * len(done[spec]) >= max(len(done_cases), 1)]
    common = _common(cases, done, compared)
    while compared and not common:
        compared.remove(min(compared, key=lambda spec: len(done[spec])))
        common = _common(cases, done, compared)
    return compared, common


def _done(runs: Iterable[Run]) -> dict[str, dict[Case, Run]]:
    """The successful runs of each strategy."""
    done: dict[str, dict[Case, Run]] = {}
    for run in runs:
        own = done.setdefault(run.strategy, {})
        if run.status == "ok":
            own.setdefault(case_of(run), run)
    return done


def _unknown(
    results: Results,
    compared: Collection[str],
    beside: Mapping[str, Mapping[Case, Run]],
    common: Sequence[Case],
) -> dict[str, str]:
    """The bounds of the experiment that these cases lack, with the reasons."""
    manifest = results.manifest
    known = {_name(spec) for spec, own in beside.items() if all(case in own for case in common)}
    lost = {
        name: spec
        for spec in (*manifest.get("bounds", ()), *manifest.get("strategies", ()))
        if (name := _name(spec)) in BOUNDS and name not in compared and name not in known
    }
    errors = {run.strategy: run.error for run in (*results.runs, *results.bounds) if run.error}
    return {name: clean(errors.get(spec, "")) or "not replayed" for name, spec in lost.items()}


def _at(row: Row, lag: int) -> Row:
    """A copy of a row with its memory figures at a distance."""
    memory = memory_of(row.runs, lag, summarises=row.summarises)
    figures = {**row.figures, "recall": row.figures[RECALL[lag]], **memory}
    return replace(row, figures=figures)


def _written_by(results: Results, summarizer: str) -> str:
    writers = results.manifest.get("summarizers", {})
    if len(writers) < 2:
        return ""
    return clean(writers.get(summarizer, {}).get("label", summarizer))


def _together(labels: Sequence[str]) -> str:
    """The names in one table row; of a grid of settings, as many as fit."""
    more = len(labels) - _NAMED
    return ", ".join([*labels[:_NAMED], f"{more} more"] if more > 0 else labels)


def case_of(run: Run) -> Case:
    """The case of a run: the unit on which strategies are compared."""
    return run.scenario, run.conversation, run.seed


def kind_of(run: Run) -> Kind:
    """The model, window and summariser of a run: only equal ones may be compared."""
    return run.model, run.window, run.summarizer


def _common(
    cases: Iterable[Case], done: Mapping[str, Mapping[Case, Run]], compared: Iterable[str]
) -> list[Case]:
    specs = list(compared)
    return [case for case in cases if specs and all(case in done[spec] for spec in specs)]


def _row(
    results: Results,
    spec: str,
    runs: tuple[Run, ...],
    whole: Sequence[Run] | None,
    torn: float | None,
) -> Row:
    """Make a row; ``whole`` has the runs of ``keep_all``, ``torn`` their share of torn calls."""
    own = figures_of(runs)
    # The log's own prompts were sent and accepted: they are no fault.
    worse = _name(spec) != "as_recorded" and refused(own) > (torn or 0.0) + FAULT_MARGIN
    return Row(
        spec,
        label(results, spec),
        runs,
        own,
        spec in results.manifest.get("sees_future", ()),
        results.manifest.get("breaks", {}).get(spec, {}),
        worse and torn is not None,
        _acted(runs, whole or [None] * len(runs)),
        results.manifest.get("caps", {}).get(spec, {}),
        spec in results.manifest.get("own_strategies", ()),
        doubtful=worse and torn is None,
        beyond=results.manifest.get("beyond", {}).get(spec, ""),
        by_price=spec in results.manifest.get("by_price", ()),
    )


def _acted(runs: Sequence[Run], whole: Sequence[Run | None]) -> int:
    """The number of conversations in which any replay changed a prompt."""
    changed = acted(runs, whole)
    return len(replays(runs[n] for n in np.flatnonzero(changed).tolist()))


def _related(comparison: Comparison) -> Comparison:
    """A copy with the cost of each strategy relative to the reference."""
    base = comparison.reference.value("cost_usd") if comparison.reference else 0.0

    def related(row: Row) -> Row:
        share = row.value("cost_usd") / base if base else None
        return replace(row, figures={**row.figures, "of_reference": share})

    rows, bounds = (tuple(map(related, each)) for each in (comparison.rows, comparison.bounds))
    return replace(comparison, rows=rows, bounds=bounds)


def _name(spec: str) -> str:
    return spec if " + " in spec else spec.partition("(")[0]
