"""What a test holds: a strategy's replays, their figures, and rules on them."""

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
    """Makes replays, and keeps them for the session; its processes share them in a folder."""

    def __init__(self, shared: Path | None = None) -> None:
        self._shared = shared
        self._known: dict[str, Results] = {}

    def of(self, experiment: Experiment) -> Results:
        """What an experiment finds, or what another of the same sources and conditions found."""
        keys = [source.key for source in experiment.sources]
        keys += [condition.key for condition in experiment.conditions]
        key = hashlib.blake2b("".join(keys).encode(), digest_size=8).hexdigest()
        if key not in self._known:
            shared = self._shared
            self._known[key] = _once(experiment, shared / key) if shared else experiment.run()
        return self._known[key]


def _once(experiment: Experiment, folder: Path) -> Results:
    """What is in a folder; the first that comes puts it there, and the others wait."""
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
        What the test's markers say.
    strategy
        The strategy.
    replays
        Makes the replays, or has them.

    Attributes
    ----------
    experiment
        What is replayed.
    """

    def __init__(self, settings: Settings, strategy: Strategy, replays: Replays) -> None:
        self._settings, self._replays = settings, replays
        self.strategy = strategy
        self.experiment: Experiment = settings.experiment(strategy)

    def __repr__(self) -> str:
        """What a failing test shows of its argument."""
        return f"<compaction of {self.strategy.label}>"

    @cached_property
    def results(self) -> Results:
        """All runs, with the tables of calls and of facts."""
        return self._replays.of(self.experiment)

    @property
    def figures(self) -> dict[str, float | None]:
        """Value by metric, over all conversations, put together as reports do it.

        Raises
        ------
        AssertionError
            If a run has failed: then the figures would be of the others.
        """
        __tracebackhide__ = True
        if failed := self.results.failed:
            failure = clean(f"{failed[0].conversation}: {failed[0].error}")
            raise AssertionError(self._shown(f"compaction: {failure}"))
        return figures_of(self.results.runs)

    def frame(self) -> pd.DataFrame:
        """One row a run, metrics as columns."""
        return self.results.frame()

    def under(self, strategy: Strategy | str) -> Compaction:
        """Another strategy over the same conversations and under the same settings.

        Parameters
        ----------
        strategy
            The strategy or its spec.

        Raises
        ------
        UsageError
            If it is none.
        """
        __tracebackhide__ = True
        try:
            return Compaction(self._settings, self._settings.under(strategy), self._replays)
        except CompactlabError as error:
            wrong = f"compaction.under: {error}"
        # Not where it was caught: what led to it would be told, too.
        raise UsageError(self._shown(wrong))

    def holds(
        self,
        *,
        than: Strategy | str | None = None,
        baseline: str | Path | None = None,
        type: str = "",
        **rules: str | Sequence[str],
    ) -> None:
        """Fail the test if a rule does not hold, and say what was forgotten and what it cost.

        Parameters
        ----------
        than
            A strategy, replayed likewise, that rules on a change are held against.
        baseline
            A file of ``compactlab baseline`` that they are held against.
        type
            A type of fact: then the rules are on ``amnesia_need`` of such facts alone.
        **rules
            By metric the rule, such as ``"<= 0.05"`` or ``"+2%"``, or several of them, see
            :mod:`compactlab.reports.gate.rules`.

        Raises
        ------
        AssertionError
            If one does not hold, or cannot be judged.
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
        """A text that may be told: nothing in it is a command to the machine that reads the log."""
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
    """See that a type of fact is one, and that it is asked of what has types."""
    known = get_args(FactType)
    if type and type not in known:
        raise UsageError(unknown("type of fact", str(type), known))
    if type and set(metrics) != {NEED}:
        raise UsageError(f"of a type of fact there is only {NEED}; give the others apart")
