"""The object of a compaction test: a strategy's replays, their figures, and rules on them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from compactlab.privacy import Redactor
from compactlab.reports.analysis.aggregate import figures_of
from compactlab.reports.gate.baseline import read
from compactlab.reports.gate.record import NEED
from compactlab.reports.gate.rules import Rule, gains_only
from compactlab.reports.render.text import clean, without_commands
from compactlab.sim.core.conversation import FactType
from compactlab.sim.core.errors import CompactlabError, UsageError, unknown
from compactlab.sim.experiment.sweep import Experiment
from compactlab.sim.replay.strategy import Strategy
from compactlab.sim.store.results import Results
from compactlab.sim.store.store import Store
from compactlab.testing.failures import Trial
from compactlab.testing.settings import Settings

if TYPE_CHECKING:
    import pandas as pd


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
