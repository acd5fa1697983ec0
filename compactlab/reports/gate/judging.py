"""Judging one rule for one strategy: by figures, or by an interval if there is noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from compactlab.reports.analysis.aggregate import POOLED, figures_of
from compactlab.reports.analysis.comparison import Case, Comparison, Row
from compactlab.reports.gate.baseline import Baseline
from compactlab.reports.gate.record import Record, Subject, brief
from compactlab.reports.gate.rules import Demand, Judgement, Outcome, Rule, same
from compactlab.reports.gate.verdict import Finding, Follows, Move, Span
from compactlab.reports.render.text import counted
from compactlab.sim.metrics import METRICS
from compactlab.sim.store.run import Run

# One side of a gate, before or after: figures aggregated as in reports.

Records = Mapping[Case, Record]


class Side:
    """Figures of a baseline, each computed once."""

    def __init__(self, held: Baseline | None) -> None:
        self.held = held
        self._figures: dict[tuple[Subject, tuple[str, ...], str], dict[str, float | None]] = {}

    @property
    def subjects(self) -> list[Subject]:
        """The strategies, with model and summariser."""
        return list(self.held.records) if self.held else []

    def records(self, subject: Subject, demand: Demand) -> Records:
        """The successful runs of a subject that a demand covers."""
        records = self.held.records.get(subject, {}) if self.held else {}
        return {
            case: record
            for case, record in records.items()
            if not record.failed and demand.covers(record)
        }

    def figure(self, subject: Subject, demand: Demand, type: str) -> float | None:
        """The figure of a subject over all runs that a demand covers."""
        key = subject, demand.scenario, type
        if key not in self._figures:
            records = self.records(subject, demand).values()
            self._figures[key] = figures_of([record.run(type) for record in records])
        return self._figures[key].get(demand.rule.metric)

    def lacks(self, metric: str, type: str) -> bool:
        """Whether it has no such figure."""
        if self.held is None:
            return True
        # Needs by type come from the table of facts, not from the metrics.
        return not self.held.typed if type else metric not in self.held.metrics


def by_conversation(records: Iterable[Record]) -> dict[tuple[str, str], list[Record]]:
    """Runs by scenario and conversation; several if there are several seeds."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        groups.setdefault(record.case[:2], []).append(record)
    return groups


def value_of(records: Sequence[Record], metric: str, type: str) -> float | None:
    """The figure of a conversation, over its replays."""
    runs: list[Run] = [record.run(type) for record in records]
    return figures_of(runs)[metric] if runs else None


# The interval of a figure, if replays of a conversation differ.
# For a rule on a change, it comes from the paired cluster bootstrap over conversations: the old
# figure is fixed, and the interval is that of the change. For a rule on the figure itself, it is
# the interval of the figure. Both come from :mod:`compactlab.reports.analysis`. A gate asks only
# about its own conversations, not about a population.


def span_of(rule: Rule, before: Iterable[Record], after: Iterable[Record], type: str = "") -> Span:
    """The interval of the figure that a rule limits."""
    was, is_ = _row("before", before, type), _row("after", after, type)
    return _of_change(rule.metric, was, is_) if rule.relative else _of_figure(rule.metric, is_)


def _row(name: str, records: Iterable[Record], type: str) -> Row:
    runs = tuple(record.run(type) for record in records)
    return Row(name, name, runs, figures_of(runs), False, {}, False, 0)


def _of_change(metric: str, before: Row, after: Row) -> Span:
    from compactlab.reports.analysis.contrast import contrasts

    comparison = Comparison("", 0, (before, after), (), (), ())
    contrast = contrasts(comparison, before, [metric], fixed=True)[after.spec, metric]
    figure = before.figures[metric]
    if figure is None:
        return Span(missing="no value before")
    if contrast.kind == "ratio":
        base, times = 0.0, figure
    else:
        # The difference of an amount is per conversation, but the figure is for all.
        base, times = figure, contrast.conversations if METRICS[metric].aggregation == "sum" else 1
    detectable = None if contrast.detectable is None else contrast.detectable * times
    missing = _missing(metric, contrast.conversations)
    if contrast.low is None or contrast.high is None:
        return Span(None, None, "", contrast.conversations, detectable, missing)
    ends = base + contrast.low * times, base + contrast.high * times
    return Span(*ends, contrast.method, contrast.conversations, detectable)


def _of_figure(metric: str, row: Row) -> Span:
    from compactlab.reports.analysis.bootstrap import row_interval

    interval = row_interval(row, metric, fixed=True)
    if interval.low is None or interval.high is None:
        return Span(None, None, "", row.conversations, None, _missing(metric, row.conversations))
    detectable = _smallest_distance(metric, row)
    return Span(interval.low, interval.high, interval.method, row.conversations, detectable)


