"""The report on a reader's recall: by strategy, state, type and distance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from compactlab.reports.analysis.preservation import Share
from compactlab.reports.probe.analysis import SENSITIVE, Agreement, Findings, Group, agreement
from compactlab.reports.probe.conditions import CONDITIONS, Condition
from compactlab.reports.probe.recall import Mark, Outcome
from compactlab.reports.render.document import Block, Document, Heading, name, sentences
from compactlab.reports.render.fields import Field, as_data, csv_of, data_of, hidden, table_of
from compactlab.reports.render.text import NONE, counted, lag_from, show, with_interval
from compactlab.sim.facts.tracker import STATES

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
    """Report the recall of a reader.

    Parameters
    ----------
    outcomes
        The outcome of each question under each strategy.
    reader, judge
        Names of the models; "" without a judge.
    left_out
        Ids of conversations without questions.
    """
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
