"""Tuning: run settings over the same conversations, and refine where it pays."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from compactlab.reports.analysis.comparison import Comparison, comparisons
from compactlab.reports.tune.choice import ratio
from compactlab.reports.tune.report import TuningResult
from compactlab.reports.tune.search import Search, proposals
from compactlab.reports.tune.settings import Model
from compactlab.reports.tune.survey import Selection, selections, survey, triggers, unfit
from compactlab.reports.tune.tuned import Target, Tuned, Variant, summary_effect, tuned_of
from compactlab.sim.core.errors import CompactlabError, UsageError
from compactlab.sim.experiment.shard import Shard
from compactlab.sim.experiment.sweep import Done, Experiment
from compactlab.sim.experiment.workers import ALONE, Workers
from compactlab.sim.metrics.memory import LONG
from compactlab.sim.models.model import Catalogue
from compactlab.sim.replay.strategy import Strategy
from compactlab.sim.store.results import Results
from compactlab.sim.store.store import Store

# The metrics that tuning needs.
METRICS = (
    "cost_usd",
    "cost_with_recovery_usd",
    "cost_with_recovery_worst_usd",
    "compactions",
    "amnesia_need",
    "unmet_needs",
    *(f"recall_{lag // 1000}k" for lag in LONG),
)
TABLES = ("calls", "lags")


Say = Callable[[str], object]
"""Called with progress messages."""
Watch = Callable[[Sequence[Shard]], Callable[[Done], object]]
"""Called with the shards to run; returns a callback for every finished shard."""


class UnreplayedError(UsageError):
    """No session of a window could be replayed under all settings."""


@dataclass
class Tuner:
    """Runs settings of strategies over the sessions of one window."""

    # An experiment over all sessions with ``keep_all`` only. Its null summarisers show, at the end,
    # the effect of summaries.
    planned: Experiment
    strategies: Sequence[Strategy]  # to tune
    selection: Selection
    search: Search
    target: Target
    folder: Path  # of the store
    workers: Workers = ALONE
    say: Say = lambda line: None
    watch: Watch | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        self.model = model_of(self.selection, self.planned.setting.catalogue)
        self.cells = self.calls = 0
        self._variants = {each.spec: [Variant(each, {})] for each in self.strategies}
        self._proposals: dict[str, Generator[list[Variant], Tuned | None, None]] = {
            each.spec: proposals(each, self.model, self.search, *triggers(self.selection))
            for each in self.strategies
        }

    def first(self) -> Experiment:
        """The first round: all settings known in advance."""
        self._propose({})
        return self._experiment()

    def tune(self) -> tuple[Tuned, ...]:
        """Run settings until more would gain nothing, and return the results."""
        experiment = self.first()
        dropped: set[str] = set()
        for number in count(1):
            self._run(experiment, self.folder, number)
            comparison = self._comparison(self.folder)
            found: dict[str, Tuned] = {}
            for spec, variants in self._variants.items():
                each = tuned_of(variants, self.search.fields, self.model, comparison, self.target)
                if each is not None:
                    found[spec] = replace(each, dropped=spec in dropped)
            if number == 1 and self.search.race:
                dropped = more_expensive(found)
                found = {s: replace(each, dropped=s in dropped) for s, each in found.items()}
            if not self._propose(found):
                break
            experiment = self._experiment()
        return tuple(map(self._with_controls, found.values()))

    def _propose(self, found: Mapping[str, Tuned]) -> bool:
        """Add the next settings to run; return whether there are any."""
        more = False
        for spec, proposing in [*self._proposals.items()]:
            try:
                self._variants[spec] += proposing.send(found.get(spec))
                more = True
            except StopIteration:
                del self._proposals[spec]
        return more

    def _experiment(self) -> Experiment:
        every = [each.strategy for variants in self._variants.values() for each in variants]
        strategies = {each.spec: each for each in (*self.planned.strategies, *every)}
        return replace(
            self.planned,
            sources=tuple(each.source for each in self.selection.chosen),
            strategies=tuple(strategies.values()),
            setting=replace(self.planned.setting, controls=()),
        )

    def _run(self, experiment: Experiment, folder: Path, number: int) -> None:
        store = Store(folder)
        with store.locked():
            todo = experiment.missing(store, self.timeout)
            cells = sum(len(shard.cells) for shard in todo)
            if cells:
                settings = len(experiment.conditions)
                what = f"round {number}: {settings} settings" if number else "null summarisers"
                self.say(f"{what}, {cells} runs to do")
            watched = self.watch(todo) if self.watch and cells else None

            def progress(done: Done) -> None:
                self.cells += done.cells
                self.calls += done.calls
                if watched is not None:
                    watched(done)

            experiment.run_into(store, self.workers, progress, todo=todo)

    def _comparison(self, folder: Path) -> Comparison:
        results = Results.load(folder)
        compared = comparisons(results)
        if not compared or not compared[0].cases:
            reasons = dict.fromkeys(run.error for run in results.failed if run.error)
            said = ["no session could be replayed under all settings", *reasons]
            raise UnreplayedError("\n  ".join(said))
        return max(compared, key=lambda each: len(each.cases))

    def _with_controls(self, tuned: Tuned) -> Tuned:
        """Add the effect of the chosen setting's summaries, compared with empty summaries."""
        controls = self.planned.setting.controls
        if not controls or not tuned.acts:
            return tuned
        indices = dict.fromkeys([tuned.own, tuned.candidate])
        specs = [tuned.tried[index].spec for index in indices if index is not None]
        by_spec = {each.spec: each.strategy for each in self._variants[tuned.strategy]}
        experiment = replace(
            self._experiment(),
            strategies=tuple(by_spec[spec] for spec in specs),
            setting=replace(self.planned.setting, loop=None),
        )
        folder = self.folder / "controls"
        self._run(experiment, folder, 0)
        comparison = self._comparison(folder)
        effects = (summary_effect(comparison, spec, tuned.lag) for spec in specs)
        return replace(tuned, summaries=tuple(filter(None, effects)))