def _smallest_distance(metric: str, row: Row) -> float | None:
    """The smallest detectable distance from a limit, computed like a smallest difference."""
    import numpy as np

    from compactlab.reports.analysis.bootstrap import smallest_difference
    from compactlab.reports.analysis.sample import Quotient, Sample, mean_of

    if METRICS[metric].aggregation == "median":
        return None
    sample = Sample([row], [metric])
    if metric in POOLED:
        figure = Quotient(*sample.parts(metric))
    else:
        values = sample.values(metric)
        figure = mean_of(values, ~np.isnan(values))
    counts = (figure.below > 0).sum(axis=1)
    times = counts[0] if METRICS[metric].aggregation == "sum" else 1
    pull, sizes = figure.influence(counts), np.abs(figure.value)
    distance = smallest_difference(pull, counts, sizes)[0] * times
    return float(distance) if np.isfinite(distance) else None


def _missing(metric: str, conversations: int) -> str:
    """Why there is no interval."""
    from compactlab.reports.analysis.bootstrap import FEWEST

    if METRICS[metric].aggregation == "maximum":
        return "a maximum has no interval"
    if conversations < FEWEST:
        return f"{counted(conversations, 'conversation')}; an interval needs {FEWEST}"
    return f"{metric} of these conversations has no interval ({METRICS[metric].unit})"


# The conversations that changed most: where to look first if a rule fails.

_SHOWN = 3


def moved_most(
    rule: Rule, before: Iterable[Record], after: Iterable[Record], type: str = ""
) -> tuple[Move, ...]:
    """The conversations that changed most in the direction that a rule limits."""
    was, is_ = by_conversation(before), by_conversation(after)
    values = {
        key: [value_of(side.get(key, []), rule.metric, type) for side in (was, is_)]
        for key in sorted({*was, *is_})
    }
    every = [(Move(key[1], *pair), key) for key, pair in values.items()]
    changed = [
        (step, key, move)
        for move, key in every
        if not same(move.before, move.after) and (step := _step(rule, move)) > 0
    ]
    if not changed and not rule.relative:
        changed = [(_out(rule, move), key, move) for move, key in every if move.after is not None]
    # Changes that differ only in their last digits are equal; then the name decides.
    ordered = sorted(changed, key=lambda each: (-float(f"{each[0]:.9g}"), each[1]))
    return tuple(move for _, _, move in ordered[:_SHOWN])


def _step(rule: Rule, move: Move) -> float:
    """A conversation's change in the limited direction; infinite for new values if ``exact``."""
    if move.before is None or move.after is None:
        return math.inf if rule.exact else 0.0
    if rule.exact or (rule.upper and rule.lower):
        return abs(move.after - move.before)
    return move.after - move.before if rule.upper else move.before - move.after


def _out(rule: Rule, move: Move) -> float:
    """A conversation's value in the limited direction."""
    value = move.after or 0.0
    if rule.upper and rule.lower:
        return abs(value - rule.amount)
    return value if rule.upper else -value


REPLAYS = 5
"""With fewer replays of a conversation, noisy figures are not judged."""


class _Refusal(NamedTuple):
    """Why a rule cannot be judged, and which cause it follows from."""

    reason: str
    follows: Follows = ""


