"""A demand: a rule, and of which runs it is asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from compactlab.reports.comparison import Case
from compactlab.reports.gate.names import brief
from compactlab.reports.gate.record import NEED, Record, Subject
from compactlab.reports.gate.rules import Rule
from compactlab.sim.metrics import METRICS

ANY = ("*",)


@dataclass(frozen=True)
class Demand:
    """A rule with its selectors; each of these is a list of patterns, of which one must fit.

    Parameters
    ----------
    rule
        What is asked.
    strategy
        Of which strategies: their short names, full specs, or names without fields. Each one that
        fits is judged apart.
    model, summarizer
        Under which models and summarisers; each that fits is judged apart.
    scenario
        Over the conversations of which scenarios; all of them are put together.
    type
        Of which types of fact; each one that fits is judged apart. Empty: of all facts together.
    place
        Where it stands in the file of rules; "" if there is none.
    """

    rule: Rule
    strategy: tuple[str, ...] = ANY
    model: tuple[str, ...] = ANY
    summarizer: tuple[str, ...] = ANY
    scenario: tuple[str, ...] = ANY
    type: tuple[str, ...] = ()
    place: str = ""

    def fits(self, subject: Subject) -> bool:
        """Whether it is asked of a strategy under its model and summariser.

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
        """Whether it is asked of a run of such a subject."""
        return fitting(record.scenario, self.scenario)

    def types(self, known: Iterable[str]) -> tuple[str, ...]:
        """The types of fact that it is asked of apart; "" alone for all together."""
        return tuple(name for name in known if fitting(name, self.type)) if self.type else ("",)

    def idle(
        self, held: Mapping[Subject, Mapping[Case, Record]], types: Iterable[str]
    ) -> list[str]:
        """The patterns that fit nothing at all, each with what it is to fit."""
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
        """Of what it is asked, in words; "" for everything."""
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
    """What is wrong with the rules on a metric, if they only limit gains; "" if they guard it.

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
    """Whether one of some patterns fits a name, or is the name: specs hold brackets."""
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)


def names_of(subject: Subject) -> tuple[str, str, str]:
    """What a strategy may be called: by its short name, its full one, and without its fields."""
    return subject.label, subject.strategy, bare(subject.strategy)


def bare(spec: str) -> str:
    """The name of a strategy without its fields; of a pipeline, those of its parts.

    Examples
    --------
    >>> bare("token_budget(tokens=5) + pair_repair()")
    'token_budget + pair_repair'
    """
    return " + ".join(part.partition("(")[0] for part in spec.split(" + "))


def unchanged(metrics: Collection[str], types: Iterable[str]) -> list[Demand]:
    """What is asked without a file of rules: every figure is what it was.

    Parameters
    ----------
    metrics
        Names of the metrics of the baseline.
    types
        Types of fact, of each of which the needs are looked at, if the needs of all are.
    """
    whole = [Demand(Rule(name, "exact")) for name in metrics]
    if NEED not in metrics:
        return whole
    return [*whole, *(Demand(Rule(NEED, "exact"), type=(type,)) for type in types)]
