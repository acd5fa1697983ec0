"""What a reader recalls, as a document: by strategy, by state, by type, by lag."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from compactlab.reports.analysis.preservation import Share
from compactlab.reports.probe.analysis import SENSITIVE, Agreement, Findings, Group, agreement
from compactlab.reports.probe.conditions import CONDITIONS, Condition
from compactlab.reports.probe.recall import Outcome
from compactlab.reports.render import csv
from compactlab.reports.render.document import (
    Block,
    Column,
    Document,
    Heading,
    Table,
    name,
    rows,
    sentences,
)
from compactlab.reports.render.text import NONE, counted, lag_from, plain, show
from compactlab.sim.facts.tracker import STATES

_COLUMNS = (
    "questions", "full", "without", "compacted", "restated", "kept", "predicted", "off", "MCC",
)  # fmt: skip
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
    """What a reader recalls.

    Parameters
    ----------
    outcomes
        What came of each question under each strategy.
    reader, judge
        Names of the models; "" if nobody judged.
    left_out
        Ids of conversations of which nothing was asked.
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
    """A share in points of a hundred."""
    return f"{100 * value:.0f}"


def ends(share: Share) -> str:
    """The interval of a share, if it has one."""
    if share.low is None or share.high is None:
        return ""
    return f" (95 %: {points(share.low)} to {points(share.high)})"


def _tables(findings: Findings) -> Iterator[Block]:
    for title, groups in grouped(findings).items():
        if groups:
            columns = (Column(title, words=True), *map(Column, _COLUMNS))
            yield Heading(f"By {title}")
            yield Table(columns, rows(map(_row, groups)))


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


def _row(group: Group) -> Sequence[str]:
    shares = [group.recall(condition) for condition in CONDITIONS]
    cells = [written(each) for each in (*shares, group.kept, group.predicted)]
    off = NONE if group.off is None else f"{100 * group.off:+.0f}"
    mcc = NONE if group.mcc is None else f"{group.mcc:.2f}"
    return name(group.name), f"{len(group.outcomes):,}", *cells, off, mcc


def written(share: Share | None) -> str:
    """A share with its interval, if it has one."""
    if share is None:
        return NONE
    if share.low is None or share.high is None:
        return show(share.value, "share")
    return f"{show(share.value, 'share')} [{points(share.low)}, {points(share.high)}]"


def _judged(judged: Agreement | None, judge: str) -> Iterator[str]:
    if judged is None:
        yield "Nobody judged: an answer recalls a value if it gives it, and no former value."
        return
    yield (
        f"{name(judge)} judged {counted(judged.answers, 'different answer')}, and agrees with "
        f"exact match on {show(judged.share, 'share')} (kappa {_ratio(judged.kappa)}); of "
        f"{judged.matching:,} that match it accepts {judged.accepted:,}. An answer counts if it "
        "matches or is accepted."
    )
    if judged.unclear:
        yield f"Of {counted(judged.unclear, 'answer')} it says neither yes nor no."


def _ratio(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"


def cut_short(cut: Iterable[Iterable[str]]) -> Iterator[str]:
    """How many prompts were too long for the reader, by condition."""
    for condition, prompts in sorted(Counter(each for some in cut for each in some).items()):
        yield (
            f"Too long for the reader, so that its oldest messages were left out: "
            f"{counted(prompts, 'prompt')} in the condition {condition}."
        )


def broken_off(answers: Iterable[bool]) -> Iterator[str]:
    """How many answers have no end."""
    every = list(answers)
    if any(every):
        yield (
            f"{show(sum(every) / len(every), 'share')} of the answers broke off at their longest: "
            "--max-tokens allows more, which a model that thinks first needs."
        )


def _data(
    findings: Findings, reader: str, judge: str, judged: Agreement | None, left_out: Sequence[str]
) -> dict[str, Any]:
    return {
        "reader": reader,
        "judge": judge or None,
        "sensitivity": interval(findings.sensitivity),
        "too_weak": findings.weak,
        "agreement": judged
        and {
            "answers": judged.answers,
            "share": plain(judged.share),
            "kappa": plain(judged.kappa),
            "matching": judged.matching,
            "accepted": judged.accepted,
            "unclear": judged.unclear,
        },
        "left_out": list(left_out),
        **{
            f"by_{title}": [_group(group) for group in groups]
            for title, groups in grouped(findings).items()
        },
        "outcomes": [_outcome(outcome) for outcome in findings.outcomes],
    }


def _group(group: Group) -> dict[str, Any]:
    return {
        "name": group.name,
        "questions": len(group.outcomes),
        **{condition: interval(group.recall(condition)) for condition in CONDITIONS},
        "kept": interval(group.kept),
        "predicted": interval(group.predicted),
        "off": plain(group.off),
        "mcc": plain(group.mcc),
    }


def interval(share: Share | None) -> dict[str, Any] | None:
    """A share with its interval, as data."""
    if share is None:
        return None
    return {"value": plain(share.value), "low": plain(share.low), "high": plain(share.high)}


def _outcome(outcome: Outcome) -> dict[str, Any]:
    about = ("conversation", "strategy", "call", "fact", "kind", "lag", "state", "question",
             "value")  # fmt: skip
    return {
        **{key: getattr(outcome, key) for key in about},
        "cut": [condition for condition in CONDITIONS if condition in outcome.cut],
        "answers": {
            condition: [
                {
                    "answer": mark.answer,
                    "exact": mark.exact,
                    "judged": mark.judged,
                    "broke_off": mark.broke_off,
                }
                for mark in outcome.marks[condition]
            ]
            for condition in CONDITIONS
        },
        "samples": {condition: outcome.samples[condition] for condition in CONDITIONS},
    }


_FIELDS = (
    "conversation", "strategy", "call", "fact", "kind", "lag", "state", "question", "value",
    "condition", "draw", "cut", "answer", "exact", "judged", "recalled", "sample",
)  # fmt: skip


def outcomes_as_csv(outcomes: Iterable[Outcome]) -> str:
    """Write a row for each answer."""
    return csv.write([_FIELDS, *(row for outcome in outcomes for row in _answers(outcome))])


def _answers(outcome: Outcome) -> Iterator[tuple[object, ...]]:
    o = outcome
    about = (o.conversation, o.strategy, o.call, o.fact, o.kind, o.lag, o.state, o.question)
    condition: Condition
    for condition in CONDITIONS:
        for draw, mark in enumerate(o.marks[condition]):
            cut, judged = int(condition in o.cut), mark.judged
            worth = int(mark.exact), None if judged is None else int(judged), int(mark.recalled)
            yield *about, o.value, condition, draw, cut, mark.answer, *worth, o.samples[condition]
