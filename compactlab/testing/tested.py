"""The object of a compaction test: a strategy's replays, their figures, and rules on them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from compactlab.privacy import Redactor
from compactlab.reports.analysis.aggregate import figures_of
from compactlab.reports.gate.baseline import Baseline, read
from compactlab.reports.gate.gate import gate
from compactlab.reports.gate.outputs import moved_of, number, text_of
from compactlab.reports.gate.record import NEED, brief
from compactlab.reports.gate.rules import Demand, Outcome, Rule, gains_only
from compactlab.reports.gate.verdict import LISTED, Finding, Verdict, misses
from compactlab.reports.render.document import with_names
from compactlab.reports.render.text import clean, counted, shorten, without_commands
from compactlab.sim.core.conversation import FactType
from compactlab.sim.core.errors import CompactlabError, UsageError, unknown
from compactlab.sim.experiment.sweep import Experiment
from compactlab.sim.replay.strategy import Strategy
from compactlab.sim.store.results import Results
from compactlab.sim.store.store import Store
from compactlab.testing.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

_NOTHING = "nothing to hold it against"
_LONGEST = 100


@dataclass(frozen=True)
class Trial:
    """Rules and the replays of the strategy that they apply to.

    Rules on a change compare it with the results of a reference strategy, or with a baseline.
    """

    experiment: Experiment
    results: Results
    rules: Sequence[Rule]
    type: str = ""  # the type of fact; "" for all
    reference: Results | None = None
    baseline: Baseline | None = None

    @property
    def failure(self) -> str:
        """Return why the rules do not hold, with forgotten facts and costs; "" if they hold."""
        if not self._verdict.obstacles and not self._verdict.failed:
            return ""
        return "\n  ".join([self._headline(), *self._broken(), *self._forgotten(), *self._paid()])

    @cached_property
    def _verdict(self) -> Verdict:
        type = (self.type,) if self.type else ()
        demands = [Demand(rule, type=type) for rule in self.rules]
        if self.baseline is not None:
            return gate(self.results, self._before, demands)
        # Absolute rules need no reference strategy.
        moves = [demand for demand in demands if demand.rule.relative]
        places = [demand for demand in demands if not demand.rule.relative]
        verdicts = [self._against(moves)] if moves else []
        verdicts.append(gate(self.results, None, places, absence=_NOTHING))
        obstacles = dict.fromkeys(each for verdict in verdicts for each in verdict.obstacles)
        return Verdict(
            tuple(finding for verdict in verdicts for finding in verdict.findings),
            tuple(each for each in obstacles if each != _NOTHING),
        )

    def _against(self, moves: Sequence[Demand]) -> Verdict:
        """Judge rules on a change against another strategy."""
        if self.reference is None or not self.reference.failed:
            return gate(self.results, self._before, moves)
        reason = f"{counted(len(self.reference.failed), 'run')} of {_name(self.reference)} failed"
        return Verdict(tuple(Finding(each, None, Outcome.UNJUDGED, reason) for each in moves))

    @property
    def _before(self) -> Baseline | None:
        """Return the baseline of the same strategy, so that the gate finds its pairs.

        Earlier failures are left out: a gate ignores repeated failures, but a test must fail.
        """
        own = next((s for s in Baseline.of(self.results).records), None)
        held = self.baseline
        if self.reference is not None:
            held = Baseline.of(self.reference, [rule.metric for rule in self.rules])
        if held is None or own is None:
            return held
        mine = {
            replace(subject, strategy=own.strategy, label=own.label): {
                case: record for case, record in records.items() if not record.failed
            }
            for subject, records in held.records.items()
            if self.reference is not None or subject.strategy == own.strategy
        }
        return replace(held, records=mine)

    def _headline(self) -> str:
        runs = self.results.runs
        label = self.experiment.strategies[0].label
        models = sorted({run.model for run in runs if run.model}) or list(self.experiment.models)
        over = counted(len({(run.scenario, run.conversation) for run in runs}), "conversation")
        under = f" under {clean(', '.join(models))}" if models else ""
        return f"{clean(label)}{under} does not hold over {over}:"

    def _broken(self) -> Iterator[str]:
        for finding in self._verdict.failed:
            marked = "" if finding.outcome is Outcome.REGRESSED else f" ({finding.outcome.value})"
            yield f"{clean(finding.name)}{marked}: {with_names(text_of(finding))}"
            if finding.moved and len(self.results.runs) > 1:
                yield f"  most: {with_names('; '.join(moved_of(finding)))}"
        for obstacle in self._verdict.obstacles:
            yield f"cannot judge: {clean(obstacle)}"
        for remark in self._verdict.remarks:
            yield f"note: {clean(remark)}"
        failed = self.results.failed or (self.reference.failed if self.reference else [])
        for run in failed[:LISTED]:
            yield f"  {brief(run.conversation)}: {shorten(clean(run.error), 3 * _LONGEST)}"
        if held := [finding for finding in self._verdict.findings if finding.holds]:
            yield f"holds: {', '.join(clean(finding.name) for finding in held)}"

    def _forgotten(self) -> Iterator[str]:
        several = len(self.experiment.sources) > 1
        yield from misses(self.results, self.type).lines(several=several)

    def _paid(self) -> Iterator[str]:
        figures = figures_of([run for run in self.results.runs if run.status == "ok"])
        if figures["cost_usd"] is None:
            return
        cost = f"it cost {number(figures['cost_usd'])} USD"
        if figures["side_cost_usd"]:
            cost += f", {number(figures['side_cost_usd'])} of it for side calls such as summaries"
        if self.reference is not None:
            other = figures_of([run for run in self.reference.runs if run.status == "ok"])
            if other["cost_usd"] is not None:
                cost += f" ({_name(self.reference)}: {number(other['cost_usd'])} USD)"
        yield f"{cost}, in {counted(int(figures['compactions'] or 0), 'compaction')}"


def _name(results: Results) -> str:
    """Return the short name of the only strategy in the results."""
    return clean(next(iter(results.manifest["strategies"].values())))


class Replays:
    """Runs replays and caches them for the session; its processes share them in a folder."""

    def __init__(self, shared: Path | None = None) -> None:
        self._shared = shared
        self._known: dict[str, Results] = {}

    def of(self, experiment: Experiment) -> Results:
        """Return the results of an experiment; equal sources and conditions are run once."""
        keys = [source.key for source in experiment.sources]
        keys += [condition.key for condition in experiment.conditions]
        key = hashlib.blake2b("".join(keys).encode(), digest_size=8).hexdigest()
        if key not in self._known:
            shared = self._shared
            self._known[key] = _once(experiment, shared / key) if shared else experiment.run()
        return self._known[key]


def _once(experiment: Experiment, folder: Path) -> Results:
    """Return the results in a folder; the first process writes them, the others wait."""
    from filelock import FileLock

    folder.parent.mkdir(exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not Store(folder).exists:
            experiment.run().save(folder)
    return Results.load(folder)


class Compaction:
    """A strategy, replayed over a test's conversations.

    Parameters
    ----------
    settings
        The settings from the test's markers.
    strategy
        The strategy.
    replays
        Runs or caches the replays.

    Attributes
    ----------
    experiment
        The experiment.
    """

    def __init__(self, settings: Settings, strategy: Strategy, replays: Replays) -> None:
        self._settings, self._replays = settings, replays
        self.strategy = strategy
        self.experiment: Experiment = settings.experiment(strategy)

    def __repr__(self) -> str:
        """Return the description in a failing test."""
        return f"<compaction of {self.strategy.label}>"

    @cached_property
    def results(self) -> Results:
        """All runs, with the tables of calls and of facts."""
        return self._replays.of(self.experiment)

    @property
    def figures(self) -> dict[str, float | None]:
        """The value of each metric over all conversations, aggregated as in reports.

        Raises
        ------
        AssertionError
            If a run has failed, because the figures would not include it.
        """
        __tracebackhide__ = True
        if failed := self.results.failed:
            failure = clean(f"{failed[0].conversation}: {failed[0].error}")
            raise AssertionError(self._shown(f"compaction: {failure}"))
        return figures_of(self.results.runs)

    def frame(self) -> pd.DataFrame:
        """Return one row per run, with metrics as columns."""
        return self.results.frame()

    def under(self, strategy: Strategy | str) -> Compaction:
        """Return another strategy with the same conversations and settings.

        Parameters
        ----------
        strategy
            The strategy or its spec.

        Raises
        ------
        UsageError
            If the strategy does not exist.
        """
        __tracebackhide__ = True
        try:
            return Compaction(self._settings, self._settings.under(strategy), self._replays)
        except CompactlabError as error:
            wrong = f"compaction.under: {error}"
        # Raised outside the handler, so that the original error is not shown.
        raise UsageError(self._shown(wrong))

    def holds(
        self,
        *,
        than: Strategy | str | None = None,
        baseline: str | Path | None = None,
        type: str = "",
        **rules: str | Sequence[str],
    ) -> None:
        """Fail the test if a rule does not hold, and report forgotten facts and costs.

        Parameters
        ----------
        than
            A reference strategy, replayed in the same way, for rules on a change.
        baseline
            A file of ``compactlab baseline`` as reference for rules on a change.
        type
            A type of fact: the rules then apply to ``amnesia_need`` of such facts only.
        **rules
            Rules by metric, such as ``"<= 0.05"`` or ``"+2%"``, or several of them, see
            :mod:`compactlab.reports.gate.rules`.

        Raises
        ------
        AssertionError
            If a rule does not hold, or cannot be judged.
        """
        __tracebackhide__ = True
        try:
            failure = self._trial(than, baseline, type, rules).failure
        except CompactlabError as error:
            failure = f"compaction.holds: {error}"
        if failure:
            raise AssertionError(self._shown(failure))

    def _trial(
        self,
        than: Strategy | str | None,
        baseline: str | Path | None,
        type: str,
        rules: Mapping[str, str | Sequence[str]],
    ) -> Trial:
        parsed = _parsed(rules)
        _check_type(type, rules)
        if than is not None and baseline is not None:
            raise UsageError("than and baseline are two things to be held against: give one")
        for rule in parsed:
            if rule.relative and than is None and baseline is None:
                raise UsageError(
                    f"{rule.metric} {rule.text} says how far it may move, and not from what: "
                    "give than='keep_all', or a baseline"
                )
        other = None
        if than is not None:
            other = Compaction(self._settings, self._settings.under(than), self._replays)
        agreed = None if baseline is None else read(self._settings.path(str(baseline)))
        if agreed is not None and self._settings.redact:
            agreed = Redactor().within(agreed)
        reference = other.results if other else None
        return Trial(self.experiment, self.results, parsed, type, reference, agreed)

    def _shown(self, text: str) -> str:
        """Return a text without workflow commands for the machine that reads the log."""
        return without_commands(Redactor().text(text) if self._settings.redact else text)


def _parsed(rules: Mapping[str, str | Sequence[str]]) -> list[Rule]:
    if not rules:
        raise UsageError("no rule is given; for example cost_usd='<= 2.00'")
    parsed: list[Rule] = []
    for metric, given in rules.items():
        texts = list(given) if isinstance(given, list | tuple) else [given]
        if not texts or not all(isinstance(text, str) for text in texts):
            raise UsageError(f"a rule is text, such as '<= 0.05'; {metric} has {given!r}")
        own = [Rule.parse(metric, str(text)) for text in texts]
        if wrong := gains_only(own):
            raise UsageError(f"{metric}: {wrong}")
        parsed += own
    return parsed


def _check_type(type: str, metrics: Collection[str]) -> None:
    """Check a type of fact, and that the metric has values by type."""
    known = get_args(FactType)
    if type and type not in known:
        raise UsageError(unknown("type of fact", str(type), known))
    if type and set(metrics) != {NEED}:
        raise UsageError(f"of a type of fact there is only {NEED}; give the others apart")