@dataclass(frozen=True)
class Judge:
    """Judges rules by the figures before and after."""

    before: Side
    after: Side
    refusal: str = ""  # why nothing may be compared with the baseline

    def finding(self, demand: Demand, subject: Subject, type: str) -> Finding:
        """The finding of a rule for a subject and a type of fact."""
        theirs, mine = (side.records(subject, demand) for side in (self.before, self.after))
        unpaired = self._unpaired(demand, subject, type, theirs, mine)
        paired = unpaired is None
        was = self.before.figure(subject, demand, type) if paired else None
        is_ = self.after.figure(subject, demand, type)
        span = None
        if refused := self._refused(demand, type, mine, unpaired):
            judgement = Judgement(Outcome.UNJUDGED, refused.reason)
        elif demand.rule.exact:
            judgement = _exactly(demand, type, theirs, mine)
        elif paired and was is None and is_ is None and not demand.rule.asks_value:
            judgement = Judgement(Outcome.HOLDS, "no value before or now")
        elif _noisy(demand, type, theirs if paired else {}, mine):
            judgement, span = _by_interval(demand, type, theirs if paired else {}, mine, was)
        else:
            judgement = _as_ever(demand, was, demand.rule.judge(was, is_))
        moved: tuple[Move, ...] = ()
        if judgement.outcome in (Outcome.REGRESSED, Outcome.CHANGED, Outcome.INCONCLUSIVE):
            old = theirs.values() if paired else ()
            moved = moved_most(demand.rule, old, mine.values(), type)
        values = judgement.outcome, judgement.reason, type, was, is_, span, moved
        return Finding(demand, subject, *values, refused.follows if refused else "")

    def _refused(
        self, demand: Demand, type: str, mine: Records, unpaired: _Refusal | None
    ) -> _Refusal | None:
        """Why a rule cannot be judged; None if it can."""
        metric = demand.rule.metric
        if self.after.lacks(metric, type):
            return _Refusal(f"the store has no {_what(metric, type)}")
        if demand.rule.relative and unpaired:
            return unpaired
        # If all runs failed before and after, nothing changed, and nothing can be checked.
        return None if mine else _Refusal("all its runs failed", "strategy")

    def _unpaired(
        self, demand: Demand, subject: Subject, type: str, theirs: Records, mine: Records
    ) -> _Refusal | None:
        """Why its figures cannot be compared with the baseline's; None if they can."""
        metric = demand.rule.metric
        if self.refusal:
            return _Refusal(self.refusal, "baseline")
        if self.before.lacks(metric, type):
            return _Refusal(f"the baseline has no {_what(metric, type)}")
        if subject not in self.before.subjects:
            return _Refusal("it is not in the baseline", "strategy")
        gone, new = len(theirs.keys() - mine.keys()), len(mine.keys() - theirs.keys())
        reasons = [f"{counted(gone, 'run')} of the baseline missing"] if gone else []
        reasons += [f"{counted(new, 'run')} not in the baseline"] if new else []
        return _Refusal(" and ".join(reasons), "strategy") if reasons else None


def _what(metric: str, type: str) -> str:
    return "needs by type of fact" if type else f"figures of {brief(metric)}"


def _exactly(demand: Demand, type: str, theirs: Records, mine: Records) -> Judgement:
    """Whether every run has its old figure; for a type of fact, equal needs and needs met."""
    metric = demand.rule.metric
    moved = sum(
        theirs[case].needs.get(type) != mine[case].needs.get(type)
        if type
        else not same(theirs[case].figures.get(metric), mine[case].figures.get(metric))
        for case in mine
    )
    if not moved:
        return Judgement(Outcome.HOLDS)
    outcome = Outcome.REGRESSED if demand.ruled else Outcome.CHANGED
    return Judgement(outcome, f"it changed in {moved:,} of {counted(len(mine), 'run')}")


def _as_ever(demand: Demand, was: float | None, judgement: Judgement) -> Judgement:
    """The judgement, with a note if the baseline breaks the rule, too."""
    broken = judgement.outcome is Outcome.REGRESSED and not demand.rule.relative
    if broken and was is not None and not demand.rule.judge(None, was).holds:
        return Judgement(judgement.outcome, "the baseline breaks this rule, too")
    return judgement


def _noisy(demand: Demand, type: str, theirs: Records, mine: Records) -> bool:
    """Whether replays of a conversation differ, so that figures are noisy.

    If each run has its old figure, there is nothing to estimate.
    """
    metric = demand.rule.metric
    if (
        demand.rule.relative
        and theirs
        and all(same(theirs[c].value(metric, type), mine[c].value(metric, type)) for c in mine)
    ):
        return False
    sides = (theirs.values(), mine.values()) if demand.rule.relative else (mine.values(),)
    return any(_differ(side, metric, type) for side in sides)


def _differ(records: Iterable[Record], metric: str, type: str) -> bool:
    for group in by_conversation(records).values():
        first, *others = (record.value(metric, type) for record in group)
        if any(not same(first, other) for other in others):
            return True
    return False


def _by_interval(
    demand: Demand, type: str, theirs: Records, mine: Records, was: float | None
) -> tuple[Judgement, Span]:
    groups = by_conversation(mine.values()).values()
    replays = min(len(group) for group in groups if len(group) > 1)
    span = span_of(demand.rule, theirs.values(), mine.values(), type)
    if replays < REPLAYS:
        reason = f"{counted(replays, 'replay')} of a conversation; at least {REPLAYS} are needed"
        return Judgement(Outcome.INCONCLUSIVE, reason), span
    if span.low is None or span.high is None:
        return Judgement(Outcome.INCONCLUSIVE, span.missing), span
    return _as_ever(demand, was, demand.rule.judge_between(was, span.low, span.high)), span
