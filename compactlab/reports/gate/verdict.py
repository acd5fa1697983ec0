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
    """A conversation, and what became of its figure.

    Parameters
    ----------
    conversation
        Its id.
    before, after
        Its figure, of replays the mean; None for no value.
    """

    conversation: str
    before: float | None
    after: float | None


@dataclass(frozen=True)
class Span:
    """Between which values a figure lies now, by the differences of conversations.

    Parameters
    ----------
    low, high
        Ends of the 95 % interval, in the metric's unit; None where there is none.
    method
        How it was found; "" for none.
    conversations
        Over how many.
    detectable
        The smallest change that could have been seen, in the metric's unit; None where that cannot
        be told.
    missing
        Why there is no interval; "" if there is one.
    """

    low: float | None = None
    high: float | None = None
    method: str = ""
    conversations: int = 0
    detectable: float | None = None
    missing: str = ""


@dataclass(frozen=True)
class Finding:
    """What came of one rule for one strategy, model, summariser and type of fact.

    Parameters
    ----------
    demand
        The rule, and of what it was asked.
    subject
        Of what it is told; None if the rule fits no run.
    outcome, reason
        What came of it, and why in words.
    type
        The type of fact; "" for all.
    before, after
        The figure, put together as in reports; None for no value.
    span
        The interval, where it was judged by one.
    moved
        The conversations that moved most, the worst first.
    follows
        What the outcome only follows from: nothing is compared with the ``baseline`` at all, or
        runs of the ``strategy`` are missing. That is told once, as an obstacle or a remark; "" if
        the finding is to be told by itself.
    """

    demand: Demand
    subject: Subject | None
    outcome: Outcome
    reason: str = ""
    type: str = ""
    before: float | None = None
    after: float | None = None
    span: Span | None = None
    moved: tuple[Move, ...] = ()
    follows: Follows = ""

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
    """What came of a gate.

    Parameters
    ----------
    findings
        Of each rule and strategy.
    obstacles
        Why something cannot be judged, whatever the rules say.
    remarks
        What else is worth knowing; it decides nothing.
    """

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
    def told(self) -> list[Finding]:
        """The findings that are no pass, without those of which it is enough to say how many."""
        folded = {id(finding) for each in self.folded for finding in each}
        return [finding for finding in self.failed if id(finding) not in folded]

    @property
    def folded(self) -> list[list[Finding]]:
        """Findings that only follow from what is told anyway, together by what that is."""
        groups: dict[tuple[str, Subject | None], list[Finding]] = {}
        for finding in self.findings:
            if finding.follows:
                whose = finding.subject if finding.follows == "strategy" else None
                groups.setdefault((finding.reason, whose), []).append(finding)
        return [group for group in groups.values() if len(group) > 1]


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Findings, the most urgent first; within an outcome as they come."""
    return sorted(findings, key=lambda finding: _ORDER.index(finding.outcome))
