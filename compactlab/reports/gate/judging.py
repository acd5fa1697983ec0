"""Judging one rule for one strategy: by the figures, or by the interval where there is noise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from compactlab.reports.gate.demand import Demand
from compactlab.reports.gate.moves import moved_most
from compactlab.reports.gate.names import brief
from compactlab.reports.gate.record import Record, Subject
from compactlab.reports.gate.rules import Judgement, Outcome, same
from compactlab.reports.gate.side import Records, Side, by_conversation
from compactlab.reports.gate.span import span_of
from compactlab.reports.gate.verdict import Finding, Follows, Move, Span
from compactlab.reports.text import counted

REPLAYS = 5
"""With fewer replays of a conversation, nothing that has noise is judged."""


class _Refusal(NamedTuple):
    """Why a rule cannot be judged, and what that follows from."""

    reason: str
    follows: Follows = ""


@dataclass(frozen=True)
class Judge:
    """Judges rules by what was and what is.

    Parameters
    ----------
    before, after
        The two sides.
    refusal
        Why nothing may be compared with what was; "" if it may.
    """

    before: Side
    after: Side
    refusal: str = ""

    def finding(self, demand: Demand, subject: Subject, type: str) -> Finding:
        """What comes of a rule for a subject and a type of fact."""
        theirs, mine = (side.records(subject, demand) for side in (self.before, self.after))
        paired = self._unpaired(demand, subject, type, theirs, mine) is None
        was = self.before.figure(subject, demand, type) if paired else None
        is_ = self.after.figure(subject, demand, type)
        span = None
        if refused := self._refused(demand, subject, type, theirs, mine):
            judgement = Judgement(Outcome.UNJUDGED, refused.reason)
        elif demand.rule.exact:
            judgement = _exactly(demand, type, theirs, mine)
        elif paired and was is None and is_ is None:
            judgement = Judgement(Outcome.HOLDS, "no value before, and none now")
        elif _noisy(demand, type, theirs if paired else {}, mine):
            judgement, span = _by_interval(demand, type, theirs if paired else {}, mine, was)
        else:
            judgement = _by_figure(demand, was, is_)
        moved: tuple[Move, ...] = ()
        if judgement.outcome in (Outcome.REGRESSED, Outcome.INCONCLUSIVE):
            old = theirs.values() if paired else ()
            moved = moved_most(demand.rule, old, mine.values(), type)
        found = judgement.outcome, judgement.reason, type, was, is_, span, moved
        return Finding(demand, subject, *found, refused.follows if refused else "")

    def _refused(
        self, demand: Demand, subject: Subject, type: str, theirs: Records, mine: Records
    ) -> _Refusal | None:
        """Why a rule cannot be judged; None if it can."""
        metric = demand.rule.metric
        if self.after.lacks(metric, type):
            return _Refusal(f"the store has no {_what(metric, type)}")
        if demand.rule.relative:
            unpaired = self._unpaired(demand, subject, type, theirs, mine)
            if unpaired:
                return unpaired
        # Where nothing went well before and nothing does now, nothing has moved or is held.
        return None if mine else _Refusal("none of its runs went well", "strategy")

    def _unpaired(
        self, demand: Demand, subject: Subject, type: str, theirs: Records, mine: Records
    ) -> _Refusal | None:
        """Why its figures cannot be held against those of the baseline; None if they can."""
        metric = demand.rule.metric
        if self.refusal:
            return _Refusal(self.refusal, "baseline")
        if self.before.lacks(metric, type):
            return _Refusal(f"the baseline has no {_what(metric, type)}")
        if subject not in self.before.subjects:
            return _Refusal("it is not in the baseline", "strategy")
        gone, new = len(theirs.keys() - mine.keys()), len(mine.keys() - theirs.keys())
        said = [f"{counted(gone, 'run')} of the baseline missing"] if gone else []
        said += [f"{counted(new, 'run')} not in the baseline"] if new else []
        return _Refusal(" and ".join(said), "strategy") if said else None


def _what(metric: str, type: str) -> str:
    return "needs by type of fact" if type else f"figures of {brief(metric)}"


def _exactly(demand: Demand, type: str, theirs: Records, mine: Records) -> Judgement:
    """Every run has the figure that it had; of a type of fact, as many needs and as many met."""
    metric = demand.rule.metric
    moved = sum(
        theirs[case].needs.get(type) != mine[case].needs.get(type)
        if type
        else not same(theirs[case].figures.get(metric), mine[case].figures.get(metric))
        for case in mine
    )
    if not moved:
        return Judgement(Outcome.HOLDS)
    return Judgement(Outcome.REGRESSED, f"it moved in {moved:,} of {counted(len(mine), 'run')}")


def _by_figure(demand: Demand, was: float | None, is_: float | None) -> Judgement:
    return _as_ever(demand, was, demand.rule.judge(was, is_))


def _as_ever(demand: Demand, was: float | None, judgement: Judgement) -> Judgement:
    """A judgement that says so where a figure stood no better in the baseline."""
    broken = judgement.outcome is Outcome.REGRESSED and not demand.rule.relative
    if broken and was is not None and not demand.rule.judge(None, was).holds:
        return Judgement(judgement.outcome, "it did not stand so in the baseline either")
    return judgement


def _noisy(demand: Demand, type: str, theirs: Records, mine: Records) -> bool:
    """Whether replays of any conversation differ, so that a figure is known only so well.

    Where each run has the figure that it had, there is nothing to estimate.
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
        told = f"{counted(replays, 'replay')} of a conversation; {REPLAYS} are the fewest"
        return Judgement(Outcome.INCONCLUSIVE, told), span
    if span.low is None or span.high is None:
        return Judgement(Outcome.INCONCLUSIVE, span.missing), span
    return _as_ever(demand, was, demand.rule.judge_between(was, span.low, span.high)), span
