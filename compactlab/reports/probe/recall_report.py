"""The report on a reader's recall: by strategy, state, type and distance."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import sqrt
from statistics import fmean
from typing import Any, Protocol, TypeVar

import numpy as np

from compactlab.reports.analysis import betting
from compactlab.reports.analysis.bootstrap import FEWEST
from compactlab.reports.analysis.preservation import Share
from compactlab.reports.probe.conditions import CONDITIONS, Condition
from compactlab.reports.probe.recall import Mark, Outcome
from compactlab.reports.render.document import Block, Document, Heading, name, sentences
from compactlab.reports.render.fields import Field, as_data, csv_of, data_of, hidden, table_of
from compactlab.reports.render.text import NONE, counted, lag_from, show, with_interval
from compactlab.sim.facts.tracker import STATES

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

    Values are from ``least`` to 1.
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


_MEANINGS = (
    "full, without, compacted, restated: share of answers that give the value, with the full "
    "context, without the fact, with the strategy's prompt, and with that and the fact once more.",
    "kept: share of facts that are verbatim or intact in the prompt. predicted: what would be "
    "recalled if a fact that is kept were recalled as in the full context, and any other as "
    "without it. off: recalled less predicted. MCC: correlation of kept with recalled; 1 is "
    "perfect, 0 is chance.",
)


def report(
    outcomes: Sequence[Outcome], reader: str, judge: str = "", left_out: Sequence[str] = ()
) -> Document:
    """Report the recall of a reader."""
    findings = Findings(outcomes)
    judged = agreement(outcomes) if judge else None
    blocks: list[Block] = [
        sentences(_verdict(findings, reader, left_out)),
        *_tables(findings),
        sentences(_MEANINGS, "quiet"),
        sentences(
            [
                *_judged(judged, judge),
                *cut_short(o.cut for o in outcomes),
                *broken_off(
                    m.broke_off for o in outcomes for each in o.marks.values() for m in each
                ),
            ]
        ),
    ]
    return Document(tuple(blocks), partial(_data, findings, reader, judge, judged, left_out))


def _verdict(findings: Findings, reader: str, left_out: Sequence[str]) -> Iterator[str]:
    outcomes, sensitive = findings.outcomes, findings.sensitivity
    if sensitive is None:
        yield f"Nothing was asked of {name(reader)}."
    else:
        talks = len({outcome.conversation for outcome in outcomes})
        asked = len({(o.conversation, o.call, o.fact) for o in outcomes})
        draws = max(len(marks) for o in outcomes for marks in o.marks.values())
        yield (
            f"{counted(asked, 'question')} about {counted(talks, 'conversation')}, each answered "
            f"{counted(draws, 'time')} by {name(reader)}."
        )
        gain = f"{points(sensitive.value)} points{ends(sensitive)}"
        if findings.weak:
            yield (
                f"Reader too weak: with the fact it recalls {gain} more than without it, and "
                f"{points(SENSITIVE)} are needed. Its answers say nothing about strategies."
            )
        else:
            yield f"Assay sensitivity: with the fact it recalls {gain} more than without it."
    if left_out:
        yield (
            f"{counted(len(left_out), 'conversation')} left out: no strategy compacts, or no call "
            "after it needs a labelled fact that can be asked about."
        )


def points(value: float) -> str:
    """A share in percentage points."""
    return f"{100 * value:.0f}"


def ends(share: Share) -> str:
    """The interval of a share, if any."""
    if share.low is None or share.high is None:
        return ""
    return f" (95 %: {points(share.low)} to {points(share.high)})"


def _tables(findings: Findings) -> Iterator[Block]:
    for title, groups in grouped(findings).items():
        if groups:
            yield Heading(f"By {title}")
            yield table_of((Field("name", label=title, words=True), *_GROUP), groups)


def grouped(findings: Findings) -> dict[str, list[Group]]:
    """The groups of each table, in the order of its rows."""
    by_state = findings.groups(lambda outcome: outcome.state)
    by_lag = {g.name: g for g in findings.groups(lambda outcome: lag_from(outcome.lag))}
    lags = sorted({outcome.lag for outcome in findings.outcomes})
    return {
        "strategy": findings.groups(lambda outcome: outcome.strategy),
        "state": sorted(by_state, key=lambda group: STATES.index(group.name)),
        "type": findings.groups(lambda outcome: outcome.kind),
        "lag": [by_lag[lag_from(lag)] for lag in lags],
    }


def _recalled(condition: Condition) -> Field:
    return Field(condition, lambda group: group.recall(condition), write=with_interval)


_GROUP = (
    Field("questions", lambda group: len(group.outcomes)),
    *map(_recalled, CONDITIONS),
    Field("kept", write=with_interval),
    Field("predicted", write=with_interval),
    Field("off", write=lambda off: NONE if off is None else f"{100 * off:+.0f}"),
    Field("mcc", label="MCC", unit="ratio"),
)
_AGREEMENT = hidden("answers", "share", "kappa", "matching", "accepted", "unclear")


def _judged(judged: Agreement | None, judge: str) -> Iterator[str]:
    if judged is None:
        yield "Nobody judged: an answer recalls a value if it gives it, and no former value."
        return
    yield (
        f"{name(judge)} judged {counted(judged.answers, 'different answer')}, and agrees with "
        f"exact match on {show(judged.share, 'share')} (kappa {show(judged.kappa, 'ratio')}); of "
        f"{judged.matching:,} that match it accepts {judged.accepted:,}. An answer counts if it "
        "matches or is accepted."
    )
    if judged.unclear:
        yield f"Of {counted(judged.unclear, 'answer')} it says neither yes nor no."


def cut_short(cut: Iterable[Iterable[str]]) -> Iterator[str]:
    """The number of prompts that were too long for the reader, by condition."""
    for condition, prompts in sorted(Counter(each for some in cut for each in some).items()):
        yield (
            f"Too long for the reader, so that its oldest messages were left out: "
            f"{counted(prompts, 'prompt')} in the condition {condition}."
        )


def broken_off(answers: Iterable[bool]) -> Iterator[str]:
    """The number of truncated answers."""
    every = list(answers)
    if any(every):
        yield (
            f"{show(sum(every) / len(every), 'share')} of the answers broke off at their longest: "
            "--max-tokens allows more, which a model that thinks first needs."
        )


@dataclass(frozen=True)
class _Answer:
    """An answer to a question in a condition."""

    outcome: Outcome
    condition: Condition
    draw: int
    mark: Mark


# Question, answer and marks.
_ANSWER = (
    *hidden("conversation", "strategy", "call", "fact", "kind", "lag", of="outcome"),
    *hidden("state", "question", "value", of="outcome"),
    *hidden("condition", "draw"),
    Field("cut", lambda answer: answer.condition in answer.outcome.cut),
    *hidden("answer", "exact", "judged", "recalled", "broke_off", of="mark"),
    Field("sample", lambda answer: answer.outcome.samples[answer.condition]),
)


def _answers(outcomes: Iterable[Outcome]) -> Iterator[_Answer]:
    for outcome in outcomes:
        for condition in CONDITIONS:
            for draw, mark in enumerate(outcome.marks[condition]):
                yield _Answer(outcome, condition, draw, mark)


def answers_as_csv(outcomes: Iterable[Outcome]) -> str:
    """Write one row per answer."""
    return csv_of(_ANSWER, _answers(outcomes))


def _data(
    findings: Findings, reader: str, judge: str, judged: Agreement | None, left_out: Sequence[str]
) -> dict[str, Any]:
    group = (Field("name"), *_GROUP)
    return {
        "reader": reader,
        "judge": judge or None,
        "sensitivity": as_data(findings.sensitivity),
        "too_weak": findings.weak,
        "agreement": judged and data_of(_AGREEMENT, judged),
        "left_out": list(left_out),
        **{
            f"by_{title}": [data_of(group, each) for each in groups]
            for title, groups in grouped(findings).items()
        },
        "answers": [data_of(_ANSWER, each) for each in _answers(findings.outcomes)],
    }
