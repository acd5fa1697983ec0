"""How well the states of facts predict recall, and whether the reader is sensitive enough."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean
from typing import Protocol, TypeVar

import numpy as np

from compactlab.reports.analysis import betting
from compactlab.reports.analysis.bootstrap import FEWEST
from compactlab.reports.analysis.preservation import Share
from compactlab.reports.probe.conditions import Condition
from compactlab.reports.probe.recall import Mark, Outcome

# The minimum difference of a reader's recall with and without a fact (assay sensitivity, ICH E10,
# 2000); the figure is our choice.
SENSITIVE = 0.20
UNKNOWN = "unknown"  # facts in this state have no prediction


def mcc(pairs: Iterable[tuple[bool, float]]) -> float | None:
    """Matthews's correlation between predictions and shares of positive answers.

    A share counts as a fraction of a positive and the rest as a negative, so that all answers to a
    question count once. None if one of the four margins is empty (Matthews 1975, Biochimica et
    Biophysica Acta 405:442).

    Examples
    --------
    >>> mcc([(True, 1.0), (False, 0.0)]), mcc([(True, 0.5), (False, 0.5)])
    (1.0, 0.0)
    >>> mcc([(True, 1.0), (True, 0.0)]) is None
    True
    """
    hit = miss = false = right = 0.0
    for predicted, share in pairs:
        if predicted:
            hit, false = hit + share, false + 1 - share
        else:
            miss, right = miss + share, right + 1 - share
    margins = (hit + false) * (hit + miss) * (right + false) * (right + miss)
    return (hit * right - false * miss) / sqrt(margins) if margins > 0 else None


class _Observed(Protocol):
    """An observation in a conversation."""

    @property
    def conversation(self) -> str: ...


_Seen = TypeVar("_Seen", bound=_Observed)


def mean_of(
    outcomes: Iterable[_Seen], value: Callable[[_Seen], float], *, least: float = 0.0
) -> Share | None:
    """The mean over the conversations' means, with an interval from ten conversations on.

    Parameters
    ----------
    outcomes
        The observations.
    value
        The value of an observation, from ``least`` to 1.
    least
        The smallest possible value.
    """
    by_conversation: defaultdict[str, list[float]] = defaultdict(list)
    for outcome in outcomes:
        by_conversation[outcome.conversation].append(value(outcome))
    means = [fmean(values) for values in by_conversation.values()]
    if not means:
        return None
    if len(means) < FEWEST:
        return Share(fmean(means))
    return Share(fmean(means), *betting.interval(np.array(means), least, 1.0))


def recall(outcomes: Iterable[Outcome], condition: Condition) -> Share | None:
    """The share of answers that recall the value, in a condition."""
    return mean_of(outcomes, lambda outcome: outcome.recall(condition))


def distinct(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Each question once: conditions with and without the fact are equal for all strategies."""
    return [*{(o.conversation, o.call, o.fact): o for o in outcomes}.values()]


def sensitivity(outcomes: Iterable[Outcome]) -> Share | None:
    """Assay sensitivity: a reader's recall with a fact less its recall without it."""
    return mean_of(distinct(outcomes), lambda o: o.recall("full") - o.recall("without"), least=-1.0)


@dataclass(frozen=True)
class Group:
    """Outcomes of a group, with predicted and actual recall."""

    name: str
    outcomes: Sequence[Outcome]

    @property
    def _known(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.state != UNKNOWN]

    @property
    def kept(self) -> Share | None:
        """The share of facts that are in the prompt according to their states."""
        return mean_of(self._known, lambda outcome: float(outcome.predicted))

    @property
    def predicted(self) -> Share | None:
        """Predicted recall, if states are right.

        A present fact is recalled as in the full context, any other as without it, by the same
        reader and for the same question.
        """
        return mean_of(self._known, lambda o: o.recall("full" if o.predicted else "without"))

    @property
    def off(self) -> float | None:
        """Calibration: actual recall less predicted recall."""
        recalled, predicted = recall(self._known, "compacted"), self.predicted
        return recalled.value - predicted.value if recalled and predicted else None

    @property
    def mcc(self) -> float | None:
        """The correlation of predicted and actual recall."""
        return mcc((outcome.predicted, outcome.recall("compacted")) for outcome in self._known)

    def recall(self, condition: Condition) -> Share | None:
        """The share of answers that recall the value."""
        return recall(self.outcomes, condition)


@dataclass(frozen=True)
class Findings:
    """The results of a reader."""

    outcomes: Sequence[Outcome]

    @property
    def sensitivity(self) -> Share | None:
        """Assay sensitivity of the reader."""
        return sensitivity(self.outcomes)

    @property
    def weak(self) -> bool:
        """Whether the reader is too weak to show anything."""
        sensitive = self.sensitivity
        return sensitive is None or sensitive.value < SENSITIVE

    def groups(self, name: Callable[[Outcome], str]) -> list[Group]:
        """The outcomes grouped by an attribute, in the order of their first occurrence."""
        by_name: dict[str, list[Outcome]] = {}
        for outcome in self.outcomes:
            by_name.setdefault(name(outcome), []).append(outcome)
        return [Group(each, some) for each, some in by_name.items()]


@dataclass(frozen=True)
class Agreement:
    """The agreement of a judge with the exact match, over distinct answers."""

    answers: int
    same: int
    accepted: int  # how many of the matching answers the judge accepts
    matching: int
    unclear: int = 0  # answers that the judge neither accepts nor rejects

    @property
    def share(self) -> float | None:
        """The share of answers on which both agree."""
        return self.same / self.answers if self.answers else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa: agreement beyond chance (1960, Educ. and Psychol. Measurement 20:37)."""
        if not self.answers:
            return None
        # All that the judge accepts: matching answers, and others without agreement.
        others = self.answers - self.matching
        yes = self.accepted + others - (self.same - self.accepted)
        both = self.matching * yes + others * (self.answers - yes)
        chance = both / self.answers**2
        return (self.same / self.answers - chance) / (1 - chance) if chance < 1 else None


def agreement(outcomes: Iterable[Outcome]) -> Agreement:
    """The agreement of the judge with the exact match; equal answers to a question count once."""
    marks: dict[tuple[str, str, str, str], Mark] = {}
    for o in outcomes:
        for each in o.marks.values():
            marks.update({(o.conversation, o.fact, o.call, m.answer.strip()): m for m in each})
    judged = [mark for mark in marks.values() if mark.judged is not None]
    return Agreement(
        len(judged),
        sum(mark.exact == mark.judged for mark in judged),
        sum(mark.exact and mark.judged is True for mark in judged),
        sum(mark.exact for mark in judged),
        sum(mark.judged is None and bool(mark.answer.strip()) for mark in marks.values()),
    )
