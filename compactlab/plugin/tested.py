"""What a test holds: a strategy's replays, their figures, and rules on them."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from compactlab.plugin.replays import Replays
from compactlab.plugin.settings import Settings
from compactlab.plugin.trial import Trial
from compactlab.reports.aggregate import figures_of
from compactlab.reports.gate.file import read
from compactlab.reports.gate.record import NEED
from compactlab.reports.gate.rules import Rule
from compactlab.reports.text import clean
from compactlab.sim.errors import CompactlabError, UsageError
from compactlab.sim.results import Results
from compactlab.sim.strategy import Strategy
from compactlab.sim.sweep import Experiment

if TYPE_CHECKING:
    import pandas as pd


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
            told = clean(f"{failed[0].conversation}: {failed[0].error}")
            raise AssertionError(f"compaction: {told}")
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
        """
        return Compaction(self._settings, self._settings.under(strategy), self._replays)

    def holds(
        self,
        *,
        than: Strategy | str | None = None,
        baseline: str | Path | None = None,
        type: str = "",
        **rules: str,
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
            By metric the rule, such as ``"<= 0.05"`` or ``"+2%"``, see
            :mod:`compactlab.reports.gate.rules`.

        Raises
        ------
        AssertionError
            If one does not hold, or cannot be judged.
        """
        __tracebackhide__ = True
        try:
            said = self._trial(than, baseline, type, rules).failure
        except CompactlabError as error:
            said = f"compaction.holds: {error}"
        if said:
            raise AssertionError(said)

    def _trial(
        self,
        than: Strategy | str | None,
        baseline: str | Path | None,
        type: str,
        rules: dict[str, str],
    ) -> Trial:
        if not rules:
            raise UsageError("no rule is given; for example cost_usd='<= 2.00'")
        parsed = []
        for metric, text in rules.items():
            if not isinstance(text, str):
                raise UsageError(f"a rule is text, such as '<= 0.05'; {metric} has {text!r}")
            parsed.append(Rule.parse(metric, text))
        if type and set(rules) != {NEED}:
            raise UsageError(f"of a type of fact there is only {NEED}; give the others apart")
        if than is not None and baseline is not None:
            raise UsageError("than and baseline are two things to be held against: give one")
        for rule in parsed:
            if rule.relative and than is None and baseline is None:
                raise UsageError(
                    f"{rule.metric} {rule.text} says how far it may move, and not from what: "
                    "give than='keep_all', or a baseline"
                )
        other = None if than is None else self.under(than)
        agreed = None if baseline is None else read(self._settings.path(baseline))
        beside = other.results if other else None
        return Trial(self.experiment, self.results, parsed, type, beside, agreed)
