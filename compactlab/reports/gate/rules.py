"""Rules as text: how far a figure may move from a baseline, and for which runs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TypeVar

from compactlab.reports.analysis.comparison import RECALL, Case
from compactlab.reports.gate.record import NEED, Record, Subject, brief
from compactlab.sim.core.errors import UsageError, unknown
from compactlab.sim.metrics import METRICS

# Rules as text: how far a figure may move from a baseline, or where it must stand.
#
# ::
#
#     +2%   +0.02     may rise by at most this much (relative, or in its own unit)
#     -5%   -0.05     may fall by at most this much
#     == 0  <= 6  >= 0.9  < 1  > 0    must satisfy this, whatever the baseline
#     exact           must equal the baseline, conversation by conversation

T = TypeVar("T")
_EXACT = "exact"
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_CHANGE = re.compile(r"([+-])\s*((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(%?)")
_PLACE = re.compile(rf"(==|<=|>=|<|>)\s*({_NUMBER})")
_SLIP = re.compile(
    rf"(=|=<|=>|\N{{LESS-THAN OR EQUAL TO}}|\N{{GREATER-THAN OR EQUAL TO}}|)\s*({_NUMBER})\s*(%?)"
)
_MEANT = {"=<": "<=", "=>": ">=", "\N{LESS-THAN OR EQUAL TO}": "<=",
          "\N{GREATER-THAN OR EQUAL TO}": ">="}  # fmt: skip
_FORMS = "'+2%', '+0.02', '-5%', '== 0', '<= 6', '>= 0.9', '< 1', '> 0' or 'exact'"
# Smaller differences come from the order of sums and must not decide.
_RELATIVE, _ABSOLUTE = 1e-9, 1e-12


class Outcome(StrEnum):
    """The outcome of a rule; only ``HOLDS`` is a pass.

    Without rules, a changed figure is CHANGED and no regression: it may be better.
    """

    HOLDS = "holds"
    REGRESSED = "regressed"
    CHANGED = "changed"
    INCONCLUSIVE = "inconclusive"
    UNJUDGED = "cannot judge"


@dataclass(frozen=True)
class Judgement:
    """The outcome of a rule, with a short reason."""

    outcome: Outcome
    reason: str = ""

    @property
    def holds(self) -> bool:
        return self.outcome is Outcome.HOLDS


@dataclass(frozen=True)
class Rule:
    """The limit of one metric."""

    metric: str
    sign: str  # + or - for a change, a comparison, or exact
    amount: float = 0.0  # in the metric's unit, or a share if ``percent``
    percent: bool = False

    @classmethod
    def parse(cls, metric: str, text: str) -> Rule:
        """Read a rule.

        Examples
        --------
        >>> Rule.parse("cost_usd", "+2%").limit(10.0)
        10.2
        >>> Rule.parse("write_spike_ratio", "<=6").text
        '<= 6'
        """
        if metric not in METRICS:
            raise UsageError(unknown("metric", metric, METRICS, "compactlab list metrics"))
        written = text.strip()
        if written == _EXACT:
            return cls(metric, _EXACT)
        if match := _CHANGE.fullmatch(written):
            sign, number, percent = match.groups()
            amount = float(number) / 100 if percent else float(number)
        elif match := _PLACE.fullmatch(written):
            sign, number = match.groups()
            amount, percent = float(number), ""
        else:
            raise UsageError(_no_rule(written))
        if wrong := _outside(metric, sign, amount, bool(percent)):
            raise UsageError(f"{written[:40]!r} is not a rule: {wrong}")
        return cls(metric, sign, amount, bool(percent))

    @property
    def text(self) -> str:
        """The rule in its normal form.

        Examples
        --------
        >>> Rule.parse("amnesia_need", "+.02").text, Rule.parse("cost_usd", "- 5 %").text
        ('+0.02', '-5%')
        """
        if self.sign == _EXACT:
            return _EXACT
        # Rounding removes digits that the conversion from percent added.
        number = round(self.amount * 100, 9) if self.percent else self.amount
        whole = number.is_integer() and abs(number) < 1e15
        shown = f"{int(number)}" if whole else repr(number)
        between = "" if self.relative else " "
        return f"{self.sign}{between}{shown}{'%' if self.percent else ''}"

    @property
    def exact(self) -> bool:
        """Whether nothing at all may change."""
        return self.sign == _EXACT

    @property
    def relative(self) -> bool:
        """Whether it limits a change, so that a baseline is needed."""
        return self.sign in ("+", "-", _EXACT)

    @property
    def asks_value(self) -> bool:
        """Whether it does not hold without a value, as a limit from above does."""
        return not self.relative and self.lower

    @property
    def upper(self) -> bool:
        return self.sign in ("+", "<=", "<", "==")

    @property
    def lower(self) -> bool:
        return self.sign in ("-", ">=", ">", "==")

    @property
    def lopsided(self) -> bool:
        """Whether it only limits improvements, so that it guards nothing.

        Examples
        --------
        >>> Rule.parse("cost_usd", "-5%").lopsided, Rule.parse("cost_usd", "+5%").lopsided
        (True, False)
        """
        better = METRICS[self.metric].better
        return (self.sign, better) in (("-", "lower"), ("+", "higher"))

    def limit(self, before: float | None = None) -> float:
        """The largest or smallest figure that the rule allows."""
        if not self.relative:
            return self.amount
        assert before is not None, "a rule on a change needs the figure before"
        if self.exact or math.isinf(before):
            return before  # an infinite figure has no steps or shares
        step = self.amount * abs(before) if self.percent else self.amount
        return before + step if self.sign == "+" else before - step

    def judge(self, before: float | None, after: float | None) -> Judgement:
        """Judge a figure without noise.

        Examples
        --------
        >>> Rule.parse("cost_usd", "+2%").judge(10.0, 10.3).outcome
        <Outcome.REGRESSED: 'regressed'>
        >>> Rule.parse("overflows", "== 0").judge(None, 0).holds
        True
        """
        if missing := self._valueless(before, after):
            return missing
        assert after is not None
        within = self._allows(after, self.limit(before))
        return Judgement(Outcome.HOLDS if within else Outcome.REGRESSED)

    def judge_between(self, before: float | None, low: float, high: float) -> Judgement:
        """Judge a figure by its interval."""
        if missing := self._valueless(before, high):
            return missing
        limit = self.limit(before)
        allowed = [self._allows(low, limit), self._allows(high, limit)]
        if all(allowed):
            return Judgement(Outcome.HOLDS)
        astride = self.sign in ("==", _EXACT) and low <= limit <= high
        if any(allowed) or astride:
            return Judgement(Outcome.INCONCLUSIVE, "the interval includes the limit")
        return Judgement(Outcome.REGRESSED)

    def _valueless(self, before: float | None, after: float | None) -> Judgement | None:
        """The judgement if a figure has no value, e.g. a spike without compactions."""
        was, is_ = (value is not None and not math.isnan(value) for value in (before, after))
        if is_ and (was or not self.relative):
            return None
        if not self.relative:
            why = (
                ": no call needs a fact at so long a lag" if self.metric in RECALL.values() else ""
            )
            return Judgement(Outcome.UNJUDGED, f"it has no value{why}")
        if not was and not is_:
            return Judgement(Outcome.HOLDS, "no value before or now")
        if is_:
            return Judgement(Outcome.UNJUDGED, "no value before, one now")
        return Judgement(Outcome.UNJUDGED, "a value before, none now")

    def _allows(self, value: float, limit: float) -> bool:
        if same(value, limit):
            return self.sign not in ("<", ">")
        if (self.upper and self.lower) or self.exact:
            return False
        return value < limit if self.upper else value > limit


def same(before: float | None, after: float | None) -> bool:
    """Whether two figures are equal up to rounding errors of sums.

    Examples
    --------
    >>> same(0.1 + 0.2, 0.3), same(10**10, 10**10 + 1), same(None, 0.0), same(None, None)
    (True, False, False, True)
    """
    if before is None or after is None:
        return before is after
    if float(before).is_integer() and float(after).is_integer():
        return before == after  # counts have no rounding errors
    return math.isclose(before, after, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)


def _outside(metric: str, sign: str, amount: float, percent: bool) -> str:
    """Why no figure can break a rule, or none can meet it; "" if neither."""
    if not math.isfinite(amount):
        return "the number is too large"
    if sign not in ("+", "-"):
        return METRICS[metric].fault(amount)
    reach = METRICS[metric].range
    if not percent and amount > reach.high - reach.low:
        return f"{metric} is {reach}, so it cannot move by so much"
    return ""


def _no_rule(text: str) -> str:
    """Report that a text is no rule, and suggest the one that is probably meant."""
    shown = repr(text if len(text) <= 40 else f"{text[:40]}...")
    match = _SLIP.fullmatch(text)
    place = re.fullmatch(rf"{_PLACE.pattern}\s*%", text)
    if place:
        share = float(place[2]) / 100
        return (
            f"{shown} is not a rule: shares are written out; did you mean '{place[1]} {share:g}'?"
        )
    if match and match[3]:
        return f"{shown} is not a rule; did you mean '+{match[2]}%' or '-{match[2]}%'?"
    if match:
        return f"{shown} is not a rule; did you mean '{_MEANT.get(match[1], '==')} {match[2]}'?"
    return f"{shown} is not a rule; write {_FORMS}"


# A demand: a rule and the runs that it covers.

ANY = ("*",)


@dataclass(frozen=True)
class Demand:
    """A rule with its selectors: each is a list of patterns, one of which must match."""

    rule: Rule
    strategy: tuple[str, ...] = ANY  # labels, full specs, or names without fields
    model: tuple[str, ...] = ANY
    summarizer: tuple[str, ...] = ANY
    scenario: tuple[str, ...] = ANY  # conversations of all that match are judged together
    type: tuple[str, ...] = ()  # empty: all facts together
    place: str = ""  # in the file of rules
    ruled: bool = True  # whether it comes from a user's rule; without rules, nothing may change

    def fits(self, subject: Subject) -> bool:
        """Whether it covers a strategy under its model and summariser.

        Examples
        --------
        >>> demand = Demand(Rule.parse("overflows", "== 0"), strategy=("auto_compact",))
        >>> demand.fits(Subject("auto_compact(reserve_tokens=1)", "", "", "mine"))
        True
        """
        return (
            any(fitting(name, self.strategy) for name in names_of(subject))
            and fitting(subject.model, self.model)
            and fitting(subject.summarizer, self.summarizer)
        )

    def covers(self, record: Record) -> bool:
        """Whether it covers a run of a matching subject."""
        return fitting(record.scenario, self.scenario)

    def types(self, known: Iterable[str]) -> tuple[str, ...]:
        """The types of fact that it covers separately; only "" for all together."""
        return tuple(name for name in known if fitting(name, self.type)) if self.type else ("",)

    def idle(
        self, held: Mapping[Subject, Mapping[Case, Record]], types: Iterable[str]
    ) -> list[str]:
        """The patterns that match nothing, each with what it should match."""
        records = [record for own in held.values() for record in own.values()]
        known = {
            "strategy": {name for subject in held for name in names_of(subject)},
            "model": {subject.model for subject in held},
            "summarizer": {subject.summarizer for subject in held},
            "scenario": {record.scenario for record in records},
            "type": set(types),
        }
        return [
            f"{key} {brief(pattern)}"
            for key, names in known.items()
            for pattern in getattr(self, key)
            if not any(fitting(name, (pattern,)) for name in names)
        ]

    @property
    def narrowed(self) -> str:
        """Its selectors in words; "" without any."""
        asked = {
            "strategy": self.strategy,
            "scenario": self.scenario,
            "model": self.model,
            "summarizer": self.summarizer,
            "type": self.type or ANY,
        }
        return ", ".join(
            f"{name} {' or '.join(map(brief, patterns))}"
            for name, patterns in asked.items()
            if patterns != ANY
        )


def gains_only(rules: Sequence[Rule]) -> str:
    """The error message if the rules on a metric only limit gains; "" if they guard it.

    Examples
    --------
    >>> gains_only([Rule.parse("cost_usd", "+5%"), Rule.parse("cost_usd", "-5%")])
    ''
    """
    if not rules or not all(rule.lopsided for rule in rules):
        return ""
    first = rules[0]
    meant = f"{'-' if first.sign == '+' else '+'}{first.text[1:]}"
    return (
        f"{METRICS[first.metric].better} is better, so {first.text!r} only limits gains; did you "
        f"mean {meant!r}? To limit both, write ['{meant}', '{first.text}']"
    )


def fitting(name: str, patterns: Iterable[str]) -> bool:
    """Whether a pattern matches a name or equals it: specs contain brackets."""
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)


def names_of(subject: Subject) -> tuple[str, str, str]:
    """The names of a strategy: its label, its spec, and its name without fields."""
    return subject.label, subject.strategy, bare(subject.strategy)


def bare(spec: str) -> str:
    """The name of a strategy without its fields; of a pipeline, those of its parts.

    Examples
    --------
    >>> bare("token_budget(tokens=5) + pair_repair()")
    'token_budget + pair_repair'
    """
    return " + ".join(part.partition("(")[0] for part in spec.split(" + "))


def same_kind(
    ours: Iterable[T], theirs: Iterable[T], kind: Callable[[T], object]
) -> Iterator[tuple[list[T], list[T]]]:
    """Strategies of two sides grouped by kind, for the kinds on both sides."""
    groups: dict[object, tuple[list[T], list[T]]] = {}
    for side, strategies in enumerate((ours, theirs)):
        for each in strategies:
            groups.setdefault(kind(each), ([], []))[side].append(each)
    return (group for group in groups.values() if all(group))


def unchanged(metrics: Collection[str], types: Iterable[str]) -> list[Demand]:
    """The demands without rules: every figure is unchanged."""
    whole = [Demand(Rule(name, "exact"), ruled=False) for name in metrics]
    if NEED not in metrics:
        return whole
    return [*whole, *(Demand(Rule(NEED, "exact"), type=(type,), ruled=False) for type in types)]
