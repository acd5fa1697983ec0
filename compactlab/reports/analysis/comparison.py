"""Runs put together: one row a strategy, over the conversations where all of them succeeded."""

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
from compactlab.reports.analysis.calls import models
from compactlab.reports.analysis.distance import distance_of
from compactlab.reports.analysis.trade_off import front
from compactlab.reports.render.text import clean
from compactlab.sim.core.errors import ModelError
from compactlab.sim.metrics.lag import LONG
from compactlab.sim.models.model import Catalogue, built_in
from compactlab.sim.store.results import Results
from compactlab.sim.store.run import Run

Figures = Mapping[str, float | None]

# So many strategies that did the very same are named in their line; data has a row of each.
_NAMED = 8


def refused(own: Figures) -> float:
    """The share of a strategy's calls that would be refused."""
    calls = own["calls"]
    return (own["rejected_calls"] or 0.0) / calls if calls else 0.0


# Strategies that forget no more than they must.
WHOLE = ("keep_all", "as_recorded")

# What must be known of every run to say which strategies one could use.
JUDGING = (
    "cost_usd", "side_cost_usd", "prompt_tokens_peak", "tokens_added", "calls", "rewrites",
    "overflows", "over_window", "rejected_calls",
)  # fmt: skip

# The recorded bill of a run, that of its prompts, and what the replay's prompts cost.
_RECORDED = (
    "recorded_usd", "recorded_input_usd", "cost_input_usd", "cost_read_usd", "cost_write_usd",
)  # fmt: skip

NULLS = frozenset({"keep_all", "keep_none", "random_keep"})
# What is always replayed, whatever is named.
BOUNDS = ("keep_all", "keep_none", "as_recorded")

# The metric of recall from each lag on.
RECALL = {lag: f"recall_{lag // 1000}k" for lag in LONG}
# The share of needs that a strategy has to meet to be recommended: a choice, and no result. Some
# six of seven needs are nearer than 20,000 tokens and met by all, so it is 3 points of all needs.
ENOUGH = 0.8

# Recordings have torn calls of their own, and where one stands, cuts may tear a few more prompts;
# a strategy that tears calls from their results does so on many of them.
FAULT_MARGIN = 0.01

# Rules of the contract that a provider may reject a prompt for: a reader has to act on these.
REJECTED = {"pairs": "a tool call without its result, or a result without its call"}

Case = tuple[str, str, int]
"""Scenario, conversation and seed."""

Kind = tuple[str, int, str]
"""Model, window and summariser."""


@dataclass(frozen=True)
class Row:
    """A strategy, over all conversations that it is compared on."""

    spec: str
    label: str  # the short name for tables
    runs: tuple[Run, ...]  # one a case
    figures: Figures  # by metric, and its cost over that of the reference
    sees_future: bool
    breaks: Mapping[str, str]  # rules of the contract that it breaks on purpose, with the reasons
    faulty: bool  # whether a provider would reject more of its calls than are torn in the log
    acted: int  # conversations in which it sent something else than keep_all
    # Tokens that it reserves by default and that a narrowed window caps: what for, and how many.
    caps: Mapping[str, int] = field(default_factory=dict)
    own: bool = False  # whether it is not built in: the user's own, or another package's
    twins: tuple[str, ...] = ()  # specs of others that it stands for, too, in a table
    doubtful: bool = False  # calls of it are torn, and nobody knows how many are in the log

    @property
    def name(self) -> str:
        """The name of the strategy without its fields."""
        return _name(self.spec)

    @property
    def control(self) -> bool:
        """Whether it is a control, or a pipeline with one, and no candidate."""
        return not NULLS.isdisjoint(_name(part) for part in self.spec.split(" + "))

    @property
    def bound(self) -> bool:
        """Whether it is shown as a bound: a control, or one that sees the future."""
        return self.control or self.sees_future

    @property
    def rejected_for(self) -> tuple[str, ...]:
        """The rules that it breaks on purpose and that a provider may reject a prompt for."""
        return tuple(rule for rule in REJECTED if rule in self.breaks)

    @property
    def exceeds_window(self) -> bool:
        """Whether any of its prompts was larger than the window."""
        return bool(self.figures["overflows"])

    @property
    def usable(self) -> bool:
        """Whether one could use it: within the window, not faulty, sees no future messages."""
        return not (self.exceeds_window or self.faulty or self.doubtful or self.sees_future)

    @property
    def as_recorded(self) -> bool:
        """Whether it is as recorded: a log does not hold what its summaries cost."""
        return self.name == "as_recorded"

    @property
    def choice(self) -> bool:
        """Whether it is usable, no control, not as recorded, and compacted at least once."""
        return self.usable and not self.control and not self.as_recorded and self.acted > 0

    @property
    def summarises(self) -> bool:
        """Whether it had anything written for it, so that the summariser matters."""
        return any(run.metrics.get("side_cost_usd") for run in self.runs)

    @property
    def did(self) -> tuple[object, ...]:
        """All metrics of its runs to the last bit, its figures, and marks that no metric tells."""
        figures = tuple(sorted(self.figures.items()))
        return self.sees_future, self.rejected_for, figures, digest_of(self.runs)

    @property
    def recall(self) -> float | None:
        """Fact recall: the share of needs that are met at the distance of the comparison."""
        return self.figures["recall"]

    @property
    def conversations(self) -> int:
        """Over how many conversations its figures are."""
        return len(replays(self.runs))

    def value(self, metric: str) -> float:
        """A figure, 0 where there is none."""
        return self.figures[metric] or 0.0


