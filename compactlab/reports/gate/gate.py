"""A gate: compare results with a reviewed baseline, by rules or exactly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from compactlab.reports.analysis.comparison import Case
from compactlab.reports.gate.baseline import (
    COMPARED,
    ENGINE,
    Baseline,
    computed,
    differences,
    gated,
    other_figures,
)
from compactlab.reports.gate.judging import Judge, Side
from compactlab.reports.gate.record import Record, Subject, brief, some
from compactlab.reports.gate.rules import Demand, Outcome, bare, same_kind, unchanged
from compactlab.reports.gate.verdict import Finding, Misses, Verdict, in_order, is_memory, misses
from compactlab.reports.render.text import clean, counted, shorten
from compactlab.sim.store.results import Results

# Match strategies whose fields have changed to those of the baseline.

# Specs up to this long are shown whole; longer ones only if labels are ambiguous.
_BRIEF, _SPEC = 80, 240
Held = Mapping[Subject, Mapping[Case, Record]]


@dataclass(frozen=True)
class Successors:
    """Strategies of a store that the baseline has under other fields."""

    pairs: Mapping[Subject, Subject]  # new strategy to the one it replaces
    doubts: tuple[str, ...] = ()  # where several strategies may be the successor

    @classmethod
    def of(cls, before: Baseline, after: Baseline) -> Successors:
        """Match the strategies of both sides."""
        new = (subject for subject in after.records if subject not in before.records)
        gone = (subject for subject in before.records if subject not in after.records)
        pairs, doubts = {}, []
        for ours, theirs in same_kind(new, gone, _kind):
            if len(ours) == len(theirs) == 1:
                pairs[ours[0]] = theirs[0]
            else:
                was, is_ = (some([subject.label for subject in each]) for each in (theirs, ours))
                doubts.append(f"renamed, and ambiguous: was {was}, is {is_}")
        return cls(pairs, tuple(dict.fromkeys(doubts)))

    def applied(self, before: Baseline) -> Baseline:
        """A baseline in which strategies have their new names."""
        now = {was: is_ for is_, was in self.pairs.items()}
        moved = {now.get(subject, subject): held for subject, held in before.records.items()}
        return replace(before, records={subject: moved[subject] for subject in sorted(moved)})

    @property
    def remarks(self) -> tuple[str, ...]:
        """Which strategy is compared with which, one sentence each, without the models."""
        sentences = (_against(is_, was) for is_, was in self.pairs.items())
        return tuple(dict.fromkeys(sentences))


def _kind(subject: Subject) -> tuple[str, str, str]:
    """What changed fields do not affect."""
    return bare(subject.strategy), subject.model, subject.summarizer


def _against(is_: Subject, was: Subject) -> str:
    """Which strategies are compared; full specs, because labels may omit the changed field."""
    now, once = (shorten(clean(subject.strategy), _SPEC) for subject in (is_, was))
    if is_.label != was.label and max(len(now), len(once)) > _BRIEF:
        now, once = brief(is_.label), brief(was.label)
    return f"{now} is compared with {once} of the baseline"


# Obstacles to a verdict, independent of the rules; and what else is new.


def other_provenance(before: Baseline, after: Baseline) -> list[str]:
    """Differences of provenance, which prevent any comparison."""
    lines = [
        f"other provenance: {words}: was {_value(was)}, is {_value(is_)}"
        for words, was, is_ in differences(before, after)
    ]
    lines += [f"other provenance: {each}" for each in other_figures(before, after)]
    shared = before.digests.keys() & after.digests.keys()
    pairs = {key: (before.digests[key], after.digests[key]) for key in shared}
    # A conversation without a successful run has no digest.
    moved = sorted(key for key, (was, is_) in pairs.items() if was and is_ and was != is_)
    if moved:
        names = some([name for _, name in moved])
        lines.append(f"other provenance: {counted(len(moved), 'conversation')} changed: {names}")
    return lines


def obstacles(
    results: Results, before: Baseline | None, after: Baseline, *, exact: bool
) -> Iterator[str]:
    """Why something cannot be judged: missing or failed runs."""
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
    """What the baseline has and the store lacks."""
    subjects, runs = _only_in(before.records, after.records)
    if subjects:
        yield f"in the baseline and not in the store: {_subjects(subjects)}"
    if runs:
        yield f"{counted(len(runs), 'run')} of the baseline missing: {_runs(runs)}"


def _new(before: Baseline, after: Baseline) -> Iterator[str]:
    """What the store has and the baseline lacks."""
    good = {
        subject: {case: record for case, record in held.items() if not record.failed}
        for subject, held in before.records.items()
    }
    subjects, runs = _only_in(after.records, good)
    if subjects:
        yield f"not in the baseline: {_subjects(subjects)}"
    if runs:
        yield f"{counted(len(runs), 'run')} not in the baseline: {_runs(runs)}"


def _only_in(one: Held, other: Held) -> tuple[list[Subject], list[tuple[Subject, Record]]]:
    """Strategies on one side only, and runs on one side only of strategies on both."""
    subjects = [subject for subject in one if subject not in other]
    runs = [
        (subject, record)
        for subject, held in one.items()
        if subject in other
        for case, record in held.items()
        if not record.failed and case not in other[subject]
    ]
    return subjects, runs


_VERSIONS = (
    "the baseline holds versions and not the figures that were used, so another version is "
    "refused; compactlab baseline writes it anew"
)


def news(before: Baseline | None, after: Baseline, *, exact: bool) -> Iterator[str]:
    """Remarks that do not affect the verdict."""
    if before is None:
        return
    was, is_ = before.provenance, after.provenance
    if was.get(ENGINE) != is_.get(ENGINE):
        yield (
            f"the engine has changed: was {_value(was.get(ENGINE))}, is {_value(is_.get(ENGINE))}"
        )
    if before.by_figures and after.by_figures:
        for name in ("prices", "tokenizer"):
            if was.get(name) != is_.get(name):
                versions = f"was {_value(was.get(name))}, is {_value(is_.get(name))}"
                yield f"{COMPARED[name]}: {versions}; compared are the figures that were used"
    elif after.by_figures:
        yield _VERSIONS
    if not exact:
        yield from _new(before, after)
    still = [each for each in before.failed if each[0] in after.records]
    still = [
        (subject, record)
        for subject, record in still
        if (now := after.records[subject].get(record.case)) and now.failed
    ]
    if still:
        yield f"{counted(len(still), 'run')} failed before and again now: {_runs(still)}"


def _subjects(subjects: Iterable[Subject]) -> str:
    return some([f"{subject.label} ({subject.model})" for subject in subjects])


def _runs(runs: Iterable[tuple[Subject, Record]]) -> str:
    return some([f"{record.conversation} under {subject.label}" for subject, record in runs])


def _value(value: object) -> str:
    return brief(repr(value))


_ABSENT = "there is no baseline"


def gate(
    results: Results,
    before: Baseline | None,
    demands: Sequence[Demand] | None = None,
    absence: str = _ABSENT,
) -> Verdict:
    """Judge results by a baseline.

    A strategy whose fields have changed is compared with its predecessor, and a remark says so.
    """
    exact = demands is None
    metrics = {*(before.metrics if before else ()), *(d.rule.metric for d in demands or ())}
    after = Baseline.of(results, metrics)
    other = other_provenance(before, after) if before else []
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
    # With different provenance nothing is compared, so no pair is named.
    remarks = [*(() if other else changed.remarks), *news(before, after, exact=exact)]
    absent = [name for name in gated(results) if name in computed(results) and name not in metrics]
    told = tuple(_with_lost(findings, results))
    return Verdict(told, tuple(stopped), tuple(remarks), tuple(absent) if exact and before else ())


def _with_lost(findings: Sequence[Finding], results: Results) -> Iterator[Finding]:
    """Findings; the most urgent one about memory of each strategy gets its lost facts."""
    failed = (Outcome.REGRESSED, Outcome.CHANGED)
    about: dict[Subject, Finding] = {}
    for each in in_order(findings):
        memory = each.outcome in failed and is_memory(each.demand.rule.metric)
        if memory and each.subject and each.direction != "better":
            about.setdefault(each.subject, each)
    for each in findings:
        chosen = each.subject is not None and about.get(each.subject) is each
        yield replace(each, lost=_lost(each, results)) if chosen else each


def _lost(finding: Finding, results: Results) -> Misses | None:
    """What was missed where a memory figure fell, in the conversations that changed most."""
    subject, names = finding.subject, {move.conversation for move in finding.moved}
    own = [
        run
        for run in results.runs
        if subject is not None
        and (run.strategy, run.model, run.summarizer)
        == (subject.strategy, subject.model, subject.summarizer)
        and (not names or run.conversation in names)
    ]
    found = misses(results, finding.type, runs=own, metric=finding.demand.rule.metric)
    return found if found.missed else None


def _asked(judge: Judge, demand: Demand, after: Baseline, exact: bool) -> Iterator[Finding]:
    """The findings of a rule for all that it applies to."""
    subjects = [subject for subject in after.records if demand.fits(subject)]
    subjects = [s for s in subjects if any(map(demand.covers, after.records[s].values()))]
    # A repeated failure is only mentioned, unless the rule would then check nothing.
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
    # A pattern without a match is a typo or stale: its rule checks nothing.
    idle = demand.idle(after.records, known)
    if idle or not subjects or not types:
        reason = ", ".join(idle) or demand.narrowed
        yield Finding(demand, None, Outcome.UNJUDGED, f"no run fits{reason and f': {reason}'}")
