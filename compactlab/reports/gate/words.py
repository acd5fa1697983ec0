"""A verdict in words, as every output of a gate says it; names are quoted as the output does."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from compactlab.reports.gate.record import Subject, brief
from compactlab.reports.gate.rules import ANY, Outcome, same
from compactlab.reports.gate.verdict import Finding, Move, Span, Verdict
from compactlab.reports.render.text import clean, counted, listed
from compactlab.sim.metrics import METRICS

_ARROW = "\N{RIGHTWARDS ARROW}"
_NONE = "no value"
_DIGITS = 6

Quote = Callable[[str], str]


@dataclass(frozen=True)
class Words:
    """Says what a gate found.

    Parameters
    ----------
    verdict
        What it found.
    quote
        Makes a name that comes from outside harmless in the output.
    """

    verdict: Verdict
    quote: Quote = clean

    @property
    def headline(self) -> str:
        """The outcome, and how many rules it is of."""
        findings = self.verdict.findings
        told = [
            f"{self.verdict.count(outcome):,} {word}"
            for outcome, word in (
                (Outcome.REGRESSED, "regressed"),
                (Outcome.UNJUDGED, "cannot be judged"),
                (Outcome.INCONCLUSIVE, "inconclusive"),
            )
            if self.verdict.count(outcome)
        ]
        of = f"of {counted(len(findings), 'check')}"
        said = f"{listed(told)} {of}" if told else f"{counted(len(findings), 'check')} passed"
        if self.verdict.obstacles and not self.verdict.count(Outcome.UNJUDGED):
            said += "; not everything can be judged" if findings else ""
        return f"gate: {self.verdict.word}: {said}" if findings else f"gate: {self.verdict.word}"

    def subject(self, subject: Subject | None) -> str:
        """A strategy with its model, and with its summariser where there are several."""
        if subject is None:
            return "nothing"
        told = f"{self.name(subject.label)} under {self.name(subject.model)}"
        return f"{told} with {self.name(subject.summarizer)}" if self._several else told

    @cached_property
    def _several(self) -> bool:
        """Whether there are several summarisers."""
        return len({f.subject.summarizer for f in self.verdict.findings if f.subject}) > 1

    def together(self, findings: Sequence[Finding]) -> str:
        """How many findings follow from the same, and from what."""
        first = findings[0]
        of = f" of {self.subject(first.subject)}" if first.follows == "strategy" else ""
        return f"{counted(len(findings), 'check')}{of}: {self.quote(first.reason)}"

    def name(self, name: str) -> str:
        """A name, made harmless and not longer than helps."""
        return self.quote(brief(name))

    def figures(self, finding: Finding) -> str:
        """What was and what is; "" where there is neither."""
        if finding.before is None and finding.after is None:
            return ""
        unit = METRICS[finding.demand.rule.metric].unit
        was, is_ = apart(finding.before, finding.after)
        if finding.before is None:
            return f"{is_} {unit}"
        if finding.after is None:
            return f"{was} {unit} {_ARROW} {is_}"
        if same(finding.before, finding.after):
            return f"{is_} {unit}, as before"
        return f"{was} {_ARROW} {is_} {unit}{_share(finding.before, finding.after)}"

    def details(self, finding: Finding) -> Iterator[str]:
        """What else is to be said of a finding, a sentence each."""
        if finding.reason:
            yield self.quote(finding.reason)
        rule = finding.demand.rule
        if rule.relative and not rule.exact and finding.before is not None:
            way = "up to" if rule.sign == "+" else "down to"
            yield f"allowed {way} {number(rule.limit(finding.before))}"
        if finding.span:
            yield from _of_span(finding.span)
        if where := self.scenarios(finding):
            yield where

    def scenarios(self, finding: Finding) -> str:
        """Over which scenarios it was asked; "" for all."""
        if finding.demand.scenario == ANY:
            return ""
        return f"over scenarios {listed([*map(self.name, finding.demand.scenario)])}"

    def moved(self, move: Move) -> str:
        """A conversation and what became of its figure."""
        was, is_ = apart(move.before, move.after)
        told = is_ if move.before is None or was == is_ else f"{was} {_ARROW} {is_}"
        return f"{self.name(move.conversation)} {told}"


def _of_span(span: Span) -> Iterator[str]:
    over = counted(span.conversations, "conversation")
    if span.low is not None and span.high is not None:
        low, high = apart(span.low, span.high)
        yield f"95% interval {low} to {high} ({span.method}, {over})"
    if span.detectable is None:
        yield "the smallest detectable change cannot be told"
    else:
        yield f"smallest detectable change {number(span.detectable)}"


def number(value: float | None, digits: int = _DIGITS) -> str:
    """A figure as short as one can still hold it against a rule.

    Examples
    --------
    >>> number(1234567.0), number(0.16666666), number(1234.5678), number(None)
    ('1,234,567', '0.166667', '1,234.57', 'no value')
    """
    if value is None or math.isnan(value):
        return _NONE
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    if float(value).is_integer():
        return f"{value:,.0f}"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{min(places, 15)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def apart(one: float | None, other: float | None) -> tuple[str, str]:
    """Two figures with so many digits that they look different if they are.

    Examples
    --------
    >>> apart(0.3, 0.3000000001)
    ('0.3', '0.3000000001')
    """
    for digits in (_DIGITS, 10, 17):
        pair = number(one, digits), number(other, digits)
        if one == other or pair[0] != pair[1]:
            break
    return pair


def _share(before: float, after: float | None) -> str:
    """By how much a figure moved, as a share of what it was."""
    if after is None or not before or not math.isfinite(before) or not math.isfinite(after):
        return ""
    share = (after - before) / abs(before)
    return f" ({share:+.1%})" if abs(share) >= 0.0005 else ""
