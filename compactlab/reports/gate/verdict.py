"""What a gate finds: of each rule and strategy whether it holds, and of all together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from compactlab.reports.gate.record import Subject, brief
from compactlab.reports.gate.rules import Demand, Outcome

_ORDER = (Outcome.REGRESSED, Outcome.UNJUDGED, Outcome.INCONCLUSIVE, Outcome.HOLDS)

Follows = Literal["", "baseline", "strategy"]


@dataclass(frozen=True)
class Move:
    """A conversation, and what became of its figure."""

    conversation: str
    before: float | None  # mean over replays; None: no value
    after: float | None


@dataclass(frozen=True)
class Span:
    """Between which values a figure lies now, by the differences of conversations."""

    low: float | None = None  # 95 % interval, in the metric's unit
    high: float | None = None
    method: str = ""
    conversations: int = 0
    detectable: float | None = None  # smallest detectable change, in the metric's unit
    missing: str = ""  # why there is no interval


@dataclass(frozen=True)
class Finding:
    """What came of one rule for one strategy, model, summariser and type of fact."""

    demand: Demand
    subject: Subject | None  # None: the rule fits no run
    outcome: Outcome
    reason: str = ""
    type: str = ""  # of fact; "": all
    before: float | None = None  # as reports give it
    after: float | None = None
    span: Span | None = None  # if it was judged by one
    moved: tuple[Move, ...] = ()  # the worst first
    follows: Follows = ""  # what it only follows from, and is shown once

    @property
    def holds(self) -> bool:
        """Whether it is a pass."""
        return self.outcome is Outcome.HOLDS

    @property
    def name(self) -> str:
        """The rule in words: metric, type and what is asked.

        Examples
        --------
        >>> from compactlab.reports.gate.rules import Rule
        >>> Finding(Demand(Rule.parse("calls", "+2%")), None, Outcome.HOLDS).name
        'calls +2%'
        """
        of = f" of {brief(self.type)}" if self.type else ""
        return f"{brief(self.demand.rule.metric)}{of} {self.demand.rule.text}"


@dataclass(frozen=True)
class Verdict:
    """What came of a gate."""

    findings: tuple[Finding, ...] = ()
    obstacles: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def code(self) -> int:
        """The exit code: 0 if all holds, 1 if anything regressed, 2 if anything is not judged."""
        outcomes = {finding.outcome for finding in self.findings}
        if Outcome.REGRESSED in outcomes:
            return 1
        return 0 if outcomes == {Outcome.HOLDS} and not self.obstacles else 2

    @property
    def word(self) -> str:
        """The outcome in a word or two."""
        return ("holds", "regressed", "cannot judge")[self.code]

    def count(self, outcome: Outcome) -> int:
        """How many findings have an outcome."""
        return sum(finding.outcome is outcome for finding in self.findings)

    @property
    def failed(self) -> list[Finding]:
        """The findings that are no pass: what regressed first, then what cannot be judged."""
        return in_order(finding for finding in self.findings if not finding.holds)

    @property
    def shown(self) -> list[Finding]:
        """The findings that are no pass, without those that are only counted."""
        folded = {id(finding) for each in self.folded for finding in each}
        return [finding for finding in self.failed if id(finding) not in folded]

    @property
    def folded(self) -> list[list[Finding]]:
        """Findings that only follow from something that is shown anyway, grouped by it."""
        groups: dict[tuple[str, Subject | None], list[Finding]] = {}
        for finding in self.findings:
            if finding.follows:
                whose = finding.subject if finding.follows == "strategy" else None
                groups.setdefault((finding.reason, whose), []).append(finding)
        return [group for group in groups.values() if len(group) > 1]


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Findings, the most urgent first; within an outcome as they come."""
    return sorted(findings, key=lambda finding: _ORDER.index(finding.outcome))
