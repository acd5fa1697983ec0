"""What stands in the way of a verdict, whatever the rules say; and what else is new."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from compactlab.reports.comparison import Case
from compactlab.reports.gate.baseline import Baseline
from compactlab.reports.gate.names import brief, some
from compactlab.reports.gate.provenance import ENGINE, differences
from compactlab.reports.gate.record import Record, Subject
from compactlab.reports.text import counted
from compactlab.sim.results import Results


def elsewhere(before: Baseline, after: Baseline) -> list[str]:
    """In what a baseline is of another provenance, so that nothing is compared with it."""
    said = [
        f"other provenance: {words}: was {_value(was)}, is {_value(is_)}"
        for words, was, is_ in differences(before.provenance, after.provenance)
    ]
    shared = before.digests.keys() & after.digests.keys()
    pairs = {key: (before.digests[key], after.digests[key]) for key in shared}
    # Of what never went well there is none.
    moved = sorted(key for key, (was, is_) in pairs.items() if was and is_ and was != is_)
    if moved:
        names = some([name for _, name in moved])
        said.append(f"other provenance: {counted(len(moved), 'conversation')} changed: {names}")
    return said


def obstacles(
    results: Results, before: Baseline | None, after: Baseline, *, exact: bool
) -> Iterator[str]:
    """Why something cannot be judged: what is missing, and what failed.

    Parameters
    ----------
    results
        What is.
    before, after
        The two sides.
    exact
        Whether nothing may differ: then what is new stands in the way, too.
    """
    if not results.runs:
        yield "the store holds no runs"
    if results.missing:
        yield f"{counted(results.missing, 'cell')} of the experiment not in the store yet"
    was = before.records if before else {}
    failed = [
        (subject, record)
        for subject, record in after.failed
        if not (known := was.get(subject, {}).get(record.case)) or not known.failed
    ]
    if failed:
        yield f"{counted(len(failed), 'run')} failed: {_runs(failed)}"
    unread = sorted({*after.unreadable} - {*(before.unreadable if before else ())})
    if unread:
        yield f"{counted(len(unread), 'source')} not readable: {some(unread)}"
    if before is None:
        return
    yield from _gone(before, after)
    if exact:
        yield from _new(before, after)


def _gone(before: Baseline, after: Baseline) -> Iterator[str]:
    """What the baseline holds and the store does not."""
    whole = [subject for subject in before.records if subject not in after.records]
    if whole:
        yield f"in the baseline and not in the store: {_subjects(whole)}"
    runs = [
        (subject, record)
        for subject, held in before.records.items()
        if subject in after.records
        for case, record in held.items()
        if not record.failed and case not in after.records[subject]
    ]
    if runs:
        yield f"{counted(len(runs), 'run')} of the baseline missing: {_runs(runs)}"


def _new(before: Baseline, after: Baseline) -> Iterator[str]:
    """What the store holds and the baseline does not."""
    whole = [subject for subject in after.records if subject not in before.records]
    if whole:
        yield f"not in the baseline: {_subjects(whole)}"
    runs = [
        (subject, record)
        for subject, held in after.records.items()
        if subject in before.records
        for case, record in held.items()
        if not record.failed and not _known(before.records[subject], record)
    ]
    if runs:
        yield f"{counted(len(runs), 'run')} not in the baseline: {_runs(runs)}"


def _known(held: Mapping[Case, Record], record: Record) -> bool:
    known = held.get(record.case)
    return known is not None and not known.failed


def news(before: Baseline | None, after: Baseline, *, exact: bool) -> Iterator[str]:
    """What is worth knowing, and decides nothing."""
    if before is None:
        return
    was, is_ = before.provenance.get(ENGINE), after.provenance.get(ENGINE)
    if was != is_:
        yield f"the engine is another one: was {_value(was)}, is {_value(is_)}"
    if not exact:
        yield from _new(before, after)
    still = [each for each in before.failed if each[0] in after.records]
    still = [
        (subject, record)
        for subject, record in still
        if (now := after.records[subject].get(record.case)) and now.failed
    ]
    if still:
        yield f"{counted(len(still), 'run')} failed before and failed now: {_runs(still)}"


def _subjects(subjects: Iterable[Subject]) -> str:
    return some([f"{subject.label} ({subject.model})" for subject in subjects])


def _runs(runs: Iterable[tuple[Subject, Record]]) -> str:
    return some([f"{record.conversation} under {subject.label}" for subject, record in runs])


def _value(value: object) -> str:
    return brief(repr(value))