@dataclass(frozen=True)
class RecordedBill:
    """What the logs' own usage costs, and how far the replay of the same calls is off."""

    cost: float  # USD of the logs' usage, at the prices of the replay
    # How much cheaper or more expensive the replay's prompts are than the logs', as a share.
    difference: float
    # The larger of that, without its sign, and of what the conversations' own differences come to
    # if they are independent of each other: a sum may be right by chance.
    deviation: float


def recorded_bill(row: Row | None) -> RecordedBill | None:
    """The recorded bill beside the replay as recorded; None where not all usage is known."""
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
    """Strategies under one model, window and summariser, over the same cases."""

    model: str
    window: int
    rows: tuple[Row, ...]  # a row a strategy, the cheapest first
    cases: tuple[Case, ...]
    left_out: tuple[Case, ...]  # where a compared strategy did not succeed
    dropped: tuple[str, ...]  # labels of strategies that succeeded in less than half of the cases
    summarizer: str = ""
    written_by: str = ""  # the summariser's short name, where the results hold several
    lag: int = 20_000  # the distance: tokens of log from which on needs count
    catalogue: Catalogue = field(default_factory=built_in, repr=False)
    named: tuple[str, ...] = ()  # specs in the order in which the experiment names them
    bounds: tuple[Row, ...] = ()  # that no one named: over the same cases, and none of the rows
    # Bounds that should be there and are not, each with the reason.
    unknown: Mapping[str, str] = field(default_factory=dict)

    @property
    def headline(self) -> str:
        """The metric of memory: recall at the distance of this comparison."""
        return RECALL[self.lag]

    @property
    def primary(self) -> tuple[str, str]:
        """What it is about, declared before it is looked at: a metric of memory, one of money."""
        return self.headline, "cost_usd"

    @property
    def kind(self) -> Kind:
        """Under what its runs were."""
        return self.model, self.window, self.summarizer

    @cached_property
    def models(self) -> Counter[str]:
        """Calls by the model that they went to, under one of the strategies."""
        return models(run for row in self.rows[:1] for run in row.runs)

    @property
    def conversations(self) -> int:
        """How many conversations the rows are over, however often each was replayed."""
        return len({case[:2] for case in self.cases})

    def row(self, name: str) -> Row | None:
        """The row of a strategy or of a bound, by its name without fields."""
        return next((row for row in (*self.rows, *self.bounds) if row.name == name), None)

    @property
    def strategies(self) -> tuple[Row, ...]:
        """The rows without those that are shown as bounds."""
        return tuple(row for row in self.rows if not row.bound)

    @property
    def beside(self) -> tuple[Row, ...]:
        """All bounds: those that were named, and the others."""
        return (*(row for row in self.rows if row.bound), *self.bounds)

    @cached_property
    def undecided(self) -> bool:
        """Whether it is not known which strategies are choices, because keep_all is not.

        It tells how many calls are torn in the log, and whether prompts were ever changed.
        """
        usable = (row for row in self.strategies if not (row.exceeds_window or row.as_recorded))
        still = "keep_all" in self.unknown
        return any(row.doubtful or (still and not row.acted) for row in usable)

    @cached_property
    def choices(self) -> tuple[Row, ...]:
        """What one could use, the cheapest first; none where that is not decided."""
        return () if self.undecided else tuple(row for row in self.rows if row.choice)

    def dominated(self, row: Row) -> bool:
        """Whether a choice costs less and recalls more."""
        cost, recall = row.value("cost_usd"), row.recall or 0.0
        return any(
            each.value("cost_usd") < cost and (each.recall or 0.0) > recall for each in self.choices
        )

    @cached_property
    def lines(self) -> tuple[Row, ...]:
        """The rows for a table that people read: who did the very same is one, with all names.

        Of strategies, that is, which two systems have under two names, or which differ in what no
        conversation here came to. Controls, what was recorded and the user's own stand alone. The
        reference is named first; of others, advice takes the first of the rows.
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
        """The row for a table in which a strategy stands; a bound that no one named is its own."""
        lines = (line for line in self.lines if row.spec in (line.spec, *line.twins))
        return next(lines, row)

    @cached_property
    def reference(self) -> Row | None:
        """What the others are compared with: a bill that could be had.

        What was recorded; else ``keep_all``, if it stays within the window everywhere, for then a
        system does nothing; else the client of the model's provider; else the first usable
        candidate in the order of the experiment that no choice beats in both. None if nothing is
        usable, and where a bound that might be it is not known.
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
        """Whether calls go to the recorded models, and no window is narrowed."""
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
        """Whether ``as_recorded`` says more than ``keep_all``."""
        played, keep_all = self.row("as_recorded"), self.row("keep_all")
        if played is None:
            return False
        same = keep_all is not None and keep_all.figures["cost_usd"] == played.figures["cost_usd"]
        return self.model == "recorded" or not same

    @cached_property
    def recorded_bill(self) -> RecordedBill | None:
        """What the logs' own usage costs, where the recorded calls are replayed as recorded."""
        return recorded_bill(self.row("as_recorded"))

    @property
    def deviation(self) -> float:
        """Below which share of a cost a difference is none: the replay itself is so far off."""
        return self.recorded_bill.deviation if self.recorded_bill else 0.0

    @property
    def front(self) -> tuple[Row, ...]:
        """Choices that no other one beats in cost and in what is remembered at once."""
        choices = self.choices
        costs = [row.value("cost_usd") for row in choices]
        return tuple(choices[n] for n in front(costs, [-(row.recall or 0.0) for row in choices]))


