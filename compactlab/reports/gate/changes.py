"""Changes against a baseline, by strategy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from compactlab.reports.analysis.aggregate import figures_of
from compactlab.reports.analysis.calls import distance_of
from compactlab.reports.analysis.comparison import RECALL
from compactlab.reports.gate.baseline import Baseline
from compactlab.reports.gate.gate import Successors, other_provenance
from compactlab.reports.gate.record import NEED, Record, Subject
from compactlab.reports.gate.rules import same
from compactlab.reports.render.document import (
    Block,
    Column,
    Document,
    Table,
    name,
    rows,
    sentences,
)
from compactlab.reports.render.text import counted, enumerated, lag_from, show
from compactlab.sim.metrics import METRICS
from compactlab.sim.store.results import Results

_COST = "cost_usd"
_ARROW = "\N{RIGHTWARDS ARROW}"
_LISTED = 4
_ROWS = 12


@dataclass(frozen=True)
class Change:
    """A strategy whose figures differ from the baseline."""

    subject: Subject
    # Before and after; only those that changed.
    figures: Mapping[str, tuple[float | None, float | None]]


def changes(after: Baseline, before: Baseline) -> list[Change]:
    """Find the changes over the runs that both have."""
    changed = []
    for subject, new in after.records.items():
        old = before.records.get(subject, {})
        shared = [
            case for case in new if case in old and not (new[case].failed or old[case].failed)
        ]
        was, is_ = (_figures([held[case] for case in shared]) for held in (old, new))
        moved = {
            metric: (was[metric], is_[metric])
            for metric in before.metrics
            if not same(was[metric], is_[metric])
        }
        if moved:
            changed.append(Change(subject, moved))
    return changed


def report(results: Results, before: Baseline) -> Document:
    """Report the changes against a baseline, in a few lines."""
    after = Baseline.of(results, before.metrics)
    if other := other_provenance(before, after):
        nothing = "Nothing is compared with the baseline: its figures have another provenance."
        return _document(nothing, map(name, other))
    successors = Successors.of(before, after)
    before = successors.applied(before)
    changed = changes(after, before)
    remarks = map(name, (*successors.remarks, *successors.doubts))
    distance = distance_of(results)
    is_held = all(RECALL[distance] in side.metrics for side in (before, after))
    memory = RECALL[distance] if is_held else NEED
    columns = (
        Column("strategy", words=True),
        Column("USD"),
        Column(f"recall {lag_from(distance)}" if is_held else "miss rate, all needs"),
        Column("also changed", words=True),
    )
    lines = [[name(_named(each, after)), *_cells(each, memory)] for each in changed[:_ROWS]]
    more = f"and {len(changed) - _ROWS} more" if len(changed) > _ROWS else ""
    table = [Table(columns, rows(lines))] if changed else []
    return _document(_headline(changed, before, after), remarks, *table, sentences([more]))


def _document(headline: str, remarks: Iterable[str], *blocks: Block) -> Document:
    first = sentences([headline], bullets=False)
    return Document((first, sentences(remarks), *blocks), dense=True)


def _headline(changed: list[Change], before: Baseline, after: Baseline) -> str:
    known = [subject for subject in after.records if subject in before.records]
    sentence = f"Against the baseline, {len(changed)} of {counted(len(known), 'strategy')} changed."
    if not changed:
        sentence = f"Against the baseline, no figure of {counted(len(known), 'strategy')} changed."
    if new := len(after.records) - len(known):
        sentence += f" Not in the baseline: {counted(new, 'strategy')}."
    if gone := sum(subject not in after.records for subject in before.records):
        sentence += f" Only in the baseline: {counted(gone, 'strategy')}."
    return sentence


def _named(change: Change, after: Baseline) -> str:
    """The strategy's name, unambiguous among others of its name."""
    subject = change.subject
    same_name = [each for each in after.records if each.label == subject.label]
    apart = [
        getattr(subject, field)
        for field in ("model", "summarizer")
        if len({getattr(each, field) for each in same_name}) > 1
    ]
    return " under ".join([subject.label, *apart])


def _cells(change: Change, memory: str) -> Iterator[str]:
    first = _COST, memory
    for metric in first:
        yield _moved(change, metric) if metric in change.figures else "same"
    others = [metric for metric in change.figures if metric not in first]
    yield enumerated(others, _LISTED) if others else ""


def _moved(change: Change, metric: str) -> str:
    was, is_ = change.figures[metric]
    unit = METRICS[metric].unit
    text = f"{show(was, unit)} {_ARROW} {show(is_, unit)}"
    if was and is_ is not None and unit == "USD":
        text += f" ({is_ / was - 1:+.1%})"
    if was is not None and is_ is not None and unit == "share":
        text += f" ({(is_ - was) * 100:+.1f} points)"
    return text


def _figures(records: list[Record]) -> dict[str, float | None]:
    return figures_of([record.run("") for record in records])
