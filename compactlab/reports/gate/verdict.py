"""The verdict of a gate: whether each rule holds for each strategy, and the outcome of all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from compactlab.reports.gate.lost import Misses
from compactlab.reports.gate.record import HEADLINE, NEED, Subject, brief
from compactlab.reports.gate.rules import Demand, Outcome, same
from compactlab.sim.metrics import METRICS

_ORDER = (
    Outcome.REGRESSED,
    Outcome.CHANGED,
    Outcome.UNJUDGED,
    Outcome.INCONCLUSIVE,
    Outcome.HOLDS,
)
# The order of changed metrics: memory and cost before those that follow from them.
_FIRST = (HEADLINE, "cost_usd", NEED, "rejected_calls", "structural_validity")

Follows = Literal["", "baseline", "strategy"]
Direction = Literal["worse", "", "better"]
_DIRECTIONS: tuple[Direction, ...] = ("worse", "", "better")


@dataclass(frozen=True)
class Move:
    """A conversation with its old and new figure."""

    conversation: str
    before: float | None  # mean over replays; None without a value
    after: float | None


@dataclass(frozen=True)
class Span:
    """The interval of a figure, from the differences of conversations."""

    low: float | None = None  # 95 % interval, in the metric's unit
    high: float | None = None
    method: str = ""
    conversations: int = 0
    detectable: float | None = None  # smallest detectable change, in the metric's unit
    missing: str = ""  # why there is no interval


@dataclass(frozen=True)
class Finding:
    """The result of one rule for one strategy, model, summariser and type of fact."""

    demand: Demand
    subject: Subject | None  # None: the rule covers no run
    outcome: Outcome
    reason: str = ""
    type: str = ""  # type of fact; "": all
    before: float | None = None  # as in reports
    after: float | None = None
    span: Span | None = None  # if it was judged by an interval
    moved: tuple[Move, ...] = ()  # the worst first
    follows: Follows = ""  # the cause that it follows from and that is shown once
    lost: Misses | None = None  # facts lost with it, listed once per strategy

    @property
    def holds(self) -> bool:
        """Whether it is a pass."""
        return self.outcome is Outcome.HOLDS

    @property
    def direction(self) -> Direction:
        """Whether its figure has become worse or better; "" if unknown.

        Examples
        --------
        >>> from compactlab.reports.gate.rules import Rule
        >>> demand = Demand(Rule.parse("cost_usd", "exact"))
        >>> Finding(demand, None, Outcome.REGRESSED, before=2.0, after=1.0).direction
        'better'
        """
        if self.before is None or self.after is None or same(self.before, self.after):
            return ""
        better = METRICS[self.demand.rule.metric].better
        if better == "neither":
            return ""
        return "worse" if (self.after > self.before) == (better == "lower") else "better"

    @property
    def valueless(self) -> bool:
        """Whether it passes because there is no value that could fail."""
        return self.holds and self.before is None and self.after is None

    @property
    def name(self) -> str:
        """The rule in words: metric, type and limit, if it has one.

        Examples
        --------
        >>> from compactlab.reports.gate.rules import Rule
        >>> Finding(Demand(Rule.parse("calls", "+2%")), None, Outcome.HOLDS).name
        'calls +2%'
        """
        of = f" of {brief(self.type)}" if self.type else ""
        asked = f" {self.demand.rule.text}" if self.demand.ruled else ""
        return f"{brief(self.demand.rule.metric)}{of}{asked}"


@dataclass(frozen=True)
class Verdict:
    """The result of a gate."""

    findings: tuple[Finding, ...] = ()
    obstacles: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()  # metrics that baselines usually have, and this one lacks

    @property
    def code(self) -> int:
        """The exit code: 0 if all holds, 1 if anything regressed or changed, 2 if not judged."""
        outcomes = {finding.outcome for finding in self.findings}
        if outcomes & {Outcome.REGRESSED, Outcome.CHANGED}:
            return 1
        return 0 if outcomes == {Outcome.HOLDS} and not self.obstacles else 2

    @property
    def word(self) -> str:
        """The outcome in a word or two."""
        changed = self.code == 1 and not self.count(Outcome.REGRESSED)
        return "changed" if changed else ("holds", "regressed", "cannot judge")[self.code]

    @property
    def valueless(self) -> tuple[str, ...]:
        """The metrics without a value in any run, whose rules therefore check nothing."""
        known = {f.demand.rule.metric for f in self.findings if not f.valueless}
        empty = dict.fromkeys(f.demand.rule.metric for f in self.findings if f.valueless)
        return tuple(name for name in empty if name not in known)

    @cached_property
    def summarizers(self) -> int:
        """How many summarisers there are."""
        return len({f.subject.summarizer for f in self.findings if f.subject})

    def count(self, outcome: Outcome) -> int:
        """How many findings have an outcome."""
        return sum(finding.outcome is outcome for finding in self.findings)

    @property
    def failed(self) -> list[Finding]:
        """The findings that do not pass: regressions first, then what cannot be judged."""
        return in_order(finding for finding in self.findings if not finding.holds)

    @property
    def shown(self) -> list[Finding]:
        """The failed findings, without those that are only counted."""
        folded = {id(finding) for each in self.folded for finding in each}
        return [finding for finding in self.failed if id(finding) not in folded]

    @property
    def folded(self) -> list[list[Finding]]:
        """Findings that follow from a cause shown elsewhere, grouped by it."""
        groups: dict[tuple[str, Subject | None], list[Finding]] = {}
        for finding in self.findings:
            if finding.follows:
                whose = finding.subject if finding.follows == "strategy" else None
                groups.setdefault((finding.reason, whose), []).append(finding)
        return [group for group in groups.values() if len(group) > 1]


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Findings, the most urgent first; of changes, the worse first; else in their order."""
    return sorted(findings, key=_urgency)


def _urgency(finding: Finding) -> tuple[int, int, int]:
    metric = finding.demand.rule.metric
    rank = _FIRST.index(metric) if metric in _FIRST and not finding.type else len(_FIRST)
    if finding.outcome not in (Outcome.REGRESSED, Outcome.CHANGED):
        return _ORDER.index(finding.outcome), 0, 0
    return _ORDER.index(finding.outcome), _DIRECTIONS.index(finding.direction), rank