def comparisons(results: Results) -> list[Comparison]:
    """Sort runs by model, window and summariser, and put those of each strategy together."""
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
    """Put the runs under one model, window and summariser together."""
    cases = list(dict.fromkeys(case_of(run) for run in runs))
    done = _done(runs)
    compared, common = _compared(cases, done)
    within = set(common)
    model, window, summarizer = kind
    # No summary is written under a bound, so it is the same whoever would write.
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
        )
    )


def _compared(
    cases: Sequence[Case], done: Mapping[str, Mapping[Case, Run]]
) -> tuple[list[str], list[Case]]:
    """The strategies that succeeded in half of the cases, and where all of these did."""
    # What failed under every strategy, for want of a price, say, tells nothing of any of them.
    done_cases = {case for own in done.values() for case in own}
    compared = [spec for spec in done if 2 * len(done[spec]) >= max(len(done_cases), 1)]
    common = _common(cases, done, compared)
    while compared and not common:
        compared.remove(min(compared, key=lambda spec: len(done[spec])))
        common = _common(cases, done, compared)
    return compared, common


def _done(runs: Iterable[Run]) -> dict[str, dict[Case, Run]]:
    """The runs of each strategy that went well."""
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
    """Which bounds the experiment has and these cases have not, and why."""
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
    """A row with its figures of memory at a distance."""
    memory = memory_of(row.runs, lag, summarises=row.summarises)
    figures = {**row.figures, "recall": row.figures[RECALL[lag]], **memory}
    return replace(row, figures=figures)


def _written_by(results: Results, summarizer: str) -> str:
    writers = results.manifest.get("summarizers", {})
    if len(writers) < 2:
        return ""
    return clean(writers.get(summarizer, {}).get("label", summarizer))


def _together(labels: Sequence[str]) -> str:
    """The names in one line of a table; of a grid of settings, as many as there is room for."""
    more = len(labels) - _NAMED
    return ", ".join([*labels[:_NAMED], f"{more} more"] if more > 0 else labels)


def case_of(run: Run) -> Case:
    """What a run was over: the unit that strategies are compared on."""
    return run.scenario, run.conversation, run.seed


def kind_of(run: Run) -> Kind:
    """Under what a run was: only what is under the same may be compared."""
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
    """A row, beside the runs of ``keep_all`` and the share of their calls that is torn."""
    own = figures_of(runs)
    # What the log has was sent and accepted: it is no fault.
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
    )


def _acted(runs: Sequence[Run], whole: Sequence[Run | None]) -> int:
    """The conversations in any replay of which something was changed."""
    changed = acted(runs, whole)
    return len(replays(runs[n] for n in np.flatnonzero(changed).tolist()))


def _related(comparison: Comparison) -> Comparison:
    """The same, with the cost of each strategy over that of the reference."""
    base = comparison.reference.value("cost_usd") if comparison.reference else 0.0

    def related(row: Row) -> Row:
        share = row.value("cost_usd") / base if base else None
        return replace(row, figures={**row.figures, "of_reference": share})

    rows, bounds = (tuple(map(related, each)) for each in (comparison.rows, comparison.bounds))
    return replace(comparison, rows=rows, bounds=bounds)


def _name(spec: str) -> str:
    return spec if " + " in spec else spec.partition("(")[0]
