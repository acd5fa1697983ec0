"""A gate: whether results still are what a reviewed baseline says, by rules or exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compactlab.reports.gate.baseline import Baseline
from compactlab.reports.gate.demand import Demand, unchanged
from compactlab.reports.gate.judging import Judge
from compactlab.reports.gate.obstacles import elsewhere, news, obstacles
from compactlab.reports.gate.rules import Outcome
from compactlab.reports.gate.side import Side
from compactlab.reports.gate.successors import Successors
from compactlab.reports.gate.verdict import Finding, Verdict
from compactlab.sim.results import Results

_ABSENT = "there is no baseline"


def gate(
    results: Results,
    before: Baseline | None,
    demands: Sequence[Demand] | None = None,
    absence: str = _ABSENT,
) -> Verdict:
    """Judge results by a baseline.

    What the baseline knows under other fields is held against what it was, and that is said, see
    :mod:`compactlab.reports.gate.successors`.

    Parameters
    ----------
    results
        What is.
    before
        What was; None if there is none: then nothing passes, and rules on where a figure must
        stand are judged all the same.
    demands
        The rules; None for none: every figure must be what it was.
    absence
        Why there is no baseline.

    Returns
    -------
    Verdict
        What came of each rule for each strategy, and of all together.
    """
    exact = demands is None
    metrics = {*(before.metrics if before else ()), *(d.rule.metric for d in demands or ())}
    after = Baseline.of(results, metrics)
    other = elsewhere(before, after) if before else []
    changed = Successors.of(before, after) if before else Successors({})
    before = changed.applied(before) if before else None
    stopped = [*other, *changed.doubts, *obstacles(results, before, after, exact=exact)]
    refusal = "the baseline is of another provenance" if other else ""
    if before is None:
        refusal = _ABSENT
        stopped = [absence, *stopped]
    if demands is None:
        types = sorted({*before.types, *after.types}) if before and before.typed else []
        demands = unchanged(before.metrics, types) if before else []
    judge = Judge(Side(before), Side(after), refusal)
    findings = tuple(
        finding for demand in demands for finding in _asked(judge, demand, after, exact)
    )
    # Where nothing is compared, nothing is held against anything.
    told = [*(() if other else changed.remarks), *news(before, after, exact=exact)]
    return Verdict(findings, tuple(stopped), tuple(told))


def _asked(judge: Judge, demand: Demand, after: Baseline, exact: bool) -> Iterator[Finding]:
    """What comes of a rule for everything that it is asked of."""
    subjects = [subject for subject in after.records if demand.fits(subject)]
    subjects = [s for s in subjects if any(map(demand.covers, after.records[s].values()))]
    # What failed before and fails now is only mentioned, unless the rule would then guard nothing.
    well = [
        s for s in subjects if judge.before.records(s, demand) or judge.after.records(s, demand)
    ]
    if demand.rule.relative and (well or exact):
        subjects = well
    known = {*after.types, *(judge.before.held.types if judge.before.held else ())}
    types = demand.types(sorted(known))
    for subject in subjects:
        for type in types:
            yield judge.finding(demand, subject, type)
    if exact:
        return
    # A name that fits nothing is a slip, or something that is gone: its rule guards nothing.
    idle = demand.idle(after.records, known)
    if idle or not subjects or not types:
        told = ", ".join(idle) or demand.narrowed
        yield Finding(demand, None, Outcome.UNJUDGED, f"no run fits{told and f': {told}'}")