def model_of(selection: Selection, catalogue: Catalogue) -> Model:
    """The model of most calls of some sessions."""
    name, _ = selection.models.most_common(1)[0]
    try:
        known = catalogue.find(name)
    except CompactlabError:
        return Model(selection.window, name=name)
    narrow = selection.window < known.window
    return Model(
        selection.window, known.max_output, known.provider, known.name, narrow, known.client_window
    )


def more_expensive(found: Mapping[str, Tuned]) -> set[str]:
    """The alternatives that cost significantly more.

    At most half of them (successive halving: Jamieson and Talwalkar 2016, AISTATS 51:240): the most
    expensive ones, if their best setting costs significantly more than the best of all.
    """
    best = {
        spec: tuned.choice.costs[tuned.best]
        for spec, tuned in found.items()
        if tuned.best is not None
    }
    if not best:
        return set()
    cheapest = min(best, key=lambda spec: float(best[spec].sum()))
    last = sorted(best, key=lambda spec: -float(best[spec].sum()))[: len(best) // 2]
    return {spec for spec in last if ratio(best[spec], best[cheapest]).costs_more}


def tune_all(
    planned: Experiment,
    strategies: Sequence[Strategy],
    search: Search,
    target: Target,
    out: str | Path | None,
    *,
    narrowed: int | None = None,
    workers: Workers = ALONE,
    say: Say = lambda line: None,
    watch: Watch | None = None,
    step: Callable[[int], object] = lambda number: None,
    timeout: float | None = None,
) -> TuningResult:
    """Survey the sources, and tune strategies over those of each window.

    A window whose sessions all fail, such as under a model without a price, is left out.
    """
    began = time.monotonic()
    every, failures = survey(planned, search, narrowed, step)
    chosen = selections(every, search)
    if not chosen:
        raise UsageError("\n  ".join(["there is nothing to tune", *(failures or [unfit(every)])]))
    with TemporaryDirectory() as spare:
        folder = Path(spare if out is None else out)
        tuners = [
            Tuner(
                planned, strategies, each, search, target, folder / str(each.window), workers, say,
                watch, timeout,
            )
            for each in chosen
        ]  # fmt: skip
        tuned: list[Tuned] = []
        for tuner in tuners:
            try:
                tuned += tuner.tune()
            except UnreplayedError as error:
                chosen.remove(tuner.selection)
                why = str(error).replace("\n  ", "; ")
                failures.append(f"window {tuner.selection.window:,} tokens: {why}")
        if not chosen:
            raise UsageError("\n".join(failures))
    return TuningResult(
        tuple(tuned),
        tuple(chosen),
        len(every),
        tuple(failures),
        target,
        sum(tuner.cells for tuner in tuners),
        sum(tuner.calls for tuner in tuners),
        time.monotonic() - began,
    )
